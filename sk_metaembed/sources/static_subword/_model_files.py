"""The files of static models, and how each library encodes a text with them.

Only JSON and tensors are read: nothing of a model is executed.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._encoder_modules import (
    MODULES,
    ROUTES,
    SETTINGS,
    EncoderSettings,
    SentenceModules,
    check_model_type,
    listed_modules,
    module_kind,
    optional_json,
    read_json,
    read_modules,
    read_pickle,
    read_settings,
    unknown_module,
)
from .._model_folder import STATIC_MODULES, find_folder, hint_of_folder
from ._tokenizer import WORDS_FILE

_WEIGHTS = ("model.safetensors", "embeddings.safetensors", "pytorch_model.bin")
_TOKENIZER, _CONFIG = "tokenizer.json", "config.json"
_WORDS = "wordembedding_config.json"
_MAX_LENGTH = 512  # the default of model2vec
_EXPECTED = (
    "model.safetensors, tokenizer.json, and config.json (model2vec) or modules.json "
    "(sentence-transformers)"
)
_TYPES = {"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8"}
# Names of the vector tables in weight files, by library or module.
_TABLES = ("embeddings", "embedding.weight", "emb_layer.weight")


class StaticFiles(NamedTuple):
    """Files of a model, and the options of its library."""

    root: Path
    weights: Path
    tokenizer: Path
    table: str  # name of the tensor with the vectors
    others: tuple  # the other files that were read
    library: str  # "model2vec" or "sentence-transformers"
    modules: SentenceModules  # how subwords are pooled, and what follows
    settings: EncoderSettings = EncoderSettings()

    @property
    def paths(self):
        """All files."""
        return self.weights, self.tokenizer, *self.others


def find_model(spec, *, local):
    """Return a StaticSpec as `find_folder` does, and the folder."""
    files = [*_WEIGHTS, _TOKENIZER, _CONFIG, _WORDS, WORDS_FILE]
    files += [MODULES, SETTINGS, ROUTES]
    patterns = [*files, *(f"*/{name}" for name in files)]
    return find_folder(spec, _EXPECTED, local=local, allow_patterns=patterns)


def find_files(model, task=None):
    """Return the `StaticFiles` of a folder, for the texts of a task.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If the folder has a model of another kind.
    """
    folder = Path(model)
    hint = hint_of_folder(folder, "StaticSubwordEmbedding", task)
    modules = listed_modules(folder, task)
    if not modules:
        return _model2vec(folder, hint)
    (kind, place), *rest = modules
    if kind not in STATIC_MODULES:
        kinds = [kind for kind, _ in modules]
        raise ValueError(f"{folder} has the modules {kinds}.{hint}")
    settings = read_settings(folder)
    check_model_type(settings)
    read = _subwords if kind == "StaticEmbedding" else _words
    found = read(folder, folder / place, rest, hint)
    names = [MODULES, SETTINGS, ROUTES, *(f"{place}/{ROUTES}" for _, place in modules)]
    others = {folder / name for name in names}
    for _, place in modules:
        others |= {p for p in (folder / place).glob("*config.json") if p.is_file()}
    for _, place in rest:
        others |= {folder / place / name for name in _WEIGHTS}
    read_already = {*found.paths}
    others = sorted(p for p in others - read_already if p.is_file())
    if found.library == "model2vec":  # it reads no settings
        settings = EncoderSettings()
    return found._replace(settings=settings, others=(*found.others, *others))


def _model2vec(folder, hint, weights=None):
    """Return the StaticFiles of model2vec, which may list modules as well."""
    weights = weights or _weights_in(folder, _WEIGHTS[:2])
    if weights is None or not (weights.parent / _TOKENIZER).is_file():
        raise _not_static(folder, hint)
    table = _table_name(weights, hint)
    if table != "embeddings":  # sentence-transformers, without modules.json
        modules = SentenceModules((_mean(),), {})
        library = "sentence-transformers"
    else:
        path = folder / _CONFIG
        config = optional_json(path)
        limit = _checked_length(config, "max_length", _MAX_LENGTH, path)
        steps = [_mean()]
        if config.get("normalize", False):
            steps.append({"kind": "Normalize"})
        modules, library = SentenceModules(tuple(steps), {}, limit), "model2vec"
    config = folder / _CONFIG
    others = (config,) if config.is_file() else ()
    tokenizer = weights.parent / _TOKENIZER
    return StaticFiles(folder, weights, tokenizer, table, others, library, modules)


def _mean():
    return {"kind": "Pooling", "modes": ["mean"], "include_prompt": True}


def _subwords(folder, place, rest, hint):
    """Return the StaticFiles of a StaticEmbedding."""
    weights = _weights_in(place, _WEIGHTS) or _weights_in(folder, _WEIGHTS)
    if weights is None or not (weights.parent / _TOKENIZER).is_file():
        raise _not_static(folder, hint)
    table, tokenizer = _table_name(weights, hint), weights.parent / _TOKENIZER
    if table == "embeddings" and {kind for kind, _ in rest} <= {"Normalize"}:
        return _model2vec(folder, hint, weights)
    modules = read_modules(folder, rest, pooling=["mean"])
    library = "sentence-transformers"
    return StaticFiles(folder, weights, tokenizer, table, (), library, modules)


def _words(folder, place, rest, hint):
    """Return the StaticFiles of WordEmbeddings."""
    config = read_json(place / _WORDS, dict)
    kind = module_kind(str(config.get("tokenizer_class")))
    if kind != "WhitespaceTokenizer":
        raise unknown_module("WordEmbeddings", f"the tokenizer {kind}")
    weights, tokenizer = _weights_in(place, _WEIGHTS), place / WORDS_FILE
    if weights is None or not tokenizer.is_file():
        raise FileNotFoundError(
            f"{place} has no {WORDS_FILE if weights else _WEIGHTS[0]}, which the "
            "module WordEmbeddings needs."
        )
    limit = _checked_length(config, "max_seq_length", None, place / _WORDS)
    modules = read_modules(folder, rest, max_length=limit)
    modes = modules.pooling["modes"]
    if modes != ["mean"]:
        raise unknown_module("Pooling", f"pooling_mode={modes} after WordEmbeddings")
    table, library = _table_name(weights, hint), "sentence-transformers"
    return StaticFiles(folder, weights, tokenizer, table, (), library, modules)


def _weights_in(folder, names):
    return next((p for name in names if (p := folder / name).is_file()), None)


def _not_static(folder, hint):
    return FileNotFoundError(
        f"{folder} is not a static model. Expected {_EXPECTED}.{hint}"
    )


def _checked_length(options, name, default, path):
    """Return a maximum number of subwords, an option in the file at `path`."""
    value = options.get(name, default)
    if value is None or type(value) is int and value > 0:
        return value
    raise ValueError(f"{path} has {name}={value!r}; expected a positive int or null.")


def _table_name(weights, hint=""):
    names = sorted(_tensor_names(weights))
    for name in _TABLES:
        if name in names:
            return name
    raise ValueError(
        f"{weights} has the tensors {names}, but neither 'embeddings' nor "
        f"'embedding.weight'.{hint}"
    )


def _tensor_names(path):
    """Return the names of the tensors in a file."""
    if path.suffix == ".bin":
        return list(read_pickle(path))
    with _open(path) as file:
        return list(file.keys())


def _open(path, framework="np"):
    """Return an open safetensors file, whose header has been checked."""
    from safetensors import SafetensorError, safe_open

    try:
        return safe_open(path, framework)
    except SafetensorError as error:
        raise ValueError(f"{path} is corrupt: {error}.") from error


def read_tensors(path, names):
    """Return tensors of a file as arrays, None for missing ones.

    NumPy has no bfloat16; such tensors are returned as float32.
    """
    if path.suffix == ".bin":
        tensors = read_pickle(path)
        return [_array(tensors.get(name)) for name in names]
    with _open(path) as file:
        present = [name for name in names if name in file.keys()]  # noqa: SIM118
        types = {file.get_slice(name).get_dtype() for name in present}
    odd = sorted(types - _TYPES)
    if odd:
        raise ValueError(
            f"{path} has vectors of the type {odd[0]}, which is not supported. "
            "Convert them to float16 or float32."
        )
    with _open(path, "pt" if "BF16" in types else "np") as file:
        return [_array(file.get_tensor(n)) if n in present else None for n in names]


def _array(tensor):
    """Return a tensor as an array, float32 if NumPy does not have its type."""
    if tensor is None or isinstance(tensor, np.ndarray):
        return tensor
    return (tensor.float() if tensor.dtype.is_floating_point else tensor).numpy()
