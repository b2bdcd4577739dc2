"""GCCAMetaEmbedding: map the sources into a space in which they agree."""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag, eigh

from .._core._arrays import chunks
from .._core._sklearn import COUNT, NONNEGATIVE
from ._base import BaseMetaEmbedding
from ._linear import (
    SourceMap,
    column_signs,
    known_matrix,
    known_mean,
    learning_rows,
    mapped_sum,
    source_rows,
)

_ROUNDING = (10 * np.finfo(np.float32).eps) ** 2  # smaller variances are rounding
_MIN_VARIANCE = 1e-70  # smaller variances cannot be scaled to one in float32
_MIN_AGREEMENT = 1e-10  # with smaller eigenvalues, sources cancel each other


class GCCAMetaEmbedding(BaseMetaEmbedding):
    """Map the sources into one space in which they agree most (GCCA).

    Directions shared by several sources are likely to carry meaning; directions of a
    single source may be noise. Each source is centered and mapped linearly, with the
    directions of largest agreement first, and the mapped vectors are averaged.

    Parameters
    ----------
    n_components : int, default=200
        Dimension of the common space.
    regularization : float, default=1.0
        Added to the variance of every direction of a source, in units of the mean
        variance of that source (tau in Poerner et al., who used 10 for sentences; for
        words, 1 scored best at similarity among 0, 0.01, 0.1, 1 and 10). 0 is the
        unregularized method, which gives directions of very small variance the same
        weight as leading ones and needs many more rows than dimensions.
    normalize : bool, default=True
        Whether to scale each source's vectors to unit length first.

    Attributes
    ----------
    eigenvalues_ : ndarray of float64, shape (n_components_,)
        Agreement of the sources on each dimension, in decreasing order, at most 1, and
        about the mean square of that dimension over the rows of fit. For two sources
        without regularization, canonical correlations are ``2 * eigenvalues_ - 1``.
    n_components_ : int
        Number of dimensions, at most the number of dimensions with nonzero variance. If
        no dimension varies, there is one dimension of zeros.
    n_learning_rows_ : int
        Number of rows on which the maps were learned, known to at least two sources, or
        to the only source.
    maps_ : dict of str to tuple (mean, matrix)
        Map of each source, by name, of shapes (dim,) and (dim, n_components_): a
        vector, minus the mean, times the matrix is the source's part of the average.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by name.
    dim_ : int
        Equal to `n_components_`.

    Raises
    ------
    ValueError
        If a source knows no word or shares no row with any other source, or if fewer
        than two rows are known to two sources.

    See Also
    --------
    SVDMetaEmbedding : Keeps the directions of largest variance, shared or not.

    Notes
    -----
    For n sources, with x_i(w) centered and 0 if source i does not know row w, and K(w)
    the number of sources that do, the maps A_i are the leading solutions of the
    symmetric eigenproblem, of the size of the sum of the dimensions ::

        sum_j S_ij A_j = (C_i + tau c_i I) A_i diag(eigenvalues)
        S_ij = sum_w x_i(w) x_j(w)' / K(w),    C_i = sum_w x_i(w) x_i(w)'

    with c_i the mean of the diagonal of C_i. The meta-embedding is the mean of ``A_i'
    x_i`` over the sources that know the row, so the scale does not depend on the number
    of sources. If all sources know all rows, the mean is proportional to the papers'
    sum. Words that were not seen in fit are mapped in the same way. This is MAXVAR with
    Rastogi's masks for missing rows. Dimensions are not scaled to equal size: those
    with less agreement stay smaller, as in Poerner et al.

    Rows that only one source knows are not used in fit, because any direction fits
    them. Without regularization the result does not depend on invertible linear maps of
    a source, unless rows are scaled by `normalize`. Directions without variance are
    ignored. A single source is rotated, and its variances are equalized, less so with
    more regularization.

    References
    ----------
    Rastogi, Van Durme and Arora (2015). Multiview LSA: representation learning via
    generalized CCA. NAACL.

    Poerner, Waltinger and Schuetze (2020). Sentence meta-embeddings for unsupervised
    semantic textual similarity. ACL.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block, EmbeddedSequences, GCCAMetaEmbedding
    >>> from sk_metaembed import TokenSequences
    >>> rng = np.random.default_rng(0)
    >>> common = rng.normal(size=(50, 2))
    >>> def view():
    ...     own = rng.normal(size=(50, 2))
    ...     return np.hstack([common, own]) @ rng.normal(size=(4, 4))
    >>> tokens = TokenSequences.from_lists([[str(i) for i in range(50)]])
    >>> X = EmbeddedSequences(tokens, [Block(n, view(), "type") for n in "xyz"])
    >>> gcca = GCCAMetaEmbedding(3, regularization=0, normalize=False)
    >>> gcca.fit_transform(X)[0].shape
    (50, 3)
    >>> gcca.eigenvalues_.round(2)
    array([1.  , 1.  , 0.45])
    """

    _parameter_constraints: dict = {
        "n_components": [COUNT],
        "regularization": [NONNEGATIVE],
        "normalize": ["boolean"],
    }

    def __init__(
        self,
        n_components: int = 200,
        *,
        regularization: float = 1.0,
        normalize: bool = True,
    ) -> None:
        self.n_components = n_components
        self.regularization = regularization
        self.normalize = normalize

    def _fit_combination(self, blocks, y):
        names = [block.name for block in blocks]
        known = known_matrix(blocks)
        rows = learning_rows(names, known, n_knowing=2)
        self.n_learning_rows_ = len(rows)
        means = [known_mean(block, rows, normalize=self.normalize) for block in blocks]
        shared, own = covariances(blocks, rows, means, normalize=self.normalize)
        values, directions = common_directions(shared, own, self.regularization)
        self.eigenvalues_ = values[: self.n_components]
        directions = directions[:, : self.n_components]
        self.n_components_ = directions.shape[1]
        directions = (directions * column_signs(directions)).astype(np.float32)
        ends = np.cumsum([block.dim for block in blocks])[:-1]
        maps = map(SourceMap, means, np.split(directions, ends))
        self.maps_ = dict(zip(names, maps, strict=True))
        self._fitted_normalize = self.normalize

    def _combine(self, blocks):
        total = mapped_sum(blocks, self.maps_, normalize=self._fitted_normalize)
        n_known = known_matrix(blocks).sum(axis=1)
        return total / np.maximum(n_known, 1)[:, None].astype(np.float32)


def covariances(blocks, rows, means, *, normalize):
    """Return the covariances of the sources over some rows, jointly and per source.

    The joint covariances are (sum of dims, sum of dims), with each row weighted by one
    over the number of sources that know the row. The covariances per source are a list
    of (dim, dim). `means` are subtracted, and sums divided by the number of known
    vectors.
    """
    dims = [block.dim for block in blocks]
    n_known = known_matrix(blocks)[rows].sum(axis=1)
    shared = np.zeros((sum(dims), sum(dims)))
    own = [np.zeros((dim, dim)) for dim in dims]
    for part in chunks(len(rows)):
        part_rows = rows[part]
        centered = []
        for block, mean in zip(blocks, means, strict=True):
            values = source_rows(block, part_rows, normalize=normalize)
            values = values - mean.astype(float)
            centered.append(values * block.known[part_rows, None])
        for total, values in zip(own, centered, strict=True):
            total += values.T @ values
        joined = np.concatenate(centered, axis=1)
        joined /= np.sqrt(n_known[part])[:, None]
        shared += joined.T @ joined
    n_vectors = max(n_known.sum(), 1)
    return shared / n_vectors, [total / n_vectors for total in own]


def common_directions(shared, own, regularization):
    """Return the eigenvalues and maps of the covariances, best agreement first.

    The eigenvalues, (n_directions,), are in decreasing order and at most 1. The
    sources' maps are stacked, (sum of dims, n_directions). If nothing varies, there is
    one direction of zeros. `regularization` is in units of each source's mean variance.
    """
    whitening = block_diag(*(_whitening(square, regularization) for square in own))
    if not whitening.shape[1]:
        return np.zeros(1), np.zeros((len(shared), 1))
    values, directions = eigh(whitening.T @ shared @ whitening)
    values, directions = values[::-1], directions[:, ::-1]
    selected = values > _MIN_AGREEMENT * values[0]
    return np.minimum(values[selected], 1.0), whitening @ directions[:, selected]


def _whitening(square, regularization):
    """Return the map to uncorrelated directions of regularized variance one."""
    variances, directions = eigh(square)
    selected = variances > max(_ROUNDING * variances[-1], _MIN_VARIANCE)
    ridge = regularization * np.trace(square) / len(square)
    return directions[:, selected] / np.sqrt(variances[selected] + ridge)
