"""Folders of models: where they are, and which class reads them."""

import os
from contextlib import suppress
from pathlib import Path

from ..vectors._api import holds_vectors
from ._encoder_modules import listed_modules, read_json

# Keys of config.json in older versions of model2vec, which has no model type.
_STATIC_KEYS = ("apply_pca", "apply_zipf")
# First modules of sentence-transformers that look up vectors in a table.
STATIC_MODULES = ("StaticEmbedding", "WordEmbeddings")
MANY_LANGUAGES = "char.dic"  # ELMoForManyLangs writes it next to a config.json
_ELMO_WEIGHTS = ("weights", "model")  # names of whole models contain one


def source_of_folder(folder, task=None):
    """Return the name of the class that reads a folder, None if none is known.

    Only small JSON files and file names are read. Raises ValueError if modules.json is
    corrupt, or has no modules for the texts of a task.
    """
    folder = Path(folder)
    modules, config = listed_modules(folder, task), None
    with suppress(ValueError):
        config = read_json(folder / "config.json", dict)
    if (folder / MANY_LANGUAGES).is_file():
        return "ElmoEmbedding"  # its error names a remedy
    if not modules and holds_vectors(folder):
        return "PretrainedEmbedding"
    if modules:
        static = modules[0][0] in STATIC_MODULES
    elif config is not None:
        older = any(key in config for key in _STATIC_KEYS)
        untyped = "model_type" not in config and (older or _has_static_table(folder))
        static = untyped or config.get("model_type") == "model2vec"
    elif elmo_pairs(_names(folder)) or _has_elmo_options(folder):
        return "ElmoEmbedding"
    elif _has_static_table(folder):
        static = True
    elif (folder / "adapter_config.json").is_file() or any(folder.glob("*.gguf")):
        return "TransformerEmbedding"  # its error names a remedy
    else:
        return None
    return "StaticSubwordEmbedding" if static else "TransformerEmbedding"


def hint_of_folder(folder, caller, task=None):
    """Return a sentence that names the right class for a folder, or ""."""
    name = None
    if Path(folder).is_dir():
        with suppress(ValueError):  # the reader of the modules raises it
            name = source_of_folder(folder, task)
    if name is None or name == caller:
        return ""
    options = ", output='mean'" if name == "StaticSubwordEmbedding" else ""
    if task is not None:
        options += f", task={task!r}"
    return (
        f" {name}(folder{options}) reads this folder; make_embedding(folder) chooses "
        "the class."
    )


def _names(folder):
    return [path.name for path in folder.iterdir()] if folder.is_dir() else []


def _has_elmo_options(folder):
    with suppress(ValueError):
        return "lstm" in read_json(folder / "options.json", dict)
    return False


def elmo_pairs(names):
    """Return pairs of ELMo's files, options and weights, among the names of files.

    Their names begin alike, or there is one file of each kind.
    """
    options = sorted(name for name in names if name.endswith("options.json"))
    arrays = sorted(name for name in names if name.endswith(".hdf5"))
    weights = [n for n in arrays if any(part in n for part in _ELMO_WEIGHTS)]
    weights = weights or arrays
    starts = [name.removesuffix("options.json") for name in options]
    pairs = [
        (option, weight)
        for start, option in zip(starts, options, strict=True)
        for weight in weights
        if weight.startswith(start)
    ]
    if len(options) == len(weights) == 1:
        return [(options[0], weights[0])]
    return pairs


def _has_static_table(folder):
    path = folder / "model.safetensors"
    if not path.is_file():
        return False
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "np") as file:
            return not {"embeddings", "embedding.weight"}.isdisjoint(file.keys())
    except (OSError, SafetensorError):
        return False


def find_folder(spec, expected, *, local, **options):
    """Return a spec of a model and the folder of its files, downloaded if necessary.

    The spec has an absolute path or a commit as its revision, because pickles and saved
    files refer to it. `expected` names what a folder should contain; `local` forbids a
    download; `options` are those of `huggingface_hub.snapshot_download`. Raises
    FileNotFoundError.
    """
    folder = os.path.abspath(os.path.expanduser(spec.model))
    if os.path.isdir(folder):
        return spec._replace(model=folder), folder
    try:
        if looks_like_path(spec.model):
            raise FileNotFoundError(
                f"there is no folder {spec.model!r}. It should contain {expected}."
            )
        options |= {"revision": spec.revision, "local_files_only": local}
        folder = download(spec.model, expected, **options)
    except FileNotFoundError as error:
        if not local:
            raise
        raise FileNotFoundError(
            f"{spec.model!r} is not on this machine, and loading a file downloads "
            "nothing."
        ) from error
    # The hub's folder is named after the commit.
    return spec._replace(revision=os.path.basename(folder)), folder


def download(name, expected, *, revision=None, **options):
    """Return the folder of a model on the hub, downloaded if it is not on this machine.

    `expected` names what a folder should contain, in the FileNotFoundError.
    """
    from huggingface_hub import snapshot_download

    try:
        return snapshot_download(name, revision=revision, **options)
    except Exception as error:  # the client's errors share no base class
        at = "" if revision is None else f" (revision {revision!r})"
        reason = (str(error).strip() or "no reason given").splitlines()[0]
        raise FileNotFoundError(
            f"{name!r}{at} is not a local folder and could not be downloaded "
            f"from the Hugging Face hub: {type(error).__name__}: {reason.rstrip('.')}. "
            f"Without a network, pass the path of a folder with {expected}, as on "
            f"https://huggingface.co/{name}/tree/{revision or 'main'}."
        ) from error


def looks_like_path(name):
    """Return whether a str is a path rather than the name of a model on the hub."""
    return name.startswith(("/", ".", "~")) or "\\" in name or name.count("/") > 1
