"""An estimator as a list of nodes and the bytes of its arrays, and back.

A node is a list of its kind and its content (see `_codecs`). It refers to nodes before
it, so that a structure has no cycles, and an object that occurs twice has one node. The
arrays follow one another in the order of their nodes, each at a multiple of 16 bytes.
Nodes describe classes by name and attributes: no node can call a function or choose
the arguments of a constructor, other than those that its kind checks.
"""

import json
import sys
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from ._checked_state import check_state
from ._codecs import (
    CODECS,
    MalformedEntryError,
    UnsavableError,
    dtype_entry,
    dtype_text,
    encode_value,
    entry,
)
from ._compiled import DECODERS as COMPILED
from ._compiled import encode_compiled
from ._errors import SavedFileError
from ._functions import DECODERS as FUNCTIONS
from ._functions import encode_function, imported_class
from ._handles import KINDS as HANDLES
from ._handles import encode_handle, open_handle
from ._requirements import references

STRUCTURE, ARRAYS = "structure.json", "arrays.bin"
_ATOMS = (type(None), bool, int, float, str)
_ALIGNMENT = 16  # bytes
_OPAQUE = ("lightgbm", "xgboost", "catboost", "sklearn")
_HEAP_TYPE = 1 << 9  # CPython's flag of types that are defined in Python
ROOT = "the estimator"
# Entries whose values are hashed, which reads all that they contain.
_HASHED = {"set": "items", "frozenset": "items", "dict": "keys"}
_DEEPEST_HASHED, _MOST_HASHED = 50, 10_000
_MOST_COPIED = 8  # times the bytes of all arrays
_FEWEST_VIEWED = 16  # the inverse of an array's share of them


class Net(NamedTuple):
    """A trained network as plain values and arrays; see `_net_parts`."""

    plain: dict
    arrays: dict


class Encoder:
    """Encodes an estimator, which is not modified, as nodes and bytes of arrays.

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

    def __call__(self, value, where=ROOT):
        """Return an atom, or a reference to the node of a value.

        `where` names the place of the value in error messages.
        """
        if type(value) in _ATOMS:
            return value
        key = id(value)
        if key not in self._numbers:
            self._numbers[key] = None
            try:
                node = self._encode(value, where)
            except UnsavableError as error:
                raise TypeError(f"{where} {error}") from error
            self._numbers[key] = len(self.nodes)
            self._values.append(value)
            self.nodes.append(node)
        if self._numbers[key] is None:
            raise TypeError(
                f"{where} has a circular reference; only a pickle can save such an "
                "object."
            )
        return {"ref": self._numbers[key]}

    def _encode(self, value, where):
        found = encode_handle(value, self.bundle, self.files, where)
        found = found or next(filter(None, (e(value) for e in _ENCODERS)), None)
        if found:
            kind, content = found
            return [kind, {n: self._part(part, where) for n, part in content.items()}]
        if isinstance(value, np.generic | np.ndarray):
            return self._array(value)
        if is_plain_object(value):
            return self._object(value, where)
        raise UnsavableError(_refusal(value))

    def _part(self, part, where):
        """Encode a value of a content, of which a list is a part."""
        if type(part) is not list:
            return self(part, where)
        return [self(item, _item_place(item, where)) for item in part]

    def _array(self, value):
        if isinstance(value, np.memmap):
            value = np.array(value)
        is_array = isinstance(value, np.ndarray)
        if value.dtype.hasobject or (is_array and type(value) is not np.ndarray):
            raise UnsavableError(_refusal(value))
        by_column = is_array and value.flags.fnc
        self.arrays += bytes(-len(self.arrays) % _ALIGNMENT) + value.tobytes("A")
        content = {"dtype": dtype_text(value.dtype), "shape": list(value.shape)}
        if is_array:
            return ["array", {**content, "by_column": by_column}]
        return ["scalar", content]

    def _object(self, value, where):
        state = _state(value)
        if not isinstance(state, dict):
            raise UnsavableError(_refusal(value))
        if hasattr(type(value), "_net_parts") and "net_" in state:
            plain, tensors = value._net_parts()
            arrays = {name: t.detach().cpu().numpy() for name, t in tensors.items()}
            state = {n: v for n, v in state.items() if n not in ("net_", "history_")}
            state["net_"] = Net(plain, arrays)
        values = [self(v, _attribute_place(value, n, where)) for n, v in state.items()]
        content = {**_class_name(value), "names": list(state), "values": values}
        return ["object", content]


def _class_name(value):
    return {"module": type(value).__module__, "name": type(value).__qualname__}


def _state(value):
    """Return the attributes of an object that files contain, by name."""
    if hasattr(type(value), "_saved_attributes"):
        return value._saved_attributes()
    return value.__getstate__() or {}


def _refusal(value):
    name = type(value).__name__
    return f"holds {name}, which sk_metaembed.save cannot write (a pickle may be able)."


def _encode_net(value):
    if isinstance(value, Net):
        return "net", value._asdict()
    if "torch" in sys.modules and isinstance(value, sys.modules["torch"].nn.Module):
        raise UnsavableError(
            f"is a torch module, {type(value).__name__}, whose code cannot be saved. "
            "Save its state with safetensors and rebuild it."
        )
    return None


def _encode_type(value):
    if isinstance(value, type):
        return "type", {"module": value.__module__, "name": value.__qualname__}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return "named tuple", {**_class_name(value), "items": list(value)}
    return None


def _encode_opaque(value):
    """Return kind and content of a boosted or neighbors tree, else None.

    It is saved as its library pickles it. This contains no code, but the compiled code
    that reads it and predicts with it does not validate all of it: its class is never
    trusted by default.
    """
    kind = type(value)
    is_known = kind.__module__.partition(".")[0] in _OPAQUE
    if not (is_known and hasattr(kind, "__setstate__")):
        return None
    if isinstance(value, BaseEstimator):
        return None
    return "opaque", {**_class_name(value), "state": _state(value)}


_ENCODERS = (
    *(_encode_net, encode_value, _encode_type, encode_compiled, encode_function),
    _encode_opaque,
)


def _attribute_place(owner, name, where):
    """Return how error messages name an attribute of an object at a place."""
    kind = type(owner).__name__
    if has_parameters(owner) and name.strip("_") == name:
        return _inside(where, f"{name}= of {kind}")
    return _inside(where, f"attribute {name!r} of {kind}")


def _item_place(item, where):
    """Return the place of an item of a list: the name of a step, or the list's."""
    named = isinstance(item, tuple) and len(item) > 1 and type(item[0]) is str
    if not (named and has_parameters(item[1])):
        return where
    outer, _, _ = where.rpartition(", ")  # replaces "steps= of Pipeline"
    return _inside(outer or ROOT, f"step {item[0]!r}")


def _inside(where, place):
    return place if where == ROOT else f"{where}, {place}"


def has_parameters(value):
    """Return whether a value is an estimator or has its interface."""
    return hasattr(value, "get_params") and not isinstance(value, type)


def is_plain_object(value):
    """Return whether an object consists of its class and its attributes alone."""
    kind = type(value)
    inherited = (
        kind.__reduce_ex__ is object.__reduce_ex__
        and kind.__reduce__ is object.__reduce__
        and kind.__new__ is object.__new__
    )
    builtin = isinstance(value, dict | list | set | tuple | str)
    in_python = kind.__flags__ & _HEAP_TYPE
    return inherited and in_python and not builtin and hasattr(value, "__dict__")


def read_nodes(data):
    """Return the nodes of a structure after checking their kinds and references."""
    nodes = json.loads(data)
    for number, (kind, content) in enumerate(nodes):
        if kind not in _KINDS:
            raise SavedFileError(f"the structure has a node of unknown kind {kind!r}.")
        for value in content.values():
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, list):
                    raise MalformedEntryError("a list within a list")
            for other in references(value):
                if type(other) is not int or not 0 <= other < number:
                    raise MalformedEntryError(f"a reference to {other!r}")
        if kind == "object":
            _check_names(content)
    _check_hashed(nodes)
    return nodes


def _check_hashed(nodes):
    """Raise an error for keys whose hash would take long, or overflow the stack."""
    depths, sizes = [], []  # of each node with all that it refers to
    for kind, content in nodes:
        parts = [part for value in content.values() for part in references(value)]
        depths.append(1 + max((depths[part] for part in parts), default=0))
        sizes.append(min(1 + sum(sizes[part] for part in parts), _MOST_HASHED))
        for part in references(content.get(_HASHED.get(kind))):
            if depths[part] > _DEEPEST_HASHED or sizes[part] == _MOST_HASHED:
                raise MalformedEntryError("a key or an item of a set is too large")


def _check_names(content):
    names, values = entry(content, "names", list), entry(content, "values", list)
    if len({*names}) != len(values) or not all(type(name) is str for name in names):
        raise MalformedEntryError("the attributes of an object have no names")


class Decoder:
    """Decodes the nodes of a SavedFile, the inverse of `Encoder`.

    Attributes
    ----------
    objects : list
        The objects of all nodes, in their order.
    """

    def __init__(self, file):
        self.file, self.objects = file, []
        self._arrays, self._end = file.read(ARRAYS), 0
        self._n_copied = 0

    def __call__(self, nodes):
        """Return the object of the last node; what nodes require is trusted."""
        for kind, content in nodes:
            content = {name: self._value(value) for name, value in content.items()}
            self.objects.append(self._decode(kind, content))
        return self.objects[-1]

    def _value(self, value):
        if isinstance(value, list):
            return [self._value(item) for item in value]
        return self.objects[value["ref"]] if isinstance(value, dict) else value

    def _decode(self, kind, content):
        if kind in ("array", "scalar"):
            return self._array(content, kind)
        if kind in HANDLES:
            return open_handle(kind, content, self.file)
        if kind == "net":
            return self._net(content)
        if kind not in _REFERRING:
            self._count_copies(content)
        return _DECODERS[kind](content)

    def _count_copies(self, content):
        """Raise an error if the nodes copy much more than the file has."""
        arrays = [value for value in content.values() if isinstance(value, np.ndarray)]
        self._n_copied += sum(array.nbytes for array in arrays)
        if self._n_copied > _MOST_COPIED * (len(self._arrays) + 1):
            raise MalformedEntryError("arrays are copied too often")

    def _array(self, content, kind):
        dtype, shape = dtype_entry(content), entry(content, "shape", list)
        start = self._end + -self._end % _ALIGNMENT
        order = "F" if content.get("by_column") is True else "C"
        try:
            if min(shape, default=0) < 0 or not dtype.itemsize:
                raise ValueError("negative dimensions and no bytes are not allowed")
            array = np.ndarray(shape, dtype, self._arrays, start, order=order)
        except (TypeError, ValueError) as error:
            raise SavedFileError(
                f"{self.file.label}: an array declares shape {shape} of {dtype}, which "
                f"does not match its bytes in {ARRAYS!r}."
            ) from error
        self._end = start + array.nbytes
        if kind == "array":
            # A view keeps the arrays of the whole file in memory.
            is_small = _FEWEST_VIEWED * array.nbytes < len(self._arrays)
            return array.copy(order="K") if is_small else array
        if dtype.kind == "U" or shape:
            raise MalformedEntryError("a scalar is an array or a text")
        return array[()]

    def _net(self, content):
        arrays = entry(content, "arrays", dict)
        # Else a network could be larger than its file.
        if sum(array.nbytes for array in arrays.values()) > len(self._arrays):
            raise MalformedEntryError("weights of a network share an array")
        return Net(entry(content, "plain", dict), arrays)


def _decode_named_tuple(content):
    return imported_class(content, tuple)(*entry(content, "items", list))


def _decode_opaque(content):
    cls = imported_class(content)
    if cls.__module__.partition(".")[0] not in _OPAQUE:
        raise MalformedEntryError(f"{cls.__name__} is not a class of {_OPAQUE}")
    new = cls.__new__(cls)
    new.__setstate__(content["state"])
    return new


def _decode_object(content):
    cls = imported_class(content)
    new = cls.__new__(cls)
    state = dict(zip(content["names"], content["values"], strict=True))
    net = state.pop("net_", None) if hasattr(cls, "_set_net") else None
    if hasattr(new, "__setstate__"):
        new.__setstate__(state)
    else:
        new.__dict__.update(state)
    if net is not None:
        import torch

        arrays = entry({"net_": net}, "net_", Net).arrays
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        new._set_net(net.plain, tensors)
    check_state(new)
    return new


_DECODERS = {
    **{kind: decode for kind, (_, _, decode) in CODECS.items()},
    **COMPILED,
    **FUNCTIONS,
    "type": imported_class,
    "named tuple": _decode_named_tuple,
    "opaque": _decode_opaque,
    "object": _decode_object,
}
_KINDS = {*_DECODERS, *HANDLES, "array", "scalar", "net"}
# Kinds that refer to their parts and copy no arrays.
_REFERRING = {"dict", "frozenset", "list", "named tuple", "object", "set", "tuple"}
