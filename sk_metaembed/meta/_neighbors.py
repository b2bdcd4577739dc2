"""A vector that a source lacks, from the word's neighbours in sources that know it.

Arrays in, arrays out. Sources stand side by side as lists of arrays with the same
rows; a bool matrix says which source can tell something about which row.
"""

from typing import NamedTuple

import numpy as np

# Queries of one matrix product. A BLAS rounds by the shape of its operands: with one
# shape for all, a query finds the same neighbours alone and among others, which
# sklearn.neighbors does not promise where distances are (nearly) equal.
_TILE = 64


class SharedRows(NamedTuple):
    """What to look neighbours up in: the rows that two sources or more know.

    Parameters
    ----------
    keys : list of ndarray of float32, shape (n_rows, dim)
        Of each source, rows of length one, among which neighbours are sought.
    values : list of ndarray of float32, shape (n_rows, dim)
        Of each source, the rows that are averaged, perhaps the same arrays.
    known : ndarray of bool, shape (n_rows, n_sources)
    """

    keys: list
    values: list
    known: np.ndarray


def nearest_rows(queries, candidates, n_neighbors):
    """Return the nearest candidates of each query by cosine, the nearest first.

    Parameters
    ----------
    queries : ndarray of float32, shape (n_queries, dim)
        Rows of length one.
    candidates : ndarray of float32, shape (n_candidates, dim)
        Rows of length one.
    n_neighbors : int
        At most the number of candidates are returned.

    Returns
    -------
    neighbors : ndarray of int, shape (n_queries, n_neighbors)
        The same for a query alone and among others, except for ties: which of equally
        near candidates comes first depends on the BLAS kernel's rounding.
    similarities : ndarray of float32, shape (n_queries, n_neighbors)
    """
    n_neighbors = min(n_neighbors, len(candidates))
    neighbors = np.empty((len(queries), n_neighbors), dtype=np.intp)
    similarities = np.empty(neighbors.shape, dtype=np.float32)
    tile = np.zeros((_TILE, candidates.shape[1]), dtype=np.float32)
    for start in range(0, len(queries), _TILE):
        part = queries[start : start + _TILE]
        tile[: len(part)] = part
        cosines = (tile @ candidates.T)[: len(part)]
        found, near = _largest(cosines, n_neighbors)
        neighbors[start : start + _TILE] = found
        similarities[start : start + _TILE] = near
    return neighbors, similarities


def _largest(cosines, n_largest):
    """Return columns and values of each row's largest entries, in falling order."""
    n_columns = cosines.shape[1]
    found = np.argpartition(cosines, n_columns - n_largest, axis=1)
    found = found[:, n_columns - n_largest :]
    near = np.take_along_axis(cosines, found, axis=1)
    order = np.argsort(-near, axis=1, kind="stable")
    take = np.take_along_axis
    return take(found, order, axis=1), take(near, order, axis=1)


def neighbor_means(queries, candidates, values, n_neighbors):
    """Return the mean of the values that belong to each query's nearest candidates.

    Parameters
    ----------
    queries, candidates, n_neighbors
        As for `nearest_rows`, with one candidate or more.
    values : ndarray of float32, shape (n_candidates, dim)
        Of the candidates, in the space in which the query's vector is missing.

    Returns
    -------
    ndarray of float32, shape (n_queries, dim)
        Each neighbour counts by its cosine; those that point away do not, unless all
        do: then each counts the same.
    """
    neighbors, cosines = nearest_rows(queries, candidates, n_neighbors)
    weights = np.maximum(cosines, 0)
    weights[~weights.any(axis=1)] = 1
    means = np.zeros((len(queries), values.shape[1]), dtype=np.float32)
    total = np.zeros(len(queries), dtype=np.float32)
    # One neighbour after the other: a row's sum does not depend on the other rows.
    for neighbor, weight in zip(neighbors.T, weights.T, strict=True):
        means += weight[:, None] * values[neighbor]
        total += weight
    return means / total[:, None]


def shared_rows(keys, known, values=None):
    """Return the rows that two sources or more know, to look neighbours up in.

    Parameters
    ----------
    keys : list of ndarray of float32, shape (n_rows, dim)
        Of each source, rows of length one.
    known : ndarray of bool, shape (n_rows, n_sources)
    values : list of ndarray of shape (n_rows, dim), default=None
        Of each source, what is averaged. None means the keys.

    Returns
    -------
    SharedRows
        Copies.
    """
    rows = known.sum(axis=1) > 1
    keys = [key[rows] for key in keys]
    values = keys if values is None else [value[rows] for value in values]
    return SharedRows(keys, values, known[rows])


def shared_counts(known):
    """Return the number of rows that each pair of sources knows.

    Parameters
    ----------
    known : ndarray of bool, shape (n_rows, n_sources)

    Returns
    -------
    ndarray of int, shape (n_sources, n_sources)
        Symmetric; the diagonal counts what each source knows.
    """
    return known.T.astype(np.int64) @ known


def missing_pairs(missing, telling, usable):
    """Yield whose vectors are missing, who tells them, and the rows, pair by pair.

    Parameters
    ----------
    missing, telling : ndarray of bool, shape (n_rows, n_sources)
        Where a source has no vector, and where it has one that tells something.
    usable : ndarray of bool, shape (n_sources, n_sources)
        Whether the first of a pair can tell about the second.

    Yields
    ------
    teller, lacking : int
        Numbers of the sources.
    rows : ndarray of int
        Never empty.
    """
    for teller, lacking in np.argwhere(usable & ~np.eye(len(usable), dtype=bool)):
        rows = np.flatnonzero(missing[:, lacking] & telling[:, teller])
        if len(rows):
            yield teller, lacking, rows


def mean_prediction(missing, telling, usable, dims, predict):
    """Return the mean of what the sources tell about the vectors that others lack.

    Parameters
    ----------
    missing, telling, usable
        As for `missing_pairs`.
    dims : sequence of int
        Of the sources.
    predict : callable
        ``predict(teller, lacking, rows)`` gives float32 of shape (len(rows), dim of
        the source that lacks them).

    Returns
    -------
    list of (ndarray of int, ndarray of float32)
        For each source the rows that could be filled, and their vectors.
    """
    n_rows, n_sources = missing.shape
    totals = [None] * n_sources
    counts = np.zeros((n_rows, n_sources), dtype=np.float32)
    for teller, lacking, rows in missing_pairs(missing, telling, usable):
        if totals[lacking] is None:
            totals[lacking] = np.zeros((n_rows, dims[lacking]), dtype=np.float32)
        totals[lacking][rows] += predict(teller, lacking, rows)
        counts[rows, lacking] += 1
    filled = []
    for source, total in enumerate(totals):
        rows = np.flatnonzero(counts[:, source])
        if total is None:
            total = np.empty((0, dims[source]), dtype=np.float32)
        filled.append((rows, total[rows] / counts[rows, source][:, None]))
    return filled


def neighbor_fill(keys, missing, telling, shared, n_neighbors, *, min_shared=1):
    """Return the vectors that sources lack, from neighbours among the shared rows.

    Parameters
    ----------
    keys : list of ndarray of float32, shape (n_rows, dim)
        Of each source, rows of length one.
    missing, telling : ndarray of bool, shape (n_rows, n_sources)
        As for `missing_pairs`.
    shared : SharedRows
    n_neighbors : int
    min_shared : int, default=1
        Fewest shared rows of two sources for one to tell about the other.

    Returns
    -------
    list of (ndarray of int, ndarray of float32)
        For each source the rows that could be filled, and their vectors.
    """

    def predict(teller, lacking, rows):
        both = np.flatnonzero(shared.known[:, teller] & shared.known[:, lacking])
        candidates, values = shared.keys[teller][both], shared.values[lacking][both]
        return neighbor_means(keys[teller][rows], candidates, values, n_neighbors)

    usable = shared_counts(shared.known) >= min_shared
    dims = [value.shape[1] for value in shared.values]
    return mean_prediction(missing, telling, usable, dims, predict)
