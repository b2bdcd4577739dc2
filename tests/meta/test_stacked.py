"""StackedMetaClassifier and StackedMetaRegressor: models per source, weighted."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers
from scipy.special import expit, softmax
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from sk_metaembed import (
    Block,
    EmbeddedSequences,
    PairEncoder,
    Pooling,
    SequencePairs,
    StackedMetaClassifier,
    StackedMetaRegressor,
    TokenSequences,
    load,
    save,
)

from .sources import sequences

LABELS = np.array(["no", "perhaps", "yes"])
PULL = 3.0


def planted(n_rows=200, seed=0, n_classes=2):
    """Return two sources, each of which sees a part of what decides the class.

    The sources have 5 and 40 dimensions, and a third one of 100 is noise.
    """
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=(2, n_rows))
    edges = np.quantile(parts.sum(axis=0), np.arange(1, n_classes) / n_classes)
    y = np.digitize(parts.sum(axis=0), edges)
    first, second = (
        part[:, None] * rng.normal(size=dim) + rng.normal(size=(n_rows, dim))
        for part, dim in zip(parts, (5, 40), strict=True)
    )
    return sequences(a=first, b=second, noise=rng.normal(size=(n_rows, 100))), y


def values(X, *names):
    return np.hstack([X.block(name).values for name in names or X.names])


FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def linear(penalty=1.0):
    return make_pipeline(StandardScaler(), LogisticRegression(C=penalty))


def classifier(*args, **options):
    return StackedMetaClassifier(*args, **{"random_state": 0, **options})


def weights_of(model):
    return np.array([*model.weights_.values()])


def assert_minimum(loss, weights):
    """Check that no other weights nearby have a smaller loss."""
    assert (weights >= 0).all()
    rng = np.random.default_rng(0)
    for _ in range(100):
        other = np.maximum(weights + rng.normal(scale=0.02, size=4), 0)
        assert loss(other) > loss(weights) - 1e-3


@pytest.mark.parametrize(
    ("n_classes", "method"), [(2, "predict_proba"), (3, "decision_function")]
)
def test_columns_are_those_of_cross_val_predict(n_classes, method):
    X, y = planted(100, n_classes=n_classes)
    model = linear()
    if method == "predict_proba":
        model = RandomForestClassifier(3, random_state=0)
    stacked = classifier(model, tfidf=False, cv=5)
    result = stacked.fit_transform(X, LABELS[y])
    expected, new = [], []
    for names in (["a"], ["b"], ["noise"], X.names):
        inputs = values(X, *names)
        out = cross_val_predict(model, inputs, y, cv=FOLDS, method=method)
        expected.append(out)
        new.append(getattr(clone(model).fit(inputs, y), method)(inputs))
    for part, arrays in ((result, expected), (stacked.transform(X), new)):
        if method == "predict_proba":
            logs = [np.log(np.maximum(each, 1e-6)) for each in arrays]
            arrays = [x[:, 1] - x[:, 0] if x.shape[1] == 2 else x for x in logs]
        arrays = [x.reshape(len(y), -1) for x in arrays]
        np.testing.assert_allclose(part, np.hstack(arrays), rtol=1e-4, atol=1e-4)
    assert result.dtype == np.float32
    assert [*stacked.estimators_] == ["a", "b", "noise", "concat"]


def test_numbers_are_those_of_cross_val_predict():
    X, _ = planted()
    y = values(X, "a")[:, 0] + values(X, "b")[:, 0]
    cv = KFold(4)
    stacked = StackedMetaRegressor(Ridge(2.0), concat=False, tfidf=False, cv=cv)
    result = stacked.fit_transform(X, y)
    for column, name in zip(result.T, X.names, strict=True):
        expected = cross_val_predict(Ridge(2.0), values(X, name), y, cv=cv)
        np.testing.assert_allclose(column, expected, rtol=1e-4, atol=1e-4)
        assert stacked.scores_[name] == pytest.approx(r2_score(y, expected), abs=1e-5)
    assert stacked.get_feature_names_out().tolist() == ["a", "b", "noise"]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_are_those_of_the_weighted_sum(n_classes):
    X, y = planted(60, n_classes=n_classes)
    model = classifier(cv=3).fit(X, LABELS[y])
    columns = model.transform(X).reshape(60, len(model.weights_), -1)
    sums = np.einsum("nmc,m->nc", columns, weights_of(model))
    decisions = model.decision_function(X)
    np.testing.assert_allclose(decisions.reshape(sums.shape), sums, 1e-3, 1e-3)
    combined = model.combine(model.transform(X))
    np.testing.assert_allclose(combined, decisions.reshape(sums.shape), 1e-5, 1e-5)
    if n_classes == 2:
        positive = expit(decisions)
        expected = np.stack([1 - positive, positive], axis=1)
    else:
        expected = softmax(decisions, axis=1)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities, expected, atol=1e-9)
    chosen = model.classes_[probabilities.argmax(axis=1)]
    assert model.predict(X).tolist() == chosen.tolist()
    assert model.score(X, LABELS[y]) == accuracy_score(LABELS[y], chosen)


@pytest.mark.parametrize(("n_classes", "weighted"), [(2, True), (3, False)])
def test_weights_minimize_loss_and_distance_from_the_concatenation(n_classes, weighted):
    X, y = planted(100, n_classes=n_classes)
    rng = np.random.default_rng(0)
    rows = rng.uniform(0.5, 1.5, size=len(y))
    rows = rows / rows.mean() if weighted else np.ones(len(y))
    model = classifier(tfidf=False, cv=5)
    columns = model.fit_transform(X, y, sample_weight=rows if weighted else None)
    columns = columns.reshape(len(y), 4, -1)
    usual = np.array([0, 0, 0, 1.0])

    def loss(weights):
        logits = np.einsum("m,nmk->nk", weights, columns)
        if n_classes == 2:
            logits = np.hstack([np.zeros_like(logits), logits])
        logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
        away = weights - usual
        return -rows @ logits[np.arange(len(y)), y] + PULL / 2 * away @ away

    assert_minimum(loss, weights_of(model))


@pytest.mark.parametrize("unit", [1e-45, 1e45])
def test_numbers_beyond_float32_are_predicted_in_their_units(unit):
    rng = np.random.default_rng(0)
    words = rng.choice([*"abcdefgh"], size=(60, 4))
    X = TokenSequences.from_lists(words.tolist())
    y = (words == "a").sum(axis=1) + rng.normal(scale=0.1, size=60)
    expected = StackedMetaRegressor(random_state=0).fit(X, y).predict(X)
    predictions = StackedMetaRegressor(random_state=0).fit(X, y * unit).predict(X)
    assert predictions / unit == pytest.approx(expected, rel=1e-4)


def test_weights_of_numbers_are_in_units_of_the_error_of_the_concatenation():
    X, _ = planted()
    y = values(X, "a")[:, 0] + values(X, "b")[:, 0]
    model = StackedMetaRegressor(tfidf=False, cv=5, random_state=0)
    columns = model.fit_transform(X, y)
    sums = (columns - y.mean()) @ weights_of(model) + y.mean()
    np.testing.assert_allclose(model.combine(columns)[:, 0], sums, atol=1e-4)
    error = np.square(columns[:, -1] - y).mean()
    usual, weights = np.array([0, 0, 0, 1.0]), weights_of(model)

    def loss(weights):
        away = weights - usual
        squares = np.square(columns @ weights - y).sum()
        return squares / (2 * error) + PULL / 2 * away @ away

    assert_minimum(loss, weights)
    scaled = clone(model).fit(X, 1000 * y + 5000)
    np.testing.assert_allclose(weights_of(scaled), weights, atol=0.02)


def test_linear_models_are_those_of_scikit_learn():
    """They read sparse features of words, and rows of unit length."""
    X, y = planted(n_rows=60)
    rows = [[f"a{i % 7}", f"b{i % 5}", f"c{i % 11}"] for i in range(60)]
    X = EmbeddedSequences(TokenSequences.from_lists(rows), X.blocks)
    model = classifier().fit(X, y)
    features, of_words = model.estimators_["words"]
    inputs = features.transform(X.tokens), normalize(values(X, "noise"))
    for own, x in zip((of_words, model.estimators_["noise"]), inputs, strict=True):
        assert x.shape[0] < x.shape[1]
        new = LogisticRegression(C=own.C, tol=1e-8, max_iter=1000).fit(x, y)
        np.testing.assert_allclose(own.coef_, new.coef_, rtol=0.02, atol=0.02)


def rows_by_order(decides, n_rows=240):
    """Return rows of four letters, and which of them have what decides the class."""
    rng = np.random.default_rng(0)
    rows, y = [], np.arange(n_rows) % 2
    for label in y:
        row = rng.choice([*"acgt"], rng.integers(20, 30))
        if decides == "ngrams":
            start = rng.integers(len(row) - 3)
            row[start : start + 4] = [*("acgt" if label else "tcga")]
        else:
            row[{"start": 5, "end": -5}[decides]] = "ag"[label]
        rows.append(row.tolist())
    return TokenSequences.from_lists(rows), y


@pytest.mark.parametrize("decides", ["start", "end", "ngrams"])
def test_order_is_read_of_tokens_of_a_small_alphabet(decides):
    X, y = rows_by_order(decides)
    model = classifier().fit(X[:160], y[:160])
    assert [*model.weights_] == ["words", "ngrams", "positions"]
    best = "ngrams" if decides == "ngrams" else "positions"
    assert max(model.weights_, key=model.weights_.get) == best
    assert model.score(X[160:], y[160:]) > 0.85
    numbers = StackedMetaRegressor(random_state=0).fit(X[:160], y[:160])
    assert numbers.score(X[160:], y[160:]) > 0.4


def test_models_of_order_count_half_by_default():
    X, y = rows_by_order("start", 20)
    with pytest.warns(UserWarning, match="all 20 rows are of one group"):
        model = classifier().fit(X, y, groups=np.zeros(20))
    assert model.weights_ == {"words": 0.5, "ngrams": 0.25, "positions": 0.25}


def test_models_of_order_are_saved_and_read_each_row_alone(tmp_path):
    X, y = rows_by_order("ngrams", 60)
    model = classifier().fit(X, y)
    expected = model.decision_function(X)
    save(model, tmp_path / "model.skm")
    np.testing.assert_array_equal(
        load(tmp_path / "model.skm").decision_function(X), expected
    )
    alone = [model.decision_function(X[i : i + 1])[0] for i in range(9)]
    np.testing.assert_allclose(alone, expected[:9], rtol=1e-6)


def test_the_length_of_vectors_does_not_matter():
    X, y = planted(n_rows=60)
    model = classifier(tfidf=False).fit(X, y)
    longer = Block("a", X.block("a").values * 7, "sequence")
    longer = X.with_blocks([longer, *X.blocks[1:]])
    other = classifier(tfidf=False).fit(longer, y)
    np.testing.assert_allclose(
        other.decision_function(longer), model.decision_function(X), atol=0.01
    )


def test_dimensions_of_a_projection_beyond_its_rank_do_not_count():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    columns = [50 * rng.normal(size=200), y + rng.normal(size=200) / 4]
    X, new = (
        sequences(a=np.stack([*columns, size * rng.normal(size=200)], axis=1))
        for size in (1e-16, 1)
    )
    model = classifier(tfidf=False).fit(X, y)
    assert model.score(new, y) == model.score(X, y) > 0.9


def draws_near_chance(n_draws, seed):
    """Return accuracies on new rows, of few rows with noise and weak signal."""
    rng, scores = np.random.default_rng(seed), []
    for _ in range(n_draws):
        per_class, n_classes = int(rng.integers(4, 17)), int(rng.integers(2, 4))
        n_rows = per_class * n_classes + 600
        y = np.arange(n_rows) % n_classes
        strength = rng.choice([0.0, 0.1])
        sources = {}
        for name, dim in (("a", 50), ("b", 100)):
            signal = np.eye(n_classes)[y] @ rng.normal(size=(n_classes, dim))
            sources[name] = 1 + strength * signal + rng.normal(size=(n_rows, dim))
        X = sequences(**sources)
        few, new = X[: per_class * n_classes], X[-600:]
        model = classifier(cv=3).fit(few, y[: len(few)])
        error = np.sqrt((1 / n_classes) * (1 - 1 / n_classes) / 600)
        scores.append((model.score(new, y[-600:]) - 1 / n_classes) / error)
    return np.array(scores)


@pytest.mark.slow
def test_no_draw_is_below_chance():
    errors = draws_near_chance(1000, seed=0)
    # A model that inverts its sources would be some 10 standard errors below.
    assert errors.min() > -4.5
    assert errors.mean() > -0.5


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("per_class", "n_classes"), [(1, 2), (2, 3), (3, 2)])
def test_very_few_rows_need_no_parameters(per_class, n_classes):
    X, y = planted(n_rows=60, n_classes=n_classes)
    rows = np.hstack([np.flatnonzero(y == c)[:per_class] for c in range(n_classes)])
    model = classifier().fit(X[rows], LABELS[y[rows]])
    probabilities = model.predict_proba(X)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert model.score(X[rows], LABELS[y[rows]]) > 0.6


def test_classes_of_one_row_are_never_held_out():
    X, y = planted(n_rows=60)
    y = LABELS[y].tolist()
    y[7], y[20], y[21] = "single", "pair", "pair"
    for cv in (None, KFold(3)):
        model = classifier(cv=cv)
        with pytest.warns(UserWarning, match=r"'pair' \(2 rows\), 'single' \(1 row\)"):
            assert np.isfinite(model.fit_transform(X, y)).all()
        assert model.predict_proba(X).shape == (60, 4)


def with_rare_class(n_rows, n_rare, n_classes, seed):
    """Return two sources, y, and which rows are mistyped: spread over all rows."""
    X, y = planted(n_rows=n_rows + n_rare, seed=seed, n_classes=n_classes)
    rng = np.random.default_rng(seed)
    is_rare = np.zeros(len(y), dtype=bool)
    is_rare[rng.permutation(len(y))[:n_rare]] = True
    return X.select(["a", "b"]), LABELS[y].astype("U9"), is_rare


def change_by_rare_class(X, y, is_rare, **options):
    """Return by how much mistyped labels change the probabilities of other rows."""
    before = classifier(**options).fit(X[~is_rare], y[~is_rare])
    with pytest.warns(UserWarning, match="y has rare classes: 'mistyped'"):
        after = classifier(**options).fit(X, np.where(is_rare, "mistyped", y))
    columns = np.isin(after.classes_, before.classes_)
    old, new = (model.predict_proba(X)[~is_rare] for model in (before, after))
    return np.abs(new[:, columns] - old)


@settings(max_examples=2)
@given(
    n_rows=integers(40, 130),
    n_rare=integers(1, 2),
    n_classes=integers(2, 3),
    seed=integers(0, 10**6),
)
def test_a_mistyped_label_hardly_changes_other_rows(n_rows, n_rare, n_classes, seed):
    n_rare = n_rare if n_rows > 90 else 1  # at most a tenth of the largest class
    data = with_rare_class(n_rows, n_rare, n_classes, seed)
    change = change_by_rare_class(*data, tfidf=False)
    assert change.mean() < 0.06
    assert change.max() < 0.25


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_mistyped_label_does_not_change_the_spread_of_decisions(n_classes):
    """Larger weights make its class less probable, but no held-out row shows that."""
    X, y, is_rare = with_rare_class(120, 1, n_classes, seed=1)
    before = classifier(tfidf=False).fit(X[~is_rare], y[~is_rare])
    with pytest.warns(UserWarning, match="y has rare classes: 'mistyped'"):
        after = classifier(tfidf=False).fit(X, np.where(is_rare, "mistyped", y))
    for name, weight in before.weights_.items():
        assert after.weights_[name] == pytest.approx(weight, abs=0.06)
    odds = np.log(before.predict_proba(X)), np.log(after.predict_proba(X))
    old, new = odds[0], odds[1][:, np.isin(after.classes_, before.classes_)]
    spreads = [np.std(each - each.mean(axis=1, keepdims=True)) for each in (old, new)]
    assert spreads[1] == pytest.approx(spreads[0], rel=0.04)


def copies_of(n=60):
    rng = np.random.default_rng(0)
    distinct, y = rng.normal(size=(n, 5)), rng.integers(2, size=n)
    X = sequences(copies=np.repeat(distinct, 3, axis=0))
    return X, np.repeat(y, 3), np.repeat(np.arange(n), 3)


def test_groups_are_not_divided():
    X, y, groups = copies_of()
    stacked = classifier(KNeighborsClassifier(1), tfidf=False)
    assert stacked.fit(X, y).scores_["copies"] > 0.9
    assert stacked.fit(X, y, groups=groups).scores_["copies"] < 0.7
    stacked.set_params(cv=GroupKFold(5))
    assert stacked.fit(X, y, groups=groups).scores_["copies"] < 0.7
    with config_context(enable_metadata_routing=True):
        stacked.set_fit_request(groups=True, sample_weight=False)
        model = make_pipeline(stacked).fit(X, y, groups=groups)
    assert model[0].scores_["copies"] < 0.7


def test_copies_of_a_sequence_are_not_divided():
    X, y, groups = copies_of()
    tokens = TokenSequences.from_lists([[f"text{i}"] for i in groups])
    X = EmbeddedSequences(tokens, X.blocks)
    for cv in (None, 5):
        stacked = classifier(KNeighborsClassifier(1), tfidf=False, cv=cv)
        assert stacked.fit(X, y).scores_["copies"] < 0.7
    y = y + np.random.default_rng(0).normal(scale=0.01, size=len(y))
    regressor = StackedMetaRegressor(random_state=0).fit(X.tokens, y)
    assert regressor.scores_["words"] < 0.3


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_weights_of_rows_are_repeated_rows(kind):
    X, y = planted(n_rows=80)
    model = classifier(linear(0.1), tfidf=False)
    if kind == "numbers":
        y, model = values(X, "a")[:, 0], StackedMetaRegressor(Ridge(3.0), tfidf=False)
    weights = np.arange(80) % 3
    copies = np.repeat(np.arange(80), weights)
    # Each row is predicted by the model of the other half.
    half = np.arange(80) % 2
    one = clone(model).set_params(cv=PredefinedSplit(half))
    other = clone(model).set_params(cv=PredefinedSplit(half[copies]))
    one.fit(X, y, sample_weight=weights)
    other.fit(X[copies], y[copies])
    np.testing.assert_allclose(weights_of(one), weights_of(other), rtol=0.02, atol=0.01)
    assert one.scores_ == pytest.approx(other.scores_, abs=1e-4)
    np.testing.assert_allclose(one.transform(X), other.transform(X), atol=0.02)


def test_weights_of_classes_are_weights_of_their_rows():
    X, y = planted(n_rows=150, n_classes=3)
    kept = (y < 2) | (np.arange(150) % 5 == 0)
    X, y = X[kept], y[kept]
    weight = {0: 1.0, 1: 1.0, 2: 8.0}
    options = {"concat": False, "tfidf": False, "cv": 3}
    model = classifier(class_weight=weight, **options).fit(X, y)
    same = classifier(**options).fit(X, y, np.where(y == 2, 8.0, 1.0))
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X))
    assert model.scores_ != same.scores_  # the scores of the model do not weight rows
    plain = classifier(**options).fit(X, y)
    assert (model.predict(X) == 2).sum() > (plain.predict(X) == 2).sum()
    balanced = classifier(class_weight="balanced", **options)
    assert (balanced.fit(X, y).predict(X) == 2).sum() > (plain.predict(X) == 2).sum()
    with pytest.raises(ValueError, match=r"class_weight=.*-1.0 at row"):
        classifier(class_weight={0: -1.0}).fit(X, y)
    with pytest.raises(ValueError, match="class_weight was passed, but KNeigh"):
        classifier(KNeighborsClassifier(), class_weight="balanced").fit(X, y)


class Recorder(LogisticRegression):
    """A classifier that keeps the numbers of its training rows, their first tokens."""

    def fit(self, X, y):
        self.seen_ = {int(row[0]) for row in X}
        return super().fit(np.zeros((len(y), 1)), y)

    def decision_function(self, X):
        return super().decision_function(np.zeros((len(X), 1)))


@pytest.mark.parametrize("kind", ["rows", "groups", "copies"])
def test_rare_classes_do_not_change_the_folds_of_other_rows(kind):
    rng = np.random.default_rng(0)
    y, units = rng.integers(0, 2, 90), np.sort(rng.integers(0, 60, 90))
    y[-3:] = 2
    units[-3:] = units[0], 88, 89  # a known unit, and two new ones
    numbers = units if kind == "copies" else np.arange(90)
    X = TokenSequences.from_lists([[str(number)] for number in numbers])
    stack = classifier(tfidf=False, models=[("own", Recorder())])
    folds = []
    for n in (87, 90):
        groups = {"groups": units[:n]} if kind == "groups" else {}
        with warnings.catch_warnings(action="ignore"):
            models = stack.fit(X[:n], y[:n], **groups).estimators_["own"]
        folds.append([model.seen_ for model in models])
        if groups:
            for seen in folds[-1]:
                is_seen = np.isin(numbers[:n], [*seen])
                assert not {*units[:n][is_seen]} & {*units[:n][~is_seen]}
    usual = {*numbers[:87].tolist()}
    assert [seen & usual for seen in folds[1]] == folds[0]
    assert len(folds[0]) == 5
    assert sum(len(usual - seen) for seen in folds[0]) == len(usual)


def data_of(kind, n_rows, seed=0):
    """Return rows and a target of a kind."""
    X, y = planted(n_rows, seed, n_classes=3)
    X = X.select(["a", "b"])
    if kind == "pairs":
        return SequencePairs(X[: n_rows // 2 * 2]), y[: n_rows // 2]
    if kind == "labels":
        y = np.stack([y > 0, y > 1], axis=1).astype(int)
    if kind == "numbers":
        y = values(X, "a")[:, 0]
    return X, y


def assert_same_stack(one, other, X):
    assert one.weights_ == other.weights_
    assert one.scores_ == other.scores_
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_array_equal(one.transform(X), other.transform(X))


@pytest.mark.parametrize("kind", ["classes", "labels", "numbers", "pairs"])
def test_rows_of_weight_0_are_absent(kind):
    X, y = data_of(kind, 40)
    weights = np.random.default_rng(0).integers(0, 4, len(y)) / 2
    kept = weights > 0
    model = StackedMetaClassifier(random_state=0)
    if kind == "numbers":
        model, y = StackedMetaRegressor(random_state=0), np.where(kept, y, 1e6)
    whole, part = clone(model), clone(model)
    columns = whole.fit_transform(X, y, sample_weight=weights)
    expected = part.fit_transform(X[kept], y[kept], sample_weight=weights[kept])
    assert_same_stack(whole, part, X)
    np.testing.assert_array_equal(columns[kept], expected)
    np.testing.assert_array_equal(columns[~kept], part.transform(X[~kept]))


def test_rows_of_weight_0_are_absent_from_given_folds_and_groups():
    X, y = planted(60)
    X = X.select(["a"])
    weights = np.arange(60) % 5
    groups = np.arange(60) // 3
    kept = np.flatnonzero(weights)
    for cv, options in (
        (PredefinedSplit(groups % 4), {}),
        ([*GroupKFold(4).split(y, y, groups)], {}),
        (None, {"groups": groups}),
    ):
        part = classifier(cv=cv, tfidf=False)
        whole = clone(part).fit(X, y, sample_weight=weights, **options)
        if options:
            options = {"groups": groups[kept].tolist()}
        else:
            folds = cv if isinstance(cv, list) else [*cv.split()]
            own = [
                [np.isin(kept, rows).nonzero()[0] for rows in fold] for fold in folds
            ]
            part.set_params(cv=own)
        part.fit(X[kept], y[kept], sample_weight=weights[kept], **options)
        assert_same_stack(whole, part, X)


def test_a_class_of_weight_0_is_absent():
    X, y = planted(60)
    weights = np.ones(60)
    y[:3], weights[:3] = 7, 0
    model = classifier(tfidf=False).fit(X, y, sample_weight=weights)
    assert model.classes_.tolist() == [0, 1]
    half = np.arange(60) % 2
    one = classifier(tfidf=False, cv=PredefinedSplit(half))
    with pytest.warns(UserWarning, match="no row could be held out"):
        one.fit(X, y > 0, sample_weight=half)
    assert np.isnan(one.scores_["a"])
    message = r"1 class: \[0\] in the 28 rows .* count as absent \(32 here\)"
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, sample_weight=y == 0)


@pytest.mark.filterwarnings("error")
def test_sets_of_labels():
    X, y = planted(120)
    X = X.select(["a", "b"])
    rare, constant = np.arange(120) < 3, np.ones(120)
    labels = [y, values(X, "a")[:, 0] > 0, rare, constant]
    labels = np.stack(labels, axis=1).astype(int)
    model = classifier(cv=3).fit(X, labels)
    # As if there were one more row with the label and one more without it.
    odds = model.estimators_["words"].decision_function(X.tokens)[:, 3]
    np.testing.assert_allclose(odds, np.log(121))
    # A model of labels can be fitted again, with weights, as those of scikit-learn.
    own, rows, weights = model.estimators_["a"], values(X, "a"), np.arange(120) % 2 + 1
    copies = np.repeat(np.arange(120), weights)
    one = clone(own).fit(rows, labels, sample_weight=weights).decision_function(rows)
    other = clone(own).fit(rows[copies], labels[copies]).decision_function(rows)
    np.testing.assert_allclose(one[:, :3], other[:, :3], atol=0.05)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities, expit(model.decision_function(X)))
    assert probabilities[:, 3].min() > 0.9
    assert probabilities[:, 2].max() < 0.9
    predicted = model.predict(X)
    assert predicted.shape == labels.shape
    assert (predicted == labels).mean(axis=0).min() > 0.8
    assert model.score(X, labels) == (predicted == labels).all(axis=1).mean()
    names = model.get_feature_names_out().tolist()
    assert names[:4] == ["a__0", "a__1", "a__2", "a__3"]
    assert model.transform(X).shape == (120, len(names))


def test_several_columns_of_numbers():
    X, _ = planted(80)
    y = np.stack([values(X, "a")[:, 0], values(X, "b")[:, 0] * 100], axis=1)
    model = StackedMetaRegressor(random_state=0).fit(X, y)
    assert model.predict(X).shape == y.shape
    assert model.score(X, y) > 0.5
    assert model.get_feature_names_out()[:2].tolist() == ["a__0", "a__1"]
    weights, predicted = model.weights_, model.predict(X)
    for factor in (1e-6, 1e3):  # the unit of one column changes nothing else
        model.fit(X, y * [1, factor])
        assert model.weights_ == pytest.approx(weights, abs=1e-4)
        scaled = model.predict(X) / [1, factor]
        np.testing.assert_allclose(scaled, predicted, rtol=1e-3, atol=1e-3)
    with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
        model.fit(X, y[:, :1])
    assert model.predict(X).ndim == 1


def test_rows_with_equal_tokens_that_cannot_be_held_out_issue_a_warning():
    X, y = planted(60)
    tokens = TokenSequences.from_lists([["row"]] * 60)
    X = EmbeddedSequences(tokens, X.blocks)
    with pytest.warns(UserWarning, match="the 60 rows have 1 distinct token sequence,"):
        model = classifier().fit(X, y)
    assert np.isnan(model.scores_["a"])
    assert model.fit(X, y, groups=np.arange(60)).scores_["concat"] > 0.6


def test_folds_that_leave_out_no_row_issue_a_warning():
    X, y = planted(60)
    with pytest.warns(UserWarning, match="all 60 rows are of one group. .* Pass "):
        model = classifier().fit(X, y, groups=np.zeros(60))
    assert np.isnan(model.scores_["a"])
    with pytest.warns(UserWarning, match="no class has rows of two groups"):
        model.fit(X, y, groups=y)
    with pytest.warns(UserWarning, match="no class has rows in two test parts of cv"):
        classifier(cv=PredefinedSplit(np.unique(y, return_inverse=True)[1])).fit(X, y)


def pairs_of(n_pairs=120, seed=0):
    """Return pairs with a source that tells whether both sides are alike."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_pairs) % 2
    u = rng.normal(size=(n_pairs, 6))
    v = np.where(y[:, None] == 1, u + rng.normal(scale=0.3, size=u.shape), u[::-1])
    u[0] = 0
    noise = rng.normal(size=(2 * n_pairs, 4))
    return SequencePairs(sequences(alike=np.r_[u, v], noise=noise)), y


def random_texts(n_texts, seed=0):
    return np.random.default_rng(seed).choice([*"abcdefghijklmnopqrst"], (n_texts, 8))


def pairs_with(kind):
    """Return pairs with random labels that a model knows from other pairs."""
    rng = np.random.default_rng(0)
    texts, labels = random_texts(400).tolist(), rng.integers(2, size=60)
    if kind == "mirrored":
        pairs = list(zip(texts[:60], texts[60:120], strict=True))
        pairs += [pair[::-1] for pair in pairs]
        y = np.tile(labels, 2)
    else:
        question = np.repeat(np.arange(60), 5)
        pairs = [(texts[i], texts[60 + j]) for j, i in enumerate(question)]
        if kind == "sides":
            pairs[::2] = [pair[::-1] for pair in pairs[::2]]
        y = labels[question]
    return SequencePairs.from_lists(pairs), y


@pytest.mark.parametrize("kind", ["mirrored", "questions", "sides"])
def test_pairs_that_share_texts_are_held_out_together(kind):
    X, y = pairs_with(kind)
    with warnings.catch_warnings(action="error"):
        model = classifier().fit(X, y)
        apart = classifier().fit(X, y, groups=np.arange(len(y)))
    assert max(model.scores_.values()) < 0.65
    assert max(apart.scores_.values()) > 0.65 or kind == "mirrored"


def test_pairs_of_few_texts_issue_a_warning():
    texts = random_texts(30).tolist()
    X = SequencePairs.from_lists([list(p) for p in combinations(texts, 2)])
    y = np.arange(len(X)) % 2
    with pytest.warns(UserWarning, match="435 of 435 pairs share a text .* first text"):
        classifier().fit(X, y)
    with warnings.catch_warnings(action="error"):
        classifier().fit(X, y, groups=[i for i, _ in combinations(range(30), 2)])
    names = [["sports"], ["music"], ["film"]]
    known = SequencePairs.from_lists([(t, n) for t in texts for n in names])
    with warnings.catch_warnings(action="error"):
        classifier().fit(known, np.arange(90) % 2)


def test_models_of_pairs_read_features_of_both_sides():
    X, y = pairs_of()
    stacked = classifier(linear(), tfidf=False, cv=5)
    result = stacked.fit_transform(X, y)
    alike = SequencePairs(X.sequences.select(["alike"]))
    features = PairEncoder(Pooling()).fit_transform(alike)
    u, v = np.split(normalize(values(alike.sequences)), 2)
    features = np.hstack([features, (u * v).sum(axis=1, keepdims=True)])
    expected = cross_val_predict(
        linear(), features, y, cv=FOLDS, method="decision_function"
    )
    np.testing.assert_allclose(result[:, 0], expected, rtol=1e-3, atol=1e-3)


def test_pairs_are_predicted():
    X, y = pairs_of(200)
    assert classifier().fit(X[:100], y[:100]).score(X[100:], y[100:]) > 0.95
    assert classifier().fit(X[:8], y[:8]).score(X[100:], y[100:]) > 0.7
    tokens = SequencePairs(X.sequences.tokens)
    assert classifier().fit(tokens, y).predict(tokens).shape == (200,)


def test_inputs_of_other_kinds_are_not_confused():
    X, y = pairs_of()
    stacked = classifier(tfidf=False).fit(X, y)
    with pytest.raises(TypeError, match="was fitted on SequencePairs"):
        stacked.predict(X.first)
    with pytest.raises(TypeError, match="was fitted on the sources .'alike', 'noise'"):
        stacked.predict(SequencePairs(X.sequences.tokens))
    stacked.fit(X.first, y)
    with pytest.raises(TypeError, match="was fitted on single sequences"):
        stacked.predict(X)
    with pytest.raises(TypeError, match="takes EmbeddedSequences"):
        stacked.predict(values(X.first))
    with pytest.raises(ValueError, match="was fitted on blocks"):
        stacked.predict(X.first.select(["alike"]))
    with pytest.raises(NotFittedError):
        classifier().predict(X)


def test_empty_sequences_have_finite_predictions():
    tokens = TokenSequences.from_lists([["good"], ["bad"], []] * 10)
    y = np.arange(30) % 3 == 1
    assert np.isfinite(classifier().fit(tokens, y).predict_proba(tokens)).all()
    none = TokenSequences.from_lists([[]] * 6)
    with pytest.raises(ValueError, match="nothing to learn from: .* are empty"):
        classifier().fit(none, [0, 1] * 3)
    with pytest.raises(ValueError, match="nothing to learn from: .* tfidf=False"):
        classifier(tfidf=False).fit(tokens, y)
    X = EmbeddedSequences(none, [Block("a", np.arange(6.0)[:, None], "sequence")])
    assert [*classifier().fit(X, [0, 1] * 3).estimators_] == ["a"]


class OnlyPredicts(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize(
    ("change", "parameters", "message"),
    [
        ({"y": np.ones(60)}, {}, "at least 2 classes in y, got 1 class"),
        ({"y": np.full((60, 2), 3)}, {}, "must have one column of classes, or be an"),
        ({}, {"estimator": StandardScaler()}, "must be a classifier, got StandardScal"),
        ({}, {"models": [("r", Ridge())]}, "must be a classifier, got Ridge"),
        ({}, {"estimator": [("a", Ridge())]}, "Put sources into an EmbeddingUnion"),
        (
            {},
            {"estimator": OnlyPredicts()},
            "neither decision_function nor predict_proba",
        ),
        ({}, {"cv": ShuffleSplit(2, random_state=0)}, "must hold out every row once"),
        ({"names": ["a", "concat"]}, {}, "two models are named 'concat'.*concat=False"),
        ({"names": ["a", "chars"]}, {}, "two models are named 'chars'.*tfidf=False"),
        ({"sample_weight": np.zeros(60)}, {}, "at least one non-zero number"),
        (
            {"sample_weight": np.ones(60)},
            {"estimator": KNeighborsClassifier()},
            "or class_weight was passed, but KNeighborsClassifier does not support it",
        ),
    ],
)
def test_errors_of_fit(change, parameters, message):
    X, y = planted(n_rows=60)
    X = X.select(["a", "b"])
    if names := change.pop("names", None):
        pairs = zip(X.blocks, names, strict=True)
        X = X.with_blocks([block.rename(name) for block, name in pairs])
    with pytest.raises(ValueError, match=message):
        classifier(**parameters).fit(X, **{"y": y, **change})
