"""The structure of a file, as skops writes it: made regular, and looked through.

skops asks of every class whether it is trusted, and then calls it if the file says so.
Here a class of ours can only be made in the one way it was reviewed for, methods and
constructors with arguments of the file's own choice are out, and arrays are held
against the bytes they came with before any memory is set aside for them.
"""

import io
import json
from zipfile import ZipFile

import numpy as np

from ._container import Entries, stored_zip
from ._errors import SavedFileError
from ._trusted import BY_LOADER, TYPES

SCHEMA = "schema.json"
# Of skops's loaders, those that put parts together and call nothing.
_LOADERS = {
    *("DictNode", "ListNode", "TupleNode", "JsonNode", "SliceNode", "TypeNode"),
    *("ObjectNode", "NdArrayNode", "MaskedArrayNode", "DTypeNode", "FunctionNode"),
    *("LossNode", "TreeNode"),
}
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
    """Look through a structure before skops makes anything of it.

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
        for node in nodes(json.loads(entries.read(SCHEMA))):
            _check_node(node, trusted)
            if "file" in node:
                _check_array(entries.read(node["file"]), node["file"])


def _check_node(node, trusted):
    loader = node["__loader__"]
    name = f"{node['__module__']}.{node['__class__']}"
    may_call = loader == _CALLS and name in trusted
    ways = [way for way, names in BY_LOADER.items() if name in names]
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


def _check_array(data, name):
    """See that an array's header promises what there is, and no objects."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, _, dtype = read(file)
    size = dtype.itemsize
    for length in shape:
        size *= length  # of Python's own integers, which never run over
    if dtype.hasobject or min(shape, default=0) < 0 or size != len(data) - file.tell():
        raise SavedFileError(
            f"The array {name} says it has shape {shape} of {dtype}, which is not what "
            f"its {len(data):,} bytes hold."
        )


def read_structure(data, trusted):
    """Return what skops makes of a structure that was looked through.

    Raises
    ------
    UntrustedError
        If it needs types that are not trusted.
    """
    from skops import io as skops_io

    check_schema(data, trusted)
    _check_trusted(untrusted_in(data) - {*trusted})
    return skops_io.loads(data, trusted=sorted({*TYPES, *trusted}))


def untrusted_in(data):
    """Return the names of the types in a structure that are on no list."""
    from skops import io as skops_io

    return set(skops_io.get_untrusted_types(data=data)) - {*TYPES}


def _check_trusted(found):
    if found:
        from ._asked import untrusted_types

        raise untrusted_types(found)
