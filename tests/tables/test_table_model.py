"""TableClassifier and TableRegressor: a sum of learners with weights out of fold."""

import sys
import warnings
from contextlib import nullcontext
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsRegressor
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from sk_metaembed import TableClassifier, TableEncoder, TableRegressor

LEARNERS = ["boosting", "trees", "linear"]


def rows(n_rows=300, seed=0):
    """Return numbers, some missing, of which a product and a sum matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)).astype(np.float32)
    value = X[:, 0] + X[:, 1] * X[:, 2]
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, value


@pytest.fixture(scope="module")
def fitted():
    X, value = rows()
    y = np.where(value > 0, "yes", "no")
    classifier = TableClassifier(random_state=0).fit(X, y)
    return X, y, value, classifier, TableRegressor(random_state=0).fit(X, value)


def test_scores_of_new_rows(fitted):
    *_, classifier, regressor = fitted
    X, value = rows(seed=1)
    assert classifier.score(X, np.where(value > 0, "yes", "no")) > 0.8
    assert regressor.score(X, value) > 0.6
    for model in (classifier, regressor):
        assert [*model.weights_] == [*model.estimators_] == LEARNERS
        best = max(model.scores_[name] for name in LEARNERS)
        assert model.scores_["sum"] > best - 0.02
        assert model.scores_["sum"] == pytest.approx(
            model.score(X, y_of(model, value)), abs=0.1
        )


def y_of(model, value):
    return (
        value if isinstance(model, TableRegressor) else np.where(value > 0, "yes", "no")
    )


def test_the_prediction_is_the_weighted_sum_of_the_learners(fitted):
    X, y, value, classifier, _ = fitted
    regressor = TableRegressor(["boosting", "linear"], random_state=0).fit(X, value)
    total = value.mean()
    for name, models in regressor.estimators_.items():
        own = np.mean([model.predict(X).ravel() for model in models], axis=0)
        total = total + regressor.weights_[name] * (own - value.mean())
    np.testing.assert_allclose(regressor.predict(X), total, rtol=1e-6)
    odds = classifier.decision_function(X)
    probabilities = classifier.predict_proba(X)
    np.testing.assert_allclose(probabilities[:, 1], 1 / (1 + np.exp(-odds)))
    np.testing.assert_array_equal(
        classifier.predict(X), np.where(odds > 0, "yes", "no")
    )


def test_a_row_is_predicted_the_same_alone(fitted):
    X, *_, classifier, regressor = fitted
    alone = np.concatenate([regressor.predict(X[i : i + 1]) for i in range(20)])
    np.testing.assert_allclose(alone, regressor.predict(X[:20]), rtol=1e-6)
    alone = np.vstack([classifier.predict_proba(X[i : i + 1]) for i in range(20)])
    np.testing.assert_allclose(alone, classifier.predict_proba(X[:20]), rtol=1e-6)


def test_sets_of_labels():
    X, value = rows()
    y = np.stack([value > 0, X[:, 3] > 0], axis=1).astype(int)
    model = TableClassifier(random_state=0).fit(X, y)
    assert model.predict(X).shape == model.predict_proba(X).shape == y.shape
    assert model.score(X, y) > 0.9


def test_a_mistyped_label_changes_little_and_is_named():
    X, value = rows(400)
    y = np.where(value > 0, "in", "out").astype(object)
    before = TableClassifier(random_state=0).fit(X, y)
    y[0] = "In"
    with pytest.warns(UserWarning, match="y has rare classes: 'In'"):
        after = TableClassifier(random_state=0).fit(X, y)
    new, value = rows(seed=1)
    expected = np.where(value > 0, "in", "out")
    assert after.score(new, expected) > before.score(new, expected) - 0.04
    both = np.isin(after.classes_, ["in", "out"])
    change = after.predict_proba(new)[:, both] - before.predict_proba(new)
    assert np.abs(change).mean() < 0.08


def test_the_column_of_a_rare_class_does_not_act_in_the_choice_of_weights():
    X, value = rows(200)
    y = np.where(value > 0, "in", "out").astype(object)
    before = TableClassifier(["linear"], random_state=0).fit(X[1:], y[1:])
    y[0] = "In"
    with warnings.catch_warnings(action="ignore"):  # of rare classes
        after = TableClassifier(["linear"], random_state=0).fit(X, y)
    assert after.weights_["linear"] == pytest.approx(
        before.weights_["linear"], abs=0.04
    )


@settings(max_examples=3)
@given(seed=st.integers(0, 100), n_absent=st.integers(1, 30))
def test_rows_of_weight_0_are_absent(seed, n_absent):
    X, value = rows(80, seed)
    y = (value > 0).astype(int)
    more = np.vstack([X, X[:n_absent][::-1]])
    labels = np.concatenate([y, 1 - y[:n_absent]])
    weights = np.concatenate([np.ones(len(X)), np.zeros(n_absent)])
    learners = ["trees", "linear"]
    plain = TableClassifier(learners, random_state=0).fit(X, y, np.ones(len(X)))
    same = TableClassifier(learners, random_state=0).fit(more, labels, weights)
    np.testing.assert_allclose(same.predict_proba(X), plain.predict_proba(X))


def test_weight_0_of_a_whole_class_is_named():
    X, value = rows(40)
    y = np.where(value > 0, "in", "out")
    message = (
        "1 class: .'out'. in the .* rows with a sample_weight above 0. .* weight 0"
    )
    with pytest.raises(ValueError, match=message):
        TableClassifier(["linear"]).fit(X, y, (y == "out").astype(float))


@pytest.mark.parametrize(("n_rows", "n_classes"), [(2, 2), (12, 12)])
def test_few_rows(n_rows, n_classes):
    X, value = rows(n_rows)
    with warnings.catch_warnings(action="error"):
        model = TableClassifier(random_state=0).fit(X, np.arange(n_rows) % n_classes)
        numbers = TableRegressor(random_state=0).fit(X, value)
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (n_rows, min(n_rows, n_classes))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert np.isfinite(numbers.predict(X)).all()


def test_boosting_tells_the_values_of_a_category_apart_in_a_small_table():
    code = np.arange(240) % 16
    X, y = np.eye(16)[code], np.random.default_rng(0).normal(size=16)[code]
    assert TableRegressor(["boosting"], random_state=0).fit(X, y).score(X, y) > 0.99


def test_learners_are_named_or_replaced(fitted):
    X, y, value, *_ = fitted
    filled = np.nan_to_num(X)
    near = KNeighborsRegressor(5)
    model = TableRegressor(["linear", ("near", near)]).fit(filled, value)
    assert [*model.weights_] == ["linear", "near"]
    assert len(model.estimators_["near"]) == 5
    useless = ("prior", DummyClassifier())
    model = TableClassifier(["linear", useless], random_state=0).fit(X, y)
    assert model.scores_["prior"] < 0.6 < model.scores_["linear"]
    alone = TableClassifier(["linear"], random_state=0).fit(X, y)
    assert (model.predict(X) == alone.predict(X)).mean() > 0.95


@pytest.mark.parametrize(
    ("learners", "message"),
    [
        ([], "learners is empty: at least one"),
        (["forest"], "learners has 'forest', which is not a learner"),
        (["linear", "linear"], "two learners named 'linear'"),
        ([("sum", LogisticRegression())], "'sum' is the name of their sum"),
        ([("own", Ridge())], "learner 'own' must be a classifier"),
        ([LogisticRegression()], "must be names or pairs"),
    ],
)
def test_invalid_learners(learners, message, fitted):
    with pytest.raises(ValueError, match=message):
        TableClassifier(learners).fit(*fitted[:2])


def test_weights_of_classes_and_rows(fitted):
    X, y, *_ = fitted
    shares = []
    for weight in ({"yes": 20.0, "no": 1.0}, {"yes": 1.0, "no": 20.0}):
        model = TableClassifier(class_weight=weight, random_state=0).fit(X, y)
        shares.append((model.predict(X) == "yes").mean())
    assert shares[0] > shares[1] + 0.1
    always = TableClassifier(("linear",), class_weight={"yes": 1e9, "no": 1})
    assert always.fit(X, y).scores_["sum"] == pytest.approx(
        (y == "yes").mean(), abs=0.05
    )


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-1, r"\{'yes': -1, .* must be finite numbers of 0 or more, got -1e.30 at row"),
        (np.nan, "must be finite numbers of 0 or more, got nan at row"),
        (1e300, "times sample_weight must be finite .* got inf at row"),
        (1e37, r"times sample_weight sums to .*e.69, more than float32 holds"),
    ],
)
def test_weights_of_classes_that_are_not_taken(weight, message, fitted):
    X, y, *_ = fitted
    model = TableClassifier(class_weight={"yes": weight, "no": 1})
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, np.full(len(y), 1e30))


def rare(n_rows, seed):
    """Return a signal in two of six columns, and 6 % of rare rows."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_rows) < 0.06).astype(int)
    X = rng.normal(size=(n_rows, 6))
    X[:, :2] += y[:, None]
    return X, y


FAST = ["trees", "linear"]  # boosting takes most of the time, on folds of its own


@pytest.mark.parametrize("kind", ["balanced", "integers", "fractions", "copies"])
def test_weighted_rare_rows_are_held_out_of_trees(kind):
    """Forests of scikit-learn draw them for every tree, and then predict them well."""
    X, y = rare(700, 0)
    new, expected = rare(3000, 1)
    weight, rows = None, np.arange(len(y))
    if kind in ("integers", "fractions"):
        weight = np.where(y, 16, 1) / (1 if kind == "integers" else 3)
    elif kind == "copies":
        rows = np.concatenate([rows, np.tile(np.flatnonzero(y), 15)])
    model = TableClassifier(
        FAST, class_weight="balanced" if kind == "balanced" else None, random_state=0
    )
    with warnings.catch_warnings(action="ignore"):  # of copies
        model.fit(X[rows], y[rows], weight)
    linear = LogisticRegression(class_weight="balanced").fit(X, y)
    best = balanced_accuracy_score(expected, linear.predict(new))
    found = balanced_accuracy_score(expected, model.predict(new))
    assert found > best - 0.03
    if kind == "copies":  # leaves of two copies are sure of one row
        assert model.weights_["trees"] < 0.03
    shown = 15 * expected + 1 if kind != "balanced" else None
    assert model.scores_["sum"] == pytest.approx(
        model.score(new, expected, shown),
        abs=0.1,  # of 40 rare rows, of half the weight
    )


def test_scores_of_a_weighted_regressor_are_those_of_new_rows():
    X, value = np.random.default_rng(0).normal(size=(2, 4000, 6))
    value = X[:, :2].sum(axis=1) + value[:, 0]
    weight = np.where(np.arange(4000) % 16, 1.0, 16.0)
    model = TableRegressor(FAST, random_state=0)
    model.fit(X[:1500], value[:1500], weight[:1500])
    score = model.score(X[1500:], value[1500:], weight[1500:])
    assert model.scores_["sum"] == pytest.approx(score, abs=0.06)


@pytest.mark.parametrize("weight", [1e6, 1e-6, 0.0])
def test_a_row_of_another_weight_is_held_out(weight):
    """scikit-learn draws rows by their weights from 1.8 on, and predicts 0 for some."""
    X, value = rows(60)
    weights = np.where(np.arange(60), 1.0, weight)
    model = TableRegressor(["trees"], random_state=0).fit(X, value + 100, weights)
    assert np.isfinite(model.scores_["trees"])
    # A heavy row that a tree has seen would be predicted almost exactly.
    assert weight < 1 or model.scores_["trees"] < 0.5


@pytest.mark.parametrize("kind", ["groups", "copies"])
def test_rows_that_belong_together_are_held_out_together(kind):
    """Random targets of 60 groups of 4 rows, which trees know from one of them."""
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(60), 4)
    X, value = rng.normal(size=(60, 5))[group], rng.normal(size=60)[group]
    fit = {}
    if kind == "groups":
        X, fit = X + 0.1 * rng.normal(size=X.shape), {"groups": group}
    order = rng.permutation(240)
    X, value = X[order], value[order]
    fit = {name: each[order] for name, each in fit.items()}
    message = "240 of 240 rows equal .*, pass groups=numpy.arange"
    with nullcontext() if fit else pytest.warns(UserWarning, match=message):
        model = TableRegressor(FAST, random_state=0).fit(X, value, **fit)
    assert max(model.scores_.values()) < 0.25
    with nullcontext() if fit else pytest.warns(UserWarning, match=message):
        y = np.where(value > np.median(value), "up", "down")
        model = TableClassifier(FAST, random_state=0).fit(X, y, **fit)
    assert max(model.scores_.values()) < 0.65


def test_copies_count_as_independent_if_the_user_says_so():
    X, _ = rows(60)
    X, value = np.nan_to_num(X), np.random.default_rng(0).normal(size=60)
    X, value = np.concatenate([X, X]), np.concatenate([value, value])
    near = TableRegressor([("near", KNeighborsRegressor(1))], random_state=0)
    with warnings.catch_warnings(action="error"):
        near.fit(X, value, groups=np.arange(120))
    assert near.scores_["near"] > 0.5


@pytest.mark.parametrize("kind", ["exclusive or", "categories", "noise"])
def test_rows_that_are_equal_by_chance_are_not_copies(kind):
    """New rows of a table of few values repeat those of fit, too."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(300, 3)).astype(float)
    y = X.sum(axis=1) % 2
    if kind == "categories":
        code = rng.integers(0, 30, size=300)
        X, y = np.eye(30)[code], code % 2
    if kind == "noise":
        X = rng.normal(size=(30, 5))[rng.integers(0, 30, size=300)]
        y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    with warnings.catch_warnings(action="error"):
        model = TableClassifier(["trees"], random_state=0).fit(X, y)
    assert model.scores_["trees"] > (0.6 if kind == "noise" else 0.95)


def test_copies_are_equal_in_all_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)).astype(np.float32)
    X[::5, 1], X[1::5, 2] = np.nan, 0.0
    X, y = np.concatenate([X, X]), np.tile(rng.normal(size=50), 2)
    X[51::5, 2] = -0.0
    X[50::5, 1] = np.negative(np.float32(np.nan))
    model = TableRegressor(["linear"])
    with pytest.warns(UserWarning, match="100 of 100 rows equal another row in all"):
        model.fit(X, y)
    X[99, 3] += 1
    with pytest.warns(UserWarning, match="98 of 100 rows equal"):
        model.fit(X, y)


@pytest.mark.parametrize("first", [1.7e9, 0.0, np.nan])
def test_numbers_that_float32_cannot_tell_apart(first):
    seconds = np.append(first, 1.7e9 + np.arange(1.0, 60))[:, None]
    model = TableRegressor(["boosting"], random_state=0).fit(seconds, np.arange(60))
    assert model.scores_["sum"] > 0.8
    masked = np.ma.masked_invalid(seconds)
    np.testing.assert_array_equal(model.predict(masked), model.predict(seconds))
    encoded = TableEncoder().fit_transform(seconds)
    assert len(np.unique(encoded[1:])) == 59


def test_weights_that_sum_to_1_are_named():
    X, value = rows(40)
    with pytest.warns(UserWarning, match="largest weight of a row is 0.025. .* Divide"):
        TableRegressor(["linear"]).fit(X, value, np.full(40, 1 / 40))


def test_a_table_of_two_distinct_rows_issues_a_warning():
    y = np.arange(40) % 2
    X = np.random.default_rng(0).normal(size=(2, 8))[y]
    with pytest.warns(UserWarning, match="40 rows have 2 distinct rows, and equal"):
        model = TableClassifier(random_state=0).fit(X, y)
    assert np.isnan(model.scores_["sum"])


def test_n_jobs_does_not_change_the_result(fitted):
    X, _, value, *_ = fitted
    one, parallel = (
        TableRegressor(n_jobs=n_jobs, random_state=0).fit(X, value) for n_jobs in (1, 2)
    )
    np.testing.assert_allclose(parallel.predict(X), one.predict(X), rtol=1e-5)


class CountThreads(DummyClassifier):
    """Count the threads that a learner may use, at most."""

    def fit(self, X, y):
        """Store the number."""
        self.n_threads_ = max(each["num_threads"] for each in threadpool_info())
        return super().fit(X, y)


def test_libraries_that_are_loaded_later_have_one_thread_too(fitted, monkeypatch):
    X, y, *_ = fitted
    found, start = [], ThreadpoolController.__init__

    def find(controller):
        found.append(controller)
        start(controller)

    monkeypatch.setattr(ThreadpoolController, "__init__", find)
    for name in ("first", "second"):
        monkeypatch.setitem(sys.modules, f"library_{name}", ModuleType(name))
        n_found = len(found)
        TableClassifier(["trees"]).fit(X, y)
        assert len(found) > n_found


def test_small_tables_are_fitted_by_one_thread(fitted):
    # Boosting waits for its threads longer than they save, above all on a busy machine.
    X, y, *_ = fitted
    with threadpool_limits(2):
        model = TableClassifier([("count", CountThreads())]).fit(X, y)
        assert max(each["num_threads"] for each in threadpool_info()) == 2
    assert [each[-1].n_threads_ for each in model.estimators_["count"]] == [1] * 5
