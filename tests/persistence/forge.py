"""Modify saved files so that they still look valid."""

import hashlib
import io
import json
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from sk_metaembed import save

MANIFEST, STRUCTURE, ARRAYS = "manifest.json", "structure.json", "arrays.bin"


def members(data):
    """Return the members of a zip file, in their order."""
    with ZipFile(io.BytesIO(data)) as file:
        return {info.filename: file.read(info) for info in file.infolist()}


def saved(estimator, folder, **options):
    """Return the members of the file of an estimator, which is left in a folder."""
    return members(save(estimator, folder / "saved.skm", **options).read_bytes())


def zipped(parts, compress_type=ZIP_STORED):
    """Return a zip file with these members."""
    out = io.BytesIO()
    with ZipFile(out, "w", compression=compress_type) as file:
        for name, content in parts.items():
            entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = compress_type
            file.writestr(entry, content)
    return out.getvalue()


def resealed(parts):
    """Return members with a manifest that has their checksums."""
    manifest = json.loads(parts[MANIFEST])
    manifest["members"] = {
        name: hashlib.sha256(content).hexdigest()
        for name, content in parts.items()
        if name != MANIFEST
    }
    return {**parts, MANIFEST: json.dumps(manifest).encode()}


def nodes_of(parts):
    return json.loads(parts[STRUCTURE])


def with_nodes(parts, nodes):
    """Return the members with another structure and its checksum."""
    return resealed({**parts, STRUCTURE: json.dumps(nodes).encode()})


def add(nodes, kind, **content):
    """Insert a node before the last one; return a reference to it."""
    nodes.insert(-1, [kind, content])
    return {"ref": len(nodes) - 2}


def set_attribute(nodes, name, value):
    """Set an attribute of the last node, the estimator."""
    content = nodes[-1][1]
    if name not in content["names"]:
        content["names"].append(name)
        content["values"].append(None)
    content["values"][content["names"].index(name)] = value


def named(kind, name, **content):
    """Return a node that names a class or function."""
    module, _, name = name.rpartition(".")
    return [kind, {"module": module, "name": name, **content}]


def places(tree, path=()):
    """Return the paths to all values of a JSON tree."""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree)
    results = []
    for key, value in inner:
        results.append((*path, key))
        if isinstance(value, dict | list):
            results += places(value, (*path, key))
    return results


def edited(tree, path, value, drop):
    """Return a JSON tree with the value at a path replaced or dropped."""
    tree = json.loads(json.dumps(tree))
    at = tree
    for key in path[:-1]:
        at = at[key]
    if drop:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return tree
