"""Estimators are restored to the last bit, and saved again to equal bytes."""

import pickle
import warnings
from collections import OrderedDict, defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer
from sklearn.tree import DecisionTreeRegressor

from sk_metaembed import (
    ConcatMetaEmbedding,
    DynamicMetaClassifier,
    ElmoLanguageModel,
    EmbeddingUnion,
    Pooling,
    PretrainedEmbedding,
    SVDMetaEmbedding,
    Tokenizer,
    Word2VecEmbedding,
    load,
    save,
)

from ..checks.data import (
    as_input,
    assert_same,
    fitted,
    input_kind,
    outputs,
    token_lists,
)
from ..test_estimators import ESTIMATORS, GENSIM, LANGUAGE_MODEL, NET, vectors
from .same import NAMES, Holder, params

pytestmark = pytest.mark.filterwarnings("ignore:Loading .* requires explicit trust")

TEXTS = [" ".join(row) for row in token_lists() if row]
LABELS = np.arange(len(TEXTS)) % 2


HOLDER = f"{Holder.__module__}.Holder"


def round_trip(value, path):
    return load(save(Holder(value), path), trusted=[HOLDER]).value


def data_for(estimator):
    if input_kind(estimator) == "array":
        return np.random.default_rng(0).normal(size=(24, 4)).astype(np.float32)
    return as_input(estimator, token_lists())


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_an_estimator_is_the_same_before_and_after_fit(estimator, tmp_path):
    X, place = data_for(estimator), tmp_path / "e.skm"
    assert params(load(save(estimator, place), trusted=NAMES)) == params(estimator)
    trained = fitted(estimator, X)
    expected = outputs(trained, X)
    loaded = load(save(trained, place), trusted=NAMES)
    # Files of a student leave its teacher out, with the parameters of the teacher.
    left_out = getattr(loaded, "teacher", True) is None
    assert params(loaded) == params(
        clone(trained).set_params(teacher=None) if left_out else trained
    )
    assert {*vars(loaded)} == {*vars(trained)}
    assert_same(outputs(loaded, X), expected, "loaded", rtol=0)
    assert save(loaded, tmp_path / "again.skm").read_bytes() == place.read_bytes()


def pipelines():
    w2v = Word2VecEmbedding(**GENSIM, n_jobs=1, random_state=0)
    union = EmbeddingUnion([("w2v", w2v), ("file", PretrainedEmbedding(vectors()))])
    words = [("tokens", Tokenizer()), ("embed", union)]
    pooled = [("pool", Pooling(("mean", "max"), weights="idf"))]
    end = [("pca", PCA(3, random_state=0)), ("clf", LogisticRegression())]
    net = DynamicMetaClassifier(**NET, random_state=0)
    pipe = Pipeline([*words, ("meta", SVDMetaEmbedding(4)), *pooled, *end])
    grid = {"pool__mode": ["mean", "sum"], "meta": [ConcatMetaEmbedding()]}
    return {
        "svd": pipe,
        "net": Pipeline([*words, ("clf", net)]),
        "several": GridSearchCV(
            pipe,
            grid,
            cv=StratifiedKFold(2),
            scoring={"acc": make_scorer(accuracy_score), "auc": "roc_auc"},
            refit="acc",
        ),
        "log": make_pipeline(
            *[s for _, s in words], Pooling(), FunctionTransformer(np.exp)
        ),
    }


@pytest.mark.parametrize("name", pipelines())
def test_pipelines_and_searches(name, tmp_path):
    X = TEXTS
    with warnings.catch_warnings(action="ignore"):  # of scikit-learn, on tiny data
        trained = clone(pipelines()[name]).fit(X, LABELS)
        expected = outputs(trained, X)
    loaded = load(save(trained, tmp_path / "e.skm"))
    assert params(loaded) == params(trained)
    assert_same(outputs(loaded, X), expected, "loaded", rtol=0)
    if isinstance(trained, GridSearchCV):
        for key in [k for k in trained.cv_results_ if k.startswith("mean_test")]:
            assert loaded.cv_results_[key].tolist() == trained.cv_results_[key].tolist()
        assert loaded.score(X, LABELS) == trained.score(X, LABELS)
        again = clone(loaded).fit(X, LABELS)
        assert again.best_params_.keys() == trained.best_params_.keys()


@pytest.mark.parametrize(
    "value",
    [
        [*"abcdefghijklmnopqrst", "東京", "a\x00", "\udc80", ""],
        [0.1, float("inf"), -0.0] * 10,
        [1, 2.0, True] * 10,
        {1: "a", (2, None): 2.5, "b": {None: 1}},
        OrderedDict({np.str_("b"): 1, np.int64(0): 2}),
        defaultdict(None, a=defaultdict(OrderedDict)),
        {"z", "a"},
        frozenset([3, 1]),
        b"\x00bytes",
        (1, [2, (3,)], {"a": None}),
        np.float32(0.1),
        np.array([[1, "a", None]], dtype=object),
        np.ma.masked_array([1, 2], [True, False]),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(3, dtype=">i2"),
        sparse.csr_array(np.eye(3)),
        slice(1, None, 2),
        np.float64,
        np.dtype("float32"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_are_restored(value, tmp_path):
    result = round_trip(value, tmp_path / "e.skm")
    assert type(result) is type(value)
    if sparse.issparse(value):
        assert (result != value).nnz == 0
    elif isinstance(value, np.ndarray):
        assert result.dtype == value.dtype
        assert result.flags.f_contiguous == value.flags.f_contiguous
        np.testing.assert_array_equal(result, value)
        np.testing.assert_array_equal(np.ma.getmask(result), np.ma.getmask(value))
    elif isinstance(value, set):
        assert result == value
    else:
        assert repr(result) == repr(value)


def test_random_state_continues(tmp_path):
    rng = np.random.RandomState(0)
    rng.normal()  # normal draws pairs and stores the second
    result = round_trip(rng, tmp_path / "e.skm")
    assert result.normal(size=3).tolist() == rng.normal(size=3).tolist()


def test_a_search_that_draws_from_a_distribution(tmp_path):
    of = {"C": stats.loguniform(0.1, b=10), "max_iter": stats.randint(50, 90)}
    search = RandomizedSearchCV(
        LogisticRegression(), of, n_iter=2, cv=2, random_state=0
    )
    X = np.random.default_rng(0).normal(size=(20, 2))
    search.fit(X, np.arange(20) % 2)
    again = load(save(search, tmp_path / "e.skm"))
    assert clone(again).fit(X, np.arange(20) % 2).best_params_ == search.best_params_


def test_a_path_of_any_kind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert save(Pooling(), "model") == Path("model")
    assert save(Pooling(), b"bytes.skm") == Path("bytes.skm")
    assert load(b"model").mode == load(tmp_path / "bytes.skm").mode == "mean"


def test_shared_objects_stay_shared(tmp_path):
    step, array = Pooling(), np.arange(3)
    result = round_trip({"a": [step, array], "b": (step, array)}, tmp_path / "e.skm")
    for one, other in zip(result["a"], result["b"], strict=True):
        assert one is other


@pytest.fixture
def trained():
    X = as_input(DynamicMetaClassifier(), token_lists())
    net = DynamicMetaClassifier(**NET, random_state=0)
    return net.fit(X, np.arange(len(X)) % 2), X


def test_saving_changes_nothing(trained, tmp_path):
    trained, X = trained
    before = dict(vars(trained))
    loaded = load(save(trained, tmp_path / "e.skm"))
    assert vars(trained) == before
    assert loaded.history_ == trained.history_
    nets = trained.net_, loaded.net_
    assert nets[0].optimizer__weight_decay == nets[1].optimizer__weight_decay > 0
    expected = trained.predict_proba(X)
    np.testing.assert_array_equal(loaded.predict_proba(X), expected)


def test_language_model(tmp_path):
    model = ElmoLanguageModel(**LANGUAGE_MODEL, random_state=0)
    trained = model.fit(TEXTS)
    loaded = load(save(trained, tmp_path / "e.skm"))
    assert loaded.score(TEXTS) == trained.score(TEXTS)


COMPILED = {
    "tree": DecisionTreeRegressor(max_leaf_nodes=9, random_state=0),
    "forest": RandomForestClassifier(3, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=3, categorical_features=[3]),
    "quantile": HistGradientBoostingRegressor(
        max_iter=2, loss="quantile", quantile=0.8
    ),
    "exact boosting": GradientBoostingClassifier(n_estimators=3, random_state=0),
    "splines": make_pipeline(SplineTransformer(extrapolation="periodic"), Ridge()),
}


@pytest.mark.filterwarnings("error:Loading .* requires explicit trust")
@pytest.mark.parametrize("name", COMPILED)
def test_trees_splines_and_losses_require_no_trust(name, tmp_path):
    X, y = np.random.default_rng(0).normal(size=(150, 4)), np.arange(150) % 3
    X[:, 3] = np.arange(150) % 5
    if name not in ("exact boosting", "splines"):
        X[::7, 0] = X[::11, 3] = np.nan
    y = np.column_stack([y, y % 2]) if name == "forest" else y
    model, paths = (
        COMPILED[name].fit(X, y),
        (tmp_path / "m.skm", tmp_path / "again.skm"),
    )
    loaded = load(save(model, paths[0]))
    save(loaded, paths[1])
    assert paths[0].read_bytes() == paths[1].read_bytes()
    for other in (loaded, pickle.loads(pickle.dumps(loaded))):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    if hasattr(model, "decision_path"):
        paths = (each.decision_path(X)[0].toarray() for each in (loaded, model))
        np.testing.assert_array_equal(*paths)
