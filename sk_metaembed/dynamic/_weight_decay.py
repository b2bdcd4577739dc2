"""The weight decay of a network, by how much a linear model explains of the targets."""

import numpy as np

from .._core._arrays import normalize_rows, pair_features
from ..pooling._api import sequence_blocks
from ..sequences import SequencePairs

# Chosen on development parts by `benchmarks/dynamic_defaults.py`.
CLEAR, MANY_ROWS = 0.7, 400
_MAX_ROWS = 2000


def auto_weight_decay(X, codes, weights, target):
    """Return the weight decay for training on sequences.

    Where texts say little about the target, a network without weight decay learns the
    noise. Where they say much, a network with it is too weak, and so is one of many
    labels, whose gradients are small. Many rows need less.

    Parameters
    ----------
    X : EmbeddedSequences or SequencePairs
    codes : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Targets, encoded by `target`.
    weights : ndarray of shape (n_rows,)
    target : BaseTarget

    Returns
    -------
    float
        From 0 to that of the target for noise, ``target.weight_decay(1)``.
    """
    if target.weight_decay(1) == 0:
        return 0.0
    rows = np.linspace(0, len(X) - 1, min(len(X), _MAX_ROWS)).astype(np.int64)
    vectors, columns = mean_vectors(X[rows]), target.columns(codes[rows])
    explained = explained_variance(vectors, columns, weights[rows])
    noise = min(max(1 - explained / CLEAR, 0), 1)
    return target.weight_decay(noise) * min(MANY_ROWS / len(X), 1)


def mean_vectors(X):
    """Return the mean vectors of all sources, scaled to unit length, side by side."""
    is_pairs = isinstance(X, SequencePairs)
    blocks = sequence_blocks(X.sequences if is_pairs else X)
    vectors = [normalize_rows(block.values) for block in blocks]
    if is_pairs:
        vectors = [pair_features(*np.split(values, 2)) for values in vectors]
    return np.hstack(vectors)


def explained_variance(vectors, columns, weights):
    """Return the leave-one-out R2 of ridge regression, over all columns together.

    Parameters
    ----------
    vectors : ndarray of shape (n_rows, dim)
        Sources at unit length.
    columns : ndarray of shape (n_rows, n_outputs)
    weights : ndarray of shape (n_rows,)

    Returns
    -------
    float
        With the best penalty; 0 if the columns do not vary.
    """
    from sklearn.linear_model import RidgeCV

    n_rows, weights = len(columns), weights / weights.mean()
    centered = columns - np.average(columns, axis=0, weights=weights)
    variance = (weights[:, None] * np.square(centered)).mean()
    if variance < 1e-12:
        return 0.0
    ridge = RidgeCV(alphas=n_rows * np.logspace(-4, 1, 16))
    error = -ridge.fit(vectors, columns, sample_weight=weights).best_score_
    # The mean of the other rows has a larger error than the mean of all.
    return float(1 - error / (variance * (n_rows / (n_rows - 1)) ** 2))
