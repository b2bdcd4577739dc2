"""Determine the source that reads the folder of a model, from its files."""

import json
from pathlib import Path

# Keys of config.json in older versions of model2vec, which has no model type.
_STATIC_KEYS = ("apply_pca", "apply_zipf")


def source_of_folder(folder):
    """Return the name of the class that reads a folder, None if none is known.

    Reads small JSON files and names only.
    """
    folder = Path(folder)
    modules = _json(folder / "modules.json")
    if isinstance(modules, list) and modules and isinstance(modules[0], dict):
        kind = str(modules[0].get("type")).rpartition(".")[2]
        static = kind == "StaticEmbedding"
        return "StaticSubwordEmbedding" if static else "TransformerEmbedding"
    config = _json(folder / "config.json")
    if isinstance(config, dict):
        kind = config.get("model_type")
        static = kind == "model2vec"
        if kind is None:
            older = any(key in config for key in _STATIC_KEYS)
            static = older or _has_static_table(folder)
        return "StaticSubwordEmbedding" if static else "TransformerEmbedding"
    if (folder / "meta.json").is_file():
        return "PretrainedEmbedding"
    return None


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


def _json(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
