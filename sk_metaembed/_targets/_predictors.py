"""Mixins of classifiers and regressors that predict from decision values.

A subclass has ``_decide(X)``, which returns decision values, (n_rows, n_columns), or
raises an error if the estimator is not fitted; and `_target`, the `Target` of fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from .._core._errors import NamedErrorsMixin


class TargetClassifierMixin(ClassifierMixin, NamedErrorsMixin):
    """Mixin for classifiers that predict classes or sets of labels."""

    _target: Any
    _decide: Callable[[Any], NDArray[np.floating]]
    _target_kind = "classes"

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the classes with the largest probability.

        Parameters
        ----------
        X : sequences or array-like, one row each
            As for `fit`, with the same sources or columns.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_labels)
            Classes; for sets of labels, an indicator matrix of the labels with a
            probability above one half, possibly none.
        """
        decisions = self._decide(X)  # raises if it is not fitted
        return self._target.decode(decisions)

    def predict_proba(self, X: Any) -> NDArray[np.floating]:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : sequences or array-like, one row each
            As for `fit`, with the same sources or columns.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Columns are in the order of `classes_`. Rows sum to 1, except for sets of
            labels, which have one independent probability per label.
        """
        decisions = self._decide(X)
        return self._target.probabilities(decisions)

    def decision_function(self, X: Any) -> NDArray[np.floating]:
        """Return the decision values that probabilities are computed from.

        Parameters
        ----------
        X : sequences or array-like, one row each
            As for `fit`, with the same sources or columns.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            The log odds of the second of two classes; for more classes, log
            probabilities up to a constant per row; for sets of labels, the log odds of
            each label.
        """
        decisions = self._decide(X)
        return self._target.decision_values(decisions)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class TargetRegressorMixin(RegressorMixin, NamedErrorsMixin):
    """Mixin for regressors that predict one or several numbers per row."""

    _target: Any
    _decide: Callable[[Any], NDArray[np.floating]]
    _target_kind = "numbers"

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted numbers.

        Predictions are not limited to the range of the training targets.

        Parameters
        ----------
        X : sequences or array-like, one row each
            As for `fit`, with the same sources or columns.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_columns)
            The predictions, in the shape of y.
        """
        decisions = self._decide(X)  # raises if it is not fitted
        return self._target.decode(decisions)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
