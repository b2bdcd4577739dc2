"""The files of static subword models, and how each library encodes a text with them.

Only JSON and safetensors are read: nothing of a model is executed.
"""

import json
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._folder_kind import hint_of_folder, listed_modules, optional_json
from .._hub import find_folder

_WEIGHTS = ("model.safetensors", "embeddings.safetensors")
_TOKENIZER = "tokenizer.json"
_SETTINGS = ("config.json", "modules.json", "config_sentence_transformers.json")
_MAX_LENGTH = 512  # the default of model2vec
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4"}
_DTYPES |= {"I8": "i1", "BF16": "<u2"}
_EXPECTED = (
    "model.safetensors, tokenizer.json, and config.json (model2vec) or modules.json "
    "(sentence-transformers)"
)


class StaticFiles(NamedTuple):
    """Files of a model, and the options of its library.

    Attributes
    ----------
    weights, tokenizer : Path
    table : str
        Name of the tensor with the vectors.
    settings : tuple of Path
        The other files that were read.
    library : {"model2vec", "sentence-transformers", "wordllama"}
        Whose files these are.
    normalize : bool
        Whether vectors of texts are scaled to unit length.
    max_length : int or None
        Number of pieces that model2vec cuts texts to.
    prefix : str
        Text before each text.
    """

    weights: Path
    tokenizer: Path
    table: str
    settings: tuple = ()
    library: str = "wordllama"
    normalize: bool = False
    max_length: int | None = None
    prefix: str = ""

    @property
    def paths(self):
        """All files."""
        return self.weights, self.tokenizer, *self.settings


def find_model(spec, *, local):
    """Return a StaticSpec as `find_folder` does, and the folder or pair of files."""
    if not isinstance(spec.model, str):
        pair = tuple(os.path.abspath(os.path.expanduser(path)) for path in spec.model)
        return spec._replace(model=pair), pair
    files = [*_WEIGHTS, _TOKENIZER, *_SETTINGS]
    patterns = [*files, *(f"*/{name}" for name in files)]
    return find_folder(spec, _EXPECTED, local=local, allow_patterns=patterns)


def find_files(model):
    """Return the `StaticFiles` of a folder, or of a pair of weights and tokenizer.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If the folder has a model of another kind.
    """
    if not isinstance(model, str | os.PathLike):
        weights, tokenizer = (Path(part).expanduser() for part in model)
        for path in (weights, tokenizer):
            if not path.is_file():
                raise FileNotFoundError(f"no file {path}.")
        return StaticFiles(weights, tokenizer, _table_name(weights))
    folder = Path(model)
    hint = hint_of_folder(folder, "StaticSubwordEmbedding")
    modules = listed_modules(folder)
    parts = [folder / _static_module(modules, folder, hint)] if modules else []
    places = [part / name for part in [*parts, folder] for name in _WEIGHTS]
    weights = next((path for path in places if path.is_file()), None)
    if weights is None or not (weights.parent / _TOKENIZER).is_file():
        raise FileNotFoundError(
            f"{folder} is not a static model. Expected {_EXPECTED}. Pass (weights, "
            f"tokenizer) for files with other names, such as those of WordLlama.{hint}"
        )
    table = _table_name(weights, hint)
    settings = tuple(p for name in _SETTINGS if (p := folder / name).is_file())
    files = StaticFiles(weights, weights.parent / _TOKENIZER, table, settings)
    if table == "embeddings":
        config = optional_json(folder / "config.json")
        return files._replace(
            library="model2vec",
            normalize=bool(config.get("normalize", False)),
            max_length=_checked_length(config.get("max_length", _MAX_LENGTH), folder),
        )
    options = optional_json(folder / "config_sentence_transformers.json")
    prompts = options.get("prompts") or {}
    return files._replace(
        library="sentence-transformers",
        normalize=any(kind == "Normalize" for kind, _ in modules),
        prefix=prompts.get(options.get("default_prompt_name"), ""),
    )


def _static_module(modules, folder, hint):
    """Return the folder of a sentence encoder's StaticEmbedding, the first module."""
    kinds = [kind for kind, _ in modules]
    if kinds[0] != "StaticEmbedding" or set(kinds[1:]) - {"Normalize"}:
        raise ValueError(
            f"{folder} has the modules {kinds}; only a StaticEmbedding, alone or "
            f"followed by Normalize, is supported.{hint}"
        )
    return modules[0][1]


def _checked_length(value, folder):
    if value is None or type(value) is int and value > 0:
        return value
    raise ValueError(
        f"{folder / 'config.json'} has max_length={value!r}; expected a positive int "
        "or null."
    )


def _table_name(weights, hint=""):
    with _open(weights) as file:
        names = sorted(file.keys())
    for name in ("embeddings", "embedding.weight"):
        if name in names:
            return name
    raise ValueError(
        f"{weights} has the tensors {names}, but neither 'embeddings' nor "
        f"'embedding.weight'.{hint}"
    )


def _open(path):
    """Return an open safetensors file, whose header has been checked."""
    from safetensors import SafetensorError, safe_open

    try:
        return safe_open(path, "np")
    except SafetensorError as error:
        raise ValueError(f"{path} is corrupt: {error}.") from error


def read_tensor(path, name):
    """Return a tensor of a safetensors file, mapped and read-only; None if absent."""
    with _open(path) as file:
        if name not in file.keys():  # noqa: SIM118 (not a dict)
            return None
        tensor = file.get_slice(name)
        shape, kind = tuple(tensor.get_shape()), tensor.get_dtype()
    if kind not in _DTYPES:
        raise ValueError(f"{path}: the tensor {name!r} has unsupported dtype {kind}.")
    if 0 in shape:
        return np.zeros(shape, _DTYPES[kind])
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        first, _ = json.loads(file.read(length))[name]["data_offsets"]
    values = np.memmap(path, _DTYPES[kind], "r", offset=8 + length + first, shape=shape)
    if kind == "BF16":
        return (values.astype(np.uint32) << 16).view(np.float32)
    return np.asarray(values)
