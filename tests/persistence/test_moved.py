"""Files that name a class or function by an old name are loaded by its current one."""

import json

import numpy as np
import pytest

from sk_metaembed import FunctionEmbedding, Pooling, load, save
from sk_metaembed.persistence import SavedFileError, UntrustedError, _trusted
from sk_metaembed.utils._checks_data import as_input, token_lists

from ..test_estimators import spelling
from . import forge


@pytest.fixture
def moved(monkeypatch):
    """Return the table of moved names, empty for one test."""
    table = {}
    monkeypatch.setattr(_trusted, "MOVED", table)
    return table


@pytest.fixture
def old(tmp_path):
    """Return a fitted step, and a file of it that names its class as it once was."""
    step = Pooling(weights="idf").fit(as_input(Pooling(), token_lists()))
    parts = forge.members(save(step, tmp_path / "new.skm").read_bytes())
    schema = forge.schema_of(parts)
    names = schema["__module__"], schema["__class__"]
    assert names == ("sk_metaembed.pooling", "Pooling")
    schema["__module__"], schema["__class__"] = "sk_metaembed.attic._pool", "Pooler"
    path = tmp_path / "old.skm"
    path.write_bytes(forge.zipped(forge.with_schema(parts, schema)))
    return step, path


OLD = "sk_metaembed.attic._pool.Pooler"


def test_an_old_name_is_loaded_by_its_current_one(old, moved):
    step, path = old
    with pytest.raises(UntrustedError, match=OLD):
        load(path)
    moved[OLD] = "sk_metaembed.pooling.Pooling"
    X = as_input(step, token_lists())
    np.testing.assert_array_equal(load(path).transform(X), step.transform(X))


@pytest.mark.parametrize("target", ["os.system", "sk_metaembed.pooling.Nothing"])
def test_a_name_moved_to_an_untrusted_target_is_refused(target, old, moved):
    moved[OLD] = target
    with pytest.raises(UntrustedError) as error:
        load(old[1])
    assert error.value.names == (target,)
    # Trusting the old name does not trust what it has become.
    with pytest.raises(UntrustedError):
        load(old[1], trusted=[OLD])


def test_a_moved_name_is_created_in_its_only_way(old, moved, tmp_path):
    """The checks of how a class may be created apply to the current name."""
    moved[OLD] = "sk_metaembed.pooling.Pooling"
    parts = forge.members(old[1].read_bytes())
    schema = forge.schema_of(parts)
    module, _, name = OLD.rpartition(".")
    call = forge.tuple_node(forge.json_node("mean"))
    for loader in ("ConstructorFromReduceNode", "ListNode", "TypeNode"):
        forge.attributes(schema)["mode"] = forge.node(
            loader, module, name, content=call
        )
        path = tmp_path / "forged.skm"
        path.write_bytes(forge.zipped(forge.with_schema(parts, schema)))
        with pytest.raises(SavedFileError, match=f"Pooling with loader {loader}"):
            load(path, trusted=[OLD, "sk_metaembed.pooling.Pooling"])


@pytest.mark.filterwarnings("ignore:Loading .* requires explicit trust")
def test_an_old_name_of_a_function(moved, tmp_path):
    path = save(FunctionEmbedding(spelling), tmp_path / "e.skm")
    parts = forge.members(path.read_bytes())
    now = f"{spelling.__module__}.spelling"
    schema = json.dumps(forge.schema_of(parts))
    schema = schema.replace(json.dumps(spelling.__module__)[1:-1], "gone.module")
    path.write_bytes(forge.zipped(forge.with_schema(parts, json.loads(schema))))
    with pytest.raises(UntrustedError, match=r"gone\.module\.spelling"):
        load(path)
    moved["gone.module.spelling"] = now
    with pytest.raises(UntrustedError) as error:
        load(path)
    assert error.value.names == (now,)
    assert load(path, trusted=[now]).func is spelling


def test_moved_names_lead_to_trusted_classes():
    for name in _trusted.MOVED.values():
        listed = name in {*_trusted.TYPES, *_trusted.FUNCTIONS}
        assert listed or _trusted.is_estimator(*name.rpartition(".")[::2])
        assert name not in _trusted.MOVED
