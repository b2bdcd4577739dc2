"""The structure of a file, as skops writes it: made regular, checked, and read.

skops asks of every class whether it is trusted, and then calls it if the file says so.
Here a class of ours can only be made in the one way it was reviewed for, methods and
constructors with arguments of the file's own choice are out, and arrays are held
against the bytes they came with before any memory is set aside for them. Reading does
without skops, because importing it imports torch.

Build the objects of a structure in skops's format, after it was checked.

Only the node types that `_schema` accepts are handled: all nodes are checked before
the first object is built.
"""

import io
import json
from importlib import import_module
from zipfile import ZipFile

import numpy as np

from ._archive import Entries, stored_zip
from ._errors import SavedFileError
from ._trusted import BY_LOADER, ONLY, is_trusted, ufunc


class Builder:
    """Builds the objects of a structure.

    Parameters
    ----------
    entries : Entries
        The structure's members, which hold the arrays.
    """

    def __init__(self, entries):
        self._entries = entries
        self._made = {}

    def __call__(self, node):
        """Return the object of a node; nodes with the same id share one object."""
        key = node.get("__id__")
        if key is None:
            return _BUILD[node["__loader__"]](node, self)
        if key not in self._made:
            self._made[key] = _BUILD[node["__loader__"]](node, self)
        return self._made[key]

    def array(self, name):
        """Return the array in a member of the structure."""
        with self._entries.open(name) as file:
            return np.lib.format.read_array(file, allow_pickle=False)


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
    kind, parts = _class(node), [build(value) for value in node["content"]]
    return kind(*parts) if hasattr(kind, "_fields") else tuple(parts)


def _json(node, build):
    return json.loads(node["content"])


def _slice(node, build):
    return slice(*(node["content"][part] for part in ("start", "stop", "step")))


def _type(node, build):
    return _class(node)


def _object(node, build):
    kind = _class(node)
    new = kind.__new__(kind)
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
        found = build.array(node["file"])
        scalar = (node["__module__"], node["__class__"]) != ("numpy", "ndarray")
        return _class(node)(found) if scalar else found
    values = [build(value) for value in node["content"]]
    if len(build(node["shape"])) != 1:
        return np.array(values, dtype=object)
    found = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):  # assigning lists at once would nest them
        found[place] = value
    return found


def _masked(node, build):
    parts = node["content"]
    return np.ma.MaskedArray(build(parts["data"]), build(parts["mask"]))


def _dtype(node, build):
    return build(node["content"]).dtype


def _function(node, build):
    known = ufunc(node["__module__"], node["__class__"])
    return _class(node) if known is None else known


def _reduced(node, build):
    new = _class(node)(*build(node["__reduce__"]["args"]))
    state = build(node["content"])
    return _with_state(new, state) if state else new


def _called(node, build):
    return _class(node)(*build(node["content"]))


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
    "LossNode": _reduced,
    "TreeNode": _reduced,
    "ConstructorFromReduceNode": _called,
}


SCHEMA = "schema.json"
# Of skops's kinds of nodes, those that put parts together and call nothing.
_LOADERS = {
    *("DictNode", "ListNode", "TupleNode", "JsonNode", "SliceNode", "TypeNode"),
    *("ObjectNode", "NdArrayNode", "MaskedArrayNode", "DTypeNode", "FunctionNode"),
    *("LossNode", "TreeNode"),
}
_PROTOCOLS = (1, 2)
_CALLS = "ConstructorFromReduceNode"
_STR = ("builtins", "str")


def regular(data):
    """Return skops's bytes without what differs from run to run.

    Parameters
    ----------
    data : bytes
        A zip file that skops wrote, with the addresses of objects for ids.

    Returns
    -------
    bytes
        The same content, with ids and names counted up.
    """
    with ZipFile(io.BytesIO(data)) as file:
        schema = json.loads(file.read(SCHEMA))
        ids, names = {}, {}
        for node in nodes(schema):
            # Whether two equal values are one object is chance, and means nothing.
            if node["__loader__"] in ("JsonNode", "TypeNode"):
                node.pop("__id__", None)
            elif "__id__" in node:
                node["__id__"] = ids.setdefault(node["__id__"], len(ids) + 1)
            if "file" in node:
                node["file"] = names.setdefault(node["file"], f"{len(names)}.npy")
        text = json.dumps(schema, separators=(",", ":")).encode()
        arrays = {new: file.read(old) for old, new in names.items()}
    return stored_zip({SCHEMA: text, **arrays})


def nodes(tree):
    """Yield each node of a schema, those above before those below."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += reversed(node)
        elif isinstance(node, dict):
            if "__loader__" in node:
                yield node
            waiting += reversed(list(node.values()))


def check_schema(data, trusted=()):
    """Check a structure before anything is made of it.

    Parameters
    ----------
    data : bytes
    trusted : collection of str
        What the user trusts beyond the list.

    Raises
    ------
    SavedFileError
        If there is something in it that could call what the file names, or an array
        that is not as large as it says.
    """
    with Entries(io.BytesIO(data), "the structure") as entries:
        _checked_schema(entries, trusted)


def _checked_schema(entries, trusted):
    schema = json.loads(entries.read(SCHEMA))
    protocol = schema.get("protocol")
    if type(protocol) is not int or protocol not in _PROTOCOLS:
        raise SavedFileError(
            f"The structure is in version {protocol!r} of the format of skops, and "
            f"this release reads {_PROTOCOLS[0]} to {_PROTOCOLS[-1]}. Install the "
            "version of skops that it was tested with, or a newer sk_metaembed."
        )
    for node in nodes(schema):
        _check_node(node, trusted)
        if "file" in node:
            _check_array(entries, node["file"])
    return schema


def _check_node(node, trusted):
    loader = node["__loader__"]
    name = f"{node['__module__']}.{node['__class__']}"
    may_call = loader == _CALLS and name in trusted
    ways = [way for way, names in BY_LOADER.items() if name in names]
    if loader in ONLY and name not in ONLY[loader]:
        ways.append("another")
    if not (loader in _LOADERS or may_call) or (ways and loader not in ways):
        raise SavedFileError(
            f"The structure holds {name} by way of {loader}, which is none of the ways "
            "in which saved estimators are put together."
        )
    if loader == "DictNode":
        keys = [(k["__module__"], k["__class__"]) for k in node["key_types"]["content"]]
        kinds = {k["__loader__"] for k in node["key_types"]["content"]}
        if not (set(keys) <= {_STR} and kinds <= {"TypeNode"}):
            raise SavedFileError("The structure has keys that are no words.")


def _check_array(entries, name):
    """Check that an array's header promises what there is, and no objects."""
    with entries.open(name) as file:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, _, dtype = read(file)
        size = dtype.itemsize
        for length in shape:
            size *= length  # of Python's own integers, which never run over
        here = entries.infos[name].file_size
        if dtype.hasobject or min(shape, default=0) < 0 or size != here - file.tell():
            raise SavedFileError(
                f"The array {name} says it has shape {shape} of {dtype}, which is not "
                f"what its {here:,} bytes hold."
            )


def read_structure(source, trusted):
    """Check a structure and return its objects.

    Parameters
    ----------
    source : binary file
        Seekable. Arrays are read from it one by one, so that none is in memory twice.
    trusted : collection of str
        What the user trusts beyond the list.

    Raises
    ------
    UntrustedError
        If it needs types that are not trusted.
    """
    with Entries(source, "the structure") as entries:
        schema = _checked_schema(entries, trusted)
        _check_trusted(untrusted_names(schema) - {*trusted})
        return Builder(entries)(schema)


def untrusted_names(schema):
    """Return the classes and functions of a schema that are not trusted by default.

    Parameters
    ----------
    schema : dict
        Accepted by `check_schema`.

    Returns
    -------
    set of str
    """
    named = {(n["__loader__"], n["__module__"], n["__class__"]) for n in nodes(schema)}
    return {f"{m}.{name}" for way, m, name in named if not is_trusted(way, m, name)}


def untrusted_in(data):
    """Return the names in the bytes of a structure that are not trusted by default."""
    with Entries(io.BytesIO(data), "the structure") as entries:
        return untrusted_names(json.loads(entries.read(SCHEMA)))


def _check_trusted(found):
    if found:
        from ._errors import untrusted_types

        raise untrusted_types(found)
