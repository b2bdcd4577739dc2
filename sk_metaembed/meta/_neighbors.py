"""Impute missing vectors from a word's neighbors in other sources.

All functions are pure functions of arrays. Sources are lists of arrays with the same
rows. A source that knows a row with a vector other than zero is *informative* about the
row: it can predict the vectors that other sources, the targets, lack.
"""

from typing import NamedTuple

import numpy as np

# Queries per matrix product. The rounding of a BLAS depends on the shapes of the
# operands: with a fixed shape, a query has the same neighbors alone and in a batch,
# which sklearn.neighbors does not guarantee for (nearly) equal distances.
_TILE = 64


class SharedRows(NamedTuple):
    """The rows known to at least two sources, in which neighbors are searched."""

    keys: list  # unit vectors to search per source, float32 (n_rows, dim)
    values: list  # vectors to average per source; may be the keys
    known: np.ndarray  # (n_rows, n_sources)
    usable: np.ndarray  # (n_sources, n_sources), if the first can predict the second
    n_neighbors: int


def nearest_rows(queries, candidates, n_neighbors):
    """Return the nearest candidates of queries by cosine, and these cosines.

    Both have the shape (n_queries, n_neighbors). Inputs are float32 unit vectors. A
    query has the same neighbors alone and in a batch, except for ties, which depend on
    the rounding of the BLAS.
    """
    n_neighbors = min(n_neighbors, len(candidates))
    neighbors = np.empty((len(queries), n_neighbors), dtype=np.intp)
    similarities = np.empty(neighbors.shape, dtype=np.float32)
    tile = np.zeros((_TILE, candidates.shape[1]), dtype=np.float32)
    for start in range(0, len(queries), _TILE):
        part = queries[start : start + _TILE]
        tile[: len(part)] = part
        cosines = (tile @ candidates.T)[: len(part)]
        columns, values = _largest(cosines, n_neighbors)
        neighbors[start : start + _TILE] = columns
        similarities[start : start + _TILE] = values
    return neighbors, similarities


def _largest(cosines, n_largest):
    """Return columns and values of each row's largest entries, in decreasing order."""
    n_smaller = cosines.shape[1] - n_largest
    columns = np.argpartition(cosines, n_smaller, axis=1)[:, n_smaller:]
    values = np.take_along_axis(cosines, columns, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    take = np.take_along_axis
    return take(columns, order, axis=1), take(values, order, axis=1)


def neighbor_means(queries, candidates, values, n_neighbors):
    """Return the mean values of each query's nearest candidates, (n_queries, dim).

    `values`, (n_candidates, dim), are the candidates' vectors in the target source.
    Neighbors are weighted by cosine; negative cosines count as 0, and all neighbors
    count equally if none is positive.
    """
    neighbors, cosines = nearest_rows(queries, candidates, n_neighbors)
    weights = np.maximum(cosines, 0)
    weights[~weights.any(axis=1)] = 1
    means = np.zeros((len(queries), values.shape[1]), dtype=np.float32)
    total = np.zeros(len(queries), dtype=np.float32)
    # Sum neighbor by neighbor, so that a row does not depend on other rows.
    for neighbor, weight in zip(neighbors.T, weights.T, strict=True):
        means += weight[:, None] * values[neighbor]
        total += weight
    return means / total[:, None]


def shared_rows(keys, known, n_neighbors, values=None, *, min_shared=1):
    """Return a SharedRows with copies of the rows known to at least two sources.

    A source can predict another source if the two share at least `min_shared` rows.
    """
    rows = known.sum(axis=1) > 1
    keys = [key[rows] for key in keys]
    values = keys if values is None else [value[rows] for value in values]
    usable = shared_counts(known) >= min_shared
    return SharedRows(keys, values, known[rows], usable, n_neighbors)


def shared_counts(known):
    """Return the number of rows that each two sources share, (n_sources, n_sources)."""
    return known.T.astype(np.int64) @ known


def mean_prediction(missing, informative, usable, dims, predict):
    """Return (rows, vectors) per source, the mean predictions of missing vectors.

    ``predict(predictor, target, rows)`` returns float32 of shape (len(rows), dim of the
    target). `missing` and `informative` have the shape (n_rows, n_sources); `usable`,
    of shape (n_sources, n_sources), is True where the first source can predict the
    second.
    """
    n_rows, n_sources = missing.shape
    totals = [None] * n_sources
    counts = np.zeros((n_rows, n_sources), dtype=np.float32)
    for predictor, target in np.argwhere(usable & ~np.eye(n_sources, dtype=bool)):
        rows = np.flatnonzero(missing[:, target] & informative[:, predictor])
        if not len(rows):
            continue
        if totals[target] is None:
            totals[target] = np.zeros((n_rows, dims[target]), dtype=np.float32)
        totals[target][rows] += predict(predictor, target, rows)
        counts[rows, target] += 1
    filled = []
    for source, total in enumerate(totals):
        rows = np.flatnonzero(counts[:, source])
        if total is None:
            total = np.empty((0, dims[source]), dtype=np.float32)
        filled.append((rows, total[rows] / counts[rows, source][:, None]))
    return filled


def neighbor_fill(keys, missing, informative, shared):
    """Return (rows, vectors) per source, the missing vectors imputed from neighbors.

    `keys` are unit vectors per source, (n_rows, dim).
    """

    def predict(predictor, target, rows):
        both = np.flatnonzero(shared.known[:, predictor] & shared.known[:, target])
        candidates, values = shared.keys[predictor][both], shared.values[target][both]
        queries = keys[predictor][rows]
        return neighbor_means(queries, candidates, values, shared.n_neighbors)

    dims = [value.shape[1] for value in shared.values]
    return mean_prediction(missing, informative, shared.usable, dims, predict)
