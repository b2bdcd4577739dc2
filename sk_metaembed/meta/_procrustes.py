"""ProcrustesMetaEmbedding: sources rotated into one space, filled up, and averaged.

Orthogonal maps that turn the spaces of several sources into one (Procrustes).

Arrays in, arrays out. Everything is learned from the sources' cross-products, summed
over the rows once: a step of the iteration does not read the rows again.
"""

import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral, Real

import numpy as np
from scipy.linalg import svd
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from .._core._arrays import chunks, normalize_rows, row_product
from ._average import known_shares
from ._base import BaseMetaEmbedding
from ._linear import (
    known_matrix,
    known_mean,
    nonzero_matrix,
    source_rows,
    source_weights,
)
from ._neighbors import neighbor_fill, shared_rows

# Shorter than this, what is left of a unit vector without the mean is rounding.
_NOTHING = 1e-5


def centred_rows(block, mean):
    """Return unit vectors without the mean, again of length one.

    Parameters
    ----------
    block : Block
    mean : ndarray of float32, shape (dim,)
        Of the source's unit vectors.

    Returns
    -------
    ndarray of float32, shape (n_rows, dim)
        Zeros where the source does not know the row, and where nothing but the mean
        is in it.
    """
    centred = np.empty((block.n_rows, block.dim), dtype=np.float32)
    for rows in chunks(block.n_rows):
        values = source_rows(block, rows, normalize=True) - mean
        values[~block.known[rows]] = 0
        values[np.abs(values).max(axis=1, initial=0) < _NOTHING] = 0
        centred[rows] = normalize_rows(values)
    return centred


def cross_products(vectors, row_weights):
    """Return ``sum_w k_w x_iw x_jw^T`` of all pairs of sources, in one matrix.

    Parameters
    ----------
    vectors : list of ndarray of float32, shape (n_rows, dim)
        Zeros where a source does not know the row.
    row_weights : ndarray of shape (n_rows,)
        A row of weight 0 is not read.

    Returns
    -------
    ndarray of float64, shape (sum of dims, sum of dims)
    """
    size = sum(values.shape[1] for values in vectors)
    products = np.zeros((size, size))
    used = np.flatnonzero(row_weights)
    for part in chunks(len(used)):
        rows = used[part]
        side = np.hstack([values[rows] for values in vectors], dtype=np.float64)
        products += side.T @ (side * row_weights[rows, None])
    return products


def nearest_rotation(matrix):
    """Return the matrix with orthonormal rows that is nearest to the given one.

    Parameters
    ----------
    matrix : ndarray of shape (dim, n_components)
        At least as wide as high: ``X^T Y`` gives the orthogonal Procrustes map of X
        onto Y, where X would be padded with zeros to the width of Y.

    Returns
    -------
    ndarray of float64, shape (dim, n_components)
        Zeros ask for nothing: they give the identity, padded.
    """
    if not matrix.any():
        return np.eye(*matrix.shape)
    left, _, right = svd(matrix, full_matrices=False)
    return left @ right


def rotations_onto(vectors, target):
    """Return the maps of all sources onto one, each learned on the rows both know.

    Parameters
    ----------
    vectors : list of ndarray of float32, shape (n_rows, dim)
        Zeros where a source does not know the row.
    target : int
        The source that stays as it is.

    Returns
    -------
    list of ndarray of float64, shape (dim, largest dim)
    """
    dims = [values.shape[1] for values in vectors]
    rotations = []
    for i, values in enumerate(vectors):
        product = np.zeros((dims[i], max(dims)))
        if i == target:
            rotations.append(np.eye(*product.shape))
            continue
        for rows in chunks(len(values)):
            part = values[rows].astype(np.float64)
            product[:, : dims[target]] += part.T @ vectors[target][rows]
        rotations.append(nearest_rotation(product))
    return rotations


def rotations_to_mean(products, dims, weights, *, max_iter, tol, caller):
    """Return the maps of all sources onto their mean shape (generalised Procrustes).

    Parameters
    ----------
    products : ndarray of float64, shape (sum of dims, sum of dims)
        As of `cross_products`, each row weighted by one over the summed weights of the
        sources that know it; rows that one source alone knows are to be left out.
    dims : sequence of int
        Of the sources.
    weights : ndarray of shape (n_sources,)
        Of the sources, in the mean shape.
    max_iter : int
    tol : float
        Stop where the fit grows by less than this share of itself.
    caller : str
        Begins the warning that it did not.

    Returns
    -------
    rotations : list of ndarray of float64, shape (dim, largest dim)
        The first source with the largest dim that shares a row keeps its axes.
    n_iter : int
    """
    # The mean shape is sum_j k_j x_j R_j; its product with x_i needs sums over rows
    # only through `products`.
    scaled = products * np.repeat(weights, dims)
    ends = np.cumsum(dims)[:-1]
    shapes = np.split(_first_shape(products, weights, dims), ends)
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
            f"{caller}: the mean shape still moves after max_iter={max_iter} "
            "iterations. Raise max_iter, or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return _on_the_axes_of_one(rotations, shapes), n_iter


def _first_shape(products, weights, dims):
    """Return the products of the sources with their principal components.

    No source is before the others in them, so that the order of sources plays no part.
    """
    roots = np.sqrt(np.repeat(weights, dims))
    _, components = np.linalg.eigh(products * roots * roots[:, None])
    largest_first = components[:, ::-1][:, : max(dims)]
    return (products * roots) @ largest_first


def _on_the_axes_of_one(rotations, shapes):
    """Return the maps turned so that the longest source's is the identity."""
    linked = [shape.any() for shape in shapes]
    n_components = rotations[0].shape[1]
    for rotation, is_linked in zip(rotations, linked, strict=True):
        if is_linked and len(rotation) == n_components:
            back = rotation.T
            break
    else:
        return rotations
    turned = [r @ back if ok else r for r, ok in zip(rotations, linked, strict=True)]
    return turned


class ProcrustesMetaEmbedding(BaseMetaEmbedding):
    """Rotate the sources into one space, fill up missing words, and average (MetaVec).

    Spaces that were trained apart have axes of their own, so that an average of raw
    vectors blurs them. Orthogonal maps, learned on the words that sources share, make
    the axes agree and leave every length and angle within a source as it is. Words
    that a source lacks get a vector from their neighbours, so that words of few
    sources and of many lie in the same space.

    Parameters
    ----------
    target : str, default=None
        Name of the source that the others are rotated onto. None rotates all onto
        their mean, which is improved in turn (generalised Procrustes): no source is
        before the others.
    impute_missing : bool, default=True
        Fill a source's missing vector from neighbours of the word. Otherwise a word is
        averaged over the sources that know it.
    n_neighbors : int, default=10
        Neighbours that a missing vector is made of, with each source that has it.
    weights : dict of str to float, sequence of float, or None, default=None
        Weight of each source in the mean, by name or in the order of the blocks. None,
        and names that a dict leaves out, mean 1. A source of weight 0 can be the
        target, and tells what others lack, but is not averaged.
    max_iter : int, default=200
        Most iterations of the mean; not used with a target.
    tol : float, default=1e-7
        The mean is ready where an iteration improves the fit by a smaller share.

    Attributes
    ----------
    rotations_ : dict of str to ndarray of float32, shape (dim of the source, dim_)
        By source, a map with orthonormal rows.
    means_ : dict of str to ndarray of float32, shape (dim of the source,)
        By source, the mean of its unit vectors.
    n_shared_ : dict of str to int
        By source, on how many rows of fit its rotation was learned: rows that the
        target knows too, or any other source if there is no target. The target's own
        number counts the rows that others know too.
    n_iter_ : int
        Iterations done, 0 with a target.
    weights_ : ndarray of shape (n_sources,)
        The weights used.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by its name.
    dim_ : int
        The largest of them.

    Raises
    ------
    ValueError
        If no source is named `target`, or none has a weight above 0.

    Warns
    -----
    ConvergenceWarning
        If the mean still moves after `max_iter` iterations.

    See Also
    --------
    AverageMetaEmbedding : Averages without rotating.
    SourceImputer : Fills missing words in front of any other meta-embedder.

    Notes
    -----
    Each source's vectors are scaled to length one, its mean is subtracted, and they
    are scaled again; call them x_i(w). A word's vector over the sources K(w) that know
    it or had it filled in is::

        m(w) = sum_{i in K(w)} k_i x_i(w) R_i / sum_{i in K(w)} k_i

    where R_i minimises ``sum_w |x_i(w) R_i - g(w)|^2`` over the shared words, g(w)
    being the target's vector or the same mean over the sources that know w. Shorter
    vectors count as padded with zeros. The mean's own rotation is free: the first
    source of the largest dimension keeps its axes. With fewer shared words than
    dimensions R_i is not determined in full; a source that shares none is padded only.

    A vector that source i lacks is the mean of the vectors in i of the word's nearest
    neighbours in j, weighted by their cosine, among the words of fit that both know,
    and then the mean over the sources j that know the word, scaled to length one. Words
    that fit did not see are filled in the same way. So with `impute_missing` the
    fitted estimator keeps the vectors of the words that two sources or more know:
    4 bytes a number, 126 MB for 70,000 words and 450 dimensions in all.

    A word that no source knows gets zeros, and so does a vector that equals the mean.

    References
    ----------
    Garcia-Ferrero, Agerri and Rigau (2021). Benchmarking meta-embeddings: what works
    and what does not. Findings of EMNLP.

    Gower (1975). Generalized Procrustes analysis. Psychometrika 40.

    Examples
    --------
    The second source is the first one, turned; its average with it loses nothing:

    >>> import numpy as np
    >>> from sk_metaembed import Block, EmbeddedSequences, ProcrustesMetaEmbedding
    >>> from sk_metaembed import TokenSequences
    >>> x = np.random.default_rng(0).normal(size=(5, 2))
    >>> blocks = [Block("x", x, "type"), Block("y", x @ [[0, 1], [-1, 0]], "type")]
    >>> tokens = TokenSequences.from_lists([["a", "b", "c", "d", "e"]])
    >>> combine = ProcrustesMetaEmbedding(target="x")
    >>> vectors = combine.fit_transform(EmbeddedSequences(tokens, blocks))[0]
    >>> np.linalg.norm(vectors, axis=1).round(3)
    array([1., 1., 1., 1., 1.], dtype=float32)
    >>> combine.rotations_["y"].round(3) + 0.0
    array([[ 0., -1.],
           [ 1.,  0.]], dtype=float32)
    """

    _parameter_constraints: dict = {
        "target": [str, None],
        "impute_missing": ["boolean"],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weights": [Mapping, Sequence, np.ndarray, None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        target=None,
        *,
        impute_missing=True,
        n_neighbors=10,
        weights=None,
        max_iter=200,
        tol=1e-7,
    ):
        self.target = target
        self.impute_missing = impute_missing
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.max_iter = max_iter
        self.tol = tol

    def _fit_combination(self, blocks, y):
        names = [block.name for block in blocks]
        self.weights_ = source_weights(self.weights, names, type(self).__name__)
        target = self._target_number(names)
        every = np.arange(blocks[0].n_rows)
        means = [known_mean(block, every, normalize=True) for block in blocks]
        self.means_ = dict(zip(names, means, strict=True))
        vectors, known = self._centred(blocks), known_matrix(blocks)
        if target is None:
            rotations, self.n_iter_ = self._rotations_to_mean(vectors, known)
        else:
            rotations, self.n_iter_ = rotations_onto(vectors, target), 0
        arrays = [rotation.astype(np.float32) for rotation in rotations]
        self.rotations_ = dict(zip(names, arrays, strict=True))
        shared = known & (known.sum(axis=1) > 1)[:, None]
        if target is not None:
            shared &= known[:, [target]]
        self.n_shared_ = dict(zip(names, shared.sum(axis=0).tolist(), strict=True))
        telling = known & nonzero_matrix(vectors)
        self._shared = shared_rows(vectors, telling) if self.impute_missing else None

    def _target_number(self, names):
        if self.target is None:
            return None
        if self.target not in names:
            raise ValueError(
                f"{type(self).__name__}: no source is named target={self.target!r}; "
                f"there are {names}. None takes their mean."
            )
        return names.index(self.target)

    def _rotations_to_mean(self, vectors, known):
        total = known @ self.weights_
        shared = (known.sum(axis=1) > 1) & (total > 0)
        row_weights = np.divide(1.0, total, out=np.zeros(len(known)), where=shared)
        return rotations_to_mean(
            cross_products(vectors, row_weights),
            [values.shape[1] for values in vectors],
            self.weights_,
            max_iter=self.max_iter,
            tol=self.tol,
            caller=type(self).__name__,
        )

    def _centred(self, blocks):
        return [centred_rows(block, self.means_[block.name]) for block in blocks]

    def _combine(self, blocks):
        vectors, known = self._centred(blocks), known_matrix(blocks)
        if self.impute_missing:
            self._fill(vectors, known)
        shares = known_shares(known.T, self.weights_)
        combined = np.zeros((blocks[0].n_rows, self._dim()), dtype=np.float32)
        for block, values, share in zip(blocks, vectors, shares, strict=True):
            rotated = row_product(values, self.rotations_[block.name])
            combined += rotated * share[:, None]
        return combined, known[:, self.weights_ > 0].any(axis=1)

    def _fill(self, vectors, known):
        """Put what the sources lack into their vectors, and mark it as known."""
        missing, telling = ~known, known & nonzero_matrix(vectors)
        filled = neighbor_fill(
            vectors, missing, telling, self._shared, self.n_neighbors
        )
        for i, (rows, values) in enumerate(filled):
            vectors[i][rows] = normalize_rows(values)
            known[rows, i] = True

    def _dim(self):
        return max(self.dims_in_.values())
