"""Trees and splines are checked when they are loaded, and need no trust."""

import pickle
from copy import deepcopy
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import ensemble
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
)
from sklearn.utils.validation import check_array

from sk_metaembed import Tokenizer, load, save
from sk_metaembed.persistence import SavedFileError, UntrustedError
from sk_metaembed.persistence._structure import CODECS

X, Y = make_classification(150, 6, n_informative=4, n_classes=3, random_state=0)
X[::7, 0] = np.nan
CATEGORIES = np.where(np.arange(150) % 11, np.arange(150) % 5, np.nan)
MIXED = np.column_stack([X[:, :3], CATEGORIES])
TREE = "sklearn.tree._tree.Tree"
few = {"n_estimators": 3, "random_state": 0}
boosting = partial(HistGradientBoostingClassifier, max_iter=3, random_state=0)

ESTIMATORS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "one leaf": DecisionTreeClassifier(max_depth=1, min_samples_leaf=100),
    "pruned": DecisionTreeClassifier(ccp_alpha=0.02, random_state=0),
    "best first": DecisionTreeRegressor(max_leaf_nodes=9, random_state=0),
    "extra tree": ExtraTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(**few),
    "several outputs": RandomForestClassifier(**few),
    "extra trees": ensemble.ExtraTreesRegressor(**few),
    "isolation": ensemble.IsolationForest(max_features=0.5, **few),
    "bagging": ensemble.BaggingClassifier(DecisionTreeClassifier(), **few),
    "adaboost": ensemble.AdaBoostClassifier(**few),
    "embedding": make_pipeline(
        ensemble.RandomTreesEmbedding(max_depth=3, **few), LogisticRegression()
    ),
    "boosting": boosting(),
    "boosted regressor": ensemble.HistGradientBoostingRegressor(max_iter=3),
    "categories": boosting(categorical_features=[3]),
    "quantile": ensemble.HistGradientBoostingRegressor(
        max_iter=2, loss="quantile", quantile=0.8
    ),
    "splines": make_pipeline(SplineTransformer(extrapolation="periodic"), Ridge()),
}


@pytest.mark.filterwarnings("error:Loading .* requires explicit trust")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_with_compiled_parts_need_no_trust(name, tmp_path):
    inputs = {"categories": MIXED, "splines": np.nan_to_num(X)}.get(name, X)
    inputs = np.nan_to_num(X) if name in ("adaboost", "embedding") else inputs
    y = np.column_stack([Y, Y % 2]) if name == "several outputs" else Y
    model = ESTIMATORS[name].fit(inputs, y)
    paths = tmp_path / "m.skm", tmp_path / "again.skm"
    result = load(save(model, paths[0]))
    again = load(save(result, paths[1]))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    for other in (result, again, pickle.loads(pickle.dumps(result))):
        np.testing.assert_array_equal(other.predict(inputs), model.predict(inputs))
    if hasattr(model, "decision_path"):
        np.testing.assert_array_equal(
            result.decision_path(X)[0].toarray(), model.decision_path(X)[0].toarray()
        )


def planted(monkeypatch, kind, edit):
    """Save values of a kind after `edit`, a function of the content of each."""
    monkeypatch.setattr("sk_metaembed.persistence._save.required_trust", lambda *a: [])
    types, encode, decode = CODECS[kind]

    def forged(value):
        copies = deepcopy(encode(value))
        return {**copies, **(edit(copies) or {})}

    monkeypatch.setitem(CODECS, kind, (types, forged, decode))


def field(name, value, row=0, array="nodes"):
    """Return an edit that sets a field of one node."""

    def edit(content):
        content[array][name][row] = value

    return edit


def cycle(left, right):
    def edit(content):
        inner = np.flatnonzero(content["nodes"][left].astype(np.int32) > 0)
        content["nodes"][left][inner[-1]] = content["nodes"][right][inner[-1]] = 0

    return edit


def cut(name, where):
    return lambda content: {name: content[name][where]}


def shared(left, right):
    """Both links of the root lead to one node: paths double with each such node."""

    def edit(content):
        content["nodes"][right][0] = content["nodes"][left][0]

    return edit


NODE_FAULTS = {
    "child out of bounds": (field("left_child", 10**6), "do not form one"),
    "negative child": (field("right_child", -2), "do not form one"),
    "cycle": (cycle("left_child", "right_child"), "do not form one"),
    "shared child": (shared("left_child", "right_child"), "do not form one"),
    "feature out of bounds": (field("feature", 6), "reads feature 6 of 6"),
    "negative feature": (field("feature", -3), "reads feature"),
    "threshold": (field("threshold", np.nan), "is not a number"),
    "value": (lambda c: {"values": c["values"] + np.inf}, "is not a number"),
    "number of values": (cut("values", np.s_[:, :, :2]), "values of shape"),
    "lost nodes": (lambda c: {"nodes": c["nodes"][:3]}, "do not form one|IndexError"),
    "no nodes": (lambda c: {"nodes": c["nodes"][:0]}, "do not form one"),
    "two dimensions": (lambda c: {"nodes": c["nodes"][None]}, "2 dimensions"),
    "other fields": (lambda c: {"nodes": np.arange(9.0)}, "IndexError"),
    "no outputs": (lambda c: {"n_classes": c["n_classes"][:0]}, "without values"),
    "no classes": (lambda c: {"n_classes": 0 * c["n_classes"]}, "without values"),
    "no array": (lambda c: {"n_classes": [3]}, "'n_classes' is list"),
    "masked": (lambda c: {"values": np.ma.array(c["values"])}, "is MaskedArray"),
    "no features": (lambda c: {"n_features": 0}, "number of features"),
    "fewer features": (lambda c: {"n_features": 2}, "another number of features"),
}


@pytest.mark.parametrize("name", NODE_FAULTS)
def test_forged_tree(name, tmp_path, monkeypatch):
    edit, match = NODE_FAULTS[name]
    planted(monkeypatch, "tree", edit)
    path = save(DecisionTreeClassifier(random_state=0).fit(X, Y), tmp_path / "m.skm")
    with pytest.raises(SavedFileError, match=match):
        load(path)
    with pytest.raises(SavedFileError, match=match):  # trust does not help
        load(path, trusted=[TREE])


BOOSTED_FAULTS = {
    "child out of bounds": (field("left", 10**6), "do not form one"),
    "cycle": (cycle("left", "right"), "do not form one"),
    "shared child": (shared("left", "right"), "do not form one"),
    "negative feature": (field("feature_idx", -1), "reads feature"),
    "threshold": (field("num_threshold", np.nan), "is not a number"),
    "value": (field("value", np.nan), "is not a number"),
    "no leaf": (lambda c: c["nodes"]["is_leaf"].fill(0), "do not form one"),
    "two dimensions": (lambda c: {"nodes": c["nodes"][None]}, "2 dimensions"),
    "other fields": (lambda c: {"nodes": np.arange(9.0)}, "TypeError|IndexError"),
    "no categories": (cut("raw_left_cat_bitsets", np.s_[:0]), "sets of categories"),
    "no binned categories": (cut("binned_left_cat_bitsets", np.s_[:0]), "sets of"),
    "narrow categories": (cut("raw_left_cat_bitsets", np.s_[:, :7]), "sets of cat"),
}


@pytest.mark.parametrize("name", BOOSTED_FAULTS)
def test_forged_gradient_boosting(name, tmp_path, monkeypatch):
    edit, match = BOOSTED_FAULTS[name]
    planted(monkeypatch, "boosted tree", edit)
    y = np.nan_to_num(CATEGORIES, nan=7) % 3  # only the categories tell
    model = boosting(categorical_features=[3]).fit(MIXED, y)
    assert model._predictors[0][0].nodes["is_categorical"].any()
    with pytest.raises(SavedFileError, match=match):
        load(save(model, tmp_path / "m.skm"))


def without_columns(model):
    model._preprocessor.transformers_ = model._preprocessor.transformers_[:1]


def without_categories(model):
    model._bin_mapper.is_categorical_ = np.zeros(4, np.uint8)


@pytest.mark.parametrize(
    ("categories", "edit", "inputs"),
    [
        (None, lambda model: setattr(model, "n_features_in_", 1), MIXED[:, :1]),
        ([3], without_columns, MIXED),
        ([3], without_categories, MIXED),
        (None, lambda m: setattr(m, "_in_fit", True), np.zeros((2, 1), np.uint8)),
    ],
    ids=["width", "preprocessor", "categories", "binned"],
)
def test_boosted_trees_check_what_they_read(categories, edit, inputs, tmp_path):
    """Their estimator does not, and compiled code would read past the input."""
    model = boosting(categorical_features=categories)
    model.fit(MIXED, np.nan_to_num(CATEGORIES, nan=7) % 3)
    edit(model)
    result = load(save(model, tmp_path / "m.skm"))
    with pytest.raises(ValueError, match="a column that its input does not have"):
        result.predict(inputs)


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("n_features_in_", 1, "another number of features"),
        ("n_features_in_", None, "for None features, another number of features"),
        ("_validate_X_predict", sum, "'_validate_X_predict'] in place of methods"),
    ],
)
def test_estimators_that_would_pass_another_width_to_their_tree(
    name, value, match, tmp_path, monkeypatch
):
    model = DecisionTreeClassifier().fit(X, Y)
    setattr(model, name, value)
    with pytest.raises(TypeError, match=match):
        save(model, tmp_path / "m.skm")
    planted(monkeypatch, "tree", lambda content: None)
    with pytest.raises(SavedFileError, match=match):
        load(save(model, tmp_path / "m.skm"))


@pytest.mark.filterwarnings("ignore:Loading .* requires explicit trust")
def test_a_tree_outside_of_its_estimator_needs_trust(tmp_path):
    tree = DecisionTreeClassifier().fit(X, Y).tree_
    for model in (
        make_pipeline(tree),
        LogisticRegression(C={"C": [tree]}),
        Tokenizer(tokenizer=partial(check_array, tree)),
    ):
        path = save(model, tmp_path / "m.skm")
        with pytest.raises(UntrustedError) as caught:
            load(path)
        assert caught.value.names == (TREE,)
        load(path, trusted=[TREE])


@pytest.mark.filterwarnings("ignore:Loading .* requires explicit trust")
def test_exact_gradient_boosting_needs_trust(tmp_path):
    """Its compiled code writes to as many columns as it has trees per iteration."""
    model = ensemble.GradientBoostingClassifier(n_estimators=2)
    load(save(model, tmp_path / "unfitted.skm"))
    path = save(model.fit(np.nan_to_num(X), Y), tmp_path / "m.skm")
    with pytest.raises(UntrustedError) as caught:
        load(path)
    assert caught.value.names == ("sklearn.ensemble._gb.GradientBoostingClassifier",)
    assert load(path, trusted=caught.value.names).n_estimators == 2


@pytest.mark.parametrize(
    "edit",
    [
        lambda c: {"t": c["t"][::-1].copy()},
        lambda c: {"t": np.full_like(c["t"], np.nan)},
        lambda c: {"t": c["t"].astype(object)},
        lambda c: {"t": c["t"][:3]},
        lambda c: {"c": c["c"][:2]},
        lambda c: {"c": np.full_like(c["c"], np.inf)},
        lambda c: {"c": c["c"].astype(np.int64)},
        lambda c: {"k": 10**6},
        lambda c: {"k": -1},
        lambda c: {"axis": 9},
        lambda c: {"axis": False},
    ],
)
def test_forged_spline(edit, tmp_path, monkeypatch):
    planted(monkeypatch, "spline", edit)
    model = SplineTransformer().fit(np.nan_to_num(X))
    with pytest.raises(SavedFileError, match="spline|'t' has|ValueError|AxisError"):
        load(save(model, tmp_path / "m.skm"))


def test_no_other_object_can_write_to_what_was_checked(tmp_path):
    """A ufunc is trusted, and writes to any array that it is passed as `out`."""
    boosted = boosting().fit(X, Y)
    splines = SplineTransformer().fit(np.nan_to_num(X))
    matrix = csr_array(np.eye(3))
    checked = {
        "nodes": boosted._predictors[0][0].nodes,
        "knots": splines.bsplines_[0].t,
        "indices": matrix.indices,
    }
    model = make_pipeline(
        splines, FunctionTransformer(np.add, kw_args=checked), boosted
    )
    model.matrix = matrix
    result = load(save(model, tmp_path / "m.skm"))
    others = result[1].kw_args
    now = {
        "nodes": result[-1]._predictors[0][0].nodes,
        "knots": result[0].bsplines_[0].t,
        "indices": result.matrix.indices,
    }
    for name, array in now.items():
        np.testing.assert_array_equal(array, checked[name])
        np.testing.assert_array_equal(others[name], checked[name])
        assert not np.shares_memory(array, others[name])
