"""Determine the source that reads the folder of a model, from its JSON files."""

import json
from contextlib import suppress
from pathlib import Path

# Keys of config.json in older versions of model2vec, which has no model type.
_STATIC_KEYS = ("apply_pca", "apply_zipf")


def source_of_folder(folder):
    """Return the name of the class that reads a folder, None if none is known.

    Only small JSON files and file names are read.
    """
    folder = Path(folder)
    modules, config = [], None
    with suppress(ValueError):
        modules = listed_modules(folder)
    with suppress(ValueError):
        config = read_json(folder / "config.json", dict)
    if modules:
        static = modules[0][0] == "StaticEmbedding"
    elif config is not None:
        older = any(key in config for key in _STATIC_KEYS)
        untyped = "model_type" not in config and (older or _has_static_table(folder))
        static = untyped or config.get("model_type") == "model2vec"
    else:
        return "PretrainedEmbedding" if (folder / "meta.json").is_file() else None
    return "StaticSubwordEmbedding" if static else "TransformerEmbedding"


def hint_of_folder(folder, caller):
    """Return a sentence that names the right class for a folder, or ""."""
    name = source_of_folder(folder) if Path(folder).is_dir() else None
    if name is None or name == caller:
        return ""
    options = ", output='mean'" if name == "StaticSubwordEmbedding" else ""
    return (
        f" {name}(folder{options}) reads this folder; make_embedding(folder) chooses "
        "the class."
    )


def _has_static_table(folder):
    path = folder / "model.safetensors"
    if not path.is_file():
        return False
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "np") as file:
            return "embeddings" in file.keys()  # noqa: SIM118 (not a dict)
    except (OSError, SafetensorError):
        return False


def listed_modules(folder):
    """Return the class and the path of each module in modules.json; [] without it.

    Classes that do not belong to sentence-transformers keep their whole name.
    """
    file = Path(folder) / "modules.json"
    modules = read_json(file, list) if file.is_file() else []
    if not all(
        isinstance(module, dict)
        and isinstance(module.get("type"), str)
        and isinstance(module.get("path", ""), str)
        for module in modules
    ):
        raise ValueError(f"{file} is corrupt: expected a type and a path per module.")
    return [(module_kind(m["type"]), m.get("path", "")) for m in modules]


def module_kind(reference):
    """Return a module's class without its package, which changed between versions."""
    package, _, kind = reference.rpartition(".")
    return kind if package.partition(".")[0] == "sentence_transformers" else reference


def optional_json(path):
    """Return the dict in a JSON file, empty without the file."""
    return read_json(path, dict) if path.is_file() else {}


def read_json(path, kind):
    """Return the content of a JSON file; raise ValueError unless it is a `kind`."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not readable: {error}") from error
    if not isinstance(content, kind):
        raise ValueError(f"{path} is corrupt: expected a JSON {kind.__name__}.")
    return content
