"""A transformer and its tokenizer, loaded once per process.

A fitted source holds a handle of one of three classes:

- `TransformerModel`: a model from files. All sources with the same `ModelSpec` share
  it. Weights are loaded on first use, and a pickle contains only the name or folder,
  the revision and the fingerprint.
- `LoadedModel`: a (model, tokenizer) pair of the user. A pickle contains the weights.
- `LoadedEncoder` (`_loaded_encoder.py`): a SentenceTransformer of the user. A pickle
  refers to its files.

`_saved_kind`, `_reference`, `_files`, `from_reference` and `from_files` are used by
`sk_metaembed.save` and `load`.
"""

import json
import os
from copy import deepcopy
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary

from ..._io._fork_safe_lock import fork_safe_lock
from ..._io._handle_cache import HandleCache
from .._fingerprint import file_digest, fingerprint_of, reopen_model
from .._folder_kind import hint_of_folder
from .._hub import download, looks_like_path
from ._alignment import Aligner
from ._loading import check_size, load_config, load_network, load_tokenizer
from ._model_pickle import LoadedPair, refuse_unsafe
from ._network import Network, piece_limit, sentence_limit
from ._sentence_files import find_encoder, read_modules, read_prompts

# Weights in other formats than safetensors are pickles.
_SAFETENSORS = "*.safetensors"
_PICKLES = "pytorch_model*.bin"
_SETTINGS = (".json", ".txt", ".model", ".jinja", ".tiktoken")
_OTHER_FORMATS = ["onnx/*", "openvino/*", "*checkpoint*/*"]  # on the hub
_EXPECTED = (
    "config.json, model.safetensors (or its shards with "
    "model.safetensors.index.json) and the tokenizer's files (tokenizer.json, "
    "tokenizer_config.json; vocab.txt or similar)"
)

_lock = fork_safe_lock()
_handles = HandleCache(maxsize=2)
_loaded: WeakValueDictionary[tuple, "LoadedModel"] = WeakValueDictionary()


class ModelSpec(NamedTuple):
    """The options with which a model is loaded from files."""

    model: str
    revision: str | None = None
    trust_remote_code: bool = False
    trusted: bool = False
    device: str = "cpu"
    dtype: str = "float32"
    task: str | None = None  # of a sentence encoder with a Router


class _Handle:
    """Base of handles: the lock, the aligners and the limits of a tokenizer."""

    def __init__(self, tokenizer, config):
        # Held while tokenizer or network run: neither is thread-safe.
        self.lock = fork_safe_lock()
        self.tokenizer, self.config = tokenizer, config
        self._aligners = {}
        check_size(tokenizer, config)

    @property
    def limit(self):
        """Maximum number of pieces per input, None for no limit."""
        return piece_limit(self.config, self.tokenizer)

    @property
    def padding_id(self):
        """Id that pads shorter rows of a batch; some models count positions from it."""
        for holder in (self.config, self.tokenizer):
            pad = getattr(holder, "pad_token_id", None)
            if isinstance(pad, int) and pad >= 0:
                return pad
        return 0

    def aligner(self, prompt):
        """Return the Aligner with this prompt, created once."""
        with self.lock:
            if prompt not in self._aligners:
                self._aligners[prompt] = Aligner(self.tokenizer, prompt)
            return self._aligners[prompt]

    @cached_property
    def head(self):
        """The SentenceHead on the network's device."""
        from ._sentence_head import SentenceHead

        return SentenceHead(self.modules, self.network.device)

    @property
    def sentence_limit(self):
        """Maximum number of pieces of a sentence encoder, None for no limit."""
        return sentence_limit(self.config, self.tokenizer, self.modules.max_length)


class TransformerModel(_Handle):
    """A transformer from files, shared by all sources with the same options.

    Parameters
    ----------
    spec : ModelSpec
    root : Path
    encoder : EncoderFolder or None
    files : list of Path
        From `_model_files`.

    Attributes
    ----------
    tokenizer : transformers tokenizer
    config : transformers config
    fingerprint : str
        Digest of weights, modules, configuration, tokenizer and precision.
    dtype : str
        Name of the precision of the network.
    device_type : str
        Device of the network, "cpu" or "cuda".
    has_modules : bool
        Whether the files are those of a sentence encoder.
    prompts : dict of str to str
        The encoder's prompts by name.
    tasks : tuple of str
        The routes of the encoder's Router, empty without one.
    lock : RLock
    """

    _saved_kind = "transformer"  # in files that `save` writes

    def __init__(self, spec, root, encoder, files):
        self.spec, self._root, self._encoder = spec, root, encoder
        self._folder = _backbone(root, encoder)
        self.dtype, self.device_type = spec.dtype, spec.device.partition(":")[0]
        self.has_modules, self.prompts = encoder is not None, read_prompts(root)
        self.tasks = () if encoder is None else encoder.tasks
        config = load_config(self._folder, spec)
        super().__init__(load_tokenizer(self._folder, spec), config)
        self._network = None
        self._by_name = {path.relative_to(root).as_posix(): path for path in files}
        # Settings of the transformer are part of the options.
        digests = {
            name: file_digest(path)
            for name, path in self._by_name.items()
            if path.suffix not in _SETTINGS or path.parent not in (root, self._folder)
        }
        modules = None if encoder is None else encoder.modules
        self.fingerprint = fingerprint_of(
            {**_options(self.config, self.tokenizer), "files": digests}
            | {"dtype": spec.dtype, "modules": modules}
        )

    @cached_property
    def modules(self):
        """The SentenceModules; raises ValueError if one is not known."""
        return read_modules(self._root, self._encoder)

    @property
    def network(self):
        """The Network, loaded on first use."""
        with self.lock:
            if self._network is None:
                self._network = self.new_network(self.spec.dtype)
            return self._network

    def new_network(self, dtype):
        """Return a Network in some precision, loaded from the files."""
        module = load_network(self._folder, self.spec._replace(dtype=dtype))
        return Network(module, self.config, self.padding_id, private=True)

    def private_module(self):
        """Return a torch module that is not shared: frozen, float32, on the CPU."""
        spec = self.spec._replace(device="cpu", dtype="float32")
        return load_network(self._folder, spec)

    def _reference(self):
        """Return the content by which a saved file refers to the model."""
        return {**self.spec._asdict(), "fingerprint": self.fingerprint}

    def _files(self, caller):
        """Return the files of a bundle, by name."""
        trusted = self.spec.trusted or self.spec.trust_remote_code
        refuse_unsafe(self._by_name.values(), caller, trusted=trusted)
        return self._by_name

    def check_unchanged(self):
        """Do nothing: weights are read from files once and do not change."""

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return reopen_model, (shared_model, self.spec, self.fingerprint)


def shared_model(spec, *, local_files_only=False):
    """Return the process's TransformerModel; a new one if its files changed.

    Raises FileNotFoundError if there is no such model, or files are missing.
    """
    if os.path.isdir(spec.model):
        root = Path(os.path.abspath(spec.model))
        spec = spec._replace(model=str(root))
    elif looks_like_path(spec.model):
        raise FileNotFoundError(
            f"TransformerEmbedding: there is no folder {spec.model!r}. It should "
            f"contain {_EXPECTED}."
        )
    else:
        root = Path(_downloaded(spec, local_files_only))
        # The folder of the hub's cache is named after the commit; pickles refer to it.
        spec = spec._replace(revision=root.name)
    encoder = find_encoder(root, spec.task)
    if encoder is None or not encoder.tasks:
        spec = spec._replace(task=None)
    files = _model_files(root, encoder, spec)
    stats = ((str(path), path.stat()) for path in files)
    states = tuple((p, stat.st_size, stat.st_mtime_ns) for p, stat in stats)
    return _handles.get(
        (spec, states), lambda: TransformerModel(spec, root, encoder, files)
    )


class LoadedModel(_Handle):
    """A model and a tokenizer that the user has loaded, on their current device.

    It has the same methods as `TransformerModel`.

    Parameters
    ----------
    module : torch Module
    tokenizer : transformers tokenizer
    """

    _saved_kind = "loaded"  # in files that `save` writes, always with the weights
    has_modules = False
    prompts: dict[str, str] = {}
    tasks: tuple[str, ...] = ()

    def __init__(self, module, tokenizer):
        super().__init__(tokenizer, module.config)
        self.module = module
        self.portable = LoadedPair(module, tokenizer)
        self.network = Network(module, self.config, self.padding_id)
        self._versions = _versions(module)
        self.fingerprint = self._computed_fingerprint()

    def private_module(self):
        """Return a copy of the module: frozen, float32, on the CPU."""
        self.check_unchanged()
        module, _ = deepcopy(self.portable).pair
        return module.float().cpu().eval().requires_grad_(False)

    @property
    def device_type(self):
        """Device of the network, "cpu" or "cuda"."""
        return self.network.device.type

    @property
    def dtype(self):
        """Name of the precision of the network."""
        return str(next(self.module.parameters()).dtype).removeprefix("torch.")

    def check_unchanged(self):
        """Raise ValueError if the weights are no longer those of fit."""
        now = _versions(self.module)
        if now == self._versions and None not in now:
            return
        if self._computed_fingerprint() != self.fingerprint:
            raise ValueError(
                "TransformerEmbedding: the loaded model's weights changed since fit. "
                "Fit the source again."
            )
        self._versions = now

    def _computed_fingerprint(self):
        state = self.module.state_dict()
        return fingerprint_of(_options(self.config, self.tokenizer), state.items())

    def _reference(self):
        """Return an empty dict: a saved file contains the model itself."""
        return {}

    def _files(self, caller):
        """Return the files of a bundle, by name."""
        return self.portable.files(caller)

    def wraps(self, module, tokenizer):
        """Return whether this is a handle on these objects with the same weights."""
        same = self.module is module and self.tokenizer is tokenizer
        return same and _versions(module) == self._versions

    def __reduce__(self):
        return _of_portable, (self.portable,)


def _of_portable(portable):
    return loaded_model(*portable.pair)


def loaded_model(module, tokenizer):
    """Return the process's LoadedModel; a new one if its weights changed."""
    key = id(module), id(tokenizer)
    with _lock:
        handle = _loaded.get(key)
        if handle is None or not handle.wraps(module, tokenizer):
            handle = _loaded[key] = LoadedModel(module, tokenizer)
        return handle


def _versions(module):
    """Return values that change when a parameter is replaced or modified in place."""
    tensors = [*module.parameters(), *module.buffers()]
    return tuple(
        None if t.is_inference() else (t.data_ptr(), t._version, str(t.dtype))
        for t in tensors
    )


def _options(config, tokenizer):
    """Return everything but the weights that vectors depend on, as JSON values."""
    ignored = {"transformers_version", "_name_or_path", "dtype", "torch_dtype"}
    options = {k: value for k, value in config.to_dict().items() if k not in ignored}
    return {
        "config": json.loads(json.dumps(options, default=str)),
        "tokenizer": _tokenizer_state(tokenizer),
    }


def _tokenizer_state(tokenizer):
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        state = json.loads(backend.to_str())
        return {k: v for k, v in state.items() if k not in ("truncation", "padding")}
    settings = json.dumps(tokenizer.init_kwargs, default=str)
    return [type(tokenizer).__name__, tokenizer.get_vocab(), settings]


def from_reference(kind, content):
    """Return the handle that a saved file refers to; downloads nothing.

    Raises
    ------
    FileNotFoundError
        If the model is not on this machine.
    ValueError
        If the files contain another model now.
    """
    known = {name: content[name] for name in ModelSpec._fields if name in content}
    spec = ModelSpec(**known)
    if not is_local(spec.model, spec.revision):
        raise FileNotFoundError(
            f"the transformer {spec.model!r} is not on this machine, and loading a "
            "file downloads nothing."
        )
    local = partial(shared_model, local_files_only=True)
    return reopen_model(local, spec, content["fingerprint"])


def from_files(kind, content, folder):
    """Return the handle on a model from the files of a bundle."""
    refuse_unsafe(Path(folder).rglob("*"), "TransformerEmbedding")
    if kind == "transformer":
        local = {"model": str(folder), "revision": None}
        return from_reference(kind, {**content, **local})
    return loaded_model(*LoadedPair.from_files(folder).pair)


def _backbone(folder, encoder):
    """Return the folder of the transformer itself."""
    return folder if encoder is None else folder / encoder.modules[0][1]


def _downloaded(spec, local_files_only):
    patterns = [f"*{suffix}" for suffix in _SETTINGS] + [_SAFETENSORS]
    patterns.append("*/pytorch_model.bin")  # of modules, from which tensors are read
    patterns += [_PICKLES] if spec.trusted else []
    patterns += ["*.py"] if spec.trust_remote_code else []
    return download(
        spec.model,
        _EXPECTED,
        revision=spec.revision,
        allow_patterns=patterns,
        ignore_patterns=_OTHER_FORMATS,
        local_files_only=local_files_only,
    )


def _model_files(root, encoder, spec):
    """Return the sorted paths of a model's settings and weights, and of its code."""
    backbone = _backbone(root, encoder)
    hint = hint_of_folder(root, "TransformerEmbedding")
    if hint:
        raise ValueError(f"TransformerEmbedding: {root} has no transformer.{hint}")
    if not (backbone / "config.json").is_file():
        raise FileNotFoundError(
            f"TransformerEmbedding: the folder {backbone} has no config.json, so it "
            f"does not contain a transformer. It should contain {_EXPECTED}."
        )
    files = set(weight_files(backbone, safetensors=not spec.trusted))
    modules = () if encoder is None else encoder.modules
    folders = {root / place for _, place in modules if (root / place).is_dir()}
    for folder in folders - {root, backbone}:
        files |= set(folder.glob(_SAFETENSORS)) or set(folder.glob(_PICKLES))
    suffixes = (*_SETTINGS, ".py") if spec.trust_remote_code else _SETTINGS
    for folder in {root, *folders}:
        files |= {path for path in folder.iterdir() if path.suffix in suffixes}
    return sorted(files)


def weight_files(folder, *, safetensors=True):
    """Return the files with weights in a folder; raise FileNotFoundError if none."""
    safe = sorted(Path(folder).glob(_SAFETENSORS))
    pickles = sorted(Path(folder).glob(_PICKLES))
    if safe or (pickles and not safetensors):
        return safe or pickles
    if pickles:
        raise FileNotFoundError(
            f"TransformerEmbedding: {folder} has weights only as pickles "
            f"({pickles[0].name}), which can run any code when they are read. Provide "
            "model.safetensors, or if you trust the file use trusted=True."
        )
    raise FileNotFoundError(
        f"TransformerEmbedding: {folder} has no model.safetensors. It should contain "
        f"{_EXPECTED}."
    )


def is_local(model, revision=None):
    """Return whether a folder, or a model of the hub, is on this machine."""
    if os.path.isdir(model):
        return True
    if looks_like_path(model):
        return False
    from huggingface_hub import snapshot_download

    try:
        snapshot_download(model, revision=revision, local_files_only=True)
    except Exception:  # the client's errors share no base class
        return False
    return True
