"""Vectors and models that files hold by reference, or whole in a bundle."""

import hashlib
import json
from importlib import import_module
from pathlib import Path

from ..vectors._cache import cache_root, publish
from ._errors import SavedFileError
from ._stand_in import Untold, part

# Where each kind of handle is opened: the room that it lives in knows how.
_HOMES = {
    "vectors": "sk_metaembed.vectors._saving",
    "elmo": "sk_metaembed.sources._elmo_model",
    "transformer": "sk_metaembed.sources._saving",
    "loaded": "sk_metaembed.sources._saving",
}
_BUNDLES = "bundles"


def opened(kind, content, file, known):
    """Return the handle that a stand-in tells of.

    Parameters
    ----------
    kind : str
    content : dict
    file : SealedFile
    known : dict
        What this file's bundles were opened as.

    Raises
    ------
    SavedFileError
        If what it refers to is not there, or is something else by now.
    """
    if kind == "pair":
        handle = opened("loaded", content, file, known)
        pair = handle.network, handle.tokenizer
        return list(pair) if content.get("as_list") is True else pair
    if kind not in _HOMES:
        raise Untold(f"no such kind as {kind!r}")
    home = import_module(_HOMES[kind])
    if "bundled" not in content:
        return _by_reference(home, kind, content, file)
    prefix = part(content, "bundled", str)
    if (kind, prefix) not in known:
        known[kind, prefix] = _from_bundle(home, kind, content, file, prefix)
    return known[kind, prefix]


def _from_bundle(home, kind, content, file, prefix):
    folder = unpacked(file, prefix)
    try:
        return home.from_files(kind, content, folder)
    except Exception as error:  # what readers of files raise has no base class
        if _is_whole(file, prefix, folder):
            raise
        raise SavedFileError(
            f"{file.what} is not at fault, but its {kind}, unpacked to {folder}, was "
            "changed or damaged there. Delete that folder and load again."
        ) from error


def _is_whole(file, prefix, folder):
    """Tell whether the files of a bundle are as they were unpacked."""
    try:
        for name in file.under(f"{prefix}/"):
            with open(folder / name.rpartition("/")[2], "rb") as held:
                digest = hashlib.file_digest(held, "sha256").hexdigest()
            if digest != file.seal_of(name):
                return False
    except OSError:
        return False
    return True


def _by_reference(home, kind, content, file):
    try:
        return home.from_reference(kind, content)
    except (OSError, ValueError, ImportError) as error:
        raise SavedFileError(
            f"{file.what} holds no {kind} itself but refers to files, and these are "
            f"not as they were: {error} Or save again with bundle=True, where they are."
        ) from error


def unpacked(file, prefix):
    """Return the folder with the members of a bundle, written if it is not there.

    It lies in the cache under a digest of what it holds, so that processes and pickles
    share it, and each member was held against its checksum when it was written.
    """
    names = file.under(f"{prefix}/")
    if not names:
        raise SavedFileError(f"{file.what} lacks its bundle {prefix!r}.")
    root = cache_root().parent / _BUNDLES
    root.mkdir(parents=True, exist_ok=True)
    target = root / _digest({n.rpartition("/")[2]: file.seal_of(n) for n in names})
    publish(target, lambda folder: _write(file, names, folder))
    return target


def _write(file, names, folder):
    for name in names:
        file.extract(name, Path(folder, name.rpartition("/")[2]))


def _digest(seals):
    return hashlib.sha256(json.dumps(sorted(seals.items())).encode()).hexdigest()[:32]


def keyed_vectors_of(content, file):
    """Return gensim's KeyedVectors from words and tensors."""
    from safetensors.torch import load

    from ..vectors._gensim import to_keyed_vectors

    tensors = load(file.read(part(content, "tensors", str)))
    words, n = part(content, "words", list), part(content, "n", list)
    vectors = tensors["vectors"].numpy()
    if vectors.ndim != 2 or len(vectors) != len(words):
        raise Untold("there are not as many vectors as words")
    buckets = (tensors["buckets"].numpy(), *n) if n else None
    return to_keyed_vectors(words, vectors, buckets)
