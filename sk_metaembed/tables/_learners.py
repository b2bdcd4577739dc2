"""Fit the learners of a table's model, and predict the training rows out of fold."""

from itertools import islice, repeat
from typing import NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from .. import _stacking as stacking
from .._core._frames import plain_container
from .._targets import (
    PerColumn,
    decision_values,
    errors_of_model,
    refuse_pairs_of_classes,
)
from .._training._device import one_blas_thread

# Numbers this far from 0, relative to their spread, keep at most four digits in
# float32.
_FAR = 1000

# Numbers are clipped to this size, so that sums of columns do not overflow float32.
_LARGEST = 1e30


class NumbersInputMixin:
    """Mixin for estimators that read arrays of numbers with missing values."""

    def _numbers(self, X, dtype, *, reset=False):
        """Return X as an array; with ``reset=True``, in fit, record its columns.

        Only `fit` requires at least one row.
        """
        X = plain_container(X)
        if np.ma.isMaskedArray(X):
            X = X.astype(np.float64).filled(np.nan)
        return validate_data(
            self,
            X,
            dtype=dtype,
            ensure_all_finite="allow-nan",
            ensure_min_samples=int(reset),
            reset=reset,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def offset(numbers):
    """Return the median if some numbers would become equal as float32, otherwise 0."""
    known = np.unique(numbers[np.isfinite(numbers)])
    if not len(known):
        return 0.0
    low, median, high = known[[len(known) * q // 10 for q in (1, 5, 9)]]
    if not _FAR * (high - low) < abs(median) < _LARGEST:
        return 0.0
    is_merged = np.diff(known.astype(np.float32)) == 0
    return median if is_merged.any() else 0.0


def as_float32(numbers):
    """Return numbers as float32; huge ones are clipped."""
    return np.clip(numbers, -_LARGEST, _LARGEST).astype(np.float32)


_ROUNDS = 100
_TREES = 100
_PARTS = 3  # parts of the rows; each tree leaves out one part
_MOST_ROWS = 20_000  # that one tree is fitted on
_SQUASH = 3.0  # standard deviations; larger numbers are compressed
_LEAST_SPREAD = 1e-6  # relative; smaller ones are noise of float32


class DenseScaler(NumbersInputMixin, TransformerMixin, BaseEstimator):
    """Impute, standardize and compress numbers for linear models.

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


# The functions below fit a learner to X, (n_rows, n_features), on the training parts of
# `folds`. They return its models, whose mean decision values are those of the learner,
# and the decision values of each row by models that have not seen it, minus the center
# of the target, (n_rows, n_columns).


class Trees(NamedTuple):
    """Extremely randomized trees that predict the columns of a target.

    Classes are encoded as indicators. Leaves therefore contain probabilities, and
    `decide` returns log odds.
    """

    trees: list

    def decide(self, X, target):
        """Return predictions or log odds, (n_rows, n_columns)."""
        X = np.ascontiguousarray(X, dtype=np.float32)
        total = np.zeros((len(X), self.trees[0].n_outputs_))
        for tree in self.trees:
            # The estimator's `predict` takes ten times as long for one row.
            total += tree.tree_.predict(X).reshape(total.shape)
        return _as_decisions(total / len(self.trees), target, len(self.trees))


def _as_decisions(values, target, n_trees):
    """Return mean values of leaves as predictions or log odds."""
    if target.kind == "numbers":
        return values * target.scale + target.center
    # Add half a tree per class, so that no probability is 0.
    rare = 0.5 / n_trees
    if target.has_column_per_class:
        return np.log(values + rare)
    return np.log((values + rare) / (1 - values + rare))


def fit_trees(X, target, folds, sample_weight, random_state):
    """Fit `Trees`, and predict each row by the trees that have not seen its unit.

    Each group of three trees shares a random division of the units into three parts,
    and each tree leaves out one part. Bootstrap samples would depend on the weights:
    scikit-learn draws heavy rows for every tree. Without folds, all trees see all rows.
    """
    from sklearn.tree import ExtraTreeRegressor

    # Splits should not depend on the scales of the columns.
    columns = target.columns / target.scale
    columns = columns[:, 0] if columns.shape[1] == 1 else columns
    labels = target.y if target.kind == "classes" else None
    rng = np.random.RandomState(random_state)
    parts = _parts_left_out(folds.units if folds.pairs else None, labels, len(X), rng)
    trees, total, count = [], np.zeros(target.columns.shape), np.zeros(len(X))
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for is_out in islice(parts, _TREES):
            rows, out = np.flatnonzero(~is_out), np.flatnonzero(is_out)
            if len(rows) > _MOST_ROWS:
                rows = rng.permutation(rows)[:_MOST_ROWS]
            tree = ExtraTreeRegressor(
                min_samples_leaf=2,  # as accurate as 1, with half the tree size
                max_features=0.5 if target.kind == "numbers" else "sqrt",
                random_state=rng.randint(2**31 - 1),
            )
            weights = None if sample_weight is None else sample_weight[rows]
            trees.append(tree.fit(X[rows], columns[rows], weights))
            if len(out):
                total[out] += tree.tree_.predict(X[out]).reshape(len(out), -1)
                count[out] += 1
    means = total / np.maximum(count, 1)[:, None]
    decisions = _as_decisions(means, target, len(trees)) - target.center
    return [Trees(trees)], decisions


def _parts_left_out(units, labels, n_rows, rng):
    """Yield endlessly the mask of rows that the next tree leaves out, (n_rows,).

    Each part has a third of the units, and a third of the units of each class in
    `labels`.
    """
    if units is None:
        yield from repeat(np.zeros(n_rows, dtype=bool))  # never ends
    _, first, units = np.unique(units, return_index=True, return_inverse=True)
    if labels is not None:
        labels = np.unique(labels[first], return_inverse=True)[1]
    while True:
        order = rng.permutation(len(first))
        if labels is not None:
            order = order[np.argsort(labels[order], kind="stable")]
        part = np.empty(len(order), dtype=np.int64)
        part[order] = np.arange(len(order)) % _PARTS
        yield from (part[units] == i for i in range(_PARTS))


def fit_linear(X, target, folds, sample_weight, random_state=None):
    """Fit a linear model with a chosen penalty."""
    from sklearn.pipeline import Pipeline

    scaler = DenseScaler(unit_rows=True).set_output(transform="default")
    with one_blas_thread():
        rows = scaler.fit_transform(X)
        linear = stacking.fit_linear(rows, target, folds, sample_weight)
        model = Pipeline([("scaler", scaler), ("model", linear.model)])
    return [model], linear.decisions


def fit_boosting(X, target, folds, sample_weight, random_state):
    """Fit gradient boosting on the training part of each fold."""
    from sklearn import ensemble

    kind = ensemble.HistGradientBoostingClassifier
    if target.kind == "numbers":
        kind = ensemble.HistGradientBoostingRegressor
    # Without a penalty, the values of leaves diverge for classes of few rows. Leaves
    # with scikit-learn's minimum of 20 rows cannot separate categories of small tables.
    model = kind(
        max_iter=_ROUNDS,
        min_samples_leaf=5,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=random_state,
    )
    return stacking.fit_on_folds(
        model, X, target, folds, sample_weight, change_rows=_fill_empty_columns
    )


def accepts_missing(estimator):
    """Return whether an estimator accepts NaN.

    A pipeline accepts NaN if every step up to its first imputer does.
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


def fit_estimator(name, estimator, X, target, folds, sample_weight, random_state=None):
    """Fit a user's estimator on the training part of each fold.

    An estimator that does not accept missing values receives scaled columns. Error
    messages begin with the name.
    """
    from sklearn.pipeline import Pipeline

    with errors_of_model(f"learner {name!r}", estimator):
        if target.kind == "classes":
            refuse_pairs_of_classes(estimator)  # named, as it is not wrapped yet
        if not accepts_missing(estimator) and clone(estimator) is not estimator:
            # A frozen estimator was fitted on unscaled columns.
            scaler = DenseScaler().set_output(transform="default")
            estimator = Pipeline([("scaler", scaler), ("model", estimator)])
        if target.kind == "numbers" and target.y.ndim == 2:
            # Estimators that accept several columns are wrapped too, because they may
            # depend on the scales of the columns.
            estimator = PerColumn(estimator)
        return stacking.fit_on_folds(
            estimator, X, target, folds, sample_weight, change_rows=_fill_empty_columns
        )


LEARNERS = {"boosting": fit_boosting, "trees": fit_trees, "linear": fit_linear}


def _fill_empty_columns(part):
    """Write 0 into columns without numbers, which boosting refuses, and return them."""
    part[:, np.isnan(part).all(axis=0)] = 0
    return part


def decide(model, X, target):
    """Return the decision values of a learner's model, (n_rows, n_columns)."""
    if isinstance(model, Trees):
        return model.decide(X, target)
    return decision_values(model, X, target)
