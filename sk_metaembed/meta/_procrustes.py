"""ProcrustesMetaEmbedding: rotate sources into one space, impute, and average.

Functions learn the orthogonal maps from cross-products of the sources, which are summed
over the rows only once.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import svd
from sklearn.exceptions import ConvergenceWarning

from .._core._arrays import chunks, normalize_rows, row_product
from .._core._sklearn import COUNT, NONNEGATIVE
from ._average import normalized_weights
from ._base import BaseMetaEmbedding
from ._linear import (
    WEIGHTS_CONSTRAINT,
    Weights,
    known_matrix,
    known_mean,
    nonzero_matrix,
    source_rows,
    source_weights,
)
from ._neighbors import neighbor_fill, shared_rows

# Unit vectors minus the mean with smaller entries are rounding errors.
_MIN_ENTRY = 1e-5


def centered_rows(block, mean):
    """Return a block's centered unit vectors, rescaled to unit length, (n_rows, dim).

    Unknown rows, and vectors equal to the mean, become zeros.
    """
    centered = np.empty((block.n_rows, block.dim), dtype=np.float32)
    for rows in chunks(block.n_rows):
        values = source_rows(block, rows, normalize=True) - mean
        values[~block.known[rows]] = 0
        values[np.abs(values).max(axis=1, initial=0) < _MIN_ENTRY] = 0
        centered[rows] = normalize_rows(values)
    return centered


def cross_products(vectors, row_weights):
    """Return ``sum_w k_w x_iw x_jw^T`` for all pairs of sources in one float64 matrix.

    `vectors` are float32 of shape (n_rows, dim), zeros for unknown rows; `row_weights`
    have the shape (n_rows,). The result has the shape (sum of dims, sum of dims).
    """
    size = sum(values.shape[1] for values in vectors)
    products = np.zeros((size, size))
    used = np.flatnonzero(row_weights)
    for part in chunks(len(used)):
        rows = used[part]
        joined = np.hstack([values[rows] for values in vectors], dtype=np.float64)
        products += joined.T @ (joined * row_weights[rows, None])
    return products


def nearest_rotation(matrix):
    """Return the matrix with orthonormal rows nearest to a matrix, (dim, n_components).

    The matrix has at least as many columns as rows: ``X^T Y`` gives the orthogonal
    Procrustes map of X onto Y, if X were padded with zeros to the width of Y. Zeros
    give the padded identity.
    """
    if not matrix.any():
        return np.eye(*matrix.shape)
    left, _, right = svd(matrix, full_matrices=False)
    return left @ right


def rotations_to_mean(products, dims, weights, *, max_iter, tol):
    """Return the maps of all sources onto their mean, (dim, largest dim), and n_iter.

    `products` are from `cross_products`, each row weighted by one over the sum of the
    weights of the sources that know it; rows known to only one source have weight 0.
    The first source with the largest dim that shares a row keeps its axes.
    """
    # The mean shape is sum_j k_j x_j R_j; `products` has all sums over rows that its
    # products with x_i need, so an iteration does not read the rows.
    scaled = products * np.repeat(weights, dims)
    ends = np.cumsum(dims)[:-1]
    shapes = np.split(_initial_shape(products, weights, dims), ends)
    fit, n_iter = -np.inf, 0
    while n_iter < max_iter:
        n_iter += 1
        rotations = [nearest_rotation(shape) for shape in shapes]
        shapes = np.split(scaled @ np.vstack(rotations), ends)
        fits = [np.vdot(r, s) for r, s in zip(rotations, shapes, strict=True)]
        before, fit = fit, weights @ fits
        if fit - before <= tol * abs(fit):
            break
    else:
        warnings.warn(
            "ProcrustesMetaEmbedding: the mean did not converge in "
            f"max_iter={max_iter} iterations. Increase max_iter or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return _align_to_one_source(rotations, shapes), n_iter


def _initial_shape(products, weights, dims):
    """Return the products of the sources with their principal components.

    The principal components do not depend on the order of the sources.
    """
    roots = np.sqrt(np.repeat(weights, dims))
    _, components = np.linalg.eigh(products * roots * roots[:, None])
    largest_first = components[:, ::-1][:, : max(dims)]
    return (products * roots) @ largest_first


def _align_to_one_source(rotations, shapes):
    """Return the maps rotated so that the map of the largest source is the identity."""
    linked = [shape.any() for shape in shapes]
    n_components = rotations[0].shape[1]
    for rotation, is_linked in zip(rotations, linked, strict=True):
        if is_linked and len(rotation) == n_components:
            back = rotation.T
            break
    else:
        return rotations
    return [r @ back if ok else r for r, ok in zip(rotations, linked, strict=True)]


class ProcrustesMetaEmbedding(BaseMetaEmbedding):
    """Rotate the sources into one space, impute missing words, and average (MetaVec).

    Independently trained spaces have different axes, so an average of raw vectors loses
    information. Orthogonal maps, learned on shared words, align the axes and preserve
    all lengths and angles within a source. Words that a source does not know are
    imputed from their neighbors, so that words known to few and to many sources have
    comparable vectors.

    Parameters
    ----------
    impute_missing : bool, default=True
        Whether to impute a source's missing vector from neighbors of the word. If
        False, only the sources that know a word are averaged.
    n_neighbors : int, default=10
        Number of neighbors in each source that knows the word.
    weights : dict of str to float, sequence of float, or None, default=None
        Weight of each source in the mean, by name or in the order of the blocks. None,
        and sources missing in a dict, mean 1. A source of weight 0 is not averaged, but
        is used to impute vectors of other sources.
    max_iter : int, default=200
        Maximum number of iterations of the mean.
    tol : float, default=1e-7
        Relative improvement of the fit below which the iteration stops.

    Attributes
    ----------
    rotations_ : dict of str to ndarray of float32, shape (dim of the source, dim_)
        Map of each source, by name, with orthonormal rows.
    means_ : dict of str to ndarray of float32, shape (dim of the source,)
        Mean of each source's unit vectors, by name.
    n_shared_ : dict of str to int
        Number of rows of `fit` on which each source's rotation was learned: rows that
        another source also knows.
    n_iter_ : int
        Number of iterations.
    weights_ : ndarray of shape (n_sources,)
        The weights used.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by name.
    dim_ : int
        The largest dimension of the blocks.

    Raises
    ------
    ValueError
        If no weight is positive.

    Warns
    -----
    ConvergenceWarning
        If the mean does not converge in `max_iter` iterations.

    See Also
    --------
    AverageMetaEmbedding : Averages without rotation.
    SourceImputer : Imputes missing words for other meta-embeddings.

    Notes
    -----
    Let x_i(w) be the vectors of source i, scaled to unit length, centered and scaled
    again. With K(w) the sources that have a known or imputed vector of word w, the
    meta-embedding is::

        m(w) = sum_{i in K(w)} k_i x_i(w) R_i / sum_{i in K(w)} k_i

    where R_i minimizes ``sum_w |x_i(w) R_i - g(w)|^2`` over the shared words; g(w) is
    the same mean over the sources that know w (generalized Procrustes), which is found
    iteratively. MetaVec instead rotates all sources onto one of them. Shorter vectors
    are padded with zeros. The rotation of the mean is arbitrary, so the first source of
    the largest dimension keeps its axes. With fewer shared words than dimensions, R_i
    is not unique. A source that shares no word is only padded.

    To impute a missing vector of source i, each source j that knows the word finds the
    nearest neighbors among the words of `fit` that i and j share, and their vectors in
    i are averaged, weighted by cosine. The mean over all j is scaled to unit length.
    Words that were not seen in fit are imputed in the same way, so with
    `impute_missing` the fitted estimator stores the vectors of the words that at least
    two sources know: 4 bytes per number, 126 MB for 70,000 words and a total of 450
    dimensions.

    Words that no source knows, and vectors equal to the mean, become zeros.

    References
    ----------
    Garcia-Ferrero, Agerri and Rigau (2021). Benchmarking meta-embeddings: what works
    and what does not. Findings of EMNLP.

    Gower (1975). Generalized Procrustes analysis. Psychometrika 40.

    Examples
    --------
    The second source is a rotation of the first, so their average keeps all
    information:

    >>> import numpy as np
    >>> from sk_metaembed import Block, EmbeddedSequences, ProcrustesMetaEmbedding
    >>> from sk_metaembed import TokenSequences
    >>> x = np.random.default_rng(0).normal(size=(5, 2))
    >>> blocks = [Block("x", x, "type"), Block("y", x @ [[0, 1], [-1, 0]], "type")]
    >>> tokens = TokenSequences.from_lists([["a", "b", "c", "d", "e"]])
    >>> combine = ProcrustesMetaEmbedding()
    >>> vectors = combine.fit_transform(EmbeddedSequences(tokens, blocks))[0]
    >>> np.linalg.norm(vectors, axis=1).round(3)
    array([1., 1., 1., 1., 1.], dtype=float32)
    >>> combine.rotations_["y"].round(3) + 0.0
    array([[ 0., -1.],
           [ 1.,  0.]], dtype=float32)
    """

    _parameter_constraints: dict = {
        "impute_missing": ["boolean"],
        "n_neighbors": [COUNT],
        "weights": WEIGHTS_CONSTRAINT,
        "max_iter": [COUNT],
        "tol": [NONNEGATIVE],
    }

    def __init__(
        self,
        *,
        impute_missing: bool = True,
        n_neighbors: int = 10,
        weights: Weights = None,
        max_iter: int = 200,
        tol: float = 1e-7,
    ) -> None:
        self.impute_missing = impute_missing
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.max_iter = max_iter
        self.tol = tol

    def _fit_combination(self, blocks, y):
        names = [block.name for block in blocks]
        self.weights_ = source_weights(self.weights, names)
        rows = np.arange(blocks[0].n_rows)
        means = [known_mean(block, rows, normalize=True) for block in blocks]
        self.means_ = dict(zip(names, means, strict=True))
        vectors, known = self._center(blocks), known_matrix(blocks)
        is_shared, total = known.sum(axis=1) > 1, known @ self.weights_
        row_weights = np.zeros(len(known))
        np.divide(1.0, total, out=row_weights, where=is_shared & (total > 0))
        rotations, self.n_iter_ = rotations_to_mean(
            cross_products(vectors, row_weights),
            [block.dim for block in blocks],
            self.weights_,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        arrays = [rotation.astype(np.float32) for rotation in rotations]
        self.rotations_ = dict(zip(names, arrays, strict=True))
        counts = known[is_shared].sum(axis=0).tolist()
        self.n_shared_ = dict(zip(names, counts, strict=True))
        self._shared = None
        if self.impute_missing:
            informative = known & nonzero_matrix(vectors)
            self._shared = shared_rows(vectors, informative, self.n_neighbors)

    def _center(self, blocks):
        return [centered_rows(block, self.means_[block.name]) for block in blocks]

    def _combine(self, blocks):
        vectors, known = self._center(blocks), known_matrix(blocks)
        if self._shared is not None:
            self._fill(vectors, known)
        shares = normalized_weights(known.T, self.weights_)
        dim = max(self.dims_in_.values())
        combined = np.zeros((blocks[0].n_rows, dim), dtype=np.float32)
        for block, values, share in zip(blocks, vectors, shares, strict=True):
            rotated = row_product(values, self.rotations_[block.name])
            combined += rotated * share[:, None]
        return combined, known[:, self.weights_ > 0].any(axis=1)

    def _fill(self, vectors, known):
        """Impute missing vectors in place, and mark them as known."""
        missing, informative = ~known, known & nonzero_matrix(vectors)
        filled = neighbor_fill(vectors, missing, informative, self._shared)
        for i, (rows, values) in enumerate(filled):
            vectors[i][rows] = normalize_rows(values)
            known[rows, i] = True
