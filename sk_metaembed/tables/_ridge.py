"""Ridge regression of the target on the distinct cells of a column, out of fold.

Rows with equal cells have equal features, so that all sums run over distinct cells. For
one indicator per cell, the predictions are smoothed means of the target, as of
scikit-learn's `TargetEncoder`; n-grams of the cells extend them to similar cells.
"""

from typing import NamedTuple

import numpy as np

_N_ITER = 25
_TOLERANCE = 1e-3  # of the gradient, relative to the first


class RidgeFit(NamedTuple):
    """A ridge regression, and its predictions out of fold.

    Attributes
    ----------
    coef : ndarray of shape (n_features, n_targets)
        Fitted on all rows.
    intercept : ndarray of shape (n_targets,)
        The mean of the targets; features are not centered.
    out_of_fold : ndarray of shape (n_rows, n_targets)
        Predictions by models of the other folds.
    r2 : float
        Coefficient of determination of `out_of_fold`, with all targets together.
    """

    coef: np.ndarray
    intercept: np.ndarray
    out_of_fold: np.ndarray
    r2: float


def fit_ridge(X, codes, targets, folds, weights, penalties):
    r"""Return the `RidgeFit` whose penalty has the least squared error out of fold.

    Parameters
    ----------
    X : CSR array of shape (n_cells, n_features)
        Features of the distinct cells.
    codes : ndarray of int, shape (n_rows,)
        The distinct cell of each row.
    targets : ndarray of shape (n_rows, n_targets)
    folds : ndarray of int, shape (n_rows,)
        The fold that holds out each row.
    weights : ndarray of shape (n_rows,)
    penalties : sequence of float

    Notes
    -----
    For each penalty :math:`\alpha` and each fold, the coefficients w minimize
    :math:`\sum_c n_c (x_c^\top w - \bar y_c)^2 + \alpha \|w\|^2` over the distinct
    cells c, where :math:`n_c` is the weight of a cell's rows in the training part and
    :math:`\bar y_c` the mean of their targets, less the mean of all. All problems are
    solved at once by conjugate gradients.
    """
    n_cells, n_folds, n_targets = X.shape[0], folds.max() + 1, targets.shape[1]
    n_penalties = len(penalties)
    size, total = cell_sums(codes, targets, folds, weights, n_cells)
    mean = _means(total.sum(axis=(0, 1)), size.sum())
    others = size.sum(axis=1, keepdims=True) - size
    sums = total.sum(axis=1, keepdims=True) - total
    means = _means(sums.sum(axis=0), others.sum(axis=0)[:, None])
    right = sums - others[:, :, None] * means
    # One problem per fold, penalty and target.
    coef = conjugate_gradients(
        X,
        np.repeat(others, n_penalties * n_targets, axis=1),
        np.repeat(right, n_penalties, axis=1).reshape(n_cells, -1),
        np.tile(np.repeat(penalties, n_targets), n_folds),
    )
    predicted = (X @ coef).reshape(n_cells, n_folds, n_penalties, n_targets)
    held_out = predicted[codes, folds] + means[folds][:, None]
    errors = np.square(held_out - targets[:, None]).sum(axis=2)
    losses = weights @ errors
    best = int(losses.argmin())
    size, total = size.sum(axis=1, keepdims=True), total.sum(axis=1)
    coef = conjugate_gradients(
        X,
        np.repeat(size, n_targets, axis=1),
        total - size * mean,
        np.full(n_targets, penalties[best]),
    )
    spread = weights @ np.square(targets - mean).sum(axis=1)
    r2 = 1 - losses[best] / spread if spread > 0 else 0.0
    return RidgeFit(coef, mean, held_out[:, best], float(r2))


def cell_sums(codes, targets, folds, weights, n_cells):
    """Return the weight and the weighted targets of each cell's rows in each fold.

    They have shape (n_cells, n_folds) and (n_cells, n_folds, n_targets).
    """
    n_folds = folds.max() + 1
    places = codes * n_folds + folds
    length = n_cells * n_folds
    size = np.bincount(places, weights, length).reshape(n_cells, n_folds)
    total = [np.bincount(places, weights * column, length) for column in targets.T]
    return size, np.stack(total, axis=1).reshape(n_cells, n_folds, -1)


def conjugate_gradients(X, weights, right, penalties):
    """Solve ``X.T @ (weights * (X @ W)) + penalties * W = X.T @ right`` for W.

    Each column of `weights` and `right`, (n_cells, n_problems), is a problem of its
    own. The solutions have shape (n_features, n_problems).
    """
    transposed = X.T.tocsr()
    residual = transposed @ right
    coef, direction = np.zeros_like(residual), residual.copy()
    square = np.square(residual).sum(axis=0)
    enough = _TOLERANCE**2 * square
    for _ in range(_N_ITER):
        product = transposed @ (weights * (X @ direction)) + penalties * direction
        curvature = (direction * product).sum(axis=0)
        step = _means(square, curvature)
        coef += step * direction
        residual -= step * product
        before, square = square, np.square(residual).sum(axis=0)
        if (square <= enough).all():
            break
        direction = residual + _means(square, before) * direction
    return coef


def _means(total, size):
    """Return ``total / size``, 0 where size is 0."""
    size = np.broadcast_to(size, np.shape(total))
    return np.divide(total, size, out=np.zeros(np.shape(total)), where=size > 0)
