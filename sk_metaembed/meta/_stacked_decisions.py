"""Decision values of the models of a stack, and models of sets of labels."""

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import get_tags

from .._core._sample_weights import fit_params, weight_params
from .._core._sklearn import parameter_of_pairs

_LEAST_PROBABILITY = 1e-6


class PerLabel(BaseEstimator):
    """One clone of a classifier per column of an indicator matrix.

    Not public. scikit-learn's OneVsRestClassifier has no log odds for a column that is
    constant in a fold.
    """

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y, sample_weight=None, groups=None):
        """Fit a model per label, or store a constant for labels of all or no rows."""
        params = weight_params(self.estimator, sample_weight)
        params |= fit_params(self.estimator, "groups", groups)
        self.models_ = []
        for column in y.T:
            n, n_positive = len(column), int(np.count_nonzero(column))
            if n_positive in (0, n):
                # The log odds after adding one row of each kind.
                odds = (n_positive + 1) / (n - n_positive + 1)
                self.models_.append(float(np.log(odds)))
            else:
                self.models_.append(clone(self.estimator).fit(X, column, **params))
        return self

    def decide(self, X):
        """Return log odds, (n_rows, n_labels)."""
        columns = [
            np.full((X.shape[0], 1), model)
            if isinstance(model, float)
            else decision_values(model, X)
            for model in self.models_
        ]
        return np.hstack(columns)


def decides_labels(estimator):
    """Return whether a classifier has a decision value for each of several labels."""
    has_values = hasattr(estimator, "decision_function")
    return has_values and get_tags(estimator).classifier_tags.multi_label


def decision_values(model, X):
    """Return decision values or predictions, (n_rows, n_columns).

    `model` is fitted, or a list of models, whose mean values are returned.
    """
    if isinstance(model, list):
        return np.mean([decision_values(one, X) for one in model], axis=0)
    if hasattr(model, "steps") and isinstance(model[-1], PerLabel):
        return model[-1].decide(model[:-1].transform(X))
    if isinstance(model, PerLabel):
        return model.decide(X)
    method = _method(model)
    values = getattr(model, method)(X)
    if method == "predict_proba":
        values = np.log(np.maximum(values, _LEAST_PROBABILITY))
        values = values[:, 1] - values[:, 0] if values.shape[1] == 2 else values
    return values if values.ndim == 2 else values[:, None]


def _method(model):
    """Return the name of the method whose output is stacked."""
    if not is_classifier(model):
        return "predict"
    names = ("decision_function", "predict_proba")
    name = next((name for name in names if hasattr(model, name)), None)
    if name is None:
        raise ValueError(
            f"a classifier must have decision_function or predict_proba, got {model!r}."
        )
    refuse_pairs_of_classes(model)
    return name


def refuse_pairs_of_classes(model):
    """Raise a ValueError if decision values have a column per pair of classes."""
    if key := parameter_of_pairs(model):
        raise ValueError(
            "decision values must have one column per class, but "
            f"{key}='ovo' gives one per pair of classes. Set it to 'ovr'."
        )
