"""The weight decay of a network, by how much a linear model explains of the targets."""

import numpy as np

from .._core._arrays import normalize_rows
from ..pooling._api import sequence_blocks

# Chosen on development parts by `benchmarks/dynamic_defaults.py`.
CLEAR, MANY_ROWS = 0.7, 400
# Relative to the sum of the squares of a source.
_PENALTIES = np.logspace(-4, 1, 16)
MAX_ROWS = 2000


def auto_weight_decay(X, codes, weights, rows, target):
    """Return the weight decay for training on some rows.

    Where texts say little about the target, a network without weight decay learns the
    noise. Where they say much, a network with it is too weak, and so is one of many
    labels, whose gradients are small. Many rows need less.

    Parameters
    ----------
    X : EmbeddedSequences
    codes : ndarray of shape (n_data,) or (n_data, n_outputs)
        Targets, encoded by `target`.
    weights : ndarray of shape (n_data,)
    rows : ndarray of int
        `MAX_ROWS` of them are read at most.
    target : BaseTarget

    Returns
    -------
    float
        From 0 to that of the target for noise, ``target.weight_decay(1)``.
    """
    if target.weight_decay(1) == 0:
        return 0.0
    places = np.linspace(0, len(rows) - 1, min(len(rows), MAX_ROWS))
    read = rows[places.astype(np.int64)]
    vectors, columns = mean_vectors(X[read]), target.columns(codes[read])
    explained = leave_one_out_r2(vectors, columns, weights[read])
    noise = 1 - min(max(explained / CLEAR, 0), 1)
    return target.weight_decay(noise) * min(MANY_ROWS / len(rows), 1)


def mean_vectors(X):
    """Return the mean vectors of all sources, scaled to unit length, side by side."""
    return np.hstack([normalize_rows(block.values) for block in sequence_blocks(X)])


def leave_one_out_r2(vectors, columns, weights):
    """Return the R2 of ridge regression of each row on the others, over all columns.

    Parameters
    ----------
    vectors : ndarray of shape (n_rows, dim)
        Sources at unit length.
    columns : ndarray of shape (n_rows, n_outputs)
    weights : ndarray of shape (n_rows,)

    Returns
    -------
    float
        With the best penalty, compared with the mean of the other rows; 0 if the
        columns do not vary.
    """
    weights = weights / weights.sum(dtype=np.float64)
    root = np.sqrt(weights)[:, None]
    X = root * (vectors - weights @ vectors)
    Y = root * (columns - weights @ columns)
    if np.square(Y).sum() < 1e-12:
        return 0.0
    # Of two matrices with the same eigenvalues, the smaller one.
    is_wide = len(X) < X.shape[1]
    values, axes = np.linalg.eigh(X @ X.T if is_wide else X.T @ X)
    values = values.clip(0)
    scores = axes * np.sqrt(values) if is_wide else X @ axes
    squares, products = np.square(scores), scores.T @ Y

    def error(shrinkage):
        # What is left of a row's residual if the row itself is not fitted.
        rest = (1 - weights - squares @ shrinkage).clip(1e-9)
        residuals = Y - scores @ (shrinkage[:, None] * products)
        return np.square(residuals / rest[:, None]).sum()

    best = min(error(1 / (values + penalty)) for penalty in _PENALTIES)
    return float(1 - best / error(np.zeros(len(values))))
