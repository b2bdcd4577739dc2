"""Words as weighted means of their neighbours in every source.

Arrays in, arrays out. Sources stand side by side as lists of arrays with the same
rows, zeros where a source does not know the row; -1 stands for no neighbour.
"""

import numpy as np
from threadpoolctl import threadpool_limits

from ..sequences._rows import row_norms
from ._neighbors import nearest_rows

_QUERIES = 8192  # rows between two steps of the progress bar
_BYTES = 2**25  # of the differences between words and neighbours held at once


def own_neighbors(sources, known, n_neighbors, *, verbose=0):
    """Return each row's nearest other rows in every source that knows it.

    Parameters
    ----------
    sources : list of ndarray of float32, shape (n_rows, dim)
    known : ndarray of bool, shape (n_rows, n_sources)
    n_neighbors : int
        Of each source; less where it knows fewer rows.
    verbose : int, default=0
        Whether to show progress.

    Returns
    -------
    ndarray of int32, shape (n_rows, n_sources * n_neighbors)
        Each neighbour once, in rising order; -1 in the other places.
    """
    from sklearn.neighbors import NearestNeighbors
    from tqdm.auto import tqdm

    n_rows, n_sources = known.shape
    found = np.full((n_rows, n_sources, n_neighbors), -1, dtype=np.int32)
    total = int(known.sum())
    with tqdm(total=total, desc="neighbours", disable=not verbose) as bar:
        for i, values in enumerate(sources):
            rows = np.flatnonzero(known[:, i])
            width = min(n_neighbors, len(rows) - 1)
            if width < 1:
                continue
            points = values[rows]
            index = NearestNeighbors(n_neighbors=width + 1, algorithm="brute")
            index.fit(points)
            for start in range(0, len(rows), _QUERIES):
                part = slice(start, start + _QUERIES)
                near = index.kneighbors(points[part], return_distance=False)
                near = _without_self(near, np.arange(len(rows))[part])
                found[rows[part], i, :width] = rows[near]
                bar.update(len(near))
    return _once(found.reshape(n_rows, n_sources * n_neighbors))


def _without_self(near, own):
    """Return the neighbours less the row itself, or less the last where it is not in.

    More copies of a vector than neighbours may leave the row itself out.
    """
    drop = near == own[:, None]
    drop[~drop.any(axis=1), -1] = True
    return near[~drop].reshape(len(near), -1)


def neighbors_of(queries, known, sources, sources_known, n_neighbors):
    """Return the rows of the sources that are nearest to each query.

    Parameters
    ----------
    queries : list of ndarray of float32, shape (n_queries, dim)
        One a source.
    known : ndarray of bool, shape (n_queries, n_sources)
    sources : list of ndarray of float32, shape (n_rows, dim)
    sources_known : ndarray of bool, shape (n_rows, n_sources)
    n_neighbors : int

    Returns
    -------
    ndarray of int32, shape (n_queries, n_sources * n_neighbors)
        As for `own_neighbors`; the same for a query alone and among others.
    """
    found = np.full((*known.shape, n_neighbors), -1, dtype=np.int32)
    for i, (values, asked) in enumerate(zip(sources, queries, strict=True)):
        rows = np.flatnonzero(sources_known[:, i])
        asking = np.flatnonzero(known[:, i])
        if not len(rows) or not len(asking):
            continue
        # The largest of x.u - |u|^2 / 2 is the nearest u.
        halves = row_norms(values[rows]) ** 2 / -2
        points = np.column_stack([values[rows], halves.astype(np.float32)])
        ones = np.ones(len(asking), dtype=np.float32)
        near, _ = nearest_rows(
            np.column_stack([asked[asking], ones]), points, n_neighbors
        )
        found[asking, i, : near.shape[1]] = rows[near]
    return _once(found.reshape(len(known), -1))


def _once(neighbors):
    """Return each row's neighbours sorted, -1 for every repetition."""
    neighbors = np.sort(neighbors, axis=1)
    again = np.zeros(neighbors.shape, dtype=bool)
    again[:, 1:] = neighbors[:, 1:] == neighbors[:, :-1]
    neighbors[again] = -1
    return np.sort(neighbors, axis=1)


def reconstruction_weights(
    queries, known, sources, neighbors, regularization, *, verbose=0
):
    """Return the weights by which neighbours come nearest to each query.

    Parameters
    ----------
    queries : list of ndarray of float32, shape (n_queries, dim)
        One a source.
    known : ndarray of bool, shape (n_queries, n_sources)
        A source that does not know the query has no say about its weights.
    sources : list of ndarray of float32, shape (n_rows, dim)
        Zeros where a source does not know the row.
    neighbors : ndarray of int, shape (n_queries, width)
        Rows of the sources; -1 is none.
    regularization : float
        Times the trace of the matrix of a query, added to the matrix's diagonal.
    verbose : int, default=0
        Whether to show progress.

    Returns
    -------
    ndarray of float32, shape (n_queries, width)
        A row sums to 1, and is zero where there is no neighbour. It is the same for a
        query alone and among others.

    Notes
    -----
    With ``d_u`` the differences ``s(v) - s(u)`` of all sources one below the other and
    ``G = [d_u . d_u']``, the least squares under ``sum(w) = 1`` are solved by
    ``G w = 1``, scaled.
    """
    from tqdm.auto import tqdm

    n_queries, width = neighbors.shape
    weights = np.zeros((n_queries, width), dtype=np.float32)
    widest = max(values.shape[1] for values in sources) + 3 * width
    step = max(1, _BYTES // (4 * width * widest)) if width else 1
    # Thousands of small matrices: threads would wait for each other at every one.
    one_thread = threadpool_limits(1, user_api="blas")
    with one_thread, tqdm(total=n_queries, desc="weights", disable=not verbose) as bar:
        for start in range(0, n_queries, step):
            rows = slice(start, start + step)
            near = neighbors[rows]
            gram = np.zeros((len(near), width, width))
            for i, (asked, values) in enumerate(zip(queries, sources, strict=True)):
                apart = asked[rows, None] - values[near]
                apart[~known[rows, i]] = 0
                gram += apart @ apart.transpose(0, 2, 1)
            weights[rows] = constrained_weights(gram, near >= 0, regularization)
            bar.update(len(near))
    return weights


def constrained_weights(gram, allowed, regularization):
    """Return the w of sum 1 that make ``w (G + r trace(G) I) w`` smallest.

    Parameters
    ----------
    gram : ndarray of float64, shape (n, width, width)
        Overwritten.
    allowed : ndarray of bool, shape (n, width)
        The weights of the others are zero.
    regularization : float
        r. A matrix of zeros gets r itself on its diagonal.

    Returns
    -------
    ndarray of float64, shape (n, width)
        Zeros where nothing is allowed.
    """
    gram *= allowed[:, :, None] & allowed[:, None, :]
    diagonal = np.einsum("nii->ni", gram)  # a view that can be written
    trace = diagonal.sum(axis=1)
    ridge = regularization * np.where(trace > 0, trace, 1)
    # In units of the ridge: no number leaves the range, however near the neighbours.
    gram /= ridge[:, None, None]
    diagonal += 1
    weights = np.linalg.solve(gram, allowed[..., None].astype(np.float64))[..., 0]
    total = weights.sum(axis=1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total != 0)


def weighted_rows(values, neighbors, weights):
    """Return the sums of the neighbours' rows times their weights.

    Parameters
    ----------
    values : ndarray of float32, shape (n_rows, dim)
    neighbors : ndarray of int, shape (n_queries, width)
    weights : ndarray of float32, shape (n_queries, width)

    Returns
    -------
    ndarray of float32, shape (n_queries, dim)
    """
    total = np.zeros((len(neighbors), values.shape[1]), dtype=np.float32)
    # One neighbour after the other: a row's sum does not depend on the other rows.
    for near, weight in zip(neighbors.T, weights.T, strict=True):
        total += weight[:, None] * values[near]
    return total
