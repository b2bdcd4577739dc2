"""Modify saved files so that they still look valid."""

import hashlib
import io
import json
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from sk_metaembed.persistence._codecs import Placeholder

MANIFEST, STRUCTURE = "manifest.json", "structure.json"


def members(data):
    """Return the members of a zip file, in their order."""
    with ZipFile(io.BytesIO(data)) as file:
        return {info.filename: file.read(info) for info in file.infolist()}


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
        name: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in parts.items()
        if name != MANIFEST
    }
    return {**parts, MANIFEST: json.dumps(manifest).encode()}


def schema_of(parts):
    return json.loads(parts[STRUCTURE])


def with_schema(parts, schema):
    """Return the members with another schema and its checksum."""
    return resealed({**parts, STRUCTURE: json.dumps(schema).encode()})


def attributes(schema):
    """Return the part of a schema that holds the attributes of an estimator."""
    return schema["content"]["content"]


def node(loader, module, name, **more):
    return {"__loader__": loader, "__module__": module, "__class__": name, **more}


def json_node(value):
    return node("JsonNode", "builtins", "str", content=json.dumps(value), is_json=True)


def tuple_node(*parts):
    return node("TupleNode", "builtins", "tuple", content=list(parts))


def dict_node(content):
    types = [node("TypeNode", "builtins", "str") for _ in content]
    keys = node("ListNode", "builtins", "list", content=types)
    return node("DictNode", "builtins", "dict", content=content, key_types=keys)


def placeholder(kind, **content):
    """Return the node of a Placeholder."""
    attributes = {"kind": json_node(kind), "content": dict_node(content)}
    name = Placeholder.__module__, Placeholder.__name__
    return node("ObjectNode", *name, content=dict_node(attributes))
