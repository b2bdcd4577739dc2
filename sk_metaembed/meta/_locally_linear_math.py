"""Reconstruction weights of words, and the eigenvectors of their graph.

Pure functions of arrays. Sources are lists of arrays with the same rows, zeros for
unknown rows; -1 means no neighbor.

The eigenvectors of M = (I - W)'(I - W) are computed by Chebyshev-filtered subspace
iteration. M is never formed: it and its factorizations fill up, which rules out shift
and invert. ARPACK (`eigsh`) needs 0.4 to 1.0 times the time on graphs of 50 neighbors,
but 2 to 4 times on graphs of 10 to 20, and returns only some of the vectors when it
stops early. LOBPCG is slower on all of them.
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

_QUERIES = 8192  # rows per step of the progress bar
_BYTES = 2**25  # of the differences between words and neighbors in memory


def row_neighbors(sources, known, n_neighbors, *, verbose=0):
    """Return each row's nearest other rows in every source that knows it.

    `known` has the shape (n_rows, n_sources). The result, int32 of shape (n_rows,
    n_sources * n_neighbors), has each neighbor once, in increasing order after entries
    of -1.
    """
    from sklearn.neighbors import NearestNeighbors
    from tqdm.auto import tqdm

    n_rows, n_sources = known.shape
    neighbors = np.full((n_rows, n_sources, n_neighbors), -1, dtype=np.int32)
    total = int(known.sum())
    with tqdm(total=total, desc="neighbors", disable=not verbose) as bar:
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
                near = _drop_self(near, np.arange(len(rows))[part])
                neighbors[rows[part], i, :width] = rows[near]
                bar.update(len(near))
    return _unique_per_row(neighbors.reshape(n_rows, n_sources * n_neighbors))


def _drop_self(near, own):
    """Return the neighbors without the row itself, or else without the last.

    With more copies of a vector than neighbors, the row itself may be missing.
    """
    drop = near == own[:, None]
    drop[~drop.any(axis=1), -1] = True
    return near[~drop].reshape(len(near), -1)


def query_neighbors(queries, known, sources, sources_known, n_neighbors):
    """Return the rows of the sources that are nearest to each query.

    Queries are float32 of shape (n_queries, dim) per source, known as (n_queries,
    n_sources). The result is as for `row_neighbors`, and the same for a query alone and
    in a batch.
    """
    neighbors = np.full((*known.shape, n_neighbors), -1, dtype=np.int32)
    for i, (values, source_queries) in enumerate(zip(sources, queries, strict=True)):
        rows = np.flatnonzero(sources_known[:, i])
        selected = np.flatnonzero(known[:, i])
        if not len(rows) or not len(selected):
            continue
        # The u with the largest x.u - |u|^2 / 2 is nearest to x.
        halves = row_norms(values[rows]) ** 2 / -2
        points = np.column_stack([values[rows], halves.astype(np.float32)])
        ones = np.ones(len(selected), dtype=np.float32)
        extended = np.column_stack([source_queries[selected], ones])
        near, _ = nearest_rows(extended, points, n_neighbors)
        neighbors[selected, i, : near.shape[1]] = rows[near]
    return _unique_per_row(neighbors.reshape(len(known), -1))


def _unique_per_row(neighbors):
    """Return each row's neighbors sorted, with -1 for repeated ones."""
    neighbors = np.sort(neighbors, axis=1)
    repeated = np.zeros(neighbors.shape, dtype=bool)
    repeated[:, 1:] = neighbors[:, 1:] == neighbors[:, :-1]
    neighbors[repeated] = -1
    return np.sort(neighbors, axis=1)


def reconstruction_weights(
    queries, known, sources, neighbors, regularization, *, verbose=0
):
    """Return the weights that best reconstruct each query from its neighbors.

    Weights have the shape (n_queries, width) of `neighbors`; rows sum to 1, with zeros
    for missing neighbors (-1). Sources that do not know a query are ignored. With
    ``d_u`` the differences ``s(v) - s(u)`` of all sources, stacked, and ``G = [d_u .
    d_u']``, the least-squares problem under ``sum(w) = 1`` is solved by ``G w = 1``,
    scaled.
    """
    from tqdm.auto import tqdm

    n_queries, width = neighbors.shape
    weights = np.zeros((n_queries, width), dtype=np.float32)
    widest = max(values.shape[1] for values in sources) + 3 * width
    step = max(1, _BYTES // (4 * width * widest)) if width else 1
    # Threads do not pay off for thousands of small matrices.
    one_thread = threadpool_limits(1, user_api="blas")
    with one_thread, tqdm(total=n_queries, desc="weights", disable=not verbose) as bar:
        for start in range(0, n_queries, step):
            rows = slice(start, start + step)
            near = neighbors[rows]
            gram = np.zeros((len(near), width, width))
            for i, (points, values) in enumerate(zip(queries, sources, strict=True)):
                differences = points[rows, None] - values[near]
                differences[~known[rows, i]] = 0
                gram += differences @ differences.transpose(0, 2, 1)
            weights[rows] = constrained_weights(gram, near >= 0, regularization)
            bar.update(len(near))
    return weights


def constrained_weights(gram, allowed, regularization):
    """Return the w with sum 1 that minimize ``w (G + r trace(G) I) w``, (n, width).

    Takes the Gram matrices (n, width, width), which are overwritten, and the mask
    `allowed`, (n, width); other weights are zero. A matrix of zeros gets r itself on
    its diagonal.
    """
    gram *= allowed[:, :, None] & allowed[:, None, :]
    diagonal = np.einsum("nii->ni", gram)  # a view that can be written
    trace = diagonal.sum(axis=1)
    ridge = regularization * np.where(trace > 0, trace, 1)
    # In units of the ridge, so that nothing under- or overflows for close neighbors.
    gram /= ridge[:, None, None]
    diagonal += 1
    weights = np.linalg.solve(gram, allowed[..., None].astype(np.float64))[..., 0]
    total = weights.sum(axis=1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total != 0)


def weighted_rows(values, neighbors, weights):
    """Return the weighted sums of the neighbors' rows, (n_queries, dim)."""
    total = np.zeros((len(neighbors), values.shape[1]), dtype=np.float32)
    # Neighbor by neighbor, so that the sum of a row does not depend on other rows.
    for near, weight in zip(neighbors.T, weights.T, strict=True):
        total += weight[:, None] * values[near]
    return total


_MAX_DENSE = 1500  # rows up to which M is formed and decomposed directly
_DEGREE = 16  # of the Chebyshev polynomials
_ROUNDING = 1e-6  # of the norm of M: float32 residuals cannot be smaller


def smallest_eigenpairs(
    W, n_components, *, tol, max_iter, rng, n_jobs=1, verbose=0, caller=""
):
    """Return the eigenvectors of the smallest eigenvalues of M = (I - W)'(I - W).

    The rows of W, (n, n), sum to 1; `tol` is the largest residual ``|M x - e x|`` over
    the largest e. Returns increasing eigenvalues, (n_kept,), with at most n minus the
    number of connected components; float32 vectors, (n, n_kept), orthogonal to vectors
    constant in a component; the component of each word, (n,); and the number of
    iterations, 1 if M was decomposed directly.
    """
    n = W.shape[0]
    n_parts, parts = connected_components(W, directed=False)
    n_kept = min(n_components, n - n_parts)
    step = csr_array(identity(n, dtype=np.float32, format="csr") - W)
    constant = _constant_vectors(parts, n_parts)
    if n <= _MAX_DENSE or 4 * n_kept > n:
        values, vectors = _dense_eigenpairs(step, constant, n_kept)
        return values, vectors, parts, 1
    with ThreadPoolExecutor(n_jobs) as threads:
        apply = _operator(step, threads, n_jobs)
        values, vectors, n_iter = chebyshev_subspace_iteration(
            apply, constant, n_kept, tol, max_iter, rng, verbose, caller
        )
    return values, vectors, parts, n_iter


def _constant_vectors(parts, n_parts):
    """Return the unit vectors that are constant in a component, sparse (n, n_parts)."""
    sizes = np.bincount(parts, minlength=n_parts)
    scale = (1 / np.sqrt(sizes[parts])).astype(np.float32)
    rows = np.arange(len(parts))
    return csr_array((scale, (rows, parts)), shape=(len(parts), n_parts))


def _dense_eigenpairs(step, constant, n_kept):
    step = step.toarray().astype(np.float64)
    M = step.T @ step
    constant = constant.toarray()
    # Vectors that are constant in a component have the eigenvalue 0: move them to the
    # other end of the spectrum.
    M += 2 * np.linalg.norm(M) * (constant @ constant.T)
    values, vectors = eigh(M, subset_by_index=[0, n_kept - 1])
    return np.maximum(values, 0), vectors.astype(np.float32)


def _operator(step, threads, n_jobs):
    """Return the function X -> M X, with rows divided among threads."""
    cuts = np.linspace(0, step.shape[0], n_jobs + 1).astype(int)
    forward = [step[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]
    transposed = csr_array(step.T)
    transposed = [transposed[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]

    def apply(X):
        X = np.concatenate(list(threads.map(lambda part: part @ X, forward)))
        return np.concatenate(list(threads.map(lambda part: part @ X, transposed)))

    return apply


def chebyshev_subspace_iteration(
    apply, constant, n_kept, tol, max_iter, rng, verbose, caller
):
    """Return the lowest eigenpairs of M by Chebyshev-filtered subspace iteration.

    ``apply(X)`` is M X for float32 X of shape (n, any); `constant`, (n, n_parts), are
    orthonormal vectors of eigenvalue 0 to exclude. Each iteration filters out
    eigenvalues above the largest of the last block by a Chebyshev polynomial, then
    solves the problem in the subspace of the block. The block is a tenth wider than
    `n_kept`: its last vectors converge slowly, and are dropped.
    """
    from tqdm.auto import tqdm

    n = constant.shape[0]
    width = min(n - constant.shape[1], n_kept + n_kept // 10 + 10)
    top = _upper_bound(apply, rng.standard_normal(n).astype(np.float32))
    cut = top / 10
    X = rng.standard_normal((n, width)).astype(np.float32)
    with tqdm(range(max_iter), desc="eigenvectors", disable=not verbose) as bar:
        for n_iter, _ in enumerate(bar, start=1):
            X = _chebyshev_filter(apply, X, cut, top)
            X -= constant @ (constant.T @ X)
            X, _ = np.linalg.qr(X)
            values, X, residuals = _rayleigh_ritz(apply, X)
            worst = residuals[:n_kept].max()
            bar.set_postfix(round=n_iter, residual=f"{worst:.2g}")
            if worst <= max(tol * values[n_kept - 1], _ROUNDING * top):
                break
            cut = values[-1]
        else:
            warnings.warn(
                f"{caller}: the eigenvectors did not converge in max_iter={max_iter} "
                f"iterations: the residual is {worst:.2g}, the largest eigenvalue "
                f"{values[n_kept - 1]:.2g}. Increase max_iter, tol, n_neighbors or "
                "regularization.",
                ConvergenceWarning,
                stacklevel=2,
            )
    return np.maximum(values[:n_kept], 0), X[:, :n_kept].copy(), n_iter


def _upper_bound(apply, vector, n_steps=12):
    """Return an upper bound of M's eigenvalues, from a few steps of Lanczos."""
    vector /= np.linalg.norm(vector)
    previous, beta = np.zeros_like(vector), 0.0
    alphas, betas = [], []
    for _ in range(n_steps):
        following = apply(vector) - beta * previous
        alphas.append(float(following @ vector))
        following -= alphas[-1] * vector
        betas.append(float(np.linalg.norm(following)))
        if not betas[-1]:
            break
        previous, beta, vector = vector, betas[-1], following / betas[-1]
    off_diagonal = np.diag(betas[:-1], 1)
    values = np.linalg.eigvalsh(np.diag(alphas) + off_diagonal + off_diagonal.T)
    return float(values[-1]) + betas[-1]


def _chebyshev_filter(apply, X, cut, top):
    """Return a Chebyshev polynomial of M, small between cut and top, times X.

    It is scaled to 1 at eigenvalue 0, so that powers do not overflow.
    """
    half, middle = (top - cut) / 2, (top + cut) / 2
    first = sigma = np.float32(-half / middle)
    previous, X = X, (apply(X) - np.float32(middle) * X) * np.float32(sigma / half)
    for _ in range(_DEGREE - 1):
        following = np.float32(1 / (2 / first - sigma))
        Y = apply(X)
        Y -= np.float32(middle) * X
        Y *= np.float32(2 * following / half)
        previous *= sigma * following
        Y -= previous
        previous, X, sigma = X, Y, following
    return X


def _rayleigh_ritz(apply, X):
    """Return Ritz values of M in the span of X, their vectors and residual norms."""
    MX = apply(X)
    projected = (X.T @ MX).astype(np.float64)
    values, rotation = np.linalg.eigh((projected + projected.T) / 2)
    rotation = rotation.astype(np.float32)
    X, MX = X @ rotation, MX @ rotation
    MX -= X * values.astype(np.float32)
    return values, X, np.sqrt(np.einsum("ij,ij->j", MX, MX))
