"""SourceImputer: impute missing word vectors from the other sources."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np

from .._core._arrays import row_product
from .._core._sklearn import COUNT, POSITIVE, StrOptions
from ..sequences import Block
from ._base import BlocksTransformer
from ._linear import known_matrix, nonzero_matrix, source_rows
from ._neighbors import mean_prediction, neighbor_fill, shared_counts, shared_rows


class SourceImputer(BlocksTransformer):
    """Impute missing word vectors of a source from the other sources.

    Vocabularies differ, and most meta-embeddings ignore a source for the words it does
    not know. This transformer, placed between the sources and any meta-embedding,
    returns the same blocks with missing vectors predicted from other sources. The gain
    is largest for rare words. Without missing vectors, the blocks are unchanged.

    Parameters
    ----------
    strategy : {"mutual", "neighbors"}, default="mutual"
        "mutual" predicts vectors by linear maps between each pair of sources (mutual
        learning), "neighbors" by the mean of the word's nearest neighbors.
    alpha : float, default=1.0
        Ridge penalty of the linear maps, relative to sums over words with unit vectors.
    n_neighbors : int, default=10
        Number of neighbors in each source that knows the word.
    min_shared : int, default=10
        Minimum number of words that two sources must share to predict each other.

    Attributes
    ----------
    n_shared_ : ndarray of int, shape (n_sources, n_sources)
        Number of rows of `fit` for which both sources have nonzero vectors; on the
        diagonal, the number of rows for which the source has one.
    maps_ : dict of (str, str) to tuple of two ndarrays of float32
        With "mutual", per pair of source names (predictor, target): a matrix of shape
        (dim, dim of the target) and an intercept. Pairs with fewer than `min_shared`
        shared words are missing. Empty with "neighbors".
    n_imputed_ : dict of str to int
        Number of rows of `fit` that each source lacks and that other sources can
        predict.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by name.

    Warns
    -----
    UserWarning
        If there are several sources, but no two share `min_shared` words: the blocks
        are then returned unchanged.

    See Also
    --------
    ProcrustesMetaEmbedding : Also imputes by neighbors, after a rotation.

    Notes
    -----
    Vectors that predict are scaled to unit length; predicted vectors are in the scale
    of their source. From the vector x_j(w) of source j, source i gets::

        mutual:     x_j(w) W_ji + b_ji, which minimizes over the shared words v
                    sum_v |x_j(v) W_ji + b_ji - s_i(v)|^2 + alpha |W_ji|^2
        neighbors:  the mean of s_i(v) over the n_neighbors shared words v that are
                    nearest to w in j, weighted by their cosine

    and the mean of these over all j that know w. Known vectors are not changed. Rows
    that no source knows stay unknown. A known vector of zeros is not used for
    predictions. Words that were not seen in fit are imputed in the same way; for this,
    "neighbors" stores two copies of the vectors of words that at least two sources
    know, unchanged and at unit length, with 4 bytes per number. Blocks of different
    levels are imputed token by token, and returned at token level. Imputed blocks are
    float32.

    References
    ----------
    Yin and Schuetze (2016). Learning word meta-embeddings. ACL.

    Garcia-Ferrero, Agerri and Rigau (2021). Benchmarking meta-embeddings: what works
    and what does not. Findings of EMNLP.

    Examples
    --------
    The second source is twice the first, and does not know the word "c":

    >>> import numpy as np
    >>> from sk_metaembed import Block, EmbeddedSequences, SourceImputer
    >>> from sk_metaembed import TokenSequences
    >>> x = np.array([[1, 0], [0, 1], [0.6, 0.8]])
    >>> known = [True, True, False]
    >>> blocks = [
    ...     Block("x", x, "type"),
    ...     Block("y", 2 * x * np.c_[known], "type", known),
    ... ]
    >>> X = EmbeddedSequences(TokenSequences.from_lists([["a", "b", "c"]]), blocks)
    >>> imputer = SourceImputer(alpha=1e-6, min_shared=2)
    >>> imputer.fit_transform(X).block("y").values.round(2)[2]
    array([0.8, 1.2], dtype=float32)
    >>> imputer.n_imputed_
    {'x': 0, 'y': 1}
    """

    _parameter_constraints: dict = {
        "strategy": [StrOptions({"mutual", "neighbors"})],
        "alpha": [POSITIVE],
        "n_neighbors": [COUNT],
        "min_shared": [COUNT],
    }

    def __init__(
        self,
        strategy: Literal["mutual", "neighbors"] = "mutual",
        *,
        alpha: float = 1.0,
        n_neighbors: int = 10,
        min_shared: int = 10,
    ) -> None:
        self.strategy = strategy
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.min_shared = min_shared

    def _fit_combination(self, blocks, y):
        keys, known, informative = _unit_vectors(blocks)
        self.n_shared_ = shared_counts(informative)
        usable = self.n_shared_ >= self.min_shared
        np.fill_diagonal(usable, False)
        self._check_usable(usable)
        self._usable = usable
        predictable = informative @ usable
        self.n_imputed_ = {
            block.name: int(np.count_nonzero(~known[:, i] & predictable[:, i]))
            for i, block in enumerate(blocks)
        }
        self.maps_, self._shared = {}, None
        if self.strategy == "mutual":
            self.maps_ = self._fit_maps(blocks, keys, informative)
        else:
            values = [source_rows(block, normalize=False) for block in blocks]
            self._shared = shared_rows(
                keys, informative, self.n_neighbors, values, min_shared=self.min_shared
            )

    def _check_usable(self, usable):
        if len(usable) > 1 and not usable.any():
            names = list(self.dims_in_)
            off_diagonal = self.n_shared_[~np.eye(len(names), dtype=bool)]
            warnings.warn(
                f"{type(self).__name__}: no two of the sources {names} share "
                f"min_shared={self.min_shared} known words (at most "
                f"{off_diagonal.max()}), so no vectors are imputed. Fit on more words "
                "or decrease min_shared.",
                stacklevel=2,
            )

    def _fit_maps(self, blocks, keys, informative):
        maps = {}
        for predictor, target in np.argwhere(self._usable):
            rows = np.flatnonzero(informative[:, predictor] & informative[:, target])
            pair = blocks[predictor].name, blocks[target].name
            values = source_rows(blocks[target], rows, normalize=False)
            maps[pair] = ridge_map(keys[predictor][rows], values, self.alpha)
        return maps

    def _outputs(self, blocks):
        keys, known, informative = _unit_vectors(blocks)
        if self._shared is None:
            filled = self._predict_by_maps(blocks, keys, ~known, informative)
        else:
            filled = neighbor_fill(keys, ~known, informative, self._shared)
        is_target = self._usable.any(axis=0)
        return [
            _filled_block(block, *fill) if can_fill else block
            for block, can_fill, fill in zip(blocks, is_target, filled, strict=True)
        ]

    def _predict_by_maps(self, blocks, keys, missing, informative):
        names = [block.name for block in blocks]

        def predict(predictor, target, rows):
            matrix, intercept = self.maps_[names[predictor], names[target]]
            return row_product(keys[predictor][rows], matrix) + intercept

        dims = [block.dim for block in blocks]
        return mean_prediction(missing, informative, self._usable, dims, predict)


def ridge_map(inputs, targets, alpha):
    """Return the matrix (dim, n_targets) and intercept of a ridge regression."""
    from sklearn.linear_model import Ridge

    # Use float64, so that a small alpha is not lost in rounding.
    ridge = Ridge(alpha).fit(inputs.astype(np.float64), targets.astype(np.float64))
    matrix = ridge.coef_.reshape(-1, inputs.shape[1]).T
    return matrix.astype(np.float32), np.atleast_1d(ridge.intercept_).astype(np.float32)


def _unit_vectors(blocks):
    """Return unit vectors per source, and the masks known and informative."""
    keys = [source_rows(block, normalize=True) for block in blocks]
    known = known_matrix(blocks)
    return keys, known, known & nonzero_matrix(keys)


def _filled_block(block, rows, values):
    """Return the block as float32, with `rows` replaced and marked as known."""
    if not len(rows) and block.values.dtype == np.float32:
        return block
    filled, known = block.values.astype(np.float32), block.known.copy()
    filled[rows], known[rows] = values, True
    return Block(block.name, filled, block.level, known, copy=False)
