"""Vectors and models in saved files: referred to, or included as a bundle.

A handle is an object with `_saved_kind`, `_reference` and `_files`; the module that
opens it has `from_reference` and `from_files`.
"""

import hashlib
import json
import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path

from .._io._atomic import cache_home
from .._io._publish import publish
from ..vectors import WordVectors
from ._errors import SavedFileError

# Modules that open each kind of handle.
HANDLES = {
    "vectors": "sk_metaembed.vectors._word_vectors",
    "elmo": "sk_metaembed.sources.elmo._model",
    "static": "sk_metaembed.sources.static_subword._model",
    "transformer": "sk_metaembed.sources.transformer._model",
    "loaded": "sk_metaembed.sources.transformer._model",
}


def with_handle(value):
    """Return a value, or what is saved in place of a model that users pass loaded."""
    if "transformers" in sys.modules and isinstance(value, tuple | list):
        from ..sources.transformer._model_pickle import LoadedPair, is_pair

        return LoadedPair(*value) if is_pair(value) else value
    models = sys.modules.get("gensim.models")
    if models is not None and isinstance(value, models.KeyedVectors):
        return WordVectors.from_keyed_vectors(value)
    return value


def _encode_pair(pair):
    from ..sources.transformer._model import loaded_model

    return {"handle": loaded_model(*pair.pair)}


def _decode_pair(handle: object) -> tuple:
    return attrgetter("module", "tokenizer")(handle)


_PAIR = "sk_metaembed.sources.transformer._model_pickle.LoadedPair"
CODECS = {"pair": ([_PAIR], _encode_pair, _decode_pair)}


def encode_handle(value, bundle, files, where):
    """Return the content of a handle.

    Its files are added to `files`, if `bundle` is true or there are no others to which
    a saved file could refer.
    """
    content = dict(value._reference())
    if bundle or not content:
        content["bundled"] = prefix = f"{value._saved_kind}/{value.fingerprint[:32]}"
        new = value._files(where).items()
        files.update({f"{prefix}/{name}": data for name, data in new})
    return content


def open_handle(kind, content, file):
    """Return the handle of a node, from a reference or the bundle in a file.

    Raises SavedFileError if the files it refers to were moved or changed.
    """
    module = import_module(HANDLES[kind])
    if "bundled" not in content:
        try:
            return module.from_reference(kind, content)
        except (OSError, ValueError, ImportError) as error:
            raise SavedFileError(
                f"it refers to files of the {kind} that were moved or changed: {error} "
                "Restore them, or save again with bundle=True."
            ) from error
    folder = _unpack(file, content["bundled"])
    try:
        return module.from_files(kind, content, folder)
    except ModuleNotFoundError:
        raise
    except Exception as error:  # readers raise errors without a common base class
        raise SavedFileError(
            f"its {kind}, unpacked to {folder}, cannot be read: {error} If it was "
            "modified or corrupted there, delete that folder and load again."
        ) from error


def _unpack(file, prefix):
    """Return the folder with the members of a bundle, written if it does not exist.

    It is in the cache and named by a digest of its contents, so that processes and
    pickles share it. The checksum of each member is verified when it is written.
    """
    start = f"{prefix}/" if isinstance(prefix, str) else "/"
    names = [name for name in sorted(file.digests) if name.startswith(start)]
    if not names:
        raise SavedFileError(f"the bundle {prefix!r} is missing. Get an intact copy.")
    digests = [(name.removeprefix(start), file.digests[name]) for name in names]
    key = hashlib.sha256(json.dumps(digests).encode()).hexdigest()[:32]

    def extract(folder):
        for name in names:
            path = Path(folder, name.removeprefix(start))
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "xb") as out:
                file.copy(name, out.write)

    folder = cache_home() / "bundles" / key
    publish(folder, extract)
    return folder
