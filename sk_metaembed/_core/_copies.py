"""Rows of a table that are copies of others, which are kept in one fold.

A learner that has seen a copy of a held-out row knows its target.
"""

import numpy as np

# Equal rows are copies if there are this many times as many as independent columns
# would have.
_NOT_BY_CHANCE = 10
_DISAGREEMENT = 0.1  # of copies; share of the variance of the targets
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def find_copies(columns, targets):
    """Return the first row that each row is a copy of; None if there are no copies.

    Equal rows are copies, unless a table of few columns with few values has as many
    equal rows by chance, or their targets differ. New rows then repeat training rows,
    too.

    Parameters
    ----------
    columns : list of ndarray of shape (n_rows,)
        Floats or integers.
    targets : ndarray of float64, shape (n_rows, n_targets)
    """
    first = _first_equal(columns)
    counts = np.bincount(first, minlength=len(first))
    repeated = counts[first] > 1
    if not repeated.any() or _vary(targets, first, counts, repeated):
        return None
    n_pairs = len(first) * (len(first) - 1)
    share = _NOT_BY_CHANCE * n_pairs / (counts * (counts - 1)).sum()
    for column in columns:
        if share < 1:
            break
        own = np.unique(column, return_counts=True)[1]  # NaN are equal
        share *= (own * (own - 1)).sum() / n_pairs
    return first if share < 1 else None


def _first_equal(columns):
    """Return, for each row, the position of the first row that equals it."""
    hashes = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        if column.dtype.kind == "f":  # equal numbers, -0.0 and NaN, can differ in bits
            nan = column.dtype.type(np.nan)
            column = np.where(np.isnan(column), nan, column + 0)
        hashes = (hashes ^ column.view(f"u{column.itemsize}")) * _FACTOR
        hashes ^= hashes >> np.uint64(32)
    _, first, places = np.unique(hashes, return_index=True, return_inverse=True)
    first = first[places]
    rows = np.flatnonzero(first != np.arange(len(first)))
    others = first[rows]
    for column in columns if len(rows) else ():
        a, b = column[rows], column[others]
        differ = (a != b) & ((a == a) | (b == b))
        first[rows[differ]] = rows[differ]  # equal hashes of rows that are not equal
    return first


def _vary(targets, first, counts, repeated):
    """Return whether the targets of equal rows differ clearly."""
    own, first = targets[repeated], first[repeated]
    sums = [np.bincount(first, column, len(counts)) for column in own.T]
    means = np.stack(sums, axis=1)[first] / counts[first, None]
    spread = np.square(targets - targets.mean(axis=0)).mean()
    return np.square(own - means).mean() > _DISAGREEMENT * spread
