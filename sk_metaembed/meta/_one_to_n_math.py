"""Solve 1TON from second moments.

Meta vectors M have the shape (n_rows, n_components); a source's vectors are about
``M @ D + intercept`` with its decoder D of shape (n_components, dim).
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from .._core._arrays import chunks
from ._linear import column_signs

_PATIENCE = 3  # consecutive epochs with too little progress


class Decoders(NamedTuple):
    """The maps from meta vectors to the vectors of each source."""

    matrices: list  # arrays (n_components, dim)
    intercepts: list  # arrays (dim,)


class Moments(NamedTuple):
    """Second moments over the rows that the same sources know."""

    pattern: tuple  # the numbers of these sources
    n_rows: int
    products: np.ndarray  # (1 + dims, 1 + dims), sums over rows ``[1, vectors]``


def pattern_moments(sources, known):
    """Return the Moments of each set of sources that know the same rows.

    The exact solution needs only these moments, not the rows.
    """
    patterns, codes = np.unique(known, axis=0, return_inverse=True)
    moments = []
    for code, knowing in enumerate(patterns):
        pattern = tuple(np.flatnonzero(knowing).tolist())
        rows = np.flatnonzero(codes.ravel() == code)
        moments.append(Moments(pattern, len(rows), _products(sources, pattern, rows)))
    return moments


def _products(sources, pattern, rows):
    dims = sum(sources[i].shape[1] for i in pattern)
    products = np.zeros((1 + dims, 1 + dims))
    for part in chunks(len(rows)):
        values = [sources[i][rows[part]] for i in pattern]
        ones = np.ones((len(rows[part]), 1))
        joined = np.concatenate([ones, *values], axis=1, dtype=np.float64)
        products += joined.T @ joined
    return products


def encoder(pattern, decoders, weights, penalty):
    """Return the map from vectors of some sources to the optimal meta vector.

    Its shape is (1 + dims, n_components): a meta vector is ``[1, vectors of these
    sources] @ encoder``. `penalty` multiplies the squared meta vector.
    """
    weighted = [weights[i] * decoders.matrices[i] for i in pattern]
    gram = np.diag(np.full(len(weighted[0]), penalty, dtype=np.float64))
    for i, matrix in zip(pattern, weighted, strict=True):
        gram += matrix @ decoders.matrices[i].T
    # Without a penalty, directions that no source of the pattern uses are singular.
    gram[np.diag_indices_from(gram)] += 1e-9 * np.trace(gram) / len(gram) or 1.0
    joined = np.concatenate(weighted, axis=1)
    matrix = cho_solve(cho_factor(gram), joined).T
    intercept = np.concatenate([decoders.intercepts[i] for i in pattern])
    return np.concatenate([-(intercept @ matrix)[None], matrix])


def meta_moments(moments, decoders, weights, penalty):
    """Return second moments of ``[1, meta vector]``, also with the sources' vectors.

    Returns three items: a list with the moments over the rows that each source knows,
    (1 + n_components,) * 2; a list with the products with each source's vectors, (1 +
    n_components, dim); and the moments over all rows.
    """
    size = 1 + len(decoders.matrices[0])
    own = [np.zeros((size, size)) for _ in decoders.matrices]
    cross = [np.zeros((size, matrix.shape[1])) for matrix in decoders.matrices]
    overall = np.zeros((size, size))
    for pattern, _, products in moments:
        to_meta = np.zeros((len(products), size))
        to_meta[0, 0] = 1
        to_meta[:, 1:] = encoder(pattern, decoders, weights, penalty)
        meta_by_source = to_meta.T @ products
        meta_by_meta = meta_by_source @ to_meta
        overall += meta_by_meta
        start = 1
        for i in pattern:
            end = start + cross[i].shape[1]
            own[i] += meta_by_meta
            cross[i] += meta_by_source[:, start:end]
            start = end
    return own, cross, overall


def start_decoders(moments, dims, weights, alpha, n_components):
    """Return initial Decoders: the solution for rows that all sources know.

    The solution is exact for equal weights. It has the leading directions of the
    weighted, centered concatenation, each shrunk by the penalty. Missing vectors count
    as the mean. The number of components is limited to the rank, and may be 0.
    """
    ends = np.cumsum([0, *dims])
    columns = [np.arange(*pair) for pair in zip(ends[:-1], ends[1:], strict=True)]
    total = np.zeros((ends[-1], ends[-1]))
    for pattern, _, products in moments:
        used = np.concatenate([columns[i] for i in pattern])
        total[np.ix_(used, used)] += products[1:, 1:]
    factors = np.repeat(np.sqrt(weights), dims)
    n_rows = sum(part.n_rows for part in moments)
    variances, directions = eigh(total * np.outer(factors, factors) / n_rows)
    lengths = np.sqrt(np.maximum(variances[::-1], 0))[:n_components]
    selected = lengths > max(alpha, 1e-5 * lengths[0], 1e-12)
    scales = np.sqrt(lengths[selected] - alpha)
    joined = (directions[:, ::-1][:, : len(selected)][:, selected] * scales).T / factors
    matrices = [joined[:, own] for own in columns]
    return Decoders(matrices, [np.zeros(dim) for dim in dims])


def alternate(moments, decoders, weights, alpha, *, max_iter, tol):
    """Solve for meta vectors and decoders in turn, each exactly (ALS).

    Returns the Decoders, and the loss after each iteration. Stops when each of three
    consecutive iterations reduces the loss by less than the share `tol`.
    """
    n_rows = sum(part.n_rows for part in moments)
    squares = _source_squares(moments, decoders)
    curve = []
    for _ in range(max_iter):
        own, cross, overall = meta_moments(moments, decoders, weights, alpha)
        loss = alpha * np.trace(overall[1:, 1:]) / n_rows
        matrices, intercepts = [], []
        for i, weight in enumerate(weights):
            # The intercept is not penalized.
            penalty = np.diag(np.r_[0, np.full(len(own[i]) - 1, alpha * n_rows)])
            solved = np.linalg.lstsq(weight * own[i] + penalty, weight * cross[i])[0]
            error = squares[i] - 2 * np.vdot(solved, cross[i])
            error += np.vdot(solved, own[i] @ solved)
            loss += weight * error / n_rows + alpha * (solved[1:] ** 2).sum()
            matrices.append(solved[1:])
            intercepts.append(solved[0])
        decoders = Decoders(matrices, intercepts)
        curve.append(float(loss))
        if has_converged(curve, tol):
            break
    return decoders, curve


def _source_squares(moments, decoders):
    squares = np.zeros(len(decoders.matrices))
    for pattern, _, products in moments:
        start = 1
        for i in pattern:
            end = start + decoders.matrices[i].shape[1]
            squares[i] += np.trace(products[start:end, start:end])
            start = end
    return squares


def to_principal_axes(moments, decoders, weights, alpha):
    """Return Decoders of meta vectors that are centered and rotated.

    The dimensions of these vectors are uncorrelated, in descending order of variance.
    """
    sums = meta_moments(moments, decoders, weights, alpha)[2]
    mean = sums[0, 1:] / sums[0, 0]
    variances, axes = eigh(sums[1:, 1:] / sums[0, 0] - np.outer(mean, mean))
    back = axes[:, variances > 1e-9 * variances[-1]].T[::-1]
    joined = back @ np.concatenate(decoders.matrices, axis=1)
    back = back * column_signs(joined.T)[:, None]
    matrices = [back @ matrix for matrix in decoders.matrices]
    pairs = zip(decoders.intercepts, decoders.matrices, strict=True)
    intercepts = [intercept + mean @ matrix for intercept, matrix in pairs]
    return Decoders(matrices, intercepts)


def has_converged(curve, tol):
    """Return whether each of the last steps reduced the loss by a share below `tol`."""
    last = np.array(curve[-_PATIENCE - 1 :])
    if len(last) <= _PATIENCE:
        return False
    return bool((last[:-1] - last[1:] < tol * np.abs(last[:-1])).all())
