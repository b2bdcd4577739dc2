"""Decision values of the models of a stack, and models of several columns."""

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from .._core._predictor_outputs import (
    class_decisions,
    label_decisions,
    predicted_numbers,
)
from .._core._sample_weights import fit_model

_LABEL = np.array([0, 1])  # the classes of a column of an indicator matrix


class PerColumn(BaseEstimator):
    """One clone of a regressor per column of y.

    Not public. scikit-learn's MultiOutputRegressor takes weights only with routing, if
    routing is enabled.
    """

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y, sample_weight=None, groups=None):
        """Fit a model per column."""
        shared = sample_weight, groups
        self.models_ = [self._fit_column(X, column, *shared) for column in y.T]
        return self

    def decide(self, X):
        """Return decision values or predictions, (n_rows, n_columns)."""
        return np.hstack([self._decide_column(model, X) for model in self.models_])

    def _fit_column(self, X, column, *shared):
        return fit_model(clone(self.estimator), X, column, *shared)

    def _decide_column(self, model, X):
        return predicted_numbers(model, X)


class PerLabel(PerColumn):
    """One clone of a classifier per column of an indicator matrix.

    Not public. scikit-learn's OneVsRestClassifier has no log odds for a column that is
    constant in a fold.
    """

    def _fit_column(self, X, column, *shared):
        n, n_positive = len(column), int(np.count_nonzero(column))
        if n_positive in (0, n):
            # The log odds after adding one row of each kind.
            return float(np.log((n_positive + 1) / (n - n_positive + 1)))
        return super()._fit_column(X, column, *shared)

    def _decide_column(self, model, X):
        if isinstance(model, float):
            return np.full((X.shape[0] if hasattr(X, "shape") else len(X), 1), model)
        return class_decisions(model, X, _LABEL)


def per_column(estimator, target):
    """Return an estimator of all columns of a target, wrapped if it takes only one."""
    if target.kind == "classes" or target.y.ndim == 1:
        return estimator
    tags = get_tags(estimator)
    if target.kind == "numbers":
        is_enough = tags.target_tags.multi_output or isinstance(estimator, PerColumn)
        return estimator if is_enough else PerColumn(estimator)
    has_values = hasattr(estimator, "decision_function")
    is_enough = has_values and tags.classifier_tags.multi_label
    return estimator if is_enough else PerLabel(estimator)


def decision_values(model, X, target):
    """Return decision values or predictions, (n_rows, n_columns).

    `model` is fitted, or a list of models, whose mean values are returned. The columns
    are those of the target, whatever the order of the classes of the model.
    """
    if isinstance(model, list):
        return np.mean([decision_values(one, X, target) for one in model], axis=0)
    if hasattr(model, "steps") and isinstance(model[-1], PerColumn):
        return model[-1].decide(model[:-1].transform(X))
    if isinstance(model, PerColumn):
        return model.decide(X)
    n_columns = target.columns.shape[1]
    if target.kind == "numbers":
        return predicted_numbers(model, X, n_columns)
    if target.kind == "labels":
        return label_decisions(model, X, n_columns)
    return class_decisions(model, X, target.classes)
