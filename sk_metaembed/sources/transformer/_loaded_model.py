"""LoadedModel: a model and its tokenizer that the user has loaded.

Pickles and saved files contain it as a `LoadedPair`.
"""

import json
import tempfile
from copy import deepcopy
from pathlib import Path

from .._encoder_modules import check_task
from .._fingerprint import fingerprint_of, is_dense_tensor
from .._loaded_encoder import (
    LoadedHandle,
    check_route,
    content_of,
    is_sentence_encoder,
    loaded_modules,
    read_files,
    write_modules,
)
from ._model import Transformer, options_of
from ._model_files import (
    OPTIONS,
    check_transformer,
    own_randomness,
    read_loaded,
    refuse_unsafe,
)
from ._network import Network

_WEIGHTS, _SETTINGS = "model.safetensors", "loaded.json"
_ENCODER = "encoder"  # the folder of the modules in a bundle


class LoadedPair:
    """A model and a tokenizer that can be pickled and copied.

    After a model of transformers has returned hidden states, it has hooks that cannot
    be pickled. The pickle therefore contains its class, configuration and weights.
    `encoder` contains the files of the modules of a sentence encoder, bytes by name.
    """

    def __init__(self, module, tokenizer, encoder=None):
        self.pair, self.encoder = (module, tokenizer), encoder

    @property
    def parameter(self):
        """The value of the parameter `model`."""
        return self.pair if self.encoder is None else self

    def is_same(self, other):
        """Return whether another LoadedPair has the same model and modules."""
        same = all(a is b for a, b in zip(self.pair, other.pair, strict=True))
        return same and self.encoder == other.encoder

    def __repr__(self):
        names = ", ".join(type(part).__name__ for part in self.pair)
        return f"LoadedPair({names})"

    def files(self):
        """Return the content of a bundle's files by name, without code."""
        import transformers
        from safetensors.torch import save

        module, tokenizer = self.pair
        name = type(module).__name__
        if getattr(transformers, name, None) is not type(module):
            raise TypeError(
                f"the loaded model is a {name}, which is not a class of transformers, "
                "so a saved file cannot describe how to build it. Pass the path of its "
                "folder instead."
            )
        _, (_, config, dtype, weights, state, *_) = self.__reduce__()
        settings = {"class": name, "dtype": str(dtype).rpartition(".")[2], **state}
        settings["attention"] = config._attn_implementation
        with tempfile.TemporaryDirectory() as folder:
            config.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            files = {p.name: p.read_bytes() for p in Path(folder).iterdir()}
        flat = {key: weight.clone().contiguous() for key, weight in weights.items()}
        content = json.dumps(settings).encode()
        encoder = self.encoder or {}
        files |= {f"{_ENCODER}/{name}": data for name, data in encoder.items()}
        return {**files, _WEIGHTS: save(flat), _SETTINGS: content}

    @classmethod
    def from_files(cls, folder):
        """Return the pair whose `files` are in a folder."""
        import torch
        import transformers
        from safetensors.torch import load_file

        settings = json.loads(Path(folder, _SETTINGS).read_text(encoding="utf-8"))
        model_class = getattr(transformers, settings["class"])
        if not issubclass(model_class, transformers.PreTrainedModel):
            raise ValueError(f"{settings['class']} is not a model of transformers.")
        config = model_class.config_class.from_pretrained(folder, local_files_only=True)
        config._attn_implementation = settings["attention"]
        # Without a value, transformers would ask at the terminal whether to run code.
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
        weights = load_file(Path(folder, _WEIGHTS))
        dtype = getattr(torch, settings["dtype"])
        place = Path(folder, _ENCODER)
        encoder = read_files(place) if place.is_dir() else None
        options = weights, settings, tokenizer, encoder
        return _rebuilt(model_class, config, dtype, *options)

    def __reduce__(self):
        from transformers import PreTrainedModel

        module, tokenizer = self.pair
        if not isinstance(module, PreTrainedModel):
            return LoadedPair, (*self.pair, self.encoder)
        weights = module.state_dict()
        lost = [name for name, w in weights.items() if not is_dense_tensor(w)]
        if lost:
            raise TypeError(
                f"{lost[0]!r} of the loaded model is not a dense tensor, as in "
                "quantized models, which cannot be pickled or copied. Use n_jobs=1, or "
                "pass the path of a folder as model."
            )
        weights = {name: w.detach().cpu() for name, w in weights.items()}
        state = {"device": str(module.device), "training": module.training}
        model = type(module), module.config, module.dtype
        return _rebuilt, (*model, weights, state, tokenizer, self.encoder)


def _rebuilt(model_class, config, dtype, weights, state, tokenizer, encoder=None):
    import torch

    with own_randomness():
        module = model_class(config).to(dtype)
    module.load_state_dict(weights)
    if torch.device(state["device"]).type != "cuda" or torch.cuda.is_available():
        module.to(state["device"])
    return LoadedPair(module.train(state["training"]), tokenizer, encoder)


def is_pair(model):
    """Return whether an object is a loaded model with its tokenizer."""
    return (
        isinstance(model, tuple | list)
        and len(model) == 2
        and hasattr(model[0], "config")
        and hasattr(model[0], "state_dict")
        and callable(model[1])
    )


def portable_pair(model, task=None):
    """Return the LoadedPair of a loaded model, None for anything else."""
    if isinstance(model, LoadedPair):
        check_route(model.encoder or {}, task)
        return model
    if is_sentence_encoder(model):
        return _encoder_pair(model, task)
    if not is_pair(model):
        return None
    check_task(task, type(model[0]).__name__)
    return LoadedPair(*model)


def _encoder_pair(model, task):
    """Return the LoadedPair of a SentenceTransformer, for the texts of a task."""
    (kind, first), *rest = loaded_modules(model, task)
    network = getattr(first, "auto_model", None)
    if not hasattr(network, "state_dict") or getattr(first, "tokenizer", None) is None:
        raise ValueError(
            f"this SentenceTransformer begins with the module {kind}, not with a "
            "transformer in torch. make_embedding(model) chooses the class for static "
            "models; for others use FunctionEmbedding(model.encode, level='sequence', "
            "as_text=True)."
        )
    check_transformer(kind, first.get_config_dict())

    def write(folder):
        write_modules(model, rest, folder, task)
        options = {"max_seq_length": first.max_seq_length}
        Path(folder, OPTIONS).write_text(json.dumps(options), encoding="utf-8")

    return LoadedPair(network, first.tokenizer, content_of(write))


def check_pair(model):
    """Raise TypeError unless an object is a loaded model with its tokenizer."""
    if is_pair(model) or is_sentence_encoder(model) or isinstance(model, LoadedPair):
        return
    parts = model if isinstance(model, tuple | list) else [model]
    found = [type(part).__name__ for part in parts]
    hint = ""
    if hasattr(model, "encode"):  # a model of another library
        hint = (
            " FunctionEmbedding(model.encode, level='sequence', as_text=True) calls "
            "its encode."
        )
    raise TypeError(
        "model must be a folder, a name on the Hugging Face hub, (model, tokenizer) as "
        f"transformers loads them, or a SentenceTransformer; got {found}.{hint}"
    )


class LoadedModel(LoadedHandle, Transformer, keep=0):
    """A model and a tokenizer that the user has loaded, on their current device.

    Pickles, copies and saved files contain the weights, as a LoadedPair.
    """

    _kind = "loaded model"
    __deepcopy__ = None  # type: ignore[assignment]  # copied by `__reduce__`

    def __init__(self, portable):
        module, tokenizer = portable.pair
        super().__init__(None, tokenizer, module.config)
        self.module, self.portable = module, portable
        self._contents = (portable,)
        self.has_modules = portable.encoder is not None
        if self.has_modules:
            self.modules, self.settings = read_loaded(portable.encoder)
        self._network = Network(module, self.config, self.padding_id)
        self._versions = _versions(module)
        self.fingerprint = self._computed_fingerprint()

    @classmethod
    def of(cls, portable):
        """Return the process's handle of a model; a new one if its weights changed."""
        module, tokenizer = portable.pair
        versions = _versions(module)
        if None in versions:
            return cls(portable)
        encoder = portable.encoder and tuple(portable.encoder.items())
        key = id(module), id(tokenizer), versions, encoder
        return cls._handles.get(key, lambda: cls(portable))

    @property
    def parameter(self):
        """The value of the parameter `model` of a source."""
        return self.portable.parameter

    @property
    def device_type(self):
        """Type of the device of the network, "cpu" or "cuda"."""
        return self.network.device.type

    @property
    def dtype(self):
        """Name of the precision of the network."""
        return str(next(self.module.parameters()).dtype).removeprefix("torch.")

    def private_module(self):
        """Return a copy of the module: frozen, float32, on the CPU."""
        self.check_unchanged()
        module, _ = deepcopy(self.portable).pair
        return module.float().cpu().eval().requires_grad_(False)

    def check_unchanged(self):
        """Raise ValueError if the weights changed since fit."""
        now = _versions(self.module)
        if now == self._versions and None not in now:
            return
        if self._computed_fingerprint() != self.fingerprint:
            raise ValueError(
                "the loaded model's weights changed since fit. Fit the source again."
            )
        self._versions = now

    def _computed_fingerprint(self):
        state = self.module.state_dict()
        options = options_of(self.config, self.tokenizer)
        if self.has_modules:
            options["modules"] = self.modules.fingerprint
        return fingerprint_of(options, state.items())

    def _files(self):
        """Return the files that a saved file contains, by name."""
        return self.portable.files()

    @classmethod
    def _from_reference(cls, content, folder=None):
        """Return the handle of the model in a folder."""
        refuse_unsafe(folder.rglob("*"))
        return cls.of(LoadedPair.from_files(folder))


def _versions(module):
    """Return values that change when a parameter is replaced or modified in place.

    None for tensors of inference mode, which do not count modifications.
    """
    tensors = [*module.parameters(), *module.buffers()]
    return tuple(
        None if t.is_inference() else (t.data_ptr(), t._version, str(t.dtype))
        for t in tensors
    )
