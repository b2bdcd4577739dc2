"""TransformerModel: a network and its tokenizer, loaded once a process.

A fitted source holds a handle on it. A pickle of the handle is the model's name or
folder, its revision and its fingerprint; the weights are read where they are first
needed.

PortablePair: a loaded model and its tokenizer, as pickles hold them.

How transformers come back from files that `save` wrote.

The input table of a transformer as vectors of words.
"""

import json
import os
import tempfile
import threading
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from ..._io._handle_cache import HandleCache
from .._fingerprint import file_digest, fingerprint_of, is_dense_tensor, reopen_model
from ._alignment import Aligner
from ._forward import pool_pieces
from ._loading import (
    bundled_files,
    folder_of,
    kept_locally,
    load_config,
    load_network,
    load_tokenizer,
    own_randomness,
    refuse_adapter,
    signature_of,
    weight_files,
)
from ._network import NetworkCall, piece_limit
from ._tokenizer_checks import are_read, check_size

_WEIGHTS, _TOLD = "model.safetensors", "loaded.json"


class PortablePair:
    """A model and a tokenizer that can be pickled and copied.

    Once a model of transformers has given hidden states, hooks hang on it that cannot
    be pickled: its class, configuration and weights are taken instead.

    Parameters
    ----------
    network : torch Module
    tokenizer : transformers tokenizer
    """

    def __init__(self, network, tokenizer):
        self.pair = network, tokenizer

    def files(self, where):
        """Return what a saved file takes in: files by name, none of which is code.

        Parameters
        ----------
        where : str
            Begins the error message.

        Raises
        ------
        TypeError
            If the model is no class of transformers.
        """
        import transformers
        from safetensors.torch import save

        network, tokenizer = self.pair
        name = type(network).__name__
        if getattr(transformers, name, None) is not type(network):
            raise TypeError(
                f"{where}: the loaded model is {name}, no class of transformers, so a "
                "file could not say how to build it. Give the path of its folder."
            )
        _, (_, config, dtype, weights, how, _) = self.__reduce__()
        told = {"class": name, "dtype": str(dtype).rpartition(".")[2], **how}
        told["attention"] = config._attn_implementation
        with tempfile.TemporaryDirectory() as folder:
            config.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            found = {p.name: p.read_bytes() for p in Path(folder).iterdir()}
        flat = {key: weight.clone().contiguous() for key, weight in weights.items()}
        return {**found, _WEIGHTS: save(flat), _TOLD: json.dumps(told).encode()}

    @classmethod
    def of_files(cls, folder):
        """Return the pair that `files` told of, from a folder with them.

        Parameters
        ----------
        folder : Path
        """
        import torch
        import transformers
        from safetensors.torch import load_file

        told = json.loads(Path(folder, _TOLD).read_text())
        kind = getattr(transformers, told["class"])
        if not issubclass(kind, transformers.PreTrainedModel):
            raise ValueError(f"{told['class']} is no model of transformers.")
        config = kind.config_class.from_pretrained(folder, local_files_only=True)
        config._attn_implementation = told["attention"]
        # Not left open: transformers would ask at the terminal whether to run code.
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
        weights, dtype = (
            load_file(Path(folder, _WEIGHTS)),
            getattr(torch, told["dtype"]),
        )
        return _rebuilt(kind, config, dtype, weights, told, tokenizer)

    def __reduce__(self):
        from transformers import PreTrainedModel

        network, tokenizer = self.pair
        if not isinstance(network, PreTrainedModel):
            return PortablePair, self.pair
        lost = [k for k, w in network.state_dict().items() if not is_dense_tensor(w)]
        if lost:
            raise TypeError(
                f"TransformerEmbedding: {lost[0]!r} of the loaded model is no plain "
                "tensor, as in quantised models, which cannot be pickled or copied. "
                "Use n_jobs=1, or a folder's path as model."
            )
        weights = {name: w.detach().cpu() for name, w in network.state_dict().items()}
        how = {"device": str(network.device), "training": network.training}
        kind = type(network), network.config, network.dtype
        return _rebuilt, (*kind, weights, how, tokenizer)


def _rebuilt(kind, config, dtype, weights, how, tokenizer):
    import torch

    with own_randomness():
        network = kind(config).to(dtype)
    network.load_state_dict(weights)
    if torch.device(how["device"]).type != "cuda" or torch.cuda.is_available():
        network.to(how["device"])
    return PortablePair(network.train(how["training"]), tokenizer)


_lock = threading.RLock()
_handles = HandleCache(maxsize=2)
_loaded: WeakValueDictionary[tuple, "LoadedModel"] = WeakValueDictionary()


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

    _saved_kind = "transformer"  # in files that `save` writes

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
    return reopen_model(
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

    _saved_kind = "loaded"  # in files that `save` writes, whole in any case

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


def from_reference(kind, content):
    """Return the handle on a model that a saved file refers to; nothing is fetched.

    Raises
    ------
    FileNotFoundError
        If it is not on this machine.
    ValueError
        If it is another model by now.
    """
    spec = ModelSpec(*(content[name] for name in ModelSpec._fields))
    if not kept_locally(spec.model, spec.revision):
        raise FileNotFoundError(
            f"the transformer {spec.model!r} is not on this machine, and loading a "
            "file fetches nothing."
        )
    return _reopen(spec, content["fingerprint"])


def from_files(kind, content, folder):
    """Return the model that came in a saved file: a handle, or both parts loaded."""
    refuse_adapter(folder, "TransformerEmbedding")
    if kind == "transformer":
        place = {"model": str(folder), "revision": None}
        return from_reference(kind, {**content, **place})
    pair = PortablePair.of_files(folder).pair
    return loaded_model(*pair)


_WORDS_AT_ONCE = 50_000


def static_vectors(model, aligner, words, subword):
    """Return the pooled rows of the input table for distinct words.

    Parameters
    ----------
    model : TransformerModel or LoadedModel
    aligner : Aligner
    words : sequence of str
    subword : {"first", "last", "mean", "max"}

    Returns
    -------
    values : ndarray of float32, shape (n_words, dim)
    known : ndarray of bool, shape (n_words,)
        Not for words without a piece, or with none but the unknown one.
    """
    table = model.call.table()
    values = np.zeros((len(words), table.shape[1]), np.float32)
    known = np.zeros(len(words), dtype=bool)
    for start in range(0, len(words), _WORDS_AT_ONCE):
        with model.lock:
            pieces = aligner.encode_words(words[start : start + _WORDS_AT_ONCE])
        rows = np.flatnonzero(are_read(pieces, model.tokenizer))
        if len(rows):
            here = rows + start
            chosen = [pieces[i] for i in rows]
            model.call.check_pieces(np.concatenate(chosen))
            values[here] = _pooled(table, chosen, subword)
            known[here] = True
    return values, known


def _pooled(table, pieces, subword):
    import torch

    ids = torch.from_numpy(np.concatenate(pieces)).to(table.device)
    sizes = torch.tensor([len(p) for p in pieces], device=table.device)
    return pool_pieces(table[ids].float(), sizes, subword).cpu().numpy()
