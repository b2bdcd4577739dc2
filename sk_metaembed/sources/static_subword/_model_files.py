"""The files of static subword models, and how each library encodes a text with them.

Only JSON and safetensors are read: nothing of a model is executed.
"""

from pathlib import Path
from typing import NamedTuple

from .._folder_kind import hint_of_folder, listed_modules, optional_json
from .._hub import find_folder

_WEIGHTS = ("model.safetensors", "embeddings.safetensors")
_TOKENIZER = "tokenizer.json"
_SETTINGS = ("config.json", "modules.json", "config_sentence_transformers.json")
_MAX_LENGTH = 512  # the default of model2vec
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
    library : {"model2vec", "sentence-transformers"}
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
    settings: tuple
    library: str
    normalize: bool = False
    max_length: int | None = None
    prefix: str = ""

    @property
    def paths(self):
        """All files."""
        return self.weights, self.tokenizer, *self.settings


def find_model(spec, *, local):
    """Return a StaticSpec as `find_folder` does, and the folder."""
    files = [*_WEIGHTS, _TOKENIZER, *_SETTINGS]
    patterns = [*files, *(f"*/{name}" for name in files)]
    return find_folder(spec, _EXPECTED, local=local, allow_patterns=patterns)


def find_files(model):
    """Return the `StaticFiles` of a folder.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If the folder has a model of another kind.
    """
    folder = Path(model)
    hint = hint_of_folder(folder, "StaticSubwordEmbedding")
    modules = listed_modules(folder)
    parts = [folder / _static_module(modules, folder, hint)] if modules else []
    places = [part / name for part in [*parts, folder] for name in _WEIGHTS]
    weights = next((path for path in places if path.is_file()), None)
    if weights is None or not (weights.parent / _TOKENIZER).is_file():
        raise FileNotFoundError(
            f"{folder} is not a static model. Expected {_EXPECTED}.{hint}"
        )
    table = _table_name(weights, hint)
    settings = tuple(p for name in _SETTINGS if (p := folder / name).is_file())
    files = weights, weights.parent / _TOKENIZER, table, settings
    if table == "embeddings":
        config = optional_json(folder / "config.json")
        return StaticFiles(
            *files,
            "model2vec",
            normalize=bool(config.get("normalize", False)),
            max_length=_checked_length(config.get("max_length", _MAX_LENGTH), folder),
        )
    options = optional_json(folder / "config_sentence_transformers.json")
    prompts = options.get("prompts") or {}
    return StaticFiles(
        *files,
        "sentence-transformers",
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


def read_tensors(path, names):
    """Return tensors of a safetensors file; None for those that it does not have."""
    with _open(path) as file:
        try:
            present = set(file.keys())
            return [file.get_tensor(n) if n in present else None for n in names]
        except TypeError as error:  # NumPy has no bfloat16
            raise ValueError(f"{path} has an unsupported dtype: {error}.") from error
