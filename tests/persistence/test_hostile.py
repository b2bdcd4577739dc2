"""Malicious files: they try to run code, to fill memory or to write elsewhere."""

import json
import os
import re
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

from sk_metaembed import (
    FastTextEmbedding,
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    TransformerEmbedding,
    load,
    save,
)
from sk_metaembed.persistence import UntrustedError

from .. import tiny_bert
from ..test_estimators import vectors
from . import forge
from .same import ROWS

# The error names the file, or lists what requires trust.
REFUSED = r"\w\.skm: |^The file contains "


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Return an input, the output of a fitted step, and the members of its file."""
    X = PretrainedEmbedding(vectors()).fit_transform(ROWS)
    step = Pooling(("mean", "max"), weights="idf").fit(X)
    return X, step.transform(X), forge.saved(step, tmp_path_factory.mktemp("saved"))


@pytest.fixture
def tokenizer(tmp_path):
    return forge.saved(Tokenizer(), tmp_path)


@pytest.fixture
def canary(tmp_path):
    """Return the path of a folder that exists only if code was run."""
    return tmp_path / "canary"


def loaded(parts, folder, **kwargs):
    path = folder / "forged.skm"
    path.write_bytes(parts if isinstance(parts, bytes) else forge.zipped(parts))
    return load(path, **kwargs)


def with_parameter(parts, name, value, *nodes):
    """Return members whose estimator has a parameter, a value or the last new node."""
    old = forge.nodes_of(parts)
    for kind, content in nodes:
        value = forge.add(old, kind, **content)
    forge.set_attribute(old, name, value)
    return forge.with_nodes(parts, old)


def no_items(kind="dict"):
    return ["dict", {"type": kind, "keys": [], "values": [], "default": None}]


def calls(canary):
    """Return nodes that would create a folder, by the way they do it.

    They may refer to a node with no items as node 0.
    """
    place, of_ours = [str(canary)], "sk_metaembed.dynamic.PreparedSources"
    arguments = {"args": place, "kwds": {"ref": 0}}
    nothing = {"names": [], "values": []}
    return {
        "function": forge.named("function", "os.mkdir"),
        "function as object": forge.named("object", "os.mkdir", **nothing),
        "function as tuple": forge.named("named tuple", "os.mkdir", items=place),
        "function as type": forge.named("type", "builtins.eval"),
        "class as model": forge.named("opaque", "builtins.dict", state=place),
        "function as model": forge.named("opaque", "os.mkdir", state=place),
        "constructor": forge.named("named tuple", "pathlib.PosixPath", items=place),
        "constructor of ours": forge.named("named tuple", of_ours, items=place),
        "type of ours": forge.named("type", of_ours),
        "model of ours": forge.named("opaque", of_ours, state=place),
        "partial": ["partial", {"function": "os.mkdir", **arguments}],
        "function of numpy": forge.named("function", "numpy.load"),
        "score": forge.named("function", "sklearn.metrics._scorer.make_scorer"),
        "distribution": ["distribution", {"name": "os.mkdir", **arguments}],
        "loss": ["loss", {"loss": "mkdir", "parameters": place}],
        "compiled": forge.named("object", "sklearn._loss.loss.CyHuberLoss", **nothing),
        "imported": forge.named("object", "sklearn._loss.loss.LogLink", **nothing),
        "dictionary": no_items("os.mkdir"),
        "dtype": ["dtype", {"dtype": "O"}],
        "kind": ["os.system", {"a": 1}],
    }


@pytest.mark.parametrize("name", calls("x"))
def test_nothing_is_executed(name, tokenizer, canary, tmp_path):
    nodes = no_items(), calls(canary)[name]
    parts = with_parameter(tokenizer, "tokenizer", None, *nodes)
    with pytest.raises(ValueError, match=REFUSED):
        loaded(parts, tmp_path)
    if " as " in name:  # trust does not help
        with pytest.raises(ValueError, match="is not a class"):
            loaded(
                parts, tmp_path, trusted=["os.mkdir", "builtins.eval", "builtins.dict"]
            )
    assert not canary.exists()


@pytest.mark.parametrize("number", [-1, 10**6, True, "0"])
def test_a_node_refers_to_earlier_ones(number, tokenizer, tmp_path):
    parts = with_parameter(tokenizer, "tokenizer", {"ref": number})
    with pytest.raises(ValueError, match="a reference to"):
        loaded(parts, tmp_path)


@pytest.mark.parametrize("value", ["ab", {"ref": 0}])
def test_names_keys_and_values_are_lists(value, tokenizer, tmp_path):
    for kind, entry in [("object", "names"), ("dict", "keys"), ("dict", "values")]:
        node = [kind, {"module": "a", "name": "b", entry: value}]
        parts = with_parameter(tokenizer, "tokenizer", None, no_items(), node)
        with pytest.raises(ValueError, match=f"the entry '{entry}' is not a list"):
            loaded(parts, tmp_path)


def test_the_root_is_an_estimator(tokenizer, tmp_path):
    for root in (["path", {"text": "a"}], forge.named("type", "builtins.int")):
        with pytest.raises(ValueError, match="holds"):
            loaded(forge.with_nodes(tokenizer, [root]), tmp_path)


@pytest.mark.parametrize("kind", ["function", "object", "type", "named tuple"])
def test_a_module_is_imported_only_if_it_is_trusted(
    kind, tokenizer, tmp_path, monkeypatch
):
    (tmp_path / "gadget_on_import.py").write_text("raise SystemExit('ran')")
    monkeypatch.syspath_prepend(str(tmp_path))
    content = {"names": [], "values": [], "items": []}
    gadget = forge.named(kind, "gadget_on_import.f", **content)
    with pytest.raises(UntrustedError, match="gadget_on_import"):
        loaded(with_parameter(tokenizer, "tokenizer", None, gadget), tmp_path)


@pytest.mark.parametrize("name", ["trusted", "trust_remote_code", "memory"])
def test_unsafe_parameters_require_trust(name, tokenizer, tmp_path):
    parts = with_parameter(tokenizer, name, True)
    with pytest.raises(UntrustedError, match=f"{name}=True") as error:
        loaded(parts, tmp_path)
    assert getattr(loaded(parts, tmp_path, trusted=error.value.names), name) is True


@pytest.mark.filterwarnings("ignore:Loading .* requires explicit trust")
def test_searches_over_unsafe_parameters_require_trust(tmp_path):
    for key in ("trusted", np.str_("trusted")):
        grid = {key: [False, True], "dtype__trusted": [False]}
        search = GridSearchCV(TransformerEmbedding("folder"), [grid])
        path = save(search, tmp_path / "e.skm")
        with pytest.raises(UntrustedError, match=r"trusted=\[False, True\]") as error:
            load(path)
        assert error.value.names == ("trusted=[False, True]",)
        assert load(path, trusted=error.value.names).param_grid == [grid]
    for values in (np.array([True]), {0: True}, stats.bernoulli(1), b"\1"):
        search = RandomizedSearchCV(Pooling(), {"memory": values})
        with pytest.raises(UntrustedError, match="memory="):
            load(save(search, path))
    words = TfidfVectorizer().fit(["a memory that is trusted"])
    assert load(save(words, path)).vocabulary_ == words.vocabulary_


def test_forged_ngram_table_is_refused(tmp_path):
    step = FastTextEmbedding(4, min_count=1, epochs=1, bucket=1000).fit([["tea"]])
    parts = forge.saved(step, tmp_path)
    nodes = forge.nodes_of(parts)
    table = next(c for _, c in nodes if c.get("name") == "NgramVectors")
    at = {name: i for i, name in enumerate(table["names"])}
    table["values"][at["vectors"]] = table["values"][at["buckets"]]
    forged = loaded(forge.with_nodes(parts, nodes), tmp_path)
    with pytest.raises((IndexError, ValueError)):
        forged.transform([["unseen", "words"]])


@pytest.fixture
def bundled_bert(tmp_path):
    """Return the folder of a bundled model, and the members of its file."""
    source = TransformerEmbedding(tiny_bert.save(tmp_path / "bert")).fit([["tea"]])
    parts = forge.saved(source, tmp_path, bundle=True)
    return next(n.rpartition("/")[0] for n in parts if n.endswith("config.json")), parts


def test_code_of_a_bundled_model_is_ignored(
    bundled_bert, canary, tmp_path, monkeypatch
):
    folder, parts = bundled_bert
    config = json.loads(parts[f"{folder}/config.json"])
    config |= {"auto_map": {"AutoConfig": "evil.Evil"}, "model_type": "evil"}
    parts[f"{folder}/config.json"] = json.dumps(config).encode()
    code = f"import os\nos.mkdir({str(canary)!r})\nclass Evil: pass\n"
    parts[f"{folder}/evil.py"] = code.encode()
    requests = []
    monkeypatch.setattr("builtins.input", lambda *a: requests.append(a) or "y")
    with suppress(ValueError):
        loaded(forge.resealed(parts), tmp_path)
    assert not canary.exists() and not requests


@pytest.mark.parametrize(
    ("shape", "dtype", "match"),
    [
        ([10**12], "<f8", "declares shape"),
        ([2**40, 2**40], "<f8", "declares shape"),
        ([1], "|O", "holds objects"),
        ([1], '[["a", "|O"]]', "holds objects"),
    ],
)
def test_an_array_is_as_large_as_its_bytes(shape, dtype, match, tokenizer, tmp_path):
    parts = {**tokenizer, forge.ARRAYS: bytes(8)}
    parts = with_parameter(parts, "tokenizer", None, an_array(dtype, *shape))
    with pytest.raises(ValueError, match=match):
        loaded(parts, tmp_path)


def test_compressed_members_are_refused(tokenizer, tmp_path):
    bomb = {**tokenizer, "zeros": bytes(10**6)}
    data = forge.zipped(forge.resealed(bomb), zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="compressed"):
        loaded(data, tmp_path)


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a\\b", "C:evil"])
def test_names_that_lead_out_of_a_folder(name, tokenizer, tmp_path):
    with pytest.raises(ValueError, match=r"lead out|also has"):
        loaded(forge.resealed({**tokenizer, name: b"x"}), tmp_path)


@pytest.fixture
def bundled_store(tmp_path):
    source = PretrainedEmbedding(vectors()).fit(ROWS)
    return forge.saved(source, tmp_path, bundle=True)


@pytest.mark.parametrize("prefix", ["..", "/tmp"])
def test_a_bundle_cannot_write_outside_its_folder(prefix, bundled_store, tmp_path):
    nodes = forge.nodes_of(bundled_store)
    (handle,) = (content for _, content in nodes if "bundled" in content)
    handle["bundled"] = prefix
    with pytest.raises(ValueError, match="the bundle .* is missing"):
        loaded(forge.with_nodes(bundled_store, nodes), tmp_path)


def test_forged_bundled_store_is_refused(bundled_store, tmp_path):
    files = "offsets.npy", "index.npy", "vectors.npy", "words.npy"
    for key in [key for key in bundled_store if key.endswith(files)]:
        content = bundled_store[key][:-8] + b"\xff\xff\xff\x7f\0\0\0\0"
        with pytest.raises(ValueError, match=REFUSED):
            loaded(forge.resealed({**bundled_store, key: content}), tmp_path)


def same_or_refused(data, X, expected, path):
    path.write_bytes(data)
    try:
        step = load(path)
    except ValueError as error:
        assert re.search(REFUSED, str(error))
        return
    np.testing.assert_array_equal(step.transform(X), expected)


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
    st.sampled_from(["system", "builtins", "eval", "function", "../x", "<f8", "os"]),
    st.lists(st.integers(), max_size=2),
    st.builds(lambda number: {"ref": number}, st.integers(-1, 40)),
)


@pytest.fixture(scope="module")
def executed():
    """Fail if one of these functions is called while files are loaded."""
    patch, seen = pytest.MonkeyPatch(), []
    for name in ("system", "popen", "execv", "fork"):
        patch.setattr(os, name, lambda *args, name=name: seen.append(name))
    yield seen
    patch.undo()
    assert seen == []


@given(data=st.data(), value=VALUES, drop=st.booleans())
def test_edited_structure(data, value, drop, fitted, executed, tmp_path):
    _, _, parts = fitted
    nodes = forge.nodes_of(parts)
    every = forge.places(nodes)
    path = every[data.draw(st.integers(0, len(every) - 1))]
    forged = forge.with_nodes(parts, forge.edited(nodes, path, value, drop))
    try:
        loaded(forged, tmp_path)  # whatever it is, no code was run
    except ValueError as error:
        assert re.search(REFUSED, str(error))
    assert executed == []


@given(data=st.data(), value=VALUES, drop=st.booleans())
def test_edited_manifest(data, value, drop, fitted, tmp_path):
    X, expected, parts = fitted
    manifest = json.loads(parts[forge.MANIFEST])
    path = data.draw(st.sampled_from(forge.places(manifest)))
    forged = json.dumps(forge.edited(manifest, path, value, drop)).encode()
    file = forge.zipped({**parts, forge.MANIFEST: forged})
    same_or_refused(file, X, expected, tmp_path / "edited.skm")


def an_array(dtype, *shape):
    return ["array", {"dtype": dtype, "shape": [*shape], "by_column": False}]


@pytest.mark.parametrize(
    "name", ["_doc_link_template", "_repr_html_", "_ipython_display_", "__class__"]
)
def test_attributes_that_notebooks_show_are_refused(name, tmp_path):
    parts = forge.saved(Pooling(), tmp_path)
    nodes = forge.nodes_of(parts)
    forge.set_attribute(nodes, name, "<script>")
    with pytest.raises(ValueError, match="with the attributes"):
        loaded(forge.with_nodes(parts, nodes), tmp_path)


@pytest.mark.parametrize("name", ["TransformerModel", "StaticModel"])
def test_references_to_the_hub_cause_no_download(name, tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    calls = []

    def snapshot(*args, local_files_only=False, **options):
        calls.append(local_files_only)
        return str(tmp_path)

    monkeypatch.setattr(hub, "snapshot_download", snapshot)
    parts = forge.saved(Tokenizer(), tmp_path)
    nodes = forge.nodes_of(parts)
    content = {"model": "org/m", "revision": None, "fingerprint": "x"}
    content |= {"module": "sk_metaembed.sources", "name": name}
    forge.set_attribute(nodes, "lower", forge.add(nodes, "handle", **content))
    with pytest.raises(ValueError, match="moved or changed"):
        loaded(forge.with_nodes(parts, nodes), tmp_path)
    assert calls
    assert all(calls)
