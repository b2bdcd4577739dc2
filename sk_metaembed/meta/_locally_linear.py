"""LocallyLinearMetaEmbedding: locally linear meta-embedding (LLE)."""

from __future__ import annotations

import warnings
from hashlib import blake2b
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import csr_array
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ._base import BaseMetaEmbedding
from ._linear import (
    column_signs,
    common_scale,
    known_matrix,
    nonzero_matrix,
    source_rows,
)
from ._locally_linear_math import (
    query_neighbors,
    reconstruction_weights,
    row_neighbors,
    smallest_eigenpairs,
    weighted_rows,
)

if TYPE_CHECKING:
    from .._core._typing import RandomState

_MIN_SHARE = 0.01  # of an axis: axes that neighbors do not preserve are small, but kept


class LocallyLinearMetaEmbedding(BaseMetaEmbedding):
    """Preserve how neighbors in all sources reconstruct each word (LLE).

    No map of a whole source is learned, only one set of weights per word that
    reconstructs it from its neighbors in all sources. This combines sources whose
    spaces differ globally but agree locally. It is much slower to fit than
    `SVDMetaEmbedding`: compare both before choosing it.

    Parameters
    ----------
    n_components : int, default=200
        Dimension of the meta-embedding.
    n_neighbors : int, default=50
        Number of neighbors of a word in each source; fewer if a source knows fewer
        words. With few neighbors, meta-embeddings only differ between a handful of
        words.
    regularization : float, default=0.03
        Added to the diagonal of each word's Gram matrix, times its trace. Larger values
        make the weights of neighbors more alike; few neighbors need larger values.
        Equal to `reg` of `sklearn.manifold.LocallyLinearEmbedding`.
    whiten : bool, default=False
        Whether all axes have the same size, as published, instead of the share of it
        that neighbors preserve, which separates similar words better.
    normalize : bool, default=True
        Whether to scale each source's vectors to unit length first.
    tol : float, default=0.01
        Largest residual of an eigenvector, relative to the largest eigenvalue kept.
    max_iter : int, default=30
        Maximum number of iterations of the eigensolver.
    random_state : int, RandomState instance or None, default=None
        Controls the initial vectors of the eigensolver.
    n_jobs : int or None, default=None
        Number of threads for sparse products; -1 uses all processors. Neighbors and
        weights use the threads of OpenMP and the BLAS.
    verbose : int, default=0
        If positive, show progress bars.

    Attributes
    ----------
    embedding_ : ndarray of float32, shape (n_distinct_rows, n_components_)
        Vectors of the distinct words of fit, in order. Zeros for words without
        neighbors.
    eigenvalues_ : ndarray of float64, shape (n_components_,)
        In increasing order: mean squared distance of words from their reconstruction
        along each axis.
    n_components_ : int
        At most the number of words minus the number of connected components.
    n_connected_components_ : int
        Number of connected components of the neighborhood graph, ideally 1.
    n_iter_ : int
        Number of iterations of the eigensolver; 1 for a small vocabulary, which is
        decomposed directly.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by name.
    dim_ : int
        Equal to `n_components_`.

    Raises
    ------
    ValueError
        If no two words of fit are neighbors.

    Warns
    -----
    UserWarning
        If the neighborhood graph has several connected components. Words of different
        components cannot be compared.
    ConvergenceWarning
        If `max_iter` is reached.

    See Also
    --------
    SVDMetaEmbedding : One linear map for all words; fits in seconds.
    sklearn.manifold.LocallyLinearEmbedding : For one source, equivalent to whiten=True.

    Notes
    -----
    N(v) are the nearest neighbors of word v in any source, K(v) the sources that know
    it, and s_i(u) is zero if source i does not know u. A source that knows none of the
    words of fit is ignored. The weights minimize ::

        sum_{i in K(v)} |s_i(v) - sum_{u in N(v)} w_vu s_i(u)|^2,  sum_u w_vu = 1

    in closed form. The axes x_j are the eigenvectors of the smallest eigenvalues e_j of
    ``M = (I - W)' (I - W)`` that are not constant in a connected component, scaled to a
    mean square of one over the words, and times ``max(1 - sqrt(e_j), 0.01)`` without
    `whiten`: the size of ``W x_j`` for a symmetric W. A word that was not seen in fit
    gets ``sum_u w_xu x_u`` over the words of fit, with weights found in the same way.

    The paper uses gradient descent for the weights, and restricts the term of a source
    to its own neighbors. Here all neighbors take part, so that the result does not
    depend on the origin of a source; this also gave better similarities. The paper
    multiplies each weight by the number of sources in which u is a neighbor; rows then
    no longer sum to one, and the constant vector, which it drops, is not an
    eigenvector. This is not done here.

    Rows of fit that are equal in all sources count once, and a row that is equal to one
    of fit gets the vector of that row in `transform`. A vector of zeros has no
    direction: with `normalize`, it is unknown. So is a word without neighbors, if its
    sources know no other word.

    Fit stores the sources' vectors of the words of fit, for words that were not seen:
    4 n (sum of dims + n_components) bytes. While it runs, it needs about 13 times
    4 n (n_components + n_neighbors n_sources) bytes more.

    References
    ----------
    Bollegala, Hayashi and Kawarabayashi (2018). Think globally, embed locally: locally
    linear meta-embedding of words. IJCAI.

    Roweis and Saul (2000). Nonlinear dimensionality reduction by locally linear
    embedding. Science 290.

    Zhou, Saad, Tiago and Chelikowsky (2006). Self-consistent-field calculations using
    Chebyshev-filtered subspace iteration. Journal of Computational Physics 219.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block, EmbeddedSequences, TokenSequences
    >>> from sk_metaembed import LocallyLinearMetaEmbedding
    >>> rng = np.random.default_rng(0)
    >>> tokens = TokenSequences.from_lists([[f"w{i}" for i in range(50)]])
    >>> meaning = rng.normal(size=(50, 3))
    >>> blocks = [
    ...     Block(name, meaning @ rng.normal(size=(3, 8)), "type") for name in "xy"
    ... ]
    >>> lle = LocallyLinearMetaEmbedding(3, n_neighbors=10)
    >>> lle.fit_transform(EmbeddedSequences(tokens, blocks)).blocks[0].values.shape
    (50, 3)
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "regularization": [Interval(Real, 1e-6, None, closed="left")],
        "whiten": ["boolean"],
        "normalize": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components: int = 200,
        *,
        n_neighbors: int = 50,
        regularization: float = 0.03,
        whiten: bool = False,
        normalize: bool = True,
        tol: float = 0.01,
        max_iter: int = 30,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.regularization = regularization
        self.whiten = whiten
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit_combination(self, blocks, y):
        self._scale = 1.0
        if not self.normalize:
            self._scale = common_scale(self._vectors_and_known(blocks)[0])
        sources, known = self._vectors_and_known(blocks)
        digests, rows = np.unique(row_digests(sources, known), return_index=True)
        selected = np.sort(rows)
        self._sources, self._known = [s[selected] for s in sources], known[selected]
        self._digests, self._rows = digests, np.searchsorted(selected, rows)
        neighbors = row_neighbors(
            self._sources, self._known, self.n_neighbors, verbose=self.verbose
        )
        self._has_neighbors = (neighbors >= 0).any(axis=1)
        self._check_neighbors([block.name for block in blocks])
        weights = reconstruction_weights(
            self._sources,
            self._known,
            self._sources,
            neighbors,
            self.regularization,
            verbose=self.verbose,
        )
        self._embed(weight_matrix(neighbors, weights))

    def _embed(self, W):
        caller = type(self).__name__
        connected = self._has_neighbors
        self.eigenvalues_, axes, parts, self.n_iter_ = smallest_eigenpairs(
            W[connected][:, connected],
            self.n_components,
            tol=self.tol,
            max_iter=self.max_iter,
            rng=check_random_state(self.random_state),
            n_jobs=effective_n_jobs(self.n_jobs),
            verbose=self.verbose,
            caller=caller,
        )
        self.n_components_ = len(self.eigenvalues_)
        sizes = np.bincount(parts)
        self.n_connected_components_ = len(sizes)
        if len(sizes) > 1:
            warnings.warn(
                f"{caller}: the neighborhood graph has {len(sizes)} connected "
                f"components; the largest has {sizes.max()} of {len(parts)} words. "
                "Vectors of different components cannot be compared: increase "
                "n_neighbors, or use sources that share words.",
                stacklevel=2,
            )
        axes *= np.float32(np.sqrt(len(axes))) * column_signs(axes).astype(np.float32)
        shares = np.maximum(1 - np.sqrt(self.eigenvalues_), _MIN_SHARE)
        self._shares = np.ones_like(shares) if self.whiten else shares
        self._shares = self._shares.astype(np.float32)
        self.embedding_ = np.zeros((len(connected), axes.shape[1]), dtype=np.float32)
        self.embedding_[connected] = axes * self._shares

    def _check_neighbors(self, names):
        if not self._has_neighbors.any():
            counts = dict(zip(names, self._known.sum(axis=0).tolist(), strict=True))
            raise ValueError(
                f"{type(self).__name__}: no word of fit has a neighbor: a source must "
                f"know at least 2 different words. Of {len(self._known)} different "
                f"words the sources know {counts}. Fit on more words."
            )

    def _vectors_and_known(self, blocks):
        """Return the sources' vectors, and which source knows which row."""
        known = known_matrix(blocks)
        sources = [source_rows(block, normalize=self.normalize) for block in blocks]
        if self.normalize:
            known &= nonzero_matrix(sources)
        else:
            sources = [(values / self._scale).astype(np.float32) for values in sources]
        return sources, known

    def _combine(self, blocks):
        sources, known = self._vectors_and_known(blocks)
        values = np.zeros((len(known), self.n_components_), dtype=np.float32)
        is_known = known.any(axis=1)
        fitted = self._find_fitted_rows(sources, known)
        seen = is_known & (fitted >= 0)
        values[seen] = self.embedding_[fitted[seen]]
        is_known[seen] = self._has_neighbors[fitted[seen]]
        new = np.flatnonzero(is_known & (fitted < 0))
        if len(new):
            queries = [s[new] for s in sources]
            values[new], is_known[new] = self._reconstruct(queries, known[new])
        return values, is_known

    def _reconstruct(self, queries, known):
        """Return the vectors of words not seen in fit, and which have neighbors."""
        connected = self._known & self._has_neighbors[:, None]
        neighbors = query_neighbors(
            queries, known, self._sources, connected, self.n_neighbors
        )
        weights = reconstruction_weights(
            queries, known, self._sources, neighbors, self.regularization
        )
        values = weighted_rows(self.embedding_, neighbors, weights) / self._shares
        return values, (neighbors >= 0).any(axis=1)

    def _find_fitted_rows(self, sources, known):
        """Return the index of the equal row of fit for each row, -1 without one."""
        digests = row_digests(sources, known)
        index = np.searchsorted(self._digests, digests)
        index = np.minimum(index, len(self._digests) - 1)
        return np.where(self._digests[index] == digests, self._rows[index], -1)


def row_digests(sources, known):
    """Return a digest of each row over all sources, bytes of shape (n_rows,)."""
    rows = [np.ascontiguousarray(known).view(np.uint8)]
    # Adding zero turns -0.0 into 0.0, so that equal values have equal bytes.
    rows += [np.ascontiguousarray(values + np.float32(0)) for values in sources]
    digests = np.empty((len(known), 2), dtype=np.uint64)
    for i, parts in enumerate(zip(*rows, strict=True)):
        digest = blake2b(b"".join(part.tobytes() for part in parts), digest_size=16)
        digests[i] = np.frombuffer(digest.digest(), dtype=np.uint64)
    return digests.view("S16")[:, 0]


def weight_matrix(neighbors, weights):
    """Return the sparse (n, n) matrix of weights, from padded arrays."""
    valid = neighbors >= 0
    starts = np.concatenate([[0], np.cumsum(valid.sum(axis=1))])
    shape = (len(neighbors), len(neighbors))
    return csr_array((weights[valid], neighbors[valid], starts), shape=shape)
