"""Vectors and models in saved files: referred to, or included as a bundle.

A handle is an object with `_saved_kind`, `_reference` and `_files`; the module that
opens it has `from_reference` and `from_files`.
"""

import hashlib
import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np

from ..vectors._cache import cache_root, publish
from ..vectors._download import sha256
from ._codecs import MalformedEntryError, entry
from ._errors import SavedFileError

# Modules that open each kind of handle.
_MODULES = {
    "vectors": "sk_metaembed.vectors._word_vectors",
    "elmo": "sk_metaembed.sources._elmo_model",
    "static": "sk_metaembed.sources.static_subword._model",
    "transformer": "sk_metaembed.sources.transformer._model",
    "loaded": "sk_metaembed.sources.transformer._model",
}
KINDS = {*_MODULES, "pair", "keyed vectors"}
_BUNDLES = "bundles"


def encode_handle(value, bundle, files, where):
    """Return kind and content of a handle or model that users pass, else None.

    The files of a handle are added to `files`, if `bundle` is true or there are no
    others to which a saved file could refer.
    """
    kind = getattr(type(value), "_saved_kind", None)
    if kind is not None:
        content = dict(value._reference())
        if bundle or not content:
            content["bundled"] = prefix = f"{kind}/{value.fingerprint[:32]}"
            new = {f"{prefix}/{n}": data for n, data in value._files(where).items()}
            files.update(new)
        return kind, content
    if "transformers" in sys.modules and isinstance(value, tuple | list):
        from ..sources.transformer._model import loaded_model
        from ..sources.transformer._model_pickle import is_pair

        if is_pair(value):
            handle = loaded_model(*value)
            return "pair", {"handle": handle, "as_list": isinstance(value, list)}
    models = sys.modules.get("gensim.models")
    if models is not None and isinstance(value, models.KeyedVectors):
        return "keyed vectors", _keyed_vectors(value)
    return None


def _keyed_vectors(vectors):
    from ..vectors._gensim import ngram_table

    buckets, *n = ngram_table(vectors) or [None]
    return {
        "words": list(vectors.index_to_key),
        "vectors": np.array(vectors.vectors),
        "buckets": None if buckets is None else np.array(buckets),
        "n": [int(number) for number in n],
    }


def open_handle(kind, content, file):
    """Return the handle or model of a node, from a reference or the bundle in a file.

    Raises SavedFileError if the files it refers to were moved or changed.
    """
    if kind == "keyed vectors":
        return _decode_keyed_vectors(content)
    if kind == "pair":
        pair = content["handle"].module, content["handle"].tokenizer
        return list(pair) if entry(content, "as_list", bool) else pair
    module = import_module(_MODULES[kind])
    if "bundled" in content:
        return _open_bundle(module, kind, content, file)
    try:
        return module.from_reference(kind, content)
    except (OSError, ValueError, ImportError) as error:
        raise SavedFileError(
            f"{file.label} refers to files of the {kind} that were moved or changed: "
            f"{error} Restore them, or save again with bundle=True."
        ) from error


def _decode_keyed_vectors(content):
    from ..vectors._gensim import to_keyed_vectors

    words = entry(content, "words", list)
    vectors = entry(content, "vectors", np.ndarray)
    is_text = all(type(word) is str for word in words)
    if vectors.ndim != 2 or len(vectors) != len(words) or not is_text:
        raise MalformedEntryError("vectors and words do not match")
    buckets = entry(content, "buckets", np.ndarray, type(None))
    if buckets is not None:
        buckets = buckets, *entry(content, "n", list)
    return to_keyed_vectors(words, vectors, buckets)


def _open_bundle(module, kind, content, file):
    prefix = entry(content, "bundled", str)
    folder = _unpack(file, prefix)
    try:
        return module.from_files(kind, content, folder)
    except Exception as error:  # readers raise errors without a common base class
        if _is_intact(file, prefix, folder):
            raise
        raise SavedFileError(
            f"{file.label} is intact, but its {kind}, unpacked to {folder}, was "
            "modified or corrupted there. Delete that folder and load again."
        ) from error


def _is_intact(file, prefix, folder):
    """Return whether the files of a bundle are as they were unpacked."""
    digests = {place: file.digest(name) for name, place in _places(file, prefix)}
    try:
        return all(sha256(folder / place) == digests[place] for place in digests)
    except OSError:
        return False


def _places(file, prefix):
    """Return names of the members of a bundle, and their paths in its folder."""
    names = file.names_under(f"{prefix}/")
    return [(name, name.removeprefix(f"{prefix}/")) for name in names]


def _unpack(file, prefix):
    """Return the folder with the members of a bundle, written if it does not exist.

    It is in the cache and named by a digest of its contents, so that processes and
    pickles share it. The checksum of each member is verified when it is written.
    """
    places = _places(file, prefix)
    if not places:
        raise SavedFileError(f"{file.label}: the bundle {prefix!r} is missing.")
    root = cache_root().parent / _BUNDLES
    root.mkdir(parents=True, exist_ok=True)
    digests = sorted((place, file.digest(name)) for name, place in places)
    key = hashlib.sha256(json.dumps(digests).encode()).hexdigest()[:32]

    def extract(folder):
        for name, place in places:
            path = Path(folder, place)
            path.parent.mkdir(parents=True, exist_ok=True)
            file.extract(name, path)

    publish(root / key, extract)
    return root / key
