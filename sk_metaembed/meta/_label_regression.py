"""Logistic regressions of many labels at once.

One label at a time, the overhead of scikit-learn and products with single vectors take
most of the time.
"""

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

_STEPS = 100  # of Newton's method
_CG_STEPS = 200
_TOLERANCE = 1e-4  # of the mean gradient of a row, as scikit-learn's
_CELLS = 1 << 23  # of the arrays of a block of labels
_DECREASE = 1e-4  # share of the predicted one that a step must reach


class LabelRegression(ClassifierMixin, BaseEstimator):
    """A logistic regression per column of an indicator matrix.

    Not public. Its solution for each label is that of `LogisticRegression`. The log
    odds of a label that all rows or no rows have are those after adding a row of each
    kind.

    Parameters
    ----------
    C : float
        Inverse of the penalty.
    warm_start : bool, default=False
        Whether `fit` begins at the last solution, if it has the same shape.
    """

    def __init__(self, C=1.0, warm_start=False):
        self.C = C
        self.warm_start = warm_start

    def fit(self, X, y, sample_weight=None):
        """Fit the coefficients, by blocks of labels."""
        n_rows, n_columns = X.shape
        weights = np.ones(n_rows) if sample_weight is None else sample_weight
        shape = y.shape[1], n_columns
        if not self.warm_start or getattr(self, "coef_", np.empty(0)).shape != shape:
            self.coef_, self.intercept_ = np.zeros(shape), np.zeros(shape[0])
        self.n_features_in_, self.classes_ = n_columns, np.arange(shape[0])
        counts = np.count_nonzero(y, axis=0)
        is_constant = (counts == 0) | (counts == n_rows)
        self.coef_[is_constant] = 0.0
        odds = (counts + 1) / (n_rows - counts + 1)
        self.intercept_[is_constant] = np.log(odds[is_constant])
        labels = np.flatnonzero(~is_constant)
        size = max(_CELLS // (n_rows + n_columns), 1)
        for start in range(0, len(labels), size):
            block = labels[start : start + size]
            solution = self.coef_[block].T, self.intercept_[block]
            columns = y[:, block].astype(np.float64)
            solution = solve(X, columns, weights, self.C, solution)
            self.coef_[block], self.intercept_[block] = solution[0].T, solution[1]
        return self

    def decision_function(self, X):
        """Return log odds, (n_rows, n_labels)."""
        return X @ self.coef_.T + self.intercept_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def solve(X, Y, weights, C, start):
    r"""Return coefficients, (n_columns, n_labels), and intercepts, (n_labels,).

    They minimize, for each label, the weighted log loss plus half the squared length of
    the coefficients divided by C, by Newton's method. Its systems of equations are
    solved by conjugate gradients, preconditioned by the diagonal with the mean variance
    of a label instead of that of each row.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_rows, n_columns)
    Y : ndarray of float64, shape (n_rows, n_labels)
    weights : ndarray of shape (n_rows,)
    C : float
    start : pair of ndarray
        As the result.
    """
    W, b = (each.copy() for each in start)
    XT, weights = X.T, weights[:, None]
    squares = (X.multiply(X) if hasattr(X, "multiply") else np.square(X)).T @ weights
    odds = X @ W + b
    losses = _losses(odds, Y, weights) + (W * W).sum(axis=0) / (2 * C)
    left = np.arange(Y.shape[1])  # labels that have not converged
    for _ in range(_STEPS):
        p = expit(odds[:, left])
        errors = weights * (p - Y[:, left])
        slopes = XT @ errors + W[:, left] / C, errors.sum(axis=0)
        largest = np.maximum(np.abs(slopes[0]).max(axis=0), np.abs(slopes[1]))
        kept = largest > _TOLERANCE * weights.sum()
        if not kept.any():
            break
        left, slopes = left[kept], (slopes[0][:, kept], slopes[1][kept])
        variances = weights * (p * (1 - p))[:, kept]
        step = _newton_step(X, XT, squares, variances, C, slopes)
        change = X @ step[0] + step[1]
        predicted = (slopes[0] * step[0]).sum(axis=0) + slopes[1] * step[1]
        sizes = np.ones(len(left))
        for _ in range(30):
            coefficients = W[:, left] + sizes * step[0]
            new_odds = odds[:, left] + sizes * change
            new = _losses(new_odds, Y[:, left], weights)
            new += (coefficients * coefficients).sum(axis=0) / (2 * C)
            is_less = new <= losses[left] + _DECREASE * sizes * predicted
            if is_less.all():
                break
            sizes = np.where(is_less, sizes, sizes / 2)
        W[:, left], odds[:, left], losses[left] = coefficients, new_odds, new
        b[left] += sizes * step[1]
    return W, b


def _newton_step(X, XT, squares, variances, C, slopes):
    """Return steps of coefficients and intercepts, which solve H step = -slopes."""
    total = variances.sum(axis=0)
    scales = squares * (total / len(variances)) + 1 / C, np.maximum(total, 1e-300)
    rest = -slopes[0], -slopes[1]
    step = np.zeros_like(rest[0]), np.zeros_like(rest[1])
    scaled = rest[0] / scales[0], rest[1] / scales[1]
    direction = scaled
    product = (rest[0] * scaled[0]).sum(axis=0) + rest[1] * scaled[1]
    enough = product * 1e-4
    for _ in range(_CG_STEPS):
        odds = variances * (X @ direction[0] + direction[1])
        curved = XT @ odds + direction[0] / C, odds.sum(axis=0)
        length = (direction[0] * curved[0]).sum(axis=0) + direction[1] * curved[1]
        size = np.where(product > enough, product / np.maximum(length, 1e-300), 0.0)
        step = step[0] + size * direction[0], step[1] + size * direction[1]
        rest = rest[0] - size * curved[0], rest[1] - size * curved[1]
        scaled = rest[0] / scales[0], rest[1] / scales[1]
        new = (rest[0] * scaled[0]).sum(axis=0) + rest[1] * scaled[1]
        if (new <= enough).all():
            break
        share = new / np.maximum(product, 1e-300)
        direction = (
            scaled[0] + share * direction[0],
            scaled[1] + share * direction[1],
        )
        product = new
    return step


def _losses(odds, Y, weights):
    """Return the weighted log loss of each label, (n_labels,)."""
    return (weights * (np.logaddexp(0, odds) - Y * odds)).sum(axis=0)
