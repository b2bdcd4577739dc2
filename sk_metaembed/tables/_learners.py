"""The learners of a table's model, each with predictions of rows it has not seen."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import get_tags

from .._core._predictor_outputs import refuse_pairs_of_classes
from ..meta._api import PerColumn, decision_values
from ._boosted_rows import boosted_decisions, is_fast
from ._numbers_input import NumbersInputMixin

_ROUNDS = 100
_TREES = 100
_MOST_ROWS = 20_000  # of a tree of `trees`
_SQUASH = 3.0  # standard deviations, above which numbers are compressed
_LEAST_SPREAD = 1e-6  # relative; smaller ones are noise of float32


class Learned(NamedTuple):
    """A learner, fitted.

    Attributes
    ----------
    models : list of estimator
        Their mean decision values are the decision values of the learner.
    decisions : ndarray of shape (n_rows, n_columns)
        Of rows by models that have not seen them, relative to the target's center.
    is_held_out : ndarray of bool, shape (n_rows,)
    """

    models: list
    decisions: np.ndarray
    is_held_out: np.ndarray


def boosting(target, random_state):
    """Return gradient boosting for a target."""
    from sklearn import ensemble

    kind = ensemble.HistGradientBoostingClassifier
    if target.kind == "numbers":
        kind = ensemble.HistGradientBoostingRegressor
    # Without a penalty, classes of few rows make the leaves' values diverge. Leaves of
    # scikit-learn's 20 rows cannot tell the values of a category apart in small tables.
    return kind(
        max_iter=_ROUNDS,
        min_samples_leaf=5,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=random_state,
    )


class DenseScaler(NumbersInputMixin, TransformerMixin, BaseEstimator):
    """Numbers as linear models need them: complete, scaled, without outliers.

    Not public. Missing values become the median, with an indicator. Standardized
    numbers z become ``z / sqrt(1 + (z / 3)**2)``.

    Parameters
    ----------
    unit_rows : bool, default=False
        Whether to scale the rows to unit length on average.
    """

    def __init__(self, unit_rows=False):
        self.unit_rows = unit_rows

    def fit(self, X, y=None, sample_weight=None):
        """Learn medians, means and scales."""
        X = self._numbers(X, np.float64, reset=True)
        absent = np.isnan(X)
        self.is_absent_, empty = absent.any(axis=0), absent.all(axis=0)
        self.median_ = np.zeros(X.shape[1])
        self.median_[~empty] = np.nanmedian(X[:, ~empty], axis=0)
        filled = np.where(absent, self.median_, X)
        self.mean_, spread = filled.mean(axis=0), filled.std(axis=0)
        is_noise = spread <= _LEAST_SPREAD * np.abs(self.mean_)
        self.scale_ = np.where(is_noise, np.inf, spread)
        return self

    def transform(self, X):
        """Return float64 of shape (n_rows, n_features + n_with_missing)."""
        X = self._numbers(X, np.float64)
        absent = np.isnan(X)
        z = (np.where(absent, self.median_, X) - self.mean_) / self.scale_
        z /= np.sqrt(1 + np.square(z / _SQUASH))
        out = np.hstack([z, absent[:, self.is_absent_]])
        return out / np.sqrt(out.shape[1]) if self.unit_rows else out

    def get_feature_names_out(self, input_features=None):
        """Return the names of the features, and ``name__missing`` of indicators."""
        names = getattr(self, "feature_names_in_", input_features)
        if names is None:
            names = [f"x{j}" for j in range(self.n_features_in_)]
        absent = [f"{name}__missing" for name in np.asarray(names)[self.is_absent_]]
        return np.array([*names, *absent], dtype=object)


class Trees(BaseEstimator):
    """Extremely randomized trees of the columns of a target.

    Not public. Classes are regressed on as indicators, so that the means of leaves are
    probabilities, and `decide` returns their log odds.

    Parameters
    ----------
    random_state : int
    """

    def __init__(self, random_state):
        self.random_state = random_state

    def fit(self, X, target, sample_weight=None):
        """Fit the trees, and predict each row by those that have not drawn it."""
        from sklearn.ensemble import ExtraTreesRegressor

        self.kind_, self.is_exclusive_ = target.kind, target.has_column_per_class
        self.forest_ = ExtraTreesRegressor(
            _TREES,
            min_samples_leaf=2,  # as accurate as 1, and half as large
            bootstrap=True,
            oob_score=_no_score,
            max_samples=min(len(X), _MOST_ROWS),
            max_features=0.5 if self.kind_ == "numbers" else "sqrt",
            random_state=self.random_state,
        )
        # Splits should not depend on the units of several columns.
        self.center_, self.scale_ = target.center, target.scale
        columns = target.columns / target.scale
        columns = columns[:, 0] if columns.shape[1] == 1 else columns
        with warnings.catch_warnings():
            # Rows that all trees have drawn are not held out.
            warnings.filterwarnings("ignore", "Some inputs do not have OOB")
            self.forest_.fit(X, columns, sample_weight)
        held_out = self.forest_.oob_prediction_.reshape(len(X), -1)
        if not held_out.any(axis=1).all():  # 0 is the mean, or that there are none
            samples = self.forest_.estimators_samples_
            is_drawn = [np.bincount(rows, minlength=len(X)) > 0 for rows in samples]
            held_out[np.all(is_drawn, axis=0)] = np.nan
        # Files need neither the predictions of the rows nor a function.
        del self.forest_.oob_prediction_
        self.forest_.oob_score = False
        return self._as_decisions(held_out)

    def decide(self, X):
        """Return predictions or log odds, (n_rows, n_columns)."""
        X = np.ascontiguousarray(X, dtype=np.float32)
        trees = self.forest_.estimators_
        # ExtraTreesRegressor.predict takes ten times as long for one row.
        total = np.zeros((len(X), trees[0].n_outputs_))
        for tree in trees:
            total += tree.tree_.predict(X).reshape(total.shape)
        return self._as_decisions(total / len(trees))

    def _as_decisions(self, values):
        if self.kind_ == "numbers":
            return values * self.scale_ + self.center_
        # Add half a tree per class, so that no probability is 0.
        rare = 0.5 / self.forest_.n_estimators
        if self.is_exclusive_:
            return np.log(values + rare)
        return np.log((values + rare) / (1 - values + rare))


def _no_score(y, predicted):
    """Return 0; the scores of all learners are computed in one place."""
    return 0.0


def fit_linear(X, target, folds, sample_weight):
    """Return a `Learned` linear model, its penalty chosen by held-out rows."""
    from sklearn.pipeline import Pipeline

    from ..meta._stacked_models import fit_member

    scaler = DenseScaler(unit_rows=True)
    rows = {"row": scaler.fit_transform(X)}
    linear = fit_member(None, rows, target, folds, sample_weight)
    model = Pipeline([("scaler", scaler), ("model", linear.model)])
    return Learned([model], linear.decisions, folds.held_out)


def fit_trees(X, target, sample_weight, random_state):
    """Return `Learned` trees."""
    trees = Trees(random_state)
    decisions = trees.fit(X, target, sample_weight)
    is_held_out = np.isfinite(decisions).all(axis=1)
    decisions = np.where(is_held_out[:, None], decisions, 0.0)
    return Learned([trees], decisions - target.center, is_held_out)


def accepts_missing(estimator):
    """Return whether an estimator accepts NaN.

    A pipeline does if each of its steps does, up to one that imputes.
    """
    if hasattr(estimator, "estimator") and hasattr(estimator, "refit"):  # a search
        return accepts_missing(estimator.estimator)
    if not hasattr(estimator, "steps"):
        return get_tags(estimator).input_tags.allow_nan
    for _, step in estimator.steps:
        if "Imputer" in type(step).__name__:
            return True
        if hasattr(step, "fit") and not accepts_missing(step):
            return False
    return True


def fit_on_folds(estimator, X, target, folds, sample_weight):
    """Return a `Learned` estimator: one model per fold, without its rows.

    An estimator that does not accept missing values receives scaled columns.
    """
    from sklearn.pipeline import Pipeline

    from ..meta import _stacked_models

    if target.kind == "classes":
        refuse_pairs_of_classes(estimator)  # by the name that its user knows
    if not accepts_missing(estimator) and clone(estimator) is not estimator:
        # A frozen one was fitted on the columns as they are.
        estimator = Pipeline([("scaler", DenseScaler()), ("model", estimator)])
    if target.kind == "numbers" and target.y.ndim == 2:
        # Also an estimator of several columns, which may depend on their units.
        estimator = PerColumn(estimator)
    models, decisions = _stacked_models.fit_on_folds(
        estimator, X, target, folds, sample_weight, change_rows=_without_empty_columns
    )
    return Learned(models, decisions, folds.held_out)


def _without_empty_columns(part):
    """Write 0 into columns without numbers, which boosting refuses; return the rows."""
    part[:, np.isnan(part).all(axis=0)] = 0
    return part


def decide(model, X, target):
    """Return the decision values of a model of a learner, (n_rows, n_columns)."""
    if isinstance(model, Trees):
        return model.decide(X)
    if is_fast(model, len(X)):
        return boosted_decisions(model, X)
    return decision_values(model, X, target)
