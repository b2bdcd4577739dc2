"""Estimators of other packages: what they return is read in one order and shape."""

import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Ridge,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OutputCodeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from sk_metaembed import (
    Block,
    EmbeddedSequences,
    Pooling,
    StackedMetaClassifier,
    StackedMetaRegressor,
    TableClassifier,
    TableRegressor,
    TokenClassifier,
    TokenSequences,
    make_table_pipeline,
    save,
)
from sk_metaembed.inspection import compare_sources
from sk_metaembed.out_of_core import transform_in_batches

NUMERALS = np.array(["9", "1", "10", "2"])


class Ordered(ClassifierMixin, BaseEstimator):
    """Return what CatBoost does: classes in an order of its own, labels as a column."""

    def __init__(self, order="numeric", convert=None):
        self.order = order
        self.convert = convert

    def fit(self, X, y, sample_weight=None):
        self.model_ = LogisticRegression().fit(X, y, sample_weight)
        self.order_ = np.arange(len(self.model_.classes_))
        if self.order == "numeric":
            self.order_ = np.argsort([float(label) for label in self.model_.classes_])
        self.classes_ = self.model_.classes_[self.order_].astype(object)
        return self

    def predict(self, X):
        labels = self.model_.predict(X).astype(object)
        return labels[:, None] if self.order == "numeric" else labels

    def predict_proba(self, X):
        values = self.model_.predict_proba(X)[:, self.order_]
        return values if self.convert is None else self.convert(values)


class Deciding(Ordered):
    """The same with decision values."""

    def decision_function(self, X):
        values = self.model_.decision_function(X)
        if values.ndim == 2:
            return values[:, self.order_]
        return values if self.order_[0] == 0 else -values


def classes(n_classes=3, n_rows=90):
    """Return columns of numbers, and classes that they separate."""
    rng = np.random.default_rng(0)
    code = np.arange(n_rows) % n_classes
    X = rng.normal(size=(n_rows, 2)) + np.eye(n_classes)[code, :2] * 2
    return X, NUMERALS[code]


def sequences(X):
    """Return one token per row, with the row as its vector."""
    tokens = TokenSequences.from_lists([[f"t{i}"] for i in range(len(X))])
    return EmbeddedSequences(tokens, [Block("x", X, "sequence")])


def in_table(estimator, X, y):
    return TableClassifier([("own", estimator)], random_state=0).fit(X, y), X


def as_model(estimator, X, y):
    members = [("own", make_pipeline(Pooling(), estimator))]
    stack = StackedMetaClassifier(models=members, tfidf=False, random_state=0)
    return stack.fit(sequences(X), y), sequences(X)


def of_sources(estimator, X, y):
    stack = StackedMetaClassifier(estimator, tfidf=False, random_state=0)
    return stack.fit(sequences(X), y), sequences(X)


def of_tokens(estimator, X, y):
    tagger = TokenClassifier(estimator).fit(sequences(X), [[tag] for tag in y.tolist()])
    return tagger, sequences(X)


@pytest.mark.parametrize("kind", [Ordered, Deciding])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit", [in_table, as_model, of_sources, of_tokens])
def test_the_order_of_the_classes_changes_nothing(fit, n_classes, kind):
    X, y = classes(n_classes)
    (one, rows), (other, _) = (
        fit(kind(order), X, y) for order in ("sorted", "numeric")
    )
    assert other.classes_.tolist() == sorted({*y.tolist()})
    expected = np.vstack(one.predict_proba(rows))
    np.testing.assert_allclose(np.vstack(other.predict_proba(rows)), expected)
    assert other.predict(rows).tolist() == one.predict(rows).tolist()
    if hasattr(one, "scores_"):
        assert other.scores_["own" if "own" in one.scores_ else "x"] > 0.6


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_sources_are_compared_by_a_classifier_with_an_order_of_its_own(
    scoring, n_classes
):
    X, y = classes(n_classes)
    table = pd.DataFrame(X, columns=["a", "b"])
    one, other = (
        compare_sources(
            make_table_pipeline(kind("numeric" if kind is Ordered else "sorted")),
            table,
            y,
            cv=2,
            scoring=scoring,
            random_state=0,
        )
        for kind in (Ordered, Deciding)
    )
    np.testing.assert_allclose(other.scores, one.scores)
    np.testing.assert_allclose(other.probabilities, one.probabilities)
    np.testing.assert_allclose(other.errors, one.errors)
    assert other.predictions.tolist() == one.predictions.tolist()


def test_a_column_of_labels_is_written_as_labels(tmp_path):
    read = FunctionTransformer(
        lambda texts: np.array([[*map(float, t)] for t in texts])
    )
    texts = [("1", "0"), ("0", "1"), ("0", "0")]
    pipe = make_pipeline(read, Ordered()).fit(texts * 9, [*"129"] * 9)
    assert pipe.predict(texts).shape == (3, 1)
    path = tmp_path / "o.parquet"
    transform_in_batches(pipe, texts, path, method="predict")
    assert pd.read_parquet(path).iloc[:, 0].tolist() == [*"129"]


OUTPUTS = {
    "frame": lambda p: pd.DataFrame(p, index=np.arange(len(p))[::-1]),
    "list": lambda p: p.tolist(),
    "objects": lambda p: p.astype(object),
    "sparse": csr_array,
    "float32": lambda p: p.astype(np.float32),
    "not of sum 1": lambda p: p / 2,
}


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_containers_of_probabilities(n_classes, name):
    X, y = classes(n_classes)
    one, other = (
        in_table(Ordered(convert=convert), X, y)[0].predict_proba(X)
        for convert in (None, OUTPUTS[name])
    )
    np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("convert", "message"),
    [
        (
            lambda p: p[:, 1],
            r"returned shape \(18,\) for 3 classes.*LightGBM before 4.7",
        ),
        (lambda p: np.log(p), "returned -.* for row 0, which is not a probability"),
        (lambda p: np.where(p == p[2], np.nan, p), "returned nan for row 2, 1 row in"),
        (lambda p: p[1:], r"returned shape \(17, 3\) for 18 rows"),
        (lambda p: [[*p], [*p]], r"must return an array|returned shape \(2, 18, 3\)"),
        (lambda p: "none", "must return an array of numbers, got 'none'"),
    ],
)
def test_outputs_that_are_not_probabilities_are_named(convert, message):
    with pytest.raises(ValueError, match=rf"learner 'own' \(Ordered\): .*{message}"):
        in_table(Ordered(convert=convert), *classes())


class Numbered(LogisticRegression):
    def fit(self, X, y):
        return super().fit(X, np.unique(y, return_inverse=True)[1])


class Unnamed(LogisticRegression):
    def fit(self, X, y):
        super().fit(X, y)
        del self.classes_
        return self


class Float64Only(LogisticRegression):
    def fit(self, X, y):
        if X.dtype != np.float64:
            raise ValueError("Buffer dtype mismatch, expected 'double' but got 'float'")
        return super().fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (Numbered(), r"has the classes \[0, 1, 2\], but y has \['1', '10', '9'\]"),
        (Unnamed(), "has no classes_ after fit, so the order of its columns"),
        (SVC(decision_function_shape="ovo"), "decision_function_shape='ovo' gives one"),
        (VotingClassifier([("a", GaussianNB())]), "neither .*voting='soft'"),
        (OutputCodeClassifier(GaussianNB()), "neither decision_function nor"),
        (GaussianNB(priors=[1.0]), "Number of priors must match"),
    ],
)
def test_classifiers_that_cannot_be_read_are_named(estimator, message):
    name = type(estimator).__name__
    with pytest.raises(ValueError, match=rf"learner 'own' \({name}\): .*{message}"):
        in_table(estimator, *classes())
    with pytest.raises(ValueError, match=rf"model 'x' \({name}\): .*{message}"):
        of_sources(estimator, *classes())


def frozen(estimator, X, y, **attributes):
    """Return a fitted estimator with other attributes, which is not fitted again."""
    fitted = estimator.fit(X, y)
    vars(fitted).update(attributes)
    return FrozenEstimator(fitted)


@pytest.mark.parametrize("kind", [Ordered, Deciding])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_class_that_a_model_does_not_know_is_improbable(n_classes, kind):
    X, y = classes(n_classes + 1)
    known = y != NUMERALS[n_classes]
    table, _ = in_table(frozen(kind(), X[known], y[known]), X, y)
    place = table.classes_.tolist().index(NUMERALS[n_classes])
    probabilities = table.predict_proba(X)[known]
    assert (probabilities.argmin(axis=1) == place).all() and probabilities.all()
    assert table.predict(X[known]).dtype == y.dtype


@pytest.mark.parametrize(
    ("labels", "known"),
    [
        (np.array([False, True]), ["True", "False"]),
        (np.array([1.0, 2.0]), [2, 1]),
        (np.array([1, 2]), ["2", "1"]),
        (np.array(["a", "b"]), np.array(["b", "a"], dtype=object)),
    ],
)
def test_labels_of_another_type(labels, known):
    X, y = classes(2)
    codes = np.unique(y, return_inverse=True)[1]
    expected, _ = in_table(LogisticRegression(), X, labels[1 - codes])
    model = frozen(LogisticRegression(), X, codes, classes_=np.asarray(known))
    table, _ = in_table(model, X, labels[1 - codes])
    predicted = table.predict(X)
    assert predicted.dtype == labels.dtype
    assert np.mean(predicted == expected.predict(X)) > 0.95


def test_infinite_decisions_are_certain():
    X, y = classes(2)
    certain = {"intercept_": np.array([np.inf])}
    table, _ = in_table(frozen(LogisticRegression(), X, y, **certain), X, y)
    assert np.isfinite(table.predict_proba(X)).all()


class Returning(RegressorMixin, BaseEstimator):
    """A linear model whose predictions are converted."""

    def __init__(self, convert):
        self.convert = convert

    def fit(self, X, y):
        self.model_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        return self.convert(self.model_.predict(X))


@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize(
    "convert",
    [
        lambda p: p.reshape(len(p), -1),
        lambda p: pd.Series(p, index=np.arange(len(p))[::-1]),
        lambda p: pd.DataFrame({"p": p}),
        lambda p: p.astype(object).tolist(),
    ],
)
def test_containers_of_numbers(convert, n_columns):
    X, y = classes()
    y = X[:, 0] if n_columns == 1 else X
    one, other = (
        TableRegressor([("own", estimator)], random_state=0).fit(X, y).predict(X)
        for estimator in (LinearRegression(), Returning(convert))
    )
    np.testing.assert_allclose(other, one)
    stack = StackedMetaRegressor(
        tfidf=False, random_state=0, estimator=Returning(convert)
    )
    predicted = stack.fit(sequences(X), y).predict(sequences(X))
    assert r2_score(y, predicted) > 0.99


@pytest.mark.parametrize(
    ("convert", "message"),
    [
        (lambda p: np.stack([p, p], axis=1), r"shape \(18, 2\) for one column of y"),
        (lambda p: p[:-1], r"shape \(17,\) for 18 rows"),
        (lambda p: p * np.inf, "-?inf for row 0, 18 rows in all. Check the scale"),
        (lambda p: ["high"] * len(p), "must return an array of numbers"),
    ],
)
def test_predictions_that_are_not_numbers_are_named(convert, message):
    X, _ = classes()
    with pytest.raises(ValueError, match=rf"learner 'own' \(Returning\): .*{message}"):
        TableRegressor([("own", Returning(convert))]).fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (Ridge(), "must be a classifier, got Ridge"),
        (OneHotEncoder(), "derives from ClassifierMixin and BaseEstimator"),
        (LogisticRegression, "Pass an instance instead of the class"),
        ("logistic", "must be a classifier, got 'logistic'"),
    ],
)
def test_estimators_that_are_not_classifiers(estimator, message):
    X, y = classes()
    with pytest.raises(ValueError, match=f"learner 'own' .*{message}"):
        in_table(estimator, X, y)
    stack = StackedMetaClassifier(models=[("own", estimator)])
    with pytest.raises(ValueError, match=f"model 'own' .*{message}"):
        stack.fit(sequences(X), y)


def test_models_that_take_float64_only():
    X, y = classes()
    X = X.astype(np.float32)
    in_table(Float64Only(), X, y)[0].predict(X)
    message = r"estimator \(Float64Only\): .* put FunctionTransformer\(numpy.float64\)"
    with pytest.raises(ValueError, match=message):
        of_tokens(Float64Only(), X, y)
    of_tokens(make_pipeline(FunctionTransformer(np.float64), Float64Only()), X, y)


@pytest.mark.parametrize(
    ("estimator", "accepts"),
    [
        (LogisticRegression(), False),
        (make_pipeline(StandardScaler(), SVC()), False),
        (make_pipeline(SimpleImputer(), SVC()), True),
        (GridSearchCV(make_pipeline(SimpleImputer(), SVC()), {}), True),
        (GridSearchCV(SVC(), {}), False),
    ],
)
def test_learners_without_missing_values_receive_scaled_columns(estimator, accepts):
    X, y = classes(2)
    X[0, 0] = np.nan
    model, _ = in_table(estimator, X, y)
    assert model.scores_["own"] > 0.7
    steps = getattr(model.estimators_["own"][0], "named_steps", {})
    assert ("scaler" in steps) is not accepts


def test_frozen_learners_receive_the_columns_as_they_are():
    X, y = classes(2)
    own = frozen(LogisticRegression(), X, y)
    model, _ = in_table(own, X, y)
    np.testing.assert_array_equal(model.predict(X), own.predict(X))


def priced(n_rows=200):
    """Return columns of which one is a price, and log odds that they explain."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, 3)) * [1.0, 1e6, 1.0]
    return X, X[:, 0] + X[:, 2] + 0.5 * rng.normal(size=n_rows)


class Wild(ClassifierMixin, BaseEstimator):
    """Huge log odds, at random: a learner that misleads."""

    def __init__(self, factor=1e6):
        self.factor = factor

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return self.factor * np.random.default_rng(len(X)).normal(size=len(X))

    predict = decision_function


@pytest.mark.parametrize("own", [Wild(), SGDClassifier(random_state=0)])
def test_a_learner_that_misleads_changes_little(own):
    X, value = priced(400)
    y = np.where(value > 0, "yes", "no")
    train, test = np.arange(200), np.arange(200, 400)
    losses = [
        log_loss(
            y[test],
            TableClassifier(learners, random_state=0)
            .fit(X[train], y[train])
            .predict_proba(X[test]),
        )
        for learners in (["linear"], ["linear", ("own", own)])
    ]
    assert losses[1] < losses[0] + 0.02


def test_a_regressor_that_misleads_gets_no_weight():
    X, value = priced()
    rng = np.random.default_rng(0)
    wild = Returning(lambda p: 1e9 * rng.normal(size=len(p)))
    model = TableRegressor(["linear", ("own", wild)], random_state=0).fit(X, value)
    assert model.weights_["own"] < 1e-8
    assert model.scores_["sum"] == pytest.approx(model.scores_["linear"], abs=0.02)
    model = TableRegressor([("own", SGDRegressor(random_state=0))]).fit(X, value)
    assert model.scores_["sum"] > 0.7


class Unfitted(RegressorMixin, BaseEstimator):
    """Lacks the attribute by which scikit-learn's pipelines know a fitted estimator."""

    def fit(self, X, y):
        self.mean = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean)


def test_a_learner_that_does_not_say_that_it_is_fitted_is_named():
    X, value = priced(60)
    with pytest.raises(NotFittedError, match="learner 'own' .* ends in an underscore"):
        TableRegressor([("own", Unfitted())]).fit(X, value)


class Affine(LogisticRegression):
    """Decision values times a factor, plus a shift."""

    def __init__(self, factor=1.0, shift=0.0):
        super().__init__()
        self.factor = factor
        self.shift = shift

    def decision_function(self, X):
        return self.factor * super().decision_function(X) + self.shift


def test_units_of_decisions_do_not_matter():
    """Those of boosted forests of LightGBM are sums over the trees."""
    X, y = classes(2)
    weights = []
    for factor in (10.0, 1000.0, 1e300):
        learners = ["linear", ("own", Affine(factor))]
        model = TableClassifier(learners, random_state=0).fit(X, y)
        weights.append(model.weights_["own"] * factor)
    assert weights[1:] == pytest.approx([weights[0]] * 2, rel=0.1)


def test_decisions_of_classes_that_share_a_shift_do_not_drown_others():
    X, y = classes()
    shifted, alone = (
        TableClassifier(["linear", *own], random_state=0).fit(X, y)
        for own in ([("own", Affine(shift=1e30))], [])
    )
    expected = log_loss(y, alone.predict_proba(X))
    assert log_loss(y, shifted.predict_proba(X)) == pytest.approx(expected, abs=0.1)


class Locked(LogisticRegression):
    def fit(self, X, y):
        self.lock_ = threading.Lock()
        return super().fit(X, y)


@pytest.mark.parametrize("fit", [in_table, as_model])
def test_a_learner_that_cannot_be_saved_is_named(fit, tmp_path):
    model, _ = fit(Locked(), *classes())
    with pytest.raises(TypeError, match=r"estimators_\['own'\].*lock_ holds lock"):
        save(model, tmp_path / "m.skm")


@pytest.mark.slow
@pytest.mark.parametrize("labels", [["9", "10"], ["1", "2", "10"], [1, 2, 10]])
def test_catboost(labels):
    catboost = pytest.importorskip("catboost")
    own = catboost.CatBoostClassifier(20, verbose=0, allow_writing_files=False)
    X, y = classes(len(labels), 200)
    X = 2 * X
    y = np.array(labels)[np.unique(y, return_inverse=True)[1]]
    for fit in (in_table, as_model, of_sources):
        model, rows = fit(own, X, y)
        assert model.score(rows, y) > 0.7
        assert max(model.scores_.values()) > 0.7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tagger, rows = of_tokens(own, X, y.astype(str))
    assert tagger.score(rows, [[tag] for tag in y.astype(str).tolist()]) > 0.8
