"""LocallyLinearMetaEmbedding: what reconstructs a word reconstructs its vector."""

import warnings
from hashlib import blake2b
from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import csr_array
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ._base import BaseMetaEmbedding
from ._linear import (
    common_scale,
    fixed_signs,
    known_matrix,
    nonzero_matrix,
    source_rows,
)
from ._locally_linear_math import (
    neighbors_of,
    own_neighbors,
    reconstruction_weights,
    smoothest_directions,
    weighted_rows,
)

_LEAST_SHARE = 0.01  # of an axis: what neighbours do not tell is small, but kept


class LocallyLinearMetaEmbedding(BaseMetaEmbedding):
    """Reconstruct words from their neighbours in every source, and embed that (LLE).

    No map of a whole source is learned, only which neighbours make up each word: one
    set of weights for all sources. Sources whose spaces differ as wholes but agree in
    their neighbourhoods go together this way. It is much slower to fit than
    `SVDMetaEmbedding`: compare them before choosing it.

    Parameters
    ----------
    n_components : int, default=200
        Dimension of the meta-embedding.
    n_neighbors : int, default=50
        Neighbours of a word in each source; fewer where a source knows fewer words.
        Few neighbours make meta-embeddings that differ between a handful of words only.
    regularization : float, default=0.03
        Times the trace of each word's matrix, added to its diagonal. Larger values make
        the weights of the neighbours more alike; few neighbours need larger ones. It is
        `reg` of `sklearn.manifold.LocallyLinearEmbedding`.
    whiten : bool, default=False
        Whether all axes have the same size, as published, rather than each the share of
        it that neighbours give back, which tells similar words better.
    normalize : bool, default=True
        Scale each source's vectors to length one first.
    tol : float, default=0.01
        Of the eigenvectors: largest residual over the largest eigenvalue kept.
    max_iter : int, default=30
        Most rounds of the search for eigenvectors.
    random_state : int, RandomState instance or None, default=None
        Of the vectors that this search starts from.
    n_jobs : int or None, default=None
        Threads of the sparse products; -1 means all processors. Neighbours and weights
        use the threads that OpenMP and the BLAS are allowed.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    embedding_ : ndarray of float32, shape (n_distinct_rows, n_components_)
        Vectors of the words of fit, each only once, in order. Zeros for words
        without neighbours.
    eigenvalues_ : ndarray of float64, shape (n_components_,)
        Rising: how far words are from the means of their neighbours along each axis,
        as a mean of squares.
    n_components_ : int
        At most the number of words less the number of parts.
    n_connected_components_ : int
        Parts into which the neighbourhoods fall, 1 if all is well.
    n_iter_ : int
        Rounds of the search; 1 for a small vocabulary, which is decomposed directly.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by its name.
    dim_ : int
        The same as `n_components_`.

    Raises
    ------
    ValueError
        If no two words of fit are neighbours.

    Warns
    -----
    UserWarning
        If the neighbourhoods fall into parts that have no word in common. Words of
        different parts cannot be compared then.
    ConvergenceWarning
        If `max_iter` is reached.

    See Also
    --------
    SVDMetaEmbedding : One linear map for all words; fits in seconds.
    sklearn.manifold.LocallyLinearEmbedding : Of one source, with whiten=True.

    Notes
    -----
    N(v) are the nearest neighbours of word v in any source, K(v) the sources that know
    it, and s_i(u) zero where source i does not know u. A source that knows none of
    the words of fit has no say. The weights minimise ::

        sum_{i in K(v)} |s_i(v) - sum_{u in N(v)} w_vu s_i(u)|^2,  sum_u w_vu = 1

    in closed form. The axes x_j are the eigenvectors of the smallest eigenvalues e_j of
    ``M = (I - W)' (I - W)`` that are not constant in a part, scaled to a mean square of
    one over the words, and times ``max(1 - sqrt(e_j), 0.01)`` without `whiten`: the
    size that ``W x_j`` has, if W is symmetric. A word that fit has not seen gets
    ``sum_u w_xu x_u`` from the words of fit, with weights found in the same way.

    The paper uses gradient steps for the weights, and lets only a source's own
    neighbours take part in its term. Here all neighbours do, so that the result does
    not depend on where a source's origin is; that also gave better similarities. The
    paper multiplies each weight by the number of sources in which u is a neighbour;
    rows then no longer sum to one and the constant vector, which it leaves out, is no
    eigenvector. That is not done here.

    A row is a word for which all sources give what they give for no other row: equal
    rows of fit count once, and at transform a row equal to one of fit gets that row's
    vector. A vector of zeros has no direction: with `normalize`, it is not known. Nor
    is a word without neighbours, because its sources know no other word.

    Fit keeps the sources' vectors of the words of fit, for those it has not seen:
    4 n (sum of dims + n_components) bytes. It needs about 13 times
    4 n (n_components + n_neighbors n_sources) bytes more while it runs.

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
        n_components=200,
        *,
        n_neighbors=50,
        regularization=0.03,
        whiten=False,
        normalize=True,
        tol=0.01,
        max_iter=30,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
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
            self._scale = common_scale(self._points(blocks)[0])
        sources, known = self._points(blocks)
        digests, rows = np.unique(row_digests(sources, known), return_index=True)
        kept = np.sort(rows)
        self._sources, self._known = [s[kept] for s in sources], known[kept]
        self._digests, self._rows = digests, np.searchsorted(kept, rows)
        neighbors = own_neighbors(
            self._sources, self._known, self.n_neighbors, verbose=self.verbose
        )
        self._placed = (neighbors >= 0).any(axis=1)
        self._check_placed([block.name for block in blocks])
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
        placed = self._placed
        self.eigenvalues_, axes, parts, self.n_iter_ = smoothest_directions(
            W[placed][:, placed],
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
                f"{caller}: the neighbourhoods fall into {len(sizes)} parts, the "
                f"largest of {sizes.max()} words of {len(parts)}. Vectors of different "
                "parts cannot be compared: raise n_neighbors, or give sources that "
                "share words.",
                stacklevel=2,
            )
        axes *= np.float32(np.sqrt(len(axes))) * fixed_signs(axes).astype(np.float32)
        shares = np.maximum(1 - np.sqrt(self.eigenvalues_), _LEAST_SHARE)
        self._shares = np.ones_like(shares) if self.whiten else shares
        self._shares = self._shares.astype(np.float32)
        self.embedding_ = np.zeros((len(placed), axes.shape[1]), dtype=np.float32)
        self.embedding_[placed] = axes * self._shares

    def _check_placed(self, names):
        if not self._placed.any():
            counts = dict(zip(names, self._known.sum(axis=0).tolist(), strict=True))
            raise ValueError(
                f"{type(self).__name__}: no word of fit has a neighbour. Of "
                f"{len(self._known)} words that differ, the sources know {counts}; one "
                "of them must know 2 or more. Fit on more words."
            )

    def _points(self, blocks):
        """Return the sources' vectors, and who says something about which row."""
        known = known_matrix(blocks)
        sources = [source_rows(block, normalize=self.normalize) for block in blocks]
        if self.normalize:
            known &= nonzero_matrix(sources)
        else:
            sources = [(values / self._scale).astype(np.float32) for values in sources]
        return sources, known

    def _combine(self, blocks):
        sources, known = self._points(blocks)
        values = np.zeros((len(known), self.n_components_), dtype=np.float32)
        seen = known.any(axis=1)
        places = self._places(sources, known)
        met = seen & (places >= 0)
        values[met] = self.embedding_[places[met]]
        seen[met] = self._placed[places[met]]
        new = np.flatnonzero(seen & (places < 0))
        if len(new):
            queries = [s[new] for s in sources]
            values[new], seen[new] = self._reconstructed(queries, known[new])
        return values, seen

    def _reconstructed(self, queries, known):
        """Return vectors of words that fit has not seen, and which have neighbours."""
        placed = self._known & self._placed[:, None]
        neighbors = neighbors_of(
            queries, known, self._sources, placed, self.n_neighbors
        )
        weights = reconstruction_weights(
            queries, known, self._sources, neighbors, self.regularization
        )
        values = weighted_rows(self.embedding_, neighbors, weights) / self._shares
        return values, (neighbors >= 0).any(axis=1)

    def _places(self, sources, known):
        """Return the row of fit to which each row is equal, -1 if to none."""
        digests = row_digests(sources, known)
        found = np.searchsorted(self._digests, digests)
        found = np.minimum(found, len(self._digests) - 1)
        return np.where(self._digests[found] == digests, self._rows[found], -1)


def row_digests(sources, known):
    """Return a digest of what all sources say about each row, bytes of shape (n,)."""
    rows = [np.ascontiguousarray(known).view(np.uint8)]
    # Adding zero makes -0.0, which is equal to 0.0, the same bytes.
    rows += [np.ascontiguousarray(values + np.float32(0)) for values in sources]
    digests = np.empty((len(known), 2), dtype=np.uint64)
    for i, parts in enumerate(zip(*rows, strict=True)):
        digest = blake2b(b"".join(part.tobytes() for part in parts), digest_size=16)
        digests[i] = np.frombuffer(digest.digest(), dtype=np.uint64)
    return digests.view("S16")[:, 0]


def weight_matrix(neighbors, weights):
    """Return the sparse (n, n) matrix of each row's weights, from padded arrays."""
    there = neighbors >= 0
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    shape = (len(neighbors), len(neighbors))
    return csr_array((weights[there], neighbors[there], starts), shape=shape)
