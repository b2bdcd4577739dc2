"""Models that users add to a stack: what they read, and how they are fitted."""

import numpy as np
import pytest
import sklearn
from scipy.special import logit
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    DynamicMetaRegressor,
    EmbeddedSequences,
    Pooling,
    SequencePairs,
    StackedMetaClassifier,
    StackedMetaRegressor,
    Tokenizer,
    TokenSequences,
    load,
    save,
)

FEW_STEPS = {"max_epochs": 2, "hidden_dims": (8,), "projection_dim": 4}
ARRAYS = make_pipeline(Pooling(), LogisticRegression(max_iter=1000))


def data(n_rows=60, n_classes=2):
    """Return sequences of two words with a source each of words and of texts."""
    rng = np.random.default_rng(0)
    words = rng.integers(20, size=(n_rows, 2))
    tokens = TokenSequences.from_lists([[f"w{a}", f"w{b}"] for a, b in words])
    of_texts = rng.normal(size=(n_rows, 3)) + words[:, :1]
    blocks = [
        Block("of-words", rng.normal(size=(len(tokens.types), 4)), "type"),
        Block("of-texts", of_texts, "sequence"),
    ]
    y = np.digitize(words[:, 0], np.arange(1, n_classes) * 20 / n_classes)
    return EmbeddedSequences(tokens, blocks), y


def net(**options):
    return DynamicMetaClassifier(random_state=0, **{**FEW_STEPS, **options})


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_models_of_the_folds_are_scikit_learns_and_their_mean_counts(n_classes):
    X, y = data(n_classes=n_classes)
    stack = StackedMetaClassifier(
        models=[("own", ARRAYS)], concat=False, tfidf=False, cv=KFold(3)
    )
    out, new = stack.fit_transform(X, y), stack.transform(X)
    is_own = [name.startswith("own__") for name in stack.get_feature_names_out()]
    expected = cross_val_predict(ARRAYS, X, y, cv=KFold(3), method="decision_function")
    np.testing.assert_allclose(out[:, is_own], expected.reshape(len(y), -1), atol=1e-5)
    models = stack.estimators_["own"]
    mean = np.mean([model.decision_function(X) for model in models], axis=0)
    np.testing.assert_allclose(new[:, is_own], mean.reshape(len(y), -1), atol=1e-5)
    for model, (train, _) in zip(models, KFold(3).split(y), strict=True):
        alone = clone(ARRAYS).fit(X[train], y[train])
        np.testing.assert_allclose(
            model.decision_function(X), alone.decision_function(X), atol=1e-6
        )


@pytest.mark.parametrize("kind", ["three", "labels", "columns", "pairs"])
def test_nets_are_members_for_all_targets(kind, tmp_path):
    X, y = data(40, 3)
    member, Stack = net(), StackedMetaClassifier
    if kind == "labels":
        y = np.stack([y > 0, y > 1], axis=1).astype(int)
    elif kind == "columns":
        Stack = StackedMetaRegressor
        member = DynamicMetaRegressor(random_state=0, **FEW_STEPS)
        y = np.stack([y, 5.0 - y], axis=1)
    elif kind == "pairs":
        X, y = SequencePairs(X), y[:20]
    stack = Stack(
        models=[("net", member)], tfidf=False, concat=False, cv=2, random_state=0
    )
    stack.fit(X, y, sample_weight=np.arange(len(y)) % 4)
    predicted = stack.predict(X)
    assert predicted.shape == y.shape
    nets = stack.estimators_["net"]
    assert [each.net_.optimizer_ for each in nets] == [None, None]  # only for training
    save(stack, tmp_path / "stack.skm")
    np.testing.assert_array_equal(load(tmp_path / "stack.skm").predict(X), predicted)


def test_decision_function_of_a_net():
    X, y = data(40, 3)
    three = net().fit(X, y)
    values = three.decision_function(X)
    assert values.shape == (40, 3)
    np.testing.assert_array_equal(values.argmax(axis=1), three.predict(X))
    p = three.predict_proba(X)
    np.testing.assert_allclose(
        values - values[:, :1], np.log(p) - np.log(p[:, :1]), atol=1e-4
    )
    two = net().fit(X, y > 0)
    np.testing.assert_allclose(
        two.decision_function(X), logit(two.predict_proba(X)[:, 1]), atol=1e-4
    )
    labels = net().fit(X, np.stack([y > 0, y > 1], axis=1).astype(int))
    np.testing.assert_allclose(
        labels.decision_function(X), logit(labels.predict_proba(X)), atol=1e-4
    )


def test_vectorizers_of_str_are_told_how_to_read_tokens():
    texts = [f"{word} {i}" for i in range(20) for word in ("good", "bad")]
    tokens, y = Tokenizer().fit_transform(texts), [1, 0] * 20
    strings = make_pipeline(TfidfVectorizer(), LogisticRegression())
    message = "TfidfVectorizer in `models` failed .*lower.* Pass analyzer=list"
    with pytest.raises(TypeError, match=message):
        StackedMetaClassifier(models=[("own", strings)]).fit(tokens, y)
    read = make_pipeline(TfidfVectorizer(analyzer=list), LogisticRegression())
    stack = StackedMetaClassifier(models=[("own", read)], random_state=0)
    assert stack.fit(tokens, y).scores_["own"] == 1


def test_members_are_searched_by_name():
    X, y = data()
    stack = StackedMetaClassifier(models=[("own", ARRAYS)], tfidf=False, cv=2)
    assert clone(stack).get_params()["own__logisticregression__C"] == 1.0
    grid = {"own__logisticregression__C": [1e-4, 10.0], "concat": [False]}
    search = GridSearchCV(stack, grid, cv=2).fit(X, y)
    member = search.best_estimator_.estimators_["own"][0]
    assert search.best_params_["own__logisticregression__C"] == member[-1].C
    assert stack.models[0][1][-1].C == 1.0
    other = clone(stack).set_params(own=net())
    assert isinstance(other.models[0][1], DynamicMetaClassifier)


@pytest.mark.parametrize(
    ("models", "error", "message"),
    [
        ([ARRAYS], TypeError, r"list of .name, estimator. pairs; got Pipeline"),
        ([("a", ARRAYS), ("a", ARRAYS)], ValueError, "not unique"),
        ([("tfidf", ARRAYS)], ValueError, "conflict with constructor arguments"),
        ([("a__b", ARRAYS)], ValueError, "must not contain __"),
    ],
)
def test_members_must_be_pairs_with_names(models, error, message):
    with pytest.raises(error, match=message):
        StackedMetaClassifier(models=models).fit(*data())


class Grouped(LogisticRegression):
    def fit(self, X, y, groups):
        return super().fit(X[: len(groups)], y)


CV = GroupKFold(3)
INNER = StackedMetaClassifier(LogisticRegression(), concat=False, tfidf=False, cv=CV)


@pytest.mark.parametrize("model", [INNER, Grouped()])
def test_groups_reach_models_with_folds_of_their_own(model):
    """All of them fail without groups."""
    X, y = data(36)
    stack = StackedMetaClassifier(models=[("inner", model)], cv=CV)
    if isinstance(model, Grouped):
        stack.set_params(models=None, estimator=model, tfidf=False)
    groups = np.arange(36) // 3
    with sklearn.config_context(enable_metadata_routing=model is INNER):
        two = clone(stack).fit(X, np.stack([y, groups % 2], axis=1), groups=groups)
        assert max(stack.fit(X, y, groups=groups).scores_.values()) > 0.7
    assert two.predict(X).shape == (36, 2)
