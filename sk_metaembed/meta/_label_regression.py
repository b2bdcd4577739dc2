"""Logistic regressions of many labels at once."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class LabelRegression(ClassifierMixin, BaseEstimator):
    """A logistic regression per column of an indicator matrix.

    Not public. The solution for a label is that of `LogisticRegression`. The log odds
    of a label that all rows or no rows have are those after adding a row of each kind.

    Parameters
    ----------
    C : float
        Inverse of the penalty.
    """

    def __init__(self, C=1.0):
        self.C = C

    def fit(self, X, y, sample_weight=None):
        """Fit the coefficients of all labels."""
        from .._linear._solver import Problems

        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        constant = odds_of_constant_labels(y, np.ones((len(y), 1)))
        problems = Problems(X, y, weights[:, None], "logistic", constant)
        solution = problems.solve(1 / self.C)
        self.coef_, self.intercept_ = solution.coef[:, 0].T, solution.intercept[0]
        self.n_features_in_, self.classes_ = X.shape[1], np.arange(y.shape[1])
        return self

    def decision_function(self, X):
        """Return log odds, (n_rows, n_labels)."""
        return X @ self.coef_.T + self.intercept_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def odds_of_constant_labels(y, weights):
    """Return the log odds of labels that are constant among the rows with a weight.

    They have shape (n_weights, n_labels) for weights (n_rows, n_weights), and are NaN
    for labels that vary.
    """
    counts = (weights > 0).T.astype(np.float64) @ y
    sizes = np.count_nonzero(weights, axis=0)[:, None]
    is_constant = (counts == 0) | (counts == sizes)
    return np.where(is_constant, np.log((counts + 1) / (sizes - counts + 1)), np.nan)
