"""`save` names the place of what it refuses, and warns of what `load` requires."""

import json
import os
import threading
from collections import Counter
from importlib.metadata import version

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline

import sk_metaembed
from sk_metaembed import Pooling, Tokenizer, TransformerEmbedding, load, save
from sk_metaembed.persistence import UntrustedError

from . import forge
from .same import Holder


@pytest.mark.parametrize(
    "value",
    [threading.Lock(), Counter({1: 2}), {"a": [{"b": threading.Lock()}]}],
    ids=["no pickle either", "not supported", "deep inside"],
)
def test_a_refusal_says_where(value, tmp_path):
    inner, fitted = Holder(value), Holder()
    fitted._Booster = value
    union = FeatureUnion([("left", Holder()), ("right", inner)])
    search = GridSearchCV(Pipeline([("clf", fitted)]), {})
    kind = "Counter" if isinstance(value, Counter) else "lock"
    for estimator, place in (
        (Pipeline([("clf", fitted)]), "estimator.steps[0][1]._Booster"),
        (
            Pipeline([("u", union)]),
            "estimator.steps[0][1].transformer_list[1][1].value",
        ),
        (search, "estimator.estimator.steps[0][1]._Booster"),
        (inner, "estimator.value"),
    ):
        with pytest.raises(TypeError, match=f" holds {kind}, which") as error:
            save(estimator, tmp_path / "e.skm")
        where = str(error.value).partition(" holds ")[0]
        assert where.startswith(place)
        assert type(eval(where)).__name__ == kind


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_devices_and_pipes_are_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for action in (lambda: save(Tokenizer(), pipe), lambda: load(pipe)):
        with pytest.raises(OSError, match="pipe' is not a regular file"):
            action()
    assert pipe.is_fifo()


def test_save_warns_of_what_load_requires(tmp_path):
    steps = Tokenizer(tokenizer=str.split), TransformerEmbedding("folder", trusted=True)
    pipe = make_pipeline(*steps, Pooling(), Holder(1))
    names = ["builtins.str.split", f"{Holder.__module__}.Holder", "trusted=True"]
    with pytest.warns(UserWarning, match="m.skm requires explicit trust") as caught:
        path = save(pipe, tmp_path / "m.skm")
    assert len(caught) == 1 and caught[0].filename == __file__
    assert str(caught[0].message).endswith(f"load(path, trusted={names}).")
    load(path, trusted=names)
    with pytest.raises(UntrustedError) as error:
        load(path)
    assert error.value.names == tuple(names)
    assert str(error.value).count("trusted=[") == 1
    assert all(str(error.value).count(name) == 2 for name in names)
    for name in names:
        with pytest.raises(UntrustedError) as error:
            load(path, trusted=[other for other in names if other != name])
        assert error.value.names == (name,)


def test_a_file_states_the_versions_that_wrote_it(tmp_path):
    path = save(Tokenizer(), tmp_path / "m.skm")
    manifest = json.loads(forge.members(path.read_bytes())[forge.MANIFEST])
    expected = {"sk_metaembed": sk_metaembed.__version__}
    expected |= {name: version(name) for name in ("scikit-learn", "numpy", "torch")}
    assert manifest["versions"] == expected


@pytest.mark.filterwarnings("error")
def test_save_does_not_warn_if_load_requires_nothing(tmp_path):
    save(make_pipeline(Tokenizer(), Pooling(), LogisticRegression()), tmp_path / "m")
