"""Vectors and models in saved files: referred to, or included as a bundle.

A node of a `Handle` names its class, and has what the handle says of itself.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import NamedTuple

from .._core._named_errors import errors_of_input
from .._io._atomic import cache_home, errors_of_folder, publish
from .._io._handle import Handle
from ..vectors import WordVectors
from ._errors import SavedFileError
from ._named import import_class


class _Loaded(NamedTuple):
    """A model that a user passes loaded, as a handle."""

    handle: Handle


def with_handle(value):
    """Return a value, or what is saved in place of a model that users pass loaded."""
    if "sk_metaembed.sources" in sys.modules:
        from ..sources._api import (
            LoadedModel,
            LoadedPair,
            LoadedStaticModel,
            StaticContent,
        )

        if isinstance(value, LoadedPair):
            return _Loaded(LoadedModel.of(value))
        if isinstance(value, StaticContent):
            return _Loaded(LoadedStaticModel.of(value, None))
    models = sys.modules.get("gensim.models")
    if models is not None and isinstance(value, models.KeyedVectors):
        return WordVectors.from_keyed_vectors(value)
    return value


def _decode_loaded(handle):
    return handle.parameter


CODECS = {"pair": ([_Loaded], _Loaded._asdict, _decode_loaded)}


def encode_handle(handle, bundle, files, where):
    """Return the content of a handle.

    Its files are added to `files`, if `bundle` is true or there are no others to which
    a saved file could refer.
    """
    cls, content = type(handle), handle._reference()
    if bundle or not content:
        prefix = f"{cls.__name__}/{handle.fingerprint[:32]}"
        content = {**content, "bundled": prefix}
        with errors_of_input(where):
            new = handle._files().items()
        files.update({f"{prefix}/{name}": data for name, data in new})
    return {"module": cls.__module__, "name": cls.__name__, **content}


def open_handle(content, file):
    """Return the handle of a node, from a reference or the bundle in a file.

    Raises SavedFileError if the files it refers to were moved or changed.
    """
    cls = import_class(content["module"], content["name"], Handle)
    if "bundled" not in content:
        try:
            return cls._from_reference(content)
        except (OSError, ValueError, ImportError) as error:
            raise SavedFileError(
                f"it refers to files of the {cls._kind} that were moved or changed: "
                f"{error} Restore them, or save again with bundle=True."
            ) from error
    folder = _unpack(file, content["bundled"])
    try:
        return cls._from_reference(content, folder)
    except ModuleNotFoundError:
        raise
    except PermissionError as error:
        with errors_of_folder(folder):
            raise error
    except Exception as error:  # readers raise errors without a common base class
        raise SavedFileError(
            f"its {cls._kind}, unpacked to {folder}, cannot be read: {error} If it was "
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
