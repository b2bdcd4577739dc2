"""SentenceModules: the steps of a sentence encoder, read from its files.

The file modules.json of sentence-transformers lists the steps from texts to vectors,
each with a class and a folder of options and weights. They are read without that
library, from JSON and tensors only. An unknown class raises an error, because vectors
without its step would differ from the authors' vectors.
"""

from pathlib import Path, PurePosixPath
from typing import NamedTuple

from .._fingerprint import fingerprint_of
from .._folder_kind import listed_modules, optional_json

_MODULES = "modules.json"
_SETTINGS = "config_sentence_transformers.json"
_TRANSFORMER_FILES = (
    *("sentence_bert_config.json", "sentence_roberta_config.json"),
    *("sentence_distilbert_config.json", "sentence_camembert_config.json"),
    *("sentence_albert_config.json", "sentence_xlm-roberta_config.json"),
    "sentence_xlnet_config.json",
)
_TRANSFORMERS = (
    "Transformer",
    "BERT",
    "RoBERTa",
    "DistilBERT",
    "CamemBERT",
    "XLMRoBERTa",
)
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
# Options of the transformer that change neither its vectors nor its pieces, or that
# parameters of the source decide.
_IGNORED_MODEL_OPTIONS = {
    *("torch_dtype", "dtype", "attn_implementation", "device_map", "add_pooling_layer"),
    *("low_cpu_mem_usage", "use_safetensors", "unpad_inputs"),
}
_UNKNOWN_OPTIONS = (
    *("query_length", "document_length", "query_expansion", "processing_kwargs"),
)


class SentenceModules(NamedTuple):
    """The steps of a sentence encoder after its transformer, and its options.

    Attributes
    ----------
    steps : tuple of dict
        The pooling and those after it, each with its "kind" and options; see `_STEPS`.
    weights : dict of str to ndarray
        By the number of the step and the name there, "1.linear.weight".
    prompts : dict of str to str
    default_prompt : str or None
        Name of the prompt that is used by default.
    truncate_dim : int or None
        Number of dimensions to keep.
    max_length : int or None
        Maximum number of pieces; None for the limit of tokenizer and network.
    """

    steps: tuple
    weights: dict
    prompts: dict
    default_prompt: str | None = None
    truncate_dim: int | None = None
    max_length: int | None = None

    @property
    def pooling(self):
        """The options of the pooling step."""
        return self.steps[0]

    def dim(self, dim):
        """Return the dimension of vectors, given the transformer's dimension."""
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


def find_encoder(folder):
    """Return class and folder of each module, None for a folder without modules.

    A tuple, in which the transformer is first.
    """
    folder = Path(folder)
    if not (folder / _MODULES).is_file():
        return None
    modules = [(kind, _inside(path, folder)) for kind, path in listed_modules(folder)]
    if not modules:
        raise ValueError(f"{folder / _MODULES} lists no modules.")
    return tuple(modules)


def backbone_options(folder):
    """Return the options in a transformer's folder that sentence-transformers reads."""
    for name in _TRANSFORMER_FILES:
        options = optional_json(Path(folder) / name)
        if options:
            return options
    return {}


def tokenizer_options(folder):
    """Return the arguments with which configuration and tokenizer are loaded.

    Returns
    -------
    config, tokenizer : dict
    lower_case : bool
        Whether texts are lower-cased first.
    """
    options = backbone_options(folder)
    config = _renamed(options, "config_kwargs", "config_args")
    tokenizer = _renamed(options, "processor_kwargs", "tokenizer_args")
    return config, tokenizer, bool(options.get("do_lower_case"))


def _renamed(options, name, old):
    content = dict(options.get(name) or options.get(old) or {})
    for loading in ("trust_remote_code", "token", "cache_dir", "revision"):
        content.pop(loading, None)
    return content


def read_prompts(folder):
    """Return the prompts of an encoder, by name."""
    prompts = optional_json(Path(folder) / _SETTINGS).get("prompts") or {}
    return {name: text or "" for name, text in prompts.items()}


def read_modules(folder, encoder):
    """Return the SentenceModules of a folder, whose modules `find_encoder` returned.

    Raises
    ------
    ValueError
        If a module or one of its options is not known.
    """
    folder = Path(folder)
    settings = optional_json(folder / _SETTINGS)
    kind = settings.get("model_type") or "SentenceTransformer"
    if kind != "SentenceTransformer":
        raise unknown_module(kind, "a model of another type")
    (first, place), *rest = encoder
    backbone = backbone_options(folder / place)
    _check_transformer(first, backbone)
    steps, weights = [], {}
    for kind, place in rest:
        if kind not in _STEPS:
            raise unknown_module(kind)
        options = optional_json(folder / place / "config.json")
        step = {"kind": kind, **_STEPS[kind](options)}
        if kind in _WITH_WEIGHTS:
            arrays = _read_weights(folder / place).items()
            weights |= {f"{len(steps)}.{name}": array for name, array in arrays}
        if kind != "Dropout":  # has no effect on frozen models
            steps.append(step)
    kinds = [step["kind"] for step in steps]
    if kinds[:1] != ["Pooling"] or kinds.count("Pooling") > 1:
        raise unknown_module("Transformer", f"the modules {kinds} after it")
    return SentenceModules(
        tuple(steps),
        weights,
        read_prompts(folder),
        settings.get("default_prompt_name"),
        settings.get("truncate_dim"),
        backbone.get("max_seq_length"),
    )


def _check_transformer(kind, options):
    """Raise ValueError if the first module is not a transformer of texts."""
    if kind not in _TRANSFORMERS:
        raise unknown_module(kind)
    task = options.get("transformer_task") or "feature-extraction"
    if task != "feature-extraction":
        raise unknown_module(kind, f"transformer_task={task!r}")
    for name in _UNKNOWN_OPTIONS:
        if options.get(name):
            raise unknown_module(kind, f"{name}={options[name]!r}")
    if options.get("modality_config") is not None:
        _check_modality(kind, options["modality_config"])
    if options.get("module_output_name") not in (None, "token_embeddings"):
        raise unknown_module(kind, f"output {options['module_output_name']!r}")
    model = _renamed(options, "model_kwargs", "model_args")
    other = sorted(set(model) - _IGNORED_MODEL_OPTIONS)
    if other:
        raise unknown_module(kind, f"model_args={other}")


def _check_modality(kind, modalities):
    """Raise ValueError unless texts are read as they are, to last hidden states."""
    text = modalities.get("text") or {}
    outputs = text.get("method_output_name")
    outputs = [outputs] if isinstance(outputs, str) else list(outputs or ())
    if text.get("method") != "forward" or outputs != ["last_hidden_state"]:
        raise unknown_module(kind, f"texts as {text or None}")
    if "message" in modalities:
        raise unknown_module(kind, "texts in a chat template")


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
    hint = ""
    if kind == "StaticEmbedding":
        hint = "StaticSubwordEmbedding(folder, output='mean') reads it, or "
    return ValueError(
        f"this sentence encoder has the module {kind}{what}, "
        "which output='sentence' does not compute, and it is never skipped. Use "
        f"{hint}sentence-transformers itself: FunctionEmbedding(model.encode, "
        "level='sequence', as_text=True). output='words' needs no modules."
    )


def _read_weights(folder):
    """Return the arrays of a module by name, from safetensors or a pickle of tensors.

    torch reads only tensors from the pickle (``weights_only``), and runs no code.
    """
    path = Path(folder) / "model.safetensors"
    if path.is_file():
        from safetensors.torch import load_file

        tensors = load_file(path)
    else:
        import torch

        path = Path(folder) / "pytorch_model.bin"
        if not path.is_file():
            raise FileNotFoundError(
                f"the module in {folder} has no weights. Expected model.safetensors or "
                "pytorch_model.bin."
            )
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    return {name: tensor.float().numpy() for name, tensor in tensors.items()}


def _inside(path, folder):
    """Return a relative path as it is, or raise: it must not lead out of the folder."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    if ".." in parts or path.startswith("/") or ":" in path:
        raise ValueError(
            f"{folder}: the module's path {path!r} leads out of the folder."
        )
    return "/".join(part for part in parts if part != ".")
