"""An estimator as a list of nodes and the bytes of its arrays, and back.

A node is a list of its kind and its content (see `_codecs`). It refers to nodes before
it, so that a structure has no cycles, and an object that occurs twice has one node. The
arrays follow one another in the order of their nodes, each at a multiple of 16 bytes.

Vectors and models are stored by reference or included as a bundle: the node of a
`Handle` names its class and contains its reference.
"""

import hashlib
import json
import sys
from itertools import count
from pathlib import Path
from types import MethodType
from typing import NamedTuple

import numpy as np

from .._core._errors import prefix_input_errors
from .._io._atomic import cache_home, errors_of_folder, publish
from .._io._handle import Handle
from ..vectors import WordVectors
from ._archive import SavedFileError
from ._codecs import CODECS as _VALUES
from ._codecs import (
    UnsavableError,
    array_bytes,
    decode_dtype,
    dtype_text,
    import_class,
)
from ._trust import saved_name

STRUCTURE, ARRAYS = "structure.json", "arrays.bin"
_ATOMS = (type(None), bool, int, float, str)
_ALIGNMENT = 16  # bytes


class _Loaded(NamedTuple):
    """The handle of a model that a user passed in memory."""

    handle: Handle


def _with_handle(value):
    """Return a value, or the handle of a model that a user passed in memory."""
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


CODECS = {**_VALUES, "pair": ([_Loaded], _Loaded._asdict, _decode_loaded)}
_KINDS = {*CODECS, "handle", "array", "scalar"}
_OF_TYPES = {
    kind: name
    for name, (kinds, *_) in CODECS.items()
    if isinstance(kinds, list)
    for kind in kinds
}
_TESTS = [(name, test) for name, (test, *_) in CODECS.items() if callable(test)]


class Encoder:
    """Encode an estimator as nodes and bytes of arrays, without modifying it.

    Parameters
    ----------
    bundle : bool
        Whether to include the files of vectors and models.

    Attributes
    ----------
    nodes : list
    arrays : bytearray
    files : dict of str to bytes or Path
        The files that are included, by name.
    """

    def __init__(self, bundle):
        self.bundle = bundle
        self.nodes, self.arrays, self.files = [], bytearray(), {}
        self._numbers = {}  # by id; None for an object that is being encoded
        self._values = []  # references keep ids from being reused

    def __call__(self, value, where="estimator"):
        """Return an atom, or a reference to the node of a value.

        `where` names the place of the value in error messages.
        """
        if type(value) in _ATOMS:
            return value
        key = id(value)
        if key not in self._numbers:
            self._numbers[key] = None
            self._values.append(value)
            try:
                node = self._encode(_with_handle(value), where)
            except UnsavableError as error:
                raise TypeError(f"{where} {error}") from error
            self._numbers[key] = len(self.nodes)
            self.nodes.append(node)
        if self._numbers[key] is None:
            raise TypeError(
                f"{where} has a circular reference; only a pickle can save such an "
                "object."
            )
        return {"ref": self._numbers[key]}

    def _encode(self, value, where):
        kind = _kind_of(value)
        if kind == "handle":
            content = _encode_handle(value, self.bundle, self.files, where)
        else:
            content = CODECS[kind][1](value) if kind else None
        if content is None:
            return self._array(value)
        parts = {}
        for name, part in content.items():
            if type(part) is list:
                places = _places(kind, name, content, where)
                parts[name] = list(map(self, part, places))
            else:
                parts[name] = self(part, where)
        return [kind, parts]

    def _array(self, value):
        if isinstance(value, np.memmap):
            value = np.array(value)
        is_array = type(value) is np.ndarray
        if not (is_array or isinstance(value, np.generic)) or value.dtype.hasobject:
            raise UnsavableError(_refusal(value))
        self.arrays += bytes(-len(self.arrays) % _ALIGNMENT) + array_bytes(value)
        content = {"dtype": dtype_text(value.dtype), "shape": list(value.shape)}
        if is_array:
            return ["array", {**content, "by_column": value.flags.fnc}]
        return ["scalar", content]


def _kind_of(value):
    """Return the kind of a value; None for arrays and values that are not saved."""
    cls = type(value)
    if isinstance(value, Handle):
        return "handle"
    for key in (cls, f"{cls.__module__}.{cls.__qualname__}", cls.__module__):
        if key in _OF_TYPES:
            return _OF_TYPES[key]
    if _is_torch_module(value):
        return None
    return next((kind for kind, test in _TESTS if test(value)), None)


def _is_torch_module(value):
    return "torch" in sys.modules and isinstance(value, sys.modules["torch"].nn.Module)


def _refusal(value):
    name = type(value).__name__
    if _is_torch_module(value):
        return (
            f"is a torch module, {name}, whose code cannot be saved. Save its state "
            "with safetensors and rebuild it."
        )
    if isinstance(value, MethodType):
        return (
            f"is {value.__func__.__qualname__}, a bound method; only functions of "
            "modules can be saved. Define a function at the top level of a module that "
            "calls it."
        )
    return f"holds {name}, which sk_metaembed.save cannot write (a pickle may be able)."


def _places(kind, name, content, where):
    """Yield the place of each item of a list, as a Python expression."""
    if (kind, name) == ("object", "values"):
        return (f"{where}.{attribute}" for attribute in content["names"])
    if (kind, name) == ("dict", "values"):
        return (f"{where}[{key!r}]" for key in content["keys"])
    is_indexed = kind in ("list", "tuple") and name == "items"
    return (f"{where}[{i}]" if is_indexed else where for i in count())


def has_parameters(value):
    """Return whether a value is an estimator or has its interface."""
    return hasattr(value, "get_params") and not isinstance(value, type)


def read_nodes(data):
    """Return the nodes of a structure after checking their kinds and references."""
    nodes = json.loads(data)
    for number, (kind, content) in enumerate(nodes):
        if kind not in _KINDS:
            raise SavedFileError(f"the structure has a node of unknown kind {kind!r}.")
        _check_lists(content)
        for part in (part for value in content.values() for part in _references(value)):
            if type(part) is not int or not 0 <= part < number:
                raise ValueError(f"a reference to {part!r}")
    return nodes


def _references(value):
    """Return the numbers of the nodes that a value of a content refers to."""
    values = value if isinstance(value, list) else [value]
    return [part["ref"] for part in values if isinstance(part, dict)]


def _check_lists(content):
    for name, value in content.items():
        # Trust is decided by names and keys, before references are resolved.
        if name in ("names", "keys", "values") and not isinstance(value, list):
            raise ValueError(f"the entry {name!r} is not a list")
        if isinstance(value, list) and any(isinstance(v, list) for v in value):
            raise ValueError("a list within a list")


class Decoder:
    """Decode the nodes of a SavedFile; the inverse of `Encoder`.

    Attributes
    ----------
    objects : list
        The objects of all nodes, in their order.
    """

    def __init__(self, file):
        self.file, self.objects = file, []
        self._arrays, self._end = file.read(ARRAYS), 0

    def __call__(self, nodes):
        """Return the object of the last node; the caller checks trust first."""
        for kind, content in nodes:
            content = {name: self._value(value) for name, value in content.items()}
            self.objects.append(self._decode(kind, content))
        return self.objects[-1]

    def _value(self, value):
        if isinstance(value, list):
            return [self._value(item) for item in value]
        return self.objects[value["ref"]] if isinstance(value, dict) else value

    def _decode(self, kind, content):
        if kind == "handle":
            return _open_handle(content, self.file)
        if kind == "array":
            return self._array(**content)
        if kind == "scalar":
            return self._scalar(**content)
        return CODECS[kind][2](**content)

    def _scalar(self, dtype, shape):
        value = self._array(dtype, shape)[()]
        # Texts have a kind of their own, which `required_trust` reads.
        if shape or isinstance(value, str):
            raise ValueError("a scalar has dimensions or is a text")
        return value

    def _array(self, dtype, shape, by_column=False):
        dtype, order = decode_dtype(dtype), "F" if by_column else "C"
        start = self._end + -self._end % _ALIGNMENT
        try:
            if min(shape, default=0) < 0:  # a negative size would read before the start
                raise ValueError("negative dimensions are not allowed")
            array = np.ndarray(shape, dtype, self._arrays, start, order=order)
        except (TypeError, ValueError) as error:
            raise SavedFileError(
                f"an array declares shape {shape} of {dtype}, which does not match its "
                f"bytes in {ARRAYS!r}."
            ) from error
        self._end = start + array.nbytes
        return array


def _encode_handle(handle, bundle, files, where):
    """Return the content of a handle.

    Its files are added to `files`, if `bundle` is true or if there are no files to
    refer to.
    """
    cls, content = type(handle), handle._reference()
    if bundle or not content:
        prefix = f"{cls.__name__}/{handle.fingerprint[:32]}"
        content = {**content, "bundled": prefix}
        with prefix_input_errors(where):
            new = handle._files().items()
        files.update({f"{prefix}/{name}": data for name, data in new})
    module, name = saved_name(cls)
    return {"module": module, "name": name, **content}


def _open_handle(content, file):
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
    """Return the folder with the members of a bundle; unpack it if it does not exist.

    The folder is in the cache and is named by a digest of its contents, so processes
    and pickles share it. The checksum of each member is verified when it is written.
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
