"""GCCAMetaEmbedding: the space in which the sources agree."""

from numbers import Integral, Real

import numpy as np
from scipy.linalg import block_diag, eigh
from sklearn.utils._param_validation import Interval

from .._core._arrays import chunks
from ._base import BaseMetaEmbedding
from ._linear import (
    SourceMap,
    fixed_signs,
    known_matrix,
    known_mean,
    learning_rows,
    mapped_sum,
    source_rows,
)

_ROUNDING = (10 * np.finfo(np.float32).eps) ** 2  # of a variance, left by float32
_SMALLEST = 1e-70  # variance that float32 can be scaled from
_CANCELLED = 1e-10  # eigenvalue below which sources only cancel each other


class GCCAMetaEmbedding(BaseMetaEmbedding):
    """Map the sources into one space in which they agree most (GCCA).

    What several sources say of a word alike is likely to be its meaning, what one says
    alone may be noise. Each source is centred and mapped linearly, directions on which
    the sources agree first, and the mapped vectors are averaged.

    Parameters
    ----------
    n_components : int, default=200
        Dimension of the common space.
    regularization : float, default=1.0
        What is added to the variance of every direction of a source, in units of that
        source's mean variance (tau in Poerner et al., who took 10 for sentences; for
        words, 1 did best of 0, 0.01, 0.1, 1 and 10 at similarity). 0 is the pure
        method, in which a direction of hardly any variance counts as much as a leading
        one: it needs many more rows than dimensions.
    normalize : bool, default=True
        Scale each source's vectors to length one first.

    Attributes
    ----------
    eigenvalues_ : ndarray of float64, shape (n_components_,)
        How far the sources agree on each dimension, descending, at most 1, and about
        the mean square of that dimension over the rows of fit. For two sources without
        regularization, canonical correlations are ``2 * eigenvalues_ - 1``.
    n_components_ : int
        Dimensions kept: at most as many as hold any variance; 1, of zeros, where
        nothing varies.
    n_learning_rows_ : int
        Rows known to two sources or more (or to the only one), from which all this was
        learned.
    maps_ : dict of str to tuple (mean, matrix)
        Of each source, by its name, of shapes (dim,) and (dim, n_components_): a
        vector, less the mean, times the matrix is the source's part of the average.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by its name.
    dim_ : int
        The same as `n_components_`.

    Raises
    ------
    ValueError
        If a source knows nothing, or shares no row with any other, or fewer than two
        rows are known to two sources.

    See Also
    --------
    SVDMetaEmbedding : The directions of most variance, agreed on or not.

    Notes
    -----
    For n sources, x_i(w) centred and 0 where source i does not know row w, and K(w)
    the number of sources that do, the maps A_i are the leading solutions of the
    symmetric eigenproblem, as large as the sum of the dimensions ::

        sum_j S_ij A_j = (C_i + tau c_i I) A_i diag(eigenvalues)
        S_ij = sum_w x_i(w) x_j(w)' / K(w),    C_i = sum_w x_i(w) x_i(w)'

    with c_i the mean of C_i's diagonal. The meta-embedding is the mean of ``A_i' x_i``
    over the sources that know the row, so that it has one scale, whoever knows the row
    (the papers' sum is the same if all do), and words that fit has not seen are mapped
    like the others. This is MAXVAR with Rastogi's masks for missing rows. Dimensions
    are not scaled to equal size: those that the sources agree on less stay smaller, as
    in Poerner et al.

    Rows that one source alone knows are not learned from: any direction fits them.
    Without regularization the result does not depend on invertible linear maps of a
    source, unless rows are scaled by `normalize`. A direction without variance takes
    no part. One source alone is rotated, and evened out the more the less it is
    regularized.

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
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "regularization": [Interval(Real, 0, None, closed="left")],
        "normalize": ["boolean"],
    }

    def __init__(self, n_components=200, *, regularization=1.0, normalize=True):
        self.n_components = n_components
        self.regularization = regularization
        self.normalize = normalize

    def _fit_combination(self, blocks, y):
        names = [block.name for block in blocks]
        known = known_matrix(blocks)
        rows = learning_rows(names, known, n_knowing=2, caller=type(self).__name__)
        self.n_learning_rows_ = len(rows)
        means = [known_mean(block, rows, normalize=self.normalize) for block in blocks]
        shared, own = covariances(blocks, rows, means, normalize=self.normalize)
        values, directions = common_directions(shared, own, self.regularization)
        self.eigenvalues_ = values[: self.n_components]
        directions = directions[:, : self.n_components]
        self.n_components_ = directions.shape[1]
        directions = (directions * fixed_signs(directions)).astype(np.float32)
        ends = np.cumsum([block.dim for block in blocks])[:-1]
        maps = map(SourceMap, means, np.split(directions, ends))
        self.maps_ = dict(zip(names, maps, strict=True))

    def _combine(self, blocks):
        total = mapped_sum(blocks, self.maps_, normalize=self.normalize)
        n_known = known_matrix(blocks).sum(axis=1)
        return total / np.maximum(n_known, 1)[:, None].astype(np.float32)


def covariances(blocks, rows, means, *, normalize):
    """Return how the sources vary together, and each by itself.

    Parameters
    ----------
    blocks : sequence of Block
        With the same rows.
    rows : ndarray of int
        Of those, the ones to learn from.
    means : sequence of ndarray of shape (dim,)
        One a block, subtracted first.
    normalize : bool
        Whether to scale each vector to length one before.

    Returns
    -------
    shared : ndarray of float64, shape (sum of dims, sum of dims)
        A row counts by one over the number of sources that know it.
    own : list of ndarray of float64, shape (dim, dim)
        One a block. Like `shared` a sum, over the number of known vectors.
    """
    dims = [block.dim for block in blocks]
    n_known = known_matrix(blocks)[rows].sum(axis=1)
    shared = np.zeros((sum(dims), sum(dims)))
    own = [np.zeros((dim, dim)) for dim in dims]
    for part in chunks(len(rows)):
        taken = rows[part]
        parts = []
        for block, mean in zip(blocks, means, strict=True):
            values = source_rows(block, taken, normalize=normalize) - mean.astype(float)
            parts.append(values * block.known[taken, None])
        for total, values in zip(own, parts, strict=True):
            total += values.T @ values
        every = np.concatenate(parts, axis=1)
        every /= np.sqrt(n_known[part])[:, None]
        shared += every.T @ every
    n_vectors = max(n_known.sum(), 1)
    return shared / n_vectors, [total / n_vectors for total in own]


def common_directions(shared, own, regularization):
    """Return the directions in which the sources agree, best first.

    Parameters
    ----------
    shared, own
        As from `covariances`.
    regularization : float
        In units of each source's mean variance.

    Returns
    -------
    eigenvalues : ndarray of float64, shape (n_directions,)
        Descending, at most 1.
    directions : ndarray of float64, shape (sum of dims, n_directions)
        The sources' maps, one below the other. One direction of zeros where nothing
        varies.
    """
    whitening = block_diag(*(_whitening(square, regularization) for square in own))
    if not whitening.shape[1]:
        return np.zeros(1), np.zeros((len(shared), 1))
    values, directions = eigh(whitening.T @ shared @ whitening)
    values, directions = values[::-1], directions[:, ::-1]
    kept = values > _CANCELLED * values[0]
    return np.minimum(values[kept], 1.0), whitening @ directions[:, kept]


def _whitening(square, regularization):
    """Return the map to uncorrelated directions of regularised variance one."""
    variances, directions = eigh(square)
    kept = variances > max(_ROUNDING * variances[-1], _SMALLEST)
    ridge = regularization * np.trace(square) / len(square)
    return directions[:, kept] / np.sqrt(variances[kept] + ridge)
