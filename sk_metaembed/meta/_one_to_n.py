"""OneToNMetaEmbedding: learn vectors that reconstruct each source linearly (1TON)."""

from __future__ import annotations

import numpy as np

from .._core._arrays import row_product
from .._core._sklearn import COUNT, NONNEGATIVE
from ._base import BaseMetaEmbedding
from ._linear import (
    WEIGHTS_CONSTRAINT,
    Weights,
    common_scale,
    known_matrix,
    learning_rows,
    positive_weight_blocks,
    source_rows,
    source_weights,
)
from ._one_to_n_math import (
    Decoders,
    alternate,
    encoder,
    pattern_moments,
    start_decoders,
    to_principal_axes,
)


class OneToNMetaEmbedding(BaseMetaEmbedding):
    """Learn meta vectors from which linear maps reconstruct every source (1TON, 1TON+).

    Sources need no common dimension and can be weighted by their reliability, and words
    that some sources lack are embedded without imputation.

    Parameters
    ----------
    n_components : int, default=200
        Dimension of the meta-embedding, limited to the rank of the concatenated
        sources.
    impute_missing : bool, default=False
        False learns from the words that all sources know (1TON). True learns from all
        words that any source knows, with the missing vectors as unknowns of the same
        problem (1TON+).
    weights : dict of str to float, sequence of float, or None, default=None
        Weight of each source's error, by name or in the order of the blocks. None, and
        sources missing in a dict, mean 1. A source of weight 0 is ignored.
    alpha : float, default=5e-4
        Penalty of the squared entries of the maps and of the meta vectors.
    max_iter : int, default=50
        Maximum number of iterations.
    tol : float, default=1e-3
        Training stops when each of three consecutive iterations reduces the loss by
        less than this share.
    normalize : bool, default=True
        Whether to scale each source's vectors to unit length first.

    Attributes
    ----------
    weights_ : ndarray of shape (n_sources,)
        The weights used.
    n_components_ : int
        Dimension of the meta-embedding.
    coefs_ : dict of str to ndarray of shape (n_components_, dim)
        Map from meta vectors to each source's vectors, by name.
    intercepts_ : dict of str to ndarray of shape (dim,)
        Intercept of the map, so that a source's vectors are about
        ``meta @ coefs_[name] + intercepts_[name]``.
    penalty_ : float
        Penalty of a squared meta vector: `alpha` in the units of the sources.
    loss_curve_ : list of float
        Loss per iteration.
    n_iter_ : int
        Number of iterations.
    n_learning_rows_ : int
        Number of rows used in fit: rows known to every source, or with `impute_missing`
        to any source.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by name.
    dim_ : int
        Equal to `n_components_`.

    Raises
    ------
    ValueError
        If a source knows no word of `fit` or shares no word with the others, or if
        fewer than two different words are left to learn from.

    See Also
    --------
    AutoencodedMetaEmbedding : Learns encoders instead of free vectors.
    ConcatMetaEmbedding : Keeps the whole vector of every source.

    Notes
    -----
    With s_i(w) the vector of word w in source i, K(w) the sources that know it, n words
    and a = `alpha`, maps W_i and free vectors m_w minimize::

        1/n sum_w sum_{i in K(w)} k_i |m_w W_i + b_i - s_i(w)|^2
            + a sum_i |W_i|^2 + a/n sum_w |m_w|^2

    The last term is not in the paper. Without it there is no minimum: maps could shrink
    without bound while vectors grow. Vectors and maps are solved for in turn, each
    exactly, from second moments (alternating least squares), not by gradient descent as
    in the paper, which is much slower and stops before the optimum.

    In 1TON+ the missing vectors of a source are unknowns too. For any m_w, their
    optimum is ``m_w W_i + b_i``, where their term is 0. Omitting the term, as done
    here, therefore has the same optimum.

    The vector m of any word, seen in `fit` or not, minimizes the word's terms of the
    sum, in closed form; at the optimum, the free vectors are the same. A word that no
    source knows has a zero vector and is not known.

    The loss is invariant to rotations of the meta space. The result is rotated to
    principal axes. If all sources know all words and have equal weights, the optimum is
    ``U (S - a)^(1/2)`` of the principal components U S of the concatenation, over
    n^(1/2): halfway between U and U S.

    Vectors are divided by their root mean square length before training, so that
    `alpha` means the same without `normalize`.

    References
    ----------
    Yin and Schuetze (2016). Learning word meta-embeddings. ACL.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block, OneToNMetaEmbedding
    >>> from sk_metaembed import EmbeddedSequences, TokenSequences
    >>> rng = np.random.default_rng(0)
    >>> words = [f"word{i}" for i in range(50)]
    >>> x = Block("x", rng.normal(size=(50, 5)), "type")
    >>> y = Block("y", x.values @ rng.normal(size=(5, 3)), "type")
    >>> X = EmbeddedSequences(TokenSequences.from_lists([words]), [x, y])
    >>> meta = OneToNMetaEmbedding(4).fit(X)
    >>> meta.transform(X)
    EmbeddedSequences(1 sequences, 50 tokens, 50 types; oneton: type 4d)
    >>> meta.coefs_["y"].shape
    (4, 3)
    """

    _parameter_constraints: dict = {
        "n_components": [COUNT],
        "impute_missing": ["boolean"],
        "weights": WEIGHTS_CONSTRAINT,
        "alpha": [NONNEGATIVE],
        "max_iter": [COUNT],
        "tol": [NONNEGATIVE],
        "normalize": ["boolean"],
    }

    def __init__(
        self,
        n_components: int = 200,
        *,
        impute_missing: bool = False,
        weights: Weights = None,
        alpha: float = 5e-4,
        max_iter: int = 50,
        tol: float = 1e-3,
        normalize: bool = True,
    ) -> None:
        self.n_components = n_components
        self.impute_missing = impute_missing
        self.weights = weights
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.normalize = normalize

    def _fit_combination(self, blocks, y):
        names = [block.name for block in blocks]
        self.weights_ = source_weights(self.weights, names)
        blocks, weights = positive_weight_blocks(blocks, self.weights_)
        known = known_matrix(blocks)
        names = [block.name for block in blocks]
        n_knowing = 1 if self.impute_missing else len(names)
        rows = learning_rows(names, known, n_knowing=n_knowing)
        sources, means, scale = self._center(blocks, rows)
        decoders, self.loss_curve_ = self._solve(sources, known[rows], weights)
        self.n_learning_rows_, self.n_iter_ = len(rows), len(self.loss_curve_)
        self.n_components_ = len(decoders.matrices[0])
        self.penalty_ = self.alpha * scale**2
        scaled = [scale * matrix for matrix in decoders.matrices]
        shifted = zip(decoders.intercepts, means, strict=True)
        shifted = [scale * intercept + mean for intercept, mean in shifted]
        self.intercepts_ = dict(zip(names, _float32(shifted), strict=True))
        self.coefs_ = dict(zip(names, _float32(scaled), strict=True))
        self._fitted_normalize = self.normalize
        self._encoders = {}  # by the tuple of known sources, computed when first needed

    def __getstate__(self):
        state = dict(super().__getstate__())
        if "_encoders" in state:
            state["_encoders"] = {}
        return state

    def _center(self, blocks, rows):
        """Return centered vectors over their common scale, the means, and the scale."""
        sources, means = [], []
        for block in blocks:
            values = source_rows(block, rows, normalize=self.normalize)
            knows = block.known[rows]
            means.append(values.mean(axis=0, where=knows[:, None], dtype=np.float64))
            values -= means[-1].astype(np.float32)
            values[~knows] = 0
            sources.append(values)
        scale = common_scale(sources)
        for values in sources:
            values /= np.float32(scale)
        return sources, means, scale

    def _solve(self, sources, known, weights):
        """Return the decoders of meta vectors in principal axes, and the loss curve."""
        dims = [values.shape[1] for values in sources]
        moments = pattern_moments(sources, known)
        decoders = start_decoders(moments, dims, weights, self.alpha, self.n_components)
        if not len(decoders.matrices[0]):
            raise ValueError(
                f"the {len(known)} words to learn from have the same vector "
                f"in every source, or their differences are smaller than alpha="
                f"{self.alpha}. Fit on more words or decrease alpha."
            )
        decoders, curve = alternate(
            moments,
            decoders,
            weights,
            self.alpha,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        return to_principal_axes(moments, decoders, weights, self.alpha), curve

    def _combine(self, blocks):
        blocks, weights = positive_weight_blocks(blocks, self.weights_)
        known = known_matrix(blocks)
        meta = np.zeros((len(known), self.n_components_), dtype=np.float32)
        patterns, codes = np.unique(known, axis=0, return_inverse=True)
        for code, pattern in enumerate(patterns):
            knowing = np.flatnonzero(pattern)
            rows = np.flatnonzero(codes.ravel() == code)
            for i, matrix in zip(knowing, self._encoder(knowing, weights), strict=True):
                values = source_rows(blocks[i], rows, normalize=self._fitted_normalize)
                values -= self.intercepts_[blocks[i].name]
                meta[rows] += row_product(values, matrix)
        return meta, known.any(axis=1)

    def _encoder(self, knowing, weights):
        """Return the closed-form matrix of each source that knows a row."""
        pattern = tuple(knowing.tolist())
        if pattern and pattern not in self._encoders:
            coefs = [np.float64(matrix) for matrix in self.coefs_.values()]
            decoders = Decoders(coefs, [np.zeros(matrix.shape[1]) for matrix in coefs])
            joined = encoder(pattern, decoders, weights, self.penalty_)
            ends = np.cumsum([coefs[i].shape[1] for i in pattern])[:-1]
            self._encoders[pattern] = _float32(np.split(joined[1:], ends))
        return self._encoders.get(pattern, [])


def _float32(arrays):
    return [np.ascontiguousarray(array, dtype=np.float32) for array in arrays]
