"""Nearest neighbors across two sets of vectors, corrected for hubs (CSLS).

A hub is a vector that is the nearest neighbor of many others. CSLS (Conneau et al.
2018) subtracts from the cosine of x and y the mean cosines of each with its nearest
neighbors in the other set::

    CSLS(x, y) = 2 cos(x, y) - r_Y(x) - r_X(y)

All functions take unit vectors, float32 of shape (n, dim).
"""

import numpy as np

_ROWS = 512  # rows of a matrix of cosines at a time


def mean_cosines(queries, candidates, n_neighbors):
    """Return each query's mean cosine with its nearest candidates, (n_queries,)."""
    n_smaller = max(len(candidates) - n_neighbors, 0)
    means = np.empty(len(queries), dtype=np.float32)
    for rows in _parts(len(queries)):
        cosines = queries[rows] @ candidates.T
        cosines.partition(n_smaller, axis=1)
        means[rows] = cosines[:, n_smaller:].mean(axis=1)
    return means


def nearest(queries, candidates, penalties):
    """Return each query's best candidate by ``2 cos - penalty``, intp (n_queries,).

    With the candidates' `mean_cosines` as penalties this is the nearest by CSLS: the
    query's own mean does not change the order. Zeros give the nearest by cosine.
    """
    best = np.empty(len(queries), dtype=np.intp)
    half = penalties / np.float32(2)
    for rows in _parts(len(queries)):
        best[rows] = np.argmax(queries[rows] @ candidates.T - half, axis=1)
    return best


def mutual_neighbors(x, y, n_neighbors):
    """Return the rows of x and of y that are each other's nearest by CSLS."""
    of_x = nearest(x, y, mean_cosines(y, x, n_neighbors))
    of_y = nearest(y, x, mean_cosines(x, y, n_neighbors))
    rows = np.flatnonzero(of_y[of_x] == np.arange(len(x)))
    return rows, of_x[rows]


def _parts(n_rows):
    for start in range(0, n_rows, _ROWS):
        yield slice(start, start + _ROWS)
