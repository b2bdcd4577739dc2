"""TransformerModel: a network and its tokenizer, loaded once a process.

A fitted source holds a handle on it. A pickle of the handle is the model's name or
folder, its revision and its fingerprint; the weights are read where they are first
needed.
"""

import json
import os
import threading
from copy import deepcopy
from typing import NamedTuple
from weakref import WeakValueDictionary

from ..sequences._handles import Handles
from ._alignment import Aligner
from ._fingerprint import file_digest, fingerprint_of
from ._network_call import NetworkCall, piece_limit
from ._portable_pair import PortablePair
from ._reopening import reopened
from ._tokenizer_checks import check_size
from ._transformer_files import bundled_files, folder_of, signature_of, weight_files
from ._transformer_loading import load_config, load_network, load_tokenizer

_lock = threading.RLock()
_handles = Handles(keep=2)
_loaded = WeakValueDictionary()


class ModelSpec(NamedTuple):
    """What tells one loaded model from another."""

    model: str
    revision: str | None = None
    trust_remote_code: bool = False
    trusted: bool = False
    device: str = "cpu"
    dtype: str = "float32"
    attn_implementation: str | None = None
    compile: bool = False


class _Handle:
    """What handles on files and on loaded models share."""

    def __init__(self):
        # Held while tokenizer or network work: neither is made for threads.
        self.lock = threading.RLock()
        self._aligners = {}

    @property
    def limit(self):
        """Largest number of pieces that the model takes, None for no limit."""
        return piece_limit(self.config, self.tokenizer)

    def aligner(self, *options):
        """Return the Aligner with these options, made once."""
        with self.lock:
            if options not in self._aligners:
                self._aligners[options] = Aligner(self.tokenizer, *options)
            return self._aligners[options]


class TransformerModel(_Handle):
    """A transformer from files, shared by all that asked for the same.

    Parameters
    ----------
    spec : ModelSpec
    folder : Path

    Attributes
    ----------
    tokenizer : transformers tokenizer
    config : transformers config
    fingerprint : str
        Of weights, configuration, tokenizer and precision.
    lock : RLock
    """

    def __init__(self, spec, folder):
        super().__init__()
        self.spec = spec
        self._folder = folder
        self._call = None
        self.config = load_config(folder, spec)
        self.tokenizer = load_tokenizer(folder, spec)
        check_size(self.tokenizer, self.config)
        files = weight_files(folder, safetensors=not spec.trusted)
        if spec.trust_remote_code:
            files = [*files, *sorted(folder.glob("*.py"))]
        weights = {path.name: file_digest(path) for path in files}
        self.fingerprint = fingerprint_of(
            {**_options(self.config, self.tokenizer), "files": weights}
            | {"dtype": spec.dtype}
        )

    @property
    def call(self):
        """The NetworkCall, loaded when it is first asked for."""
        with self.lock:
            if self._call is None:
                network = load_network(self._folder, self.spec)
                self._call = NetworkCall(
                    network, self.config, compile=self.spec.compile
                )
            return self._call

    def own_network(self):
        """Return a network that nobody shares: frozen, float32, on the CPU."""
        spec = self.spec._replace(device="cpu", dtype="float32", compile=False)
        return load_network(self._folder, spec)

    @property
    def device_type(self):
        """Where it computes, "cpu" or "cuda", without loading anything."""
        return self.spec.device.partition(":")[0]

    _kept_as = "transformer"  # in files that `save` writes

    def _reference(self):
        """Return what a saved file tells of the model."""
        return {**self.spec._asdict(), "fingerprint": self.fingerprint}

    def _files(self, where):
        """Return the files that a saved file takes in, by name."""
        return bundled_files(
            self._folder, where, trusted=self.spec.trusted | self.spec.trust_remote_code
        )

    def check_unchanged(self):
        """See that the weights are those of fit; files were read once, so they are."""

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return _reopen, (self.spec, self.fingerprint)


def shared_model(spec):
    """Return the process's handle on a model, made if it is new or its files changed.

    Parameters
    ----------
    spec : ModelSpec

    Returns
    -------
    TransformerModel
    """
    folder = folder_of(
        spec.model,
        spec.revision,
        safetensors=not spec.trusted,
        code=spec.trust_remote_code,
    )
    if not os.path.isdir(spec.model):
        # The hub's folder is named by the commit: what a pickle asks for later.
        spec = spec._replace(revision=folder.name)
    else:
        spec = spec._replace(model=os.path.abspath(spec.model))
    key = spec, signature_of(folder, safetensors=not spec.trusted)
    return _handles.get(key, lambda: TransformerModel(spec, folder))


def _reopen(spec, fingerprint):
    return reopened(
        shared_model,
        spec,
        fingerprint,
        what="transformer",
        where=f"the files at {spec.model}",
        parts="weights, configuration or tokenizer",
    )


class LoadedModel(_Handle):
    """A model and a tokenizer that the user has loaded; as `TransformerModel`.

    They stay where they are and as they are; pickles hold them whole.

    Parameters
    ----------
    network : torch Module
    tokenizer : transformers tokenizer
    """

    _kept_as = "loaded"  # in files that `save` writes, whole in any case

    def __init__(self, network, tokenizer):
        super().__init__()
        self.network, self.tokenizer = network, tokenizer
        self.config = network.config
        check_size(tokenizer, self.config)
        self.portable = PortablePair(network, tokenizer)
        self.call = NetworkCall(network, self.config)
        self._versions = _versions(network)
        self.fingerprint = self._computed()

    def own_network(self):
        """Return a copy that nobody shares: frozen, float32, on the CPU."""
        self.check_unchanged()
        network, _ = deepcopy(self.portable).pair
        return network.float().cpu().eval().requires_grad_(False)

    @property
    def device_type(self):
        """Where it computes, "cpu" or "cuda"."""
        return self.call.device.type

    def check_unchanged(self):
        """See that the weights are those of fit.

        Raises
        ------
        ValueError
            If the network was trained, or changed otherwise, since.
        """
        now = _versions(self.network)
        if now == self._versions and None not in now:
            return
        if self._computed() != self.fingerprint:
            raise ValueError(
                "TransformerEmbedding: the loaded model's weights changed since fit. "
                "Fit the source again."
            )
        self._versions = now

    def _computed(self):
        state = self.network.state_dict()
        return fingerprint_of(_options(self.config, self.tokenizer), state.items())

    def _reference(self):
        """Return what a saved file tells of the model."""
        return {}

    def _files(self, where):
        """Return the files that a saved file takes in, by name."""
        return self.portable.files(where)

    def is_of(self, network, tokenizer):
        """Tell whether this is a handle on them, as they are now."""
        same = self.network is network and self.tokenizer is tokenizer
        return same and _versions(network) == self._versions

    def __reduce__(self):
        return _of_portable, (self.portable,)


def _of_portable(portable):
    return loaded_model(*portable.pair)


def loaded_model(network, tokenizer):
    """Return the process's handle on a loaded model, new if its weights changed.

    Parameters
    ----------
    network : torch Module
    tokenizer : transformers tokenizer

    Returns
    -------
    LoadedModel
    """
    key = id(network), id(tokenizer)
    with _lock:
        handle = _loaded.get(key)
        if handle is None or not handle.is_of(network, tokenizer):
            handle = _loaded[key] = LoadedModel(network, tokenizer)
        return handle


def _versions(network):
    """Return what changes when parameters are replaced or written to."""
    tensors = [*network.parameters(), *network.buffers()]
    return tuple(
        None if t.is_inference() else (t.data_ptr(), t._version, str(t.dtype))
        for t in tensors
    )


def _options(config, tokenizer):
    """Return what the vectors depend on besides the weights, as JSON has it."""
    told = config.to_dict() if hasattr(config, "to_dict") else vars(config)
    left_out = {"transformers_version", "_name_or_path", "dtype", "torch_dtype"}
    told = {name: value for name, value in told.items() if name not in left_out}
    return {
        "config": json.loads(json.dumps(told, default=str)),
        "tokenizer": _tokenizer_state(tokenizer),
    }


def _tokenizer_state(tokenizer):
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        state = json.loads(backend.to_str())
        return {k: v for k, v in state.items() if k not in ("truncation", "padding")}
    vocabulary = tokenizer.get_vocab() if hasattr(tokenizer, "get_vocab") else {}
    settings = getattr(tokenizer, "init_kwargs", {})
    return [type(tokenizer).__name__, vocabulary, json.dumps(settings, default=str)]
