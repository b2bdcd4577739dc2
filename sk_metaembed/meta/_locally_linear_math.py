"""Words as weighted means of their neighbours in every source.

Arrays in, arrays out. Sources stand side by side as lists of arrays with the same
rows, zeros where a source does not know the row; -1 stands for no neighbour.

The smoothest directions over a graph of words: eigenvectors of M = (I - W)'(I - W).

Arrays in, arrays out. M itself is never formed: its rows fill up quickly, and so would
a factorisation of it, which rules out shift and invert.
"""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, identity
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from .._core._arrays import row_norms
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


_DENSE = 1500  # rows up to which M is formed and decomposed as it is
_DEGREE = 16  # of the polynomials that damp the directions not wanted
_ROUNDING = 1e-6  # of M's norm: no residual in float32 gets below it


def smoothest_directions(
    W, n_components, *, tol, max_iter, rng, n_jobs=1, verbose=0, caller=""
):
    """Return the directions that change least between words and their neighbours.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Rows sum to 1.
    n_components : int
    tol : float
        Largest residual ``|M x - e x|`` of a unit vector x, over the largest e wanted.
    max_iter : int
    rng : RandomState
    n_jobs : int, default=1
        Threads of the sparse products.
    verbose : int, default=0
        Whether to show progress.
    caller : str, default=""
        Begins the warnings.

    Returns
    -------
    eigenvalues : ndarray of float64, shape (n_kept,)
        Rising. ``n_kept`` is at most n less the number of parts.
    vectors : ndarray of float32, shape (n, n_kept)
        Orthonormal, and orthogonal to what is constant in each part.
    parts : ndarray of int32, shape (n,)
        Number of the connected part of the graph in which each word lies.
    n_iter : int
        1 where M was decomposed as it is.
    """
    n = W.shape[0]
    n_parts, parts = connected_components(W, directed=False)
    n_kept = min(n_components, n - n_parts)
    step = csr_array(identity(n, dtype=np.float32, format="csr") - W)
    constant = _constants(parts, n_parts)
    if n <= _DENSE or 4 * n_kept > n:
        values, vectors = _dense(step, constant, n_kept)
        return values, vectors, parts, 1
    with ThreadPoolExecutor(n_jobs) as threads:
        apply = _operator(step, threads, n_jobs)
        values, vectors, n_iter = filtered_subspace(
            apply, constant, n_kept, tol, max_iter, rng, verbose, caller
        )
    return values, vectors, parts, n_iter


def _constants(parts, n_parts):
    """Return the unit vectors that are constant in a part, sparse (n, n_parts)."""
    sizes = np.bincount(parts, minlength=n_parts)
    scale = (1 / np.sqrt(sizes[parts])).astype(np.float32)
    rows = np.arange(len(parts))
    return csr_array((scale, (rows, parts)), shape=(len(parts), n_parts))


def _dense(step, constant, n_kept):
    step = step.toarray().astype(np.float64)
    M = step.T @ step
    constant = constant.toarray()
    # What is constant in a part has the eigenvalue 0: it goes to the other end.
    M += 2 * np.linalg.norm(M) * (constant @ constant.T)
    values, vectors = eigh(M, subset_by_index=[0, n_kept - 1])
    return np.maximum(values, 0), vectors.astype(np.float32)


def _operator(step, threads, n_jobs):
    """Return the function X -> M X, its rows shared out to the threads."""
    cuts = np.linspace(0, step.shape[0], n_jobs + 1).astype(int)
    there = [step[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]
    back = csr_array(step.T)
    back = [back[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]

    def apply(X):
        X = np.concatenate(list(threads.map(lambda part: part @ X, there)))
        return np.concatenate(list(threads.map(lambda part: part @ X, back)))

    return apply


def filtered_subspace(apply, constant, n_kept, tol, max_iter, rng, verbose, caller):
    """Return the lowest eigenpairs of M by subspace iteration with a filter.

    Parameters
    ----------
    apply : callable
        ``apply(X)`` is M X, for float32 of shape (n, any).
    constant : csr_array of shape (n, n_parts)
        Orthonormal vectors of eigenvalue 0 to leave out.
    n_kept, tol, max_iter, rng, verbose, whose
        As for `smoothest_directions`.

    Returns
    -------
    eigenvalues : ndarray of float64, shape (n_kept,)
    vectors : ndarray of float32, shape (n, n_kept)
    n_iter : int

    Notes
    -----
    Each round damps all above the last block's largest value by a Chebyshev
    polynomial, then solves the problem in the block's subspace. The block is a tenth
    wider than asked: its last vectors converge slowly, and are dropped.
    """
    from tqdm.auto import tqdm

    n = constant.shape[0]
    width = min(n - constant.shape[1], n_kept + n_kept // 10 + 10)
    top = _upper_bound(apply, rng.standard_normal(n).astype(np.float32))
    cut = top / 10
    X = rng.standard_normal((n, width)).astype(np.float32)
    with tqdm(range(max_iter), desc="eigenvectors", disable=not verbose) as bar:
        for n_iter, _ in enumerate(bar, start=1):
            X = _damped(apply, X, cut, top)
            X -= constant @ (constant.T @ X)
            X, _ = np.linalg.qr(X)
            values, X, residuals = _rotated(apply, X)
            worst = residuals[:n_kept].max()
            bar.set_postfix(round=n_iter, residual=f"{worst:.2g}")
            if worst <= max(tol * values[n_kept - 1], _ROUNDING * top):
                break
            cut = values[-1]
        else:
            warnings.warn(
                f"{caller}: the residual is {worst:.2g} after max_iter={max_iter} "
                f"rounds, the largest eigenvalue {values[n_kept - 1]:.2g}. Raise "
                "max_iter, tol, n_neighbors or regularization.",
                ConvergenceWarning,
                stacklevel=2,
            )
    return np.maximum(values[:n_kept], 0), X[:, :n_kept].copy(), n_iter


def _upper_bound(apply, vector, n_steps=12):
    """Return a number that M's eigenvalues stay below, by some steps of Lanczos."""
    vector /= np.linalg.norm(vector)
    before, beta = np.zeros_like(vector), 0.0
    alphas, betas = [], []
    for _ in range(n_steps):
        following = apply(vector) - beta * before
        alphas.append(float(following @ vector))
        following -= alphas[-1] * vector
        betas.append(float(np.linalg.norm(following)))
        if not betas[-1]:
            break
        before, beta, vector = vector, betas[-1], following / betas[-1]
    inner = np.diag(betas[:-1], 1)
    values = np.linalg.eigvalsh(np.diag(alphas) + inner + inner.T)
    return float(values[-1]) + betas[-1]


def _damped(apply, X, cut, top):
    """Return a Chebyshev polynomial of M, small between cut and top, times X.

    Scaled to 1 at M's value 0, so that no power of it leaves the range.
    """
    half, middle = (top - cut) / 2, (top + cut) / 2
    first = sigma = np.float32(-half / middle)
    before, X = X, (apply(X) - np.float32(middle) * X) * np.float32(sigma / half)
    for _ in range(_DEGREE - 1):
        following = np.float32(1 / (2 / first - sigma))
        Y = apply(X)
        Y -= np.float32(middle) * X
        Y *= np.float32(2 * following / half)
        before *= sigma * following
        Y -= before
        before, X, sigma = X, Y, following
    return X


def _rotated(apply, X):
    """Return M's eigenvalues in the space of X, their vectors and residuals."""
    MX = apply(X)
    inner = (X.T @ MX).astype(np.float64)
    values, rotation = np.linalg.eigh((inner + inner.T) / 2)
    rotation = rotation.astype(np.float32)
    X, MX = X @ rotation, MX @ rotation
    MX -= X * values.astype(np.float32)
    return values, X, np.sqrt(np.einsum("ij,ij->j", MX, MX))
