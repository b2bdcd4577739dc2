"""Learn the weights of a sum of models from out-of-fold decision values."""

import copy
import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from .._core._sample_weights import (
    check_sample_weight,
    fit_model,
    with_class_weights,
)
from .._targets import (
    check_groups,
    check_target,
    decision_values,
    per_column,
    read_target,
)
from ._folds import (
    compared_rows,
    given_pairs,
    make_folds,
    pairs_of_part,
    warn_of_no_folds,
)

_LEAST_SQUARE = 1e-12  # relative
# Penalty of half the squared distance of the weights from the default ones.
_PULL = 3.0
_LEAST_WEIGHT = 0.1  # share of the default weight, so that no sum vanishes
_LEAST_LENGTH = 1e-3  # root mean square of decision values, for the same reason


@dataclass
class TrainingRows:
    """The training data that all models of a sum share, for the rows `kept`."""

    kept: np.ndarray  # the rows of X with a weight above 0
    target: Any
    sample_weight: np.ndarray | None  # the weights of rows times those of their classes
    score_weight: np.ndarray | None  # the weights of rows alone
    groups: np.ndarray | None
    cv: Any  # int, None or list of (train, test)
    folds: Any = None  # set by `divide`

    def divide(self, copies, random_state, noun):
        """Set the `folds`, and warn if no row can be held out.

        `copies` has the same number for equal rows, or is None; `noun` is the name of
        the rows in the warning.
        """
        self.folds = make_folds(self.cv, self.target, self.groups, copies, random_state)
        if not self.folds.pairs:
            warn_of_no_folds(self.target, self.groups, copies, noun)

    def score(self, decisions):
        """Return the accuracy or coefficient of determination of held-out rows.

        The score is NaN if there are fewer than two held-out rows, or if none has a
        weight. The weights of classes do not count.
        """
        from sklearn.metrics import accuracy_score, r2_score

        rows, weights = self.folds.held_out, self.score_weight
        if np.count_nonzero(rows) < 2:
            return float("nan")
        weights = None if weights is None else weights[rows]
        if weights is not None and not weights.any():
            return float("nan")
        score = r2_score if self.target.kind == "numbers" else accuracy_score
        predictions = self.target.decode(decisions)[rows]
        return float(score(self.target.y[rows], predictions, sample_weight=weights))


class WeightedSumMixin:
    """Mixin for estimators that predict by a weighted sum of models.

    A subclass is a `TargetClassifierMixin` or a `TargetRegressorMixin`.
    """

    def _training_rows(self, X, y, sample_weight, groups, cv=None):
        """Return the `TrainingRows` of a fit; set `classes_` if there are classes.

        Rows of weight 0 are left out, but a splitter passed as `cv` receives them too.
        """
        n_rows, kind = len(X), self._target_kind
        y, groups = check_target(y, n_rows, kind), check_groups(groups, n_rows)
        kept = np.arange(n_rows)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, X)
            kept = np.flatnonzero(sample_weight)
        n_absent = n_rows - len(kept)
        if n_absent:
            if not isinstance(cv, Integral | None):
                cv = pairs_of_part(given_pairs(cv, y, groups), kept)
            y, sample_weight = y[kept], sample_weight[kept]
            groups = None if groups is None else groups[kept]
        target = read_target(y, kind, sample_weight, n_absent)
        if target.classes is not None:
            self.classes_ = target.classes
        class_weight = getattr(self, "class_weight", None)
        weights = with_class_weights(class_weight, target.y, sample_weight)
        # Scores ignore the weights of classes.
        return TrainingRows(kept, target, weights, sample_weight, groups, cv)

    def _learn_weights(self, training, models, decisions, defaults, are_shrunk):
        """Set the models, their weights and their scores; see `fit_weights`."""
        target = training.target
        compared = compared_rows(target, training.folds, training.sample_weight)
        weights = fit_weights(decisions, target, *compared, defaults, are_shrunk)
        self.estimators_ = models
        self.weights_ = dict(zip(models, weights.tolist(), strict=True))
        scores = map(training.score, decisions)
        self.scores_ = dict(zip(models, scores, strict=True))
        self._target = copy.copy(target)
        self._target.y = self._target.columns = self._target.is_common = None


def fit_weights(decisions, target, held_out_weights, used, defaults, are_shrunk):
    """Return nonnegative weights of models, (n_models,).

    Parameters
    ----------
    decisions : ndarray of shape (n_models, n_rows, n_columns)
        Decision values out of fold.
    target : Target
    held_out_weights : ndarray of shape (n_rows,)
        The weights of rows, 0 for those that are not held out or do not count.
    used : slice or ndarray of bool, shape (n_columns,)
        The columns that count.
    defaults : ndarray of shape (n_models,)
        The default weights. With few rows, the result is close to the defaults. Each
        weight is at least a tenth of its default.
    are_shrunk : sequence of bool
        Whether the decision values of each model are first multiplied by their
        `shrinkage`. The weight includes this factor.
    """
    from scipy.optimize import minimize

    if 0 < held_out_weights.max() < 0.1:
        warnings.warn(
            f"the largest weight of a row is {held_out_weights.max():.2g}. A row of "
            "weight 2 counts as two rows, so penalties outweigh these rows. Divide "
            "sample_weight by its mean.",
            stacklevel=2,
        )
    decisions, columns, scale = (
        decisions[..., used],
        target.columns[:, used],
        target.scale,
    )
    factors = np.ones(len(decisions))
    for i in np.flatnonzero(are_shrunk):
        factors[i] = shrinkage(decisions[i], columns, target, held_out_weights)
    if np.any(factors != 1):
        decisions = decisions * factors[:, None, None]
    if target.kind == "numbers" and held_out_weights.any():
        # Errors are in units of the error with default weights, for each column.
        errors = (np.tensordot(defaults, decisions, 1) - columns) / scale
        means = np.average(np.square(errors), axis=0, weights=held_out_weights)
        target = copy.copy(target)
        target.scale = scale = scale * np.sqrt(np.maximum(means, _LEAST_SQUARE))

    def objective(weights):
        sums = np.tensordot(weights, decisions, 1)
        slopes = target.inverse_link(sums) - columns
        slopes = held_out_weights[:, None] * slopes / np.square(scale)
        away = weights - defaults
        loss = (held_out_weights * target.losses(sums, columns)).sum()
        gradient = np.tensordot(decisions, slopes, 2)
        return loss + _PULL / 2 * away @ away, gradient + _PULL * away

    bounds = [(weight * _LEAST_WEIGHT, None) for weight in defaults]
    result = minimize(objective, defaults, jac=True, method="L-BFGS-B", bounds=bounds)
    return factors * result.x


def shrinkage(decisions, columns, target, held_out_weights):
    """Return a factor of at most 1 for the decision values of a model.

    The factor minimizes the loss of held-out rows. A misleading model therefore counts
    little, and decision values that are not log odds are scaled to log odds. With few
    rows the factor is close to 1.
    """
    from scipy.optimize import brentq

    decisions = decisions / target.scale
    largest = np.abs(decisions).max(initial=_LEAST_LENGTH)
    length = largest * np.sqrt(np.mean(np.square(decisions / largest)))
    if length <= _LEAST_LENGTH:
        return 1.0
    unit = decisions / length
    columns = columns / target.scale

    def slope(scale):
        """Return the derivative of the loss, which increases with the scale."""
        errors = held_out_weights[:, None] * (
            target.inverse_link(scale * unit) - columns
        )
        return np.vdot(errors, unit) + _PULL * (scale / length - 1) / length

    if slope(length) <= 0:
        return 1.0
    if slope(_LEAST_LENGTH) >= 0:
        return _LEAST_LENGTH / length
    # The search on a logarithmic scale converges for decision values of any size.
    ends = np.log(_LEAST_LENGTH), np.log(length)
    return np.exp(brentq(lambda log: slope(np.exp(log)), *ends, xtol=1e-2)) / length


def fit_on_folds(estimator, X, target, folds, sample_weight, change_rows=None):
    """Return a model per fold, fitted on the other folds, and out-of-fold values.

    The mean of these models saves the fit on all rows, and is at least as accurate for
    models that vary, such as networks. Without folds, one model is fitted on all rows.
    `change_rows` converts a copy of the training rows before each fit. Decision values,
    (n_rows, n_columns), are relative to the center of the target. Rows that were not
    held out get the mean of all models.
    """
    estimator = per_column(estimator, target)
    models, decisions = [], np.zeros(target.columns.shape)
    for train, test in folds.pairs or [(np.arange(len(X)), np.arange(0))]:
        rows = X[train] if change_rows is None else change_rows(X[train])
        model = fit_part(clone(estimator), rows, target, folds, sample_weight, train)
        models.append(model)
        if len(test):
            decisions[test] = decision_values(model, X[test], target) - target.center
    seen = np.flatnonzero(~folds.held_out)
    if len(seen):
        decisions[seen] = decision_values(models, X[seen], target) - target.center
    return models, decisions


def fit_part(model, X, target, folds, sample_weight, rows):
    """Return a model fitted on X, which has the training rows `rows`."""
    weights = None if sample_weight is None else sample_weight[rows]
    groups = None if folds.groups is None else folds.groups[rows]
    return fit_model(model, X, target.y[rows], weights, groups)
