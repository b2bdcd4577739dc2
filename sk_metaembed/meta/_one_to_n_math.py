"""The arithmetic of 1TON: its loss, and the exact solution from second moments.

Rows of meta vectors M (n_rows, n_components) and, per source, D (n_components, dim)
and an intercept: a source's vectors are about ``M @ D + intercept``.

1TON by gradient steps: free meta vectors and maps, trained by AdaGrad.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from .._core._arrays import chunks
from .._training._parameters import resolve_device
from ._gradient import minimise, seeded_generator, stands_still
from ._linear import fixed_signs


class Decoders(NamedTuple):
    """What makes the sources' vectors of meta vectors.

    Parameters
    ----------
    matrices : list of ndarray of shape (n_components, dim)
        One a source.
    intercepts : list of ndarray of shape (dim,)
        One a source.
    """

    matrices: list
    intercepts: list


class Moments(NamedTuple):
    """Sums of products over the rows that the same sources know.

    Parameters
    ----------
    pattern : tuple of int
        The sources that know these rows.
    n_rows : int
    products : ndarray of float64, shape (1 + dims, 1 + dims)
        Of the rows ``[1, vectors of these sources]``.
    """

    pattern: tuple
    n_rows: int
    products: np.ndarray


def pattern_moments(sources, known):
    """Return the moments of each set of sources that know the same rows.

    The exact solution needs nothing else of the rows, however many there are.

    Parameters
    ----------
    sources : list of ndarray of shape (n_rows, dim)
    known : ndarray of bool, shape (n_rows, n_sources)

    Returns
    -------
    list of Moments
    """
    patterns, codes = np.unique(known, axis=0, return_inverse=True)
    moments = []
    for number, pattern in enumerate(patterns):
        who = tuple(np.flatnonzero(pattern).tolist())
        rows = np.flatnonzero(codes.ravel() == number)
        moments.append(Moments(who, len(rows), _products(sources, who, rows)))
    return moments


def _products(sources, who, rows):
    dims = sum(sources[i].shape[1] for i in who)
    products = np.zeros((1 + dims, 1 + dims))
    for part in chunks(len(rows)):
        values = [sources[i][rows[part]] for i in who]
        ones = np.ones((len(rows[part]), 1))
        joined = np.concatenate([ones, *values], axis=1, dtype=np.float64)
        products += joined.T @ joined
    return products


def encoder(pattern, decoders, weights, penalty):
    """Return the map from the vectors of some sources to the best meta vector.

    Parameters
    ----------
    pattern : tuple of int
        The sources that know the row.
    decoders : Decoders
    weights : ndarray of shape (n_sources,)
    penalty : float
        Of the squared meta vector.

    Returns
    -------
    ndarray of float64, shape (1 + dims, n_components)
        To be multiplied from the left by ``[1, vectors of these sources]``.
    """
    weighted = [weights[i] * decoders.matrices[i] for i in pattern]
    gram = np.diag(np.full(len(weighted[0]), penalty, dtype=np.float64))
    for i, matrix in zip(pattern, weighted, strict=True):
        gram += matrix @ decoders.matrices[i].T
    # Where nothing is penalised, directions that these sources do not see.
    gram[np.diag_indices_from(gram)] += 1e-9 * np.trace(gram) / len(gram) or 1.0
    joined = np.concatenate(weighted, axis=1)
    matrix = cho_solve(cho_factor(gram), joined).T
    intercept = np.concatenate([decoders.intercepts[i] for i in pattern])
    return np.concatenate([-(intercept @ matrix)[None], matrix])


def meta_moments(moments, decoders, weights, penalty):
    """Return sums of products of meta vectors, with each other and with the sources.

    Parameters
    ----------
    moments : list of Moments
    decoders, weights, penalty
        As `encoder` takes them.

    Returns
    -------
    own : list of ndarray of shape (1 + n_components, 1 + n_components)
        Per source, of ``[1, meta vector]``, over the rows that it knows.
    cross : list of ndarray of shape (1 + n_components, dim)
        Per source, of ``[1, meta vector]`` with its vectors.
    everywhere : ndarray of shape (1 + n_components, 1 + n_components)
        Of ``[1, meta vector]``, over all rows.
    """
    size = 1 + len(decoders.matrices[0])
    own = [np.zeros((size, size)) for _ in decoders.matrices]
    cross = [np.zeros((size, matrix.shape[1])) for matrix in decoders.matrices]
    everywhere = np.zeros((size, size))
    for pattern, _, products in moments:
        to_meta = np.zeros((len(products), size))
        to_meta[0, 0] = 1
        to_meta[:, 1:] = encoder(pattern, decoders, weights, penalty)
        half = to_meta.T @ products
        whole = half @ to_meta
        everywhere += whole
        start = 1
        for i in pattern:
            end = start + cross[i].shape[1]
            own[i] += whole
            cross[i] += half[:, start:end]
            start = end
    return own, cross, everywhere


def start_decoders(moments, dims, weights, alpha, n_components):
    """Return the solution for rows that all sources know, as a start for the others.

    With equal weights it is exact: the leading directions of the weighted, centred
    concatenation, each shortened by the penalty. What is unknown counts as the mean.

    Parameters
    ----------
    moments : list of Moments
        Of centred sources.
    dims : sequence of int
        The sources' dimensions.
    weights : ndarray of shape (n_sources,)
    alpha : float
    n_components : int
        As asked for.

    Returns
    -------
    Decoders
        With fewer components where the sources' rank is smaller; perhaps none.
    """
    ends = np.cumsum([0, *dims])
    columns = [np.arange(*pair) for pair in zip(ends[:-1], ends[1:], strict=True)]
    total = np.zeros((ends[-1], ends[-1]))
    for pattern, _, products in moments:
        places = np.concatenate([columns[i] for i in pattern])
        total[np.ix_(places, places)] += products[1:, 1:]
    factors = np.repeat(np.sqrt(weights), dims)
    n_rows = sum(part.n_rows for part in moments)
    variances, directions = eigh(total * np.outer(factors, factors) / n_rows)
    lengths = np.sqrt(np.maximum(variances[::-1], 0))[:n_components]
    kept = lengths > max(alpha, 1e-5 * lengths[0], 1e-12)
    scales = np.sqrt(lengths[kept] - alpha)
    joined = (directions[:, ::-1][:, : len(kept)][:, kept] * scales).T / factors
    matrices = [joined[:, place] for place in columns]
    return Decoders(matrices, [np.zeros(dim) for dim in dims])


def alternate(moments, decoders, weights, alpha, *, max_iter, tol):
    """Solve for meta vectors and decoders in turn, each exactly.

    Parameters
    ----------
    moments : list of Moments
    decoders : Decoders
        To start from.
    weights : ndarray of shape (n_sources,)
    alpha : float
        Penalty of squared decoders and meta vectors.
    max_iter : int
    tol : float
        Ends when three rounds in a row lower the loss by less than this share.

    Returns
    -------
    decoders : Decoders
    curve : list of float
        The loss after each round.
    """
    n_rows = sum(part.n_rows for part in moments)
    squares = _source_squares(moments, decoders)
    curve = []
    for _ in range(max_iter):
        own, cross, everywhere = meta_moments(moments, decoders, weights, alpha)
        loss = alpha * np.trace(everywhere[1:, 1:]) / n_rows
        matrices, intercepts = [], []
        for i, weight in enumerate(weights):
            # The intercept is free of the penalty.
            penalty = np.diag(np.r_[0, np.full(len(own[i]) - 1, alpha * n_rows)])
            solved = np.linalg.lstsq(weight * own[i] + penalty, weight * cross[i])[0]
            off = squares[i] - 2 * np.vdot(solved, cross[i])
            off += np.vdot(solved, own[i] @ solved)
            loss += weight * off / n_rows + alpha * (solved[1:] ** 2).sum()
            matrices.append(solved[1:])
            intercepts.append(solved[0])
        decoders = Decoders(matrices, intercepts)
        curve.append(float(loss))
        if stands_still(curve, tol):
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


def in_principal_axes(moments, decoders, weights, alpha):
    """Turn the meta space so that its coordinates are uncorrelated and centred.

    Parameters
    ----------
    moments : list of Moments
    decoders : Decoders
    weights : ndarray of shape (n_sources,)
    alpha : float

    Returns
    -------
    Decoders
        That give the same from the turned meta vectors, largest variance first.
    """
    sums = meta_moments(moments, decoders, weights, alpha)[2]
    mean = sums[0, 1:] / sums[0, 0]
    variances, axes = eigh(sums[1:, 1:] / sums[0, 0] - np.outer(mean, mean))
    back = axes[:, variances > 1e-9 * variances[-1]].T[::-1]
    joined = back @ np.concatenate(decoders.matrices, axis=1)
    back = back * fixed_signs(joined.T)[:, None]
    matrices = [back @ matrix for matrix in decoders.matrices]
    pairs = zip(decoders.intercepts, decoders.matrices, strict=True)
    intercepts = [intercept + mean @ matrix for intercept, matrix in pairs]
    return Decoders(matrices, intercepts)


def penalised_loss(meta, decoders, sources, known, weights, alpha):
    """Return the loss of some rows; arrays or tensors alike.

    Parameters
    ----------
    meta : array of shape (n_rows, n_components)
    decoders : Decoders
    sources : list of arrays of shape (n_rows, dim)
    known : list of arrays of shape (n_rows,)
        1 where the source knows the row, else 0.
    weights : sequence of float
    alpha : float

    Returns
    -------
    float or tensor
    """
    loss = alpha * (meta**2).sum() / len(meta)
    parts = zip(*decoders, sources, known, weights, strict=True)
    for matrix, intercept, values, knows, weight in parts:
        squares = ((meta @ matrix + intercept - values) ** 2).sum(1)
        loss = loss + weight * (squares * knows).sum() / len(meta)
        loss = loss + alpha * (matrix**2).sum()
    return loss


_START = 0.03  # size of the first entries


def descend(estimator, sources, known, weights, n_components, *, caller):
    """Learn meta vectors and decoders on mini-batches of words.

    Parameters
    ----------
    estimator : OneToNMetaEmbedding
        Its parameters say how.
    sources : list of ndarray of float32, shape (n_rows, dim)
        Centred, zeros where a source does not know the row.
    known : ndarray of bool, shape (n_rows, n_sources)
    weights : ndarray of shape (n_sources,)
    n_components : int
    caller : str
        Begins the messages.

    Returns
    -------
    decoders : Decoders
    curve : list of float
        The mean loss of each epoch.
    """
    import torch

    device = resolve_device(estimator.device, caller=caller)
    sources = [torch.from_numpy(values).to(device) for values in sources]
    knows = torch.from_numpy(known.T.astype(np.float32)).to(device)
    generator = seeded_generator(estimator.random_state, device)
    meta, decoders = _start(sources, n_components, generator)
    rate = estimator.learning_rate
    maps = [*decoders.matrices, *decoders.intercepts]
    optimizer = torch.optim.Adagrad(maps, lr=rate)
    squares = torch.zeros_like(meta)

    def batch_loss(rows):
        own = meta[rows].requires_grad_()
        # AdaGrad on the rows of this batch alone: torch's own would walk through
        # the vectors of all words at each step.
        own.register_hook(lambda slope: _adagrad(meta, squares, rows, slope, rate))
        values = [source[rows] for source in sources]
        return penalised_loss(
            own, decoders, values, knows[:, rows], weights.tolist(), estimator.alpha
        )

    curve = minimise(
        batch_loss,
        optimizer,
        len(known),
        batch_size=estimator.batch_size,
        max_iter=estimator.max_iter,
        tol=estimator.tol,
        generator=generator,
        verbose=estimator.verbose,
        caller=caller,
    )
    arrays = [[t.detach().cpu().double().numpy() for t in part] for part in decoders]
    return Decoders(*arrays), curve


def _adagrad(values, squares, rows, slope, rate):
    """Step down the slope of some rows, in place."""
    summed = squares[rows].addcmul_(slope, slope)
    squares[rows] = summed
    values[rows] -= rate * slope / (summed.sqrt_() + 1e-10)


def _start(sources, n_components, generator):
    """Return small random meta vectors and matrices, and intercepts of zero."""
    import torch

    device = generator.device

    def small(n_rows, n_columns):
        entries = torch.randn(n_rows, n_columns, generator=generator, device=device)
        return entries * _START

    meta = small(len(sources[0]), n_components)
    matrices = [
        small(n_components, values.shape[1]).requires_grad_() for values in sources
    ]
    intercepts = [
        torch.zeros(values.shape[1], device=device).requires_grad_()
        for values in sources
    ]
    return meta, Decoders(matrices, intercepts)
