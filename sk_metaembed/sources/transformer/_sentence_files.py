"""SentenceModules: read the files of a sentence encoder.

The file modules.json of sentence-transformers lists the steps from texts to vectors,
each with a class and a folder of options and weights. They are read without that
library, from JSON and tensors only. An unknown class raises an error, because vectors
without its step would differ from those of the authors.
"""

import json
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from .._fingerprint import fingerprint_of

# Of a bundle, whose files have no folders: modules as they are used, and their weights.
PACKED, PACKED_WEIGHTS = "sentence_modules.json", "sentence_modules.weights"
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
# Options of the transformer that change neither its vectors nor its pieces, or that
# parameters of the source decide.
_IGNORED_MODEL_OPTIONS = {
    *("torch_dtype", "dtype", "attn_implementation", "device_map", "add_pooling_layer"),
    *("low_cpu_mem_usage", "use_safetensors", "unpad_inputs"),
}
_UNKNOWN_OPTIONS = (
    *("query_length", "document_length", "query_expansion", "processing_kwargs"),
)
_STEPS = ("Pooling", "Dense", "LayerNorm", "Normalize", "Dropout")
_WITH_WEIGHTS = ("Dense", "LayerNorm")


class SentenceModules(NamedTuple):
    """The steps of a sentence encoder behind its transformer, and its options.

    Attributes
    ----------
    steps : tuple of dict
        In order, each with its "kind" and its options; see `_STEPS`.
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
        return next(step for step in self.steps if step["kind"] == "Pooling")

    def dim(self, dim):
        """Return the dimension of vectors, given that of the transformer."""
        for i, step in enumerate(self.steps):
            if step["kind"] == "Pooling":
                dim *= len(step["modes"])
            elif step["kind"] == "Dense":
                dim = len(self.weights[f"{i}.linear.weight"])
        return dim

    def differs_from(self, output):
        """Return how vectors differ from a pooling without modules, None if not."""
        modes = self.pooling["modes"]
        if modes != [output]:
            return f"pooling by {', '.join(modes)}"
        ignored = "Pooling", "Normalize", "Dropout"
        others = [step["kind"] for step in self.steps if step["kind"] not in ignored]
        return f"the module {others[0]}" if others else None

    @property
    def fingerprint(self):
        """Digest of the steps and their weights."""
        return fingerprint_of({"steps": self.steps}, self.weights.items())

    def packed(self):
        """Return the content of two files, JSON and tensors."""
        from safetensors.numpy import save

        options = {**self._asdict(), "weights": None}
        return {
            PACKED: json.dumps(options).encode(),
            PACKED_WEIGHTS: save(self.weights),
        }


def find_modules(folder):
    """Return the (class, folder) of each module, the transformer first, or None."""
    folder = Path(folder)
    if not (folder / _MODULES).is_file() or (folder / PACKED).is_file():
        return None
    modules = tuple(
        (_kind(_entry(module, "type", folder)), _inside(module.get("path", ""), folder))
        for module in _json(folder / _MODULES, list)
    )
    if not modules:
        raise ValueError(f"{folder / _MODULES} lists no modules.")
    if modules[0][0] in ("Router", "Asym"):
        raise unknown_module(modules[0][0])
    return modules


def backbone_options(folder):
    """Return the options in a transformer's folder that sentence-transformers reads."""
    for name in _TRANSFORMER_FILES:
        options = _optional(Path(folder) / name)
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
    packed = _optional(Path(folder) / PACKED)
    prompts = (packed or _optional(Path(folder) / _SETTINGS)).get("prompts") or {}
    return {name: text or "" for name, text in prompts.items()}


def read_modules(folder, modules):
    """Return the SentenceModules of a folder.

    Parameters
    ----------
    folder : Path
    modules : tuple of (str, str) or None
        From `find_modules`; None for the folder of a bundle.

    Raises
    ------
    ValueError
        If a module or one of its options is not known.
    """
    folder = Path(folder)
    if (folder / PACKED).is_file():
        from safetensors.numpy import load

        options = _json(folder / PACKED, dict)
        weights = load((folder / PACKED_WEIGHTS).read_bytes())
        steps = tuple(options.pop("steps"))
        return SentenceModules(**{**options, "steps": steps, "weights": weights})
    settings = _optional(folder / _SETTINGS)
    kind = settings.get("model_type") or "SentenceTransformer"
    if kind != "SentenceTransformer":
        raise unknown_module(kind, "a model of another type")
    (first, place), *rest = modules
    backbone = backbone_options(folder / place)
    _check_transformer(first, backbone)
    steps, weights = [], {}
    for kind, place in rest:
        options = _optional(folder / place / "config.json")
        steps.append(_step(kind, options))
        if kind in _WITH_WEIGHTS:
            arrays = read_weights(folder / place)
            weights |= {f"{len(steps) - 1}.{name}": a for name, a in arrays.items()}
    kinds = [step["kind"] for step in steps if step["kind"] != "Dropout"]
    if kinds[:1] != ["Pooling"] or kinds.count("Pooling") > 1:
        raise unknown_module("Transformer", f"the modules {kinds} behind it")
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
    if (options.get("module_output_name") or "token_embeddings") != "token_embeddings":
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


def _step(kind, options):
    """Return a module as a dict, or raise if it or an option of it is not known."""
    if kind not in _STEPS:
        raise unknown_module(kind)
    for name in ("module_input_name", "module_output_name"):
        if (options.get(name) or "sentence_embedding") != "sentence_embedding":
            raise unknown_module(kind, f"{name}={options[name]!r}")
    if kind == "Pooling":
        return {"kind": kind, **_pooling(options)}
    return {"kind": kind, **(_dense(options) if kind == "Dense" else {})}


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
    return {"activation": activation, "use_residual": residual}


def unknown_module(kind, what=None):
    """Return the error for a module whose step is not known."""
    what = f" with {what}" if what else ""
    hint = ""
    if kind == "StaticEmbedding":
        hint = "StaticSubwordEmbedding(folder, output='mean') reads it, or "
    return ValueError(
        f"TransformerEmbedding: this sentence encoder has the module {kind}{what}, "
        "which output='sentence' does not compute, and it is never skipped. Use "
        f"{hint}sentence-transformers itself: FunctionEmbedding(model.encode, "
        "level='sequence', as_text=True). output='words' needs no modules."
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
        import torch

        path = Path(folder) / "pytorch_model.bin"
        if not path.is_file():
            raise FileNotFoundError(
                f"TransformerEmbedding: the module in {folder} has no weights. "
                "Expected model.safetensors or pytorch_model.bin."
            )
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    return {
        name: np.ascontiguousarray(tensor.detach().cpu().float().numpy())
        for name, tensor in tensors.items()
    }


def _kind(reference):
    """Return the class of a module: the rooms of classes changed between versions.

    Classes that do not belong to sentence-transformers keep their whole name.
    """
    room, _, kind = reference.rpartition(".")
    return kind if room.partition(".")[0] == "sentence_transformers" else reference


def _inside(path, folder):
    """Return a relative path as it is, or raise: it must not lead out of the folder."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    if ".." in parts or path.startswith("/") or ":" in path:
        raise ValueError(
            f"{folder}: the module's path {path!r} leads out of the folder."
        )
    return "/".join(part for part in parts if part != ".")


def _entry(module, name, folder):
    if not isinstance(module, dict) or not isinstance(module.get(name), str):
        raise ValueError(f"{folder / _MODULES} is corrupt: a module has no {name!r}.")
    return module[name]


def _optional(path):
    return _json(path, dict) if path.is_file() else {}


def _json(path, kind):
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not readable: {error}") from error
    if not isinstance(content, kind):
        raise ValueError(f"{path} is corrupt: expected a JSON {kind.__name__}.")
    return content
