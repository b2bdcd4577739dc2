"""Malicious files: they try to run code, to fill memory or to write elsewhere."""

import copy
import io
import json
import os
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV

from sk_metaembed import (
    FastTextEmbedding,
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    TransformerEmbedding,
    load,
    save,
)
from sk_metaembed.persistence import SavedFileError, UntrustedError
from sk_metaembed.persistence._schema import iter_nodes
from sk_metaembed.utils._checks_data import as_input, assert_same, token_lists

from .. import tiny_bert
from ..draws import QUICK
from ..test_estimators import vectors
from . import forge

ROWS = token_lists()


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Return an input, the output of a fitted step, and the members of its file."""
    X = as_input(Pooling(), ROWS)
    step = Pooling(("mean", "max"), weights="idf").fit(X)
    path = save(step, tmp_path_factory.mktemp("saved") / "pooling.skm")
    return X, step.transform(X), forge.members(path.read_bytes())


@pytest.fixture
def tokenizer(tmp_path):
    return forge.members(save(Tokenizer(), tmp_path / "t.skm").read_bytes())


@pytest.fixture
def canary(tmp_path):
    """Return the path of a folder that exists only if code was run."""
    return tmp_path / "canary"


def loaded(parts, folder, **kwargs):
    path = folder / "forged.skm"
    path.write_bytes(parts if isinstance(parts, bytes) else forge.zipped(parts))
    return load(path, **kwargs)


def with_parameter(parts, name, node):
    schema = forge.schema_of(parts)
    if name not in forge.attributes(schema):
        keys = schema["content"]["key_types"]["content"]
        keys.append(forge.node("TypeNode", "builtins", "str"))
    forge.attributes(schema)[name] = node
    return forge.with_schema(parts, schema)


def calls(canary):
    """Return nodes that would create a folder, by the way they do it."""
    place = forge.tuple_node(forge.json_node(str(canary)))
    text = f"__import__('os').mkdir({str(canary)!r})"
    code = forge.tuple_node(forge.json_node(text))
    made = forge.node("FunctionNode", "os", "mkdir")
    kwds = forge.dict_node({})
    reduce, method = "ConstructorFromReduceNode", "methodcaller"
    part = {"func": made, "args": place, "kwds": kwds, "namespace": kwds}
    of_path = forge.node(reduce, "pathlib", "PosixPath", content=place)
    sources = "sk_metaembed.dynamic", "TrainedSources"
    return {
        "os.mkdir": forge.node(reduce, "os", "mkdir", content=place),
        "os.system": forge.node("FunctionNode", "os", "system"),
        "builtins.eval": forge.node(reduce, "builtins", "eval", content=code),
        "type eval": forge.node("TypeNode", "builtins", "eval"),
        "methodcaller": forge.node("OperatorFuncNode", "operator", method, attrs=code),
        "method": forge.node(
            "MethodNode",
            "pathlib",
            "PosixPath",
            content={"obj": of_path, "func": "mkdir"},
        ),
        "partial": forge.node("PartialNode", "functools", "partial", content=part),
        "constructor of ours": forge.node(reduce, *sources, content=place),
        "list of ours": forge.node("ListNode", *sources, content=[place]),
        "type of ours": forge.node("TypeNode", *sources),
        "loss": forge.node(
            "LossNode", "os", "mkdir", __reduce__={"args": place}, content=kwds
        ),
        "unknown loader": forge.node("GadgetNode", "os", "system"),
        "placeholder": forge.placeholder(
            "function", module=forge.json_node("os"), name=forge.json_node("system")
        ),
        "kind": forge.placeholder("os.system", a=forge.json_node(1)),
    }


@pytest.mark.parametrize("name", calls("x"))
def test_nothing_is_executed(name, tokenizer, canary, tmp_path):
    parts = with_parameter(tokenizer, "tokenizer", calls(canary)[name])
    with pytest.raises(SavedFileError):
        loaded(parts, tmp_path)
    assert not canary.exists()


@pytest.mark.parametrize("loader", ["LossNode", "TreeNode"])
def test_a_trusted_function_is_not_called_as_a_constructor(
    loader, tokenizer, canary, tmp_path
):
    place = forge.tuple_node(forge.json_node(str(canary)))
    more = {"__reduce__": {"args": place}, "content": forge.dict_node({})}
    parts = with_parameter(
        tokenizer, "tokenizer", forge.node(loader, "os", "mkdir", **more)
    )
    with pytest.raises(SavedFileError, match=f"os.mkdir with loader {loader}"):
        loaded(parts, tmp_path, trusted=["os.mkdir"])
    assert not canary.exists()


@pytest.mark.parametrize("protocol", [0, 3, True, "2", None])
def test_a_structure_of_another_version(protocol, tokenizer, tmp_path):
    schema = {**forge.schema_of(tokenizer), "protocol": protocol}
    with pytest.raises(SavedFileError, match="version .* of the format of skops"):
        loaded(forge.with_schema(tokenizer, schema), tmp_path)


def test_keys_cannot_call(tokenizer, canary, tmp_path):
    schema = forge.schema_of(tokenizer)
    keys = schema["content"]["key_types"]["content"]
    keys[0] = forge.node("TypeNode", "os", "mkdir")
    with pytest.raises(SavedFileError, match="keys in the structure must be strings"):
        loaded(forge.with_schema(tokenizer, schema), tmp_path)


def test_the_root_is_an_estimator(tokenizer, tmp_path):
    for root in (
        forge.json_node(1),
        forge.placeholder("path", path=forge.json_node("a")),
    ):
        parts = forge.with_schema(tokenizer, {**root, "protocol": 2})
        with pytest.raises(SavedFileError, match="holds"):
            loaded(parts, tmp_path)


def test_a_module_is_imported_only_if_it_is_trusted(tokenizer, tmp_path, monkeypatch):
    (tmp_path / "gadget_on_import.py").write_text("raise SystemExit('ran')")
    monkeypatch.syspath_prepend(str(tmp_path))
    names = {"module": "gadget_on_import", "name": "f"}
    message = {key: forge.json_node(value) for key, value in names.items()}
    for gadget in (
        forge.placeholder("function", **message),
        forge.node("ObjectNode", "gadget_on_import", "Gadget"),
        forge.node("FunctionNode", "gadget_on_import", "f"),
        forge.node("TypeNode", "gadget_on_import", "f"),
        forge.node(
            "NdArrayNode",
            "gadget_on_import",
            "f",
            type="json",
            content=[],
            shape=forge.tuple_node(forge.json_node(0)),
        ),
    ):
        with pytest.raises(UntrustedError, match="gadget_on_import"):
            loaded(with_parameter(tokenizer, "tokenizer", gadget), tmp_path)


@pytest.mark.parametrize("name", ["trusted", "trust_remote_code", "memory"])
def test_unsafe_parameters_require_trust(name, tokenizer, tmp_path):
    parts = with_parameter(tokenizer, name, forge.json_node(True))
    with pytest.raises(UntrustedError, match=f"{name}=True") as error:
        loaded(parts, tmp_path)
    assert getattr(loaded(parts, tmp_path, trusted=error.value.names), name) is True


@pytest.mark.filterwarnings("ignore:Loading .* requires explicit trust")
@pytest.mark.parametrize("n", [1, 20])  # many keys are encoded differently
def test_searches_over_unsafe_parameters_require_trust(n, tmp_path):
    grid = {"trusted": [False, True], **{f"a{i}__trusted": [False] for i in range(n)}}
    search = GridSearchCV(TransformerEmbedding("folder"), [grid])
    path = save(search, tmp_path / "e.skm")
    with pytest.raises(UntrustedError, match=r"trusted=\[False, True\]") as error:
        load(path)
    assert error.value.names == ("trusted=[False, True]",)
    assert load(path, trusted=error.value.names).param_grid == [grid]
    words = TfidfVectorizer().fit(["a memory that is trusted"])
    assert load(save(words, path)).vocabulary_ == words.vocabulary_


def test_forged_ngram_table_is_refused(tmp_path):
    step = FastTextEmbedding(4, min_count=1, epochs=1, bucket=1000).fit([["tea"]])
    parts = forge.members(save(step, tmp_path / "e.skm").read_bytes())
    schema = forge.schema_of(parts)
    table = next(n for n in iter_nodes(schema) if n["__class__"] == "NgramVectors")
    of = forge.attributes(table)
    of["vectors"] = of["buckets"]
    forged = loaded(forge.with_schema(parts, schema), tmp_path)
    with pytest.raises((IndexError, ValueError)):
        forged.transform([["unseen", "words"]])


def test_code_of_a_bundled_model_is_ignored(tmp_path, monkeypatch):
    source = TransformerEmbedding((tiny_bert.network(), tiny_bert.tokenizer()))
    path = save(source.fit([["tea"]]), tmp_path / "e.skm")
    parts = forge.members(path.read_bytes())
    name = next(n for n in parts if n.endswith("/config.json"))
    message = {"auto_map": {"AutoConfig": "evil.Evil"}, "model_type": "evil"}
    parts[name] = json.dumps({**json.loads(parts[name]), **message}).encode()
    canary = tmp_path / "canary"
    code = f"import os\nos.mkdir({str(canary)!r})\nclass Evil: pass\n"
    parts[name.replace("config.json", "evil.py")] = code.encode()
    requests = []
    monkeypatch.setattr("builtins.input", lambda *a: requests.append(a) or "y")
    with suppress(SavedFileError):
        loaded(forge.resealed(parts), tmp_path)
    assert not canary.exists() and not requests


def test_bundled_adapter_is_refused(tmp_path):
    source = TransformerEmbedding(tiny_bert.save(tmp_path / "bert")).fit([["tea"]])
    path = save(source, tmp_path / "e.skm", bundle=True)
    message = b'{"peft_type": "LORA", "megatron_core": "antigravity"}'
    parts = forge.members(path.read_bytes())
    forged = forge.resealed({**parts, "transformer/0/adapter_config.json": message})
    with pytest.raises(SavedFileError, match="adapter_config.json names another mod"):
        loaded(forged, tmp_path)


@pytest.mark.parametrize("pos", [-1, 625, 10**6])
def test_position_of_a_random_state_is_checked(pos, tokenizer, tmp_path):
    """numpy accepts any position, and reads memory there."""
    key = np.zeros(624, np.uint32)
    content = {"pos": forge.json_node(pos), "has_gauss": forge.json_node(0)}
    content |= {"gauss": forge.json_node(0.0), "key": array_node("key.npy")}
    state = forge.placeholder("random state", **content)
    parts = with_parameter(tokenizer, "tokenizer", state)
    parts["key.npy"] = npy((624,), "<u4", key.tobytes())
    with pytest.raises(SavedFileError, match="position of a random state"):
        loaded(forge.resealed(parts), tmp_path)


def array_node(file):
    return forge.node("NdArrayNode", "numpy", "ndarray", type="numpy", file=file)


def npy(shape, dtype="<f8", data=b""):
    out = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, header)
    return out.getvalue() + data


@pytest.mark.parametrize(
    "array",
    [npy((10**12,)), npy((10**6, 10**6)), npy((-1,)), npy((1,), "|O", b"12345678")],
    ids=["long", "wide", "negative", "objects"],
)
def test_an_array_is_as_large_as_its_bytes(array, fitted, tmp_path):
    parts = dict(fitted[2])
    name = next(name for name in parts if name.endswith(".npy"))
    parts[name] = array
    with pytest.raises(SavedFileError, match="declares shape"):
        loaded(forge.resealed(parts), tmp_path)


def test_compressed_members_are_refused(tokenizer, tmp_path):
    bomb = {**tokenizer, "tensors/0.safetensors": bytes(10**6)}
    data = forge.zipped(forge.resealed(bomb), zipfile.ZIP_DEFLATED)
    with pytest.raises(SavedFileError, match="compressed"):
        loaded(data, tmp_path)


def test_members_that_overlap_are_refused(tokenizer, tmp_path):
    parts, out = forge.resealed({**tokenizer, "zeros": bytes(10**5)}), io.BytesIO()
    out.write(forge.zipped(parts))
    with zipfile.ZipFile(out, "a") as file:
        for number in range(9):  # more entries for the same bytes
            entry = copy.copy(file.getinfo("zeros"))
            entry.filename = f"zero{number}"
            file.filelist.append(entry)
        file._didModify = True
    with pytest.raises(SavedFileError, match="declares"):
        loaded(out.getvalue(), tmp_path)


@pytest.mark.parametrize(
    "name", ["../evil", "/tmp/evil", "a/../../evil", "a\\b", "C:evil", "a//b", ".x"]
)
def test_names_that_lead_out_of_a_folder(name, tokenizer, tmp_path):
    with pytest.raises(SavedFileError, match=r"lead out|also has"):
        loaded(forge.resealed({**tokenizer, name: b"x"}), tmp_path)


@pytest.mark.parametrize("prefix", ["..", "vectors/0/..", "/tmp", ""])
def test_a_bundle_cannot_write_outside_its_folder(prefix, tmp_path):
    source = PretrainedEmbedding(vectors()).fit(ROWS)
    path = save(source, tmp_path / "v.skm", bundle=True)
    parts = forge.members(path.read_bytes())
    schema = forge.schema_of(parts)
    message = [
        node for node in iter_nodes(schema) if node.get("content") == '"vectors/0"'
    ]
    for node in message:
        node["content"] = json.dumps(prefix)
    assert message
    with pytest.raises(SavedFileError):
        loaded(forge.with_schema(parts, schema), tmp_path)


def test_forged_bundled_store_is_refused(tmp_path):
    source = PretrainedEmbedding(vectors()).fit(ROWS)
    path = save(source, tmp_path / "v.skm", bundle=True)
    parts = forge.members(path.read_bytes())
    for name in ("offsets", "index", "vectors", "words"):
        key = f"vectors/0/{name}.npy"
        forged = {**parts, key: parts[key][:-8] + b"\xff\xff\xff\x7f\0\0\0\0"}
        with pytest.raises(SavedFileError):
            loaded(forge.resealed(forged), tmp_path)


def same_or_refused(data, X, expected, path):
    path.write_bytes(data)
    try:
        step = load(path)
    except SavedFileError as error:
        assert str(error)
        return
    assert_same(step.transform(X), expected, "loaded", rtol=0)


@QUICK
@given(place=st.floats(0, 1), bits=st.integers(1, 255), cut=st.booleans())
def test_damaged_bytes(place, bits, cut, fitted, tmp_path):
    X, expected, parts = fitted
    data = bytearray(forge.zipped(parts))
    at = int(place * (len(data) - 1))
    if cut:
        del data[at:]
    else:
        data[at] ^= bits
    same_or_refused(bytes(data), X, expected, tmp_path / "damaged.skm")


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["os.system", "builtins", "eval", "ObjectNode", "../x", "0.npy"]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


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
    tree = json.loads(json.dumps(tree))
    at = tree
    for key in path[:-1]:
        at = at[key]
    if drop:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return tree


@pytest.fixture(scope="module")
def executed():
    """Fail if one of these functions is called while files are loaded."""
    patch, seen = pytest.MonkeyPatch(), []
    for name in ("system", "popen", "execv", "fork"):
        patch.setattr(os, name, lambda *args, name=name: seen.append(name))
    yield seen
    patch.undo()
    assert seen == []


@QUICK
@given(data=st.data(), value=VALUES, drop=st.booleans())
def test_edited_structure(data, value, drop, fitted, executed, tmp_path):
    _, _, parts = fitted
    schema = forge.schema_of(parts)
    every = places(schema)
    path = every[data.draw(st.integers(0, len(every) - 1))]
    forged = forge.with_schema(parts, edited(schema, path, value, drop))
    try:
        loaded(forged, tmp_path)  # whatever it is, no code was run
    except SavedFileError as error:
        assert str(error)
    assert executed == []


@QUICK
@given(data=st.data(), value=VALUES, drop=st.booleans())
def test_edited_manifest(data, value, drop, fitted, tmp_path):
    X, expected, parts = fitted
    manifest = json.loads(parts[forge.MANIFEST])
    path = data.draw(st.sampled_from(places(manifest)))
    forged = json.dumps(edited(manifest, path, value, drop)).encode()
    file = forge.zipped({**parts, forge.MANIFEST: forged})
    same_or_refused(file, X, expected, tmp_path / "edited.skm")
