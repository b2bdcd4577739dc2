"""Build the objects of a structure in skops's format, after it was checked.

Only the node types that `_schema` accepts are handled: all nodes are checked before
the first object is built.
"""

import json
from importlib import import_module

import numpy as np

from ._trust_rules import ufunc


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
