"""The structure of a file in the format of skops: normalized, validated and read.

skops checks that each class is trusted and then calls it if the file says so. Here a
class of this library is created in one way only, the file cannot name methods or choose
constructor arguments, and the size of an array is checked against its bytes before
memory is allocated. Files are read without skops, because importing it imports torch
and takes seconds: objects are built for the node types that are allowed below, after
all nodes are checked.
"""

import json
from importlib import import_module

import numpy as np

from ._errors import SavedFileError
from ._trusted import BY_LOADER, ONLY, is_estimator, is_trusted, ufunc

STRUCTURE = "structure.json"
# Node types of skops that put parts together and call nothing.
_LOADERS = {
    *("DictNode", "ListNode", "TupleNode", "JsonNode", "SliceNode", "TypeNode"),
    *("ObjectNode", "NdArrayNode", "MaskedArrayNode", "DTypeNode", "FunctionNode"),
}
_PROTOCOLS = (1, 2)
_STR = ("builtins", "str")


def normalize(schema, file):
    """Return the schema and the arrays (name -> bytes) of what skops has dumped.

    Without what differs from run to run: skops uses the addresses of objects as ids;
    here ids and names are counted up. `file` is the zip file with the arrays.
    """
    schema = json.loads(json.dumps(schema))  # one node per place, not per object
    ids, names = {}, {}
    for node in iter_nodes(schema):
        # Whether two equal values are one object is chance, and has no effect.
        if node["__loader__"] in ("JsonNode", "TypeNode"):
            node.pop("__id__", None)
        elif "__id__" in node:
            node["__id__"] = ids.setdefault(node["__id__"], len(ids) + 1)
        if "file" in node:
            name = f"arrays/{len(names)}.npy"
            node["file"] = names.setdefault(node["file"], name)
    return schema, {new: file.read(old) for old, new in names.items()}


def iter_nodes(tree):
    """Yield each node of a schema, parents before children."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending += reversed(node)
        elif isinstance(node, dict):
            if "__loader__" in node:
                yield node
            pending += reversed(list(node.values()))


def read_structure(file, trusted):
    """Validate the structure of a SavedFile; return its objects and type names.

    Arrays are read one by one, so that none is in memory twice. The names are those of
    types that are neither trusted nor in `trusted`: of these, the objects are of
    `StandIn`.
    """
    schema = json.loads(file.read(STRUCTURE))
    check_schema(schema)
    for name in {node["file"] for node in iter_nodes(schema) if "file" in node}:
        _check_array(file, name)
    names = untrusted_names(schema) - {*trusted}
    return Builder(file, names)(schema), names


def check_schema(schema):
    """Raise SavedFileError if a schema names calls or has another version."""
    protocol = schema.get("protocol")
    if type(protocol) is not int or protocol not in _PROTOCOLS:
        raise SavedFileError(
            f"The structure has version {protocol!r} of the format of skops; this "
            f"release reads {_PROTOCOLS[0]} to {_PROTOCOLS[-1]}. Install the version "
            "of skops that it was tested with, or a newer sk_metaembed."
        )
    for node in iter_nodes(schema):
        _check_node(node)


def _check_node(node):
    loader = node["__loader__"]
    name = f"{node['__module__']}.{node['__class__']}"
    required = [other for other, names in BY_LOADER.items() if name in names]
    ours = name.startswith("sk_metaembed.")
    if ours and is_estimator(node["__module__"], node["__class__"]):
        required.append("ObjectNode")
    if loader in ONLY and name not in ONLY[loader]:
        required.append("another")
    if loader not in _LOADERS or (required and loader not in required):
        raise SavedFileError(
            f"The structure contains {name} with loader {loader}, not allowed in "
            "saved estimators."
        )
    if loader == "DictNode":
        keys = [(k["__module__"], k["__class__"]) for k in node["key_types"]["content"]]
        kinds = {k["__loader__"] for k in node["key_types"]["content"]}
        if not (set(keys) <= {_STR} and kinds <= {"TypeNode"}):
            raise SavedFileError("Dictionary keys in the structure must be strings.")


def _check_array(saved, name):
    """Check that the header of an array matches its size and names no objects."""
    with saved.open(name) as file:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, _, dtype = read(file)
        size = dtype.itemsize
        for length in shape:
            size *= length  # Python integers, which do not overflow
        total = saved.size(name)
        if dtype.hasobject or min(shape, default=0) < 0 or size != total - file.tell():
            raise SavedFileError(
                f"The array {name} declares shape {shape} of {dtype}, which does not "
                f"match its {total:,} bytes."
            )


def untrusted_names(schema):
    """Return the names in a checked schema that are not trusted by default."""
    named = {
        (n["__loader__"], n["__module__"], n["__class__"]) for n in iter_nodes(schema)
    }
    return {
        f"{m}.{name}" for loader, m, name in named if not is_trusted(loader, m, name)
    }


class Builder:
    """Builds the objects of a checked schema; `file` holds the arrays.

    Objects of the types in `untrusted` are built as `StandIn`.
    """

    def __init__(self, file, untrusted):
        self._file, self._untrusted = file, untrusted
        self._built = {}

    def __call__(self, node):
        """Return the object of a node; nodes with the same id share one object."""
        key = node.get("__id__")
        if key is None or key not in self._built:
            is_trusted = (
                f"{node['__module__']}.{node['__class__']}" not in self._untrusted
            )
            build = _BUILD[node["__loader__"]] if is_trusted else _stand_in
            new = build(node, self)
            if key is None:
                return new
            self._built[key] = new
        return self._built[key]

    def array(self, name):
        """Return the array in a member of the file."""
        with self._file.open(name) as file:
            return np.lib.format.read_array(file, allow_pickle=False)


class StandIn:
    """Holds the parts of an object whose type is not trusted."""


def _stand_in(node, build):
    new, content = StandIn(), node.get("content")
    if isinstance(content, dict) and "__loader__" in content:
        content = [content]
    if isinstance(content, dict):
        content = [*content.values()]
    if isinstance(content, list):
        new.parts = [build(part) for part in content]
    return new


def _class(node):
    return getattr(import_module(node["__module__"]), node["__class__"])


def _dict(node, build):
    new = _class(node)()
    for key, value in node["content"].items():
        new[key] = build(value)
    return new


def _list(node, build):
    return _class(node)([build(value) for value in node["content"]])


def _tuple(node, build):
    cls, parts = _class(node), [build(value) for value in node["content"]]
    return cls(*parts) if hasattr(cls, "_fields") else tuple(parts)


def _json(node, build):
    return json.loads(node["content"])


def _slice(node, build):
    return slice(*(node["content"][part] for part in ("start", "stop", "step")))


def _type(node, build):
    return _class(node)


def _object(node, build):
    cls = _class(node)
    new = cls.__new__(cls)
    state = build(node["content"]) if node.get("content") is not None else None
    return new if state is None else _with_state(new, state)


def _with_state(new, state):
    if hasattr(new, "__setstate__"):
        new.__setstate__(state)
    else:
        new.__dict__.update(state)
    return new


def _array(node, build):
    if node["type"] == "numpy":
        array = build.array(node["file"])
        scalar = (node["__module__"], node["__class__"]) != ("numpy", "ndarray")
        return _class(node)(array) if scalar else array
    values = [build(value) for value in node["content"]]
    if len(build(node["shape"])) != 1:
        return np.array(values, dtype=object)
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # assigning lists at once would nest them
        array[i] = value
    return array


def _masked(node, build):
    parts = node["content"]
    return np.ma.MaskedArray(build(parts["data"]), build(parts["mask"]))


def _dtype(node, build):
    return build(node["content"]).dtype


def _function(node, build):
    known = ufunc(node["__module__"], node["__class__"])
    return _class(node) if known is None else known


_BUILD = {
    "DictNode": _dict,
    "ListNode": _list,
    "TupleNode": _tuple,
    "JsonNode": _json,
    "SliceNode": _slice,
    "TypeNode": _type,
    "ObjectNode": _object,
    "NdArrayNode": _array,
    "MaskedArrayNode": _masked,
    "DTypeNode": _dtype,
    "FunctionNode": _function,
}
