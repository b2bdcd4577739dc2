"""SentenceModules: the steps of a sentence encoder after its first module.

They are read without sentence-transformers, from JSON and tensors only. An unknown
class raises an error, because vectors without its step would differ from the authors'
vectors.
"""

from pathlib import Path
from typing import NamedTuple

from .._fingerprint import fingerprint_of
from .._module_list import optional_json

_POOLING_FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_ACTIVATIONS = ("torch.nn.modules.activation", "torch.nn.modules.linear", "torch.nn")
_SENTENCE = "sentence_embedding"
# Classes of sentence-transformers whose results are not one dense vector per text.
_OTHER_MODELS = {
    "SparseEncoder": "vectors of the size of its vocabulary",
    "CrossEncoder": "scores of pairs of texts, and no vectors of texts",
    "MultiVectorEncoder": "one vector per piece, and none of whole texts",
}


class SentenceModules(NamedTuple):
    """The steps of a sentence encoder from vectors of pieces to vectors of texts.

    Attributes
    ----------
    steps : tuple of dict
        The pooling and those after it, each with its "kind" and options; see `_STEPS`.
    weights : dict of str to ndarray
        By the number of the step and the name there, "1.linear.weight".
    max_length : int or None
        Maximum number of pieces; None for the limit of tokenizer and network.
    """

    steps: tuple
    weights: dict
    max_length: int | None = None

    @property
    def pooling(self):
        """The options of the pooling step."""
        return self.steps[0]

    def dim(self, dim):
        """Return the dimension of vectors, given that of the pieces."""
        dim *= len(self.pooling["modes"])
        for i, step in enumerate(self.steps):
            if step["kind"] == "Dense":
                dim = len(self.weights[f"{i}.linear.weight"])
        return dim

    def differs_from(self, output):
        """Return how vectors differ from a pooling without modules, None if not."""
        modes = self.pooling["modes"]
        if modes != [output]:
            return f"pooling by {', '.join(modes)}"
        kinds = [step["kind"] for step in self.steps[1:]]
        others = [kind for kind in kinds if kind != "Normalize"]
        return f"the module {others[0]}" if others else None

    @property
    def fingerprint(self):
        """Digest of the steps and their weights."""
        return fingerprint_of({"steps": self.steps}, self.weights.items())


def read_modules(folder, modules, *, pooling=None, max_length=None):
    """Return the SentenceModules of a folder.

    Parameters
    ----------
    folder : Path
    modules : sequence of (kind, place)
        The modules after the first.
    pooling : list of str, default=None
        How the first module pools pieces, if it does.
    max_length : int, default=None
        Maximum number of pieces.

    Raises
    ------
    ValueError
        If a module or one of its options is not known.
    """
    steps, weights = [], {}
    if pooling is not None:
        steps.append({"kind": "Pooling", "modes": pooling, "include_prompt": True})
    for kind, place in modules:
        if kind not in _STEPS:
            raise unknown_module(kind)
        options = optional_json(folder / place / "config.json")
        step = {"kind": kind, **_STEPS[kind](options)}
        if kind in _WITH_WEIGHTS:
            arrays = read_weights(folder / place).items()
            weights |= {f"{len(steps)}.{name}": array for name, array in arrays}
        if kind != "Dropout":  # has no effect on frozen models
            steps.append(step)
    kinds = [step["kind"] for step in steps]
    if kinds[:1] != ["Pooling"] or kinds.count("Pooling") > 1:
        raise unknown_module("Transformer", f"the modules {kinds} after it")
    return SentenceModules(tuple(steps), weights, max_length)


def check_model_type(settings):
    """Raise ValueError if the EncoderSettings belong to a model of another type."""
    if settings.model_type in _OTHER_MODELS:
        raise ValueError(
            f"this folder has a {settings.model_type} of sentence-transformers, which "
            f"has {_OTHER_MODELS[settings.model_type]}. Use sentence-transformers "
            "itself. TransformerEmbedding(folder, output='words') reads its "
            "transformer."
        )
    if settings.model_type != "SentenceTransformer":
        raise unknown_module(settings.model_type, "a model of another type")


def _pooling(options):
    modes = options.get("pooling_mode")
    if modes is None:
        modes = [mode for flag, mode in _POOLING_FLAGS.items() if options.get(flag)]
        modes = modes or ["mean"]
    modes = [modes] if isinstance(modes, str) else list(modes)
    unknown = [mode for mode in modes if mode not in _POOLING_FLAGS.values()]
    if unknown:
        raise unknown_module("Pooling", f"pooling_mode={unknown[0]!r}")
    return {"modes": modes, "include_prompt": bool(options.get("include_prompt", True))}


def _dense(options):
    name = options.get("activation_function", "torch.nn.modules.activation.Tanh")
    room, _, activation = name.rpartition(".")
    if room not in _ACTIVATIONS:
        raise unknown_module("Dense", f"activation_function={name!r}")
    residual = bool(options.get("use_residual", False))
    _checked_place("Dense", options)
    return {"activation": activation, "use_residual": residual}


def _checked_place(kind, options):
    """Raise ValueError unless a module maps vectors of texts to vectors of texts."""
    source = options.get("module_input_name") or _SENTENCE
    target = options.get("module_output_name") or source
    if {source, target} != {_SENTENCE}:
        raise unknown_module(kind, f"{source!r} to {target!r}")
    return {}


_STEPS = {
    "Pooling": _pooling,
    "Dense": _dense,
    "LayerNorm": lambda options: {},
    "Normalize": lambda options: _checked_place("Normalize", options),
    "Dropout": lambda options: {},
}
_WITH_WEIGHTS = ("Dense", "LayerNorm")


def unknown_module(kind, what=None):
    """Return the error for a module whose step is not known."""
    what = f" with {what}" if what else ""
    return ValueError(
        f"this sentence encoder has the module {kind}{what}, which is not computed "
        "here, and it is never skipped. Use sentence-transformers itself: "
        "FunctionEmbedding(model.encode, level='sequence', as_text=True). "
        "output='words' needs no modules."
    )


def read_weights(folder):
    """Return the arrays of a module by name, from safetensors or a pickle of tensors.

    torch reads only tensors from the pickle (``weights_only``), and runs no code.
    """
    path = Path(folder) / "model.safetensors"
    if path.is_file():
        from safetensors.torch import load_file

        tensors = load_file(path)
    else:
        path = Path(folder) / "pytorch_model.bin"
        if not path.is_file():
            raise FileNotFoundError(
                f"the module in {folder} has no weights. Expected model.safetensors or "
                "pytorch_model.bin."
            )
        tensors = read_pickle(path)
    return {name: tensor.float().numpy() for name, tensor in tensors.items()}


def read_pickle(path):
    """Return the tensors in a pickle by name; torch reads nothing else from it."""
    import torch

    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch's errors share no base class
        raise ValueError(
            f"{path} is not a file of tensors, or is corrupt: {error}"
        ) from error
    if not isinstance(tensors, dict):
        raise ValueError(f"{path} is corrupt: expected tensors by name.")
    return tensors
