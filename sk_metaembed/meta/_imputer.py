"""SourceImputer: vectors that a source lacks, told by the sources that have them."""

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._core._arrays import row_product
from ..sequences import Block
from ._base import BlocksTransformer, joined_names
from ._linear import known_matrix, nonzero_matrix, source_rows
from ._neighbors import (
    mean_prediction,
    neighbor_fill,
    shared_counts,
    shared_rows,
)


class SourceImputer(BlocksTransformer):
    """Fill the vectors that a source lacks from the sources that know the word.

    Vocabularies differ, and a combiner leaves out what a source does not know. This
    step stands between the sources and any combiner and gives the same blocks, with
    predicted vectors where a source has none and another one has. It is worth most for
    rare words; where nothing is missing it changes nothing.

    Parameters
    ----------
    strategy : {"mutual", "neighbors"}, default="mutual"
        "mutual" predicts by linear maps between every two sources (mutual learning),
        "neighbors" by the mean over the word's nearest neighbours.
    alpha : float, default=1.0
        Ridge penalty of the linear maps, against sums over words of unit vectors.
    n_neighbors : int, default=10
        Neighbours that a vector is made of, with each source that knows the word.
    min_shared : int, default=10
        Fewest words that two sources must share to predict each other.

    Attributes
    ----------
    n_shared_ : ndarray of int, shape (n_sources, n_sources)
        Rows of fit that both sources know with a vector other than zero; on the
        diagonal, that one source does.
    maps_ : dict of (str, str) to tuple of two ndarrays of float32
        With "mutual", by the names of who predicts and who is predicted: a matrix of
        shape (dim, dim of the predicted) and an intercept. Pairs with fewer than
        `min_shared` shared words have none. Empty with "neighbors".
    imputed_ : dict of str to int
        By source, how many rows of fit it lacked and others could fill.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by its name.

    Warns
    -----
    UserWarning
        If there are several sources, but no two share `min_shared` words: then the
        blocks pass as they are.

    See Also
    --------
    ProcrustesMetaEmbedding : Fills in the same way, between rotating and averaging.

    Notes
    -----
    Vectors that predict are scaled to length one, those that are predicted are in the
    scale of their source. From the vector x_j(w) of source j, source i gets::

        mutual:     x_j(w) W_ji + b_ji, which minimises over the shared words v
                    sum_v |x_j(v) W_ji + b_ji - s_i(v)|^2 + alpha |W_ji|^2
        neighbors:  the mean of s_i(v) over the n_neighbors shared words v that are
                    nearest to w in j, weighted by their cosine

    and the mean of it over all j that know w. Rows that no source knows stay as they
    are and are not known; so does what a source itself knows. A known vector of zeros
    predicts nothing. Words that fit did not see are filled in the same way, for which
    "neighbors" keeps the vectors of the words that two sources or more know, twice: as
    they are and at length one, 4 bytes a number. Blocks of different levels are filled
    token by token, and come out at token level. Filled blocks are float32.

    References
    ----------
    Yin and Schuetze (2016). Learning word meta-embeddings. ACL.

    Garcia-Ferrero, Agerri and Rigau (2021). Benchmarking meta-embeddings: what works
    and what does not. Findings of EMNLP.

    Examples
    --------
    The second source is twice the first, and lacks the word "c":

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
    >>> imputer.imputed_
    {'x': 0, 'y': 1}
    """

    _parameter_constraints: dict = {
        "strategy": [StrOptions({"mutual", "neighbors"})],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "min_shared": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, strategy="mutual", *, alpha=1.0, n_neighbors=10, min_shared=10):
        self.strategy = strategy
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.min_shared = min_shared

    def _fit_combination(self, blocks, y):
        keys, known, telling = _what_is_told(blocks)
        self.n_shared_ = shared_counts(telling)
        usable = self.n_shared_ >= self.min_shared
        np.fill_diagonal(usable, False)
        self._check_usable(usable)
        self._usable = usable
        can_be_told = telling @ usable
        self.imputed_ = {
            block.name: int(np.count_nonzero(~known[:, i] & can_be_told[:, i]))
            for i, block in enumerate(blocks)
        }
        self.maps_, self._shared = {}, None
        if self.strategy == "mutual":
            self.maps_ = self._learned_maps(blocks, keys, telling)
        else:
            values = [source_rows(block, normalize=False) for block in blocks]
            self._shared = shared_rows(keys, telling, values)

    def _check_usable(self, usable):
        if len(usable) > 1 and not usable.any():
            names = list(self.dims_in_)
            off_diagonal = self.n_shared_[~np.eye(len(names), dtype=bool)]
            warnings.warn(
                f"{type(self).__name__}: no two of the sources {names} share "
                f"min_shared={self.min_shared} known words (at most "
                f"{off_diagonal.max()}), so nothing is filled. Fit on more words, or "
                "lower min_shared.",
                stacklevel=2,
            )

    def _learned_maps(self, blocks, keys, telling):
        maps = {}
        for teller, lacking in np.argwhere(self._usable):
            rows = np.flatnonzero(telling[:, teller] & telling[:, lacking])
            pair = blocks[teller].name, blocks[lacking].name
            values = source_rows(blocks[lacking], rows, normalize=False)
            maps[pair] = ridge_map(keys[teller][rows], values, self.alpha)
        return maps

    def _outputs(self, blocks):
        keys, known, telling = _what_is_told(blocks)
        filled = (
            self._told_by_maps(blocks, keys, ~known, telling)
            if self._shared is None
            else neighbor_fill(
                keys,
                ~known,
                telling,
                self._shared,
                self.n_neighbors,
                min_shared=self.min_shared,
            )
        )
        tellers = self._usable.any(axis=0)
        return [
            _filled_block(block, rows, values) if told else block
            for block, told, (rows, values) in zip(blocks, tellers, filled, strict=True)
        ]

    def _told_by_maps(self, blocks, keys, missing, telling):
        names = [block.name for block in blocks]

        def predict(teller, lacking, rows):
            matrix, intercept = self.maps_[names[teller], names[lacking]]
            return row_product(keys[teller][rows], matrix) + intercept

        dims = [block.dim for block in blocks]
        return mean_prediction(missing, telling, self._usable, dims, predict)

    def get_feature_names_out(self, input_features=None):
        """Return the names of the sources' dimensions, one behind the other.

        Blocks come out as they went in, filled: their dimensions keep their names and
        their order.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the blocks' dimensions. None makes them of the blocks' names.

        Returns
        -------
        ndarray of str objects
            One name a dimension.
        """
        check_is_fitted(self)
        return joined_names(self.dims_in_, input_features)


def ridge_map(inputs, targets, alpha):
    """Return the matrix and intercept of a ridge regression, float32.

    Parameters
    ----------
    inputs : ndarray of shape (n_rows, dim)
    targets : ndarray of shape (n_rows, n_targets)
    alpha : float

    Returns
    -------
    matrix : ndarray of float32, shape (dim, n_targets)
    intercept : ndarray of float32, shape (n_targets,)
    """
    from sklearn.linear_model import Ridge

    # In float64, so that a small alpha does not drown in rounding.
    ridge = Ridge(alpha).fit(inputs.astype(np.float64), targets.astype(np.float64))
    matrix = ridge.coef_.reshape(-1, inputs.shape[1]).T
    return matrix.astype(np.float32), np.atleast_1d(ridge.intercept_).astype(np.float32)


def _what_is_told(blocks):
    """Return unit vectors, who knows what, and who knows it by more than zeros."""
    keys = [source_rows(block, normalize=True) for block in blocks]
    known = known_matrix(blocks)
    return keys, known, known & nonzero_matrix(keys)


def _filled_block(block, rows, values):
    """Return the block, float32, with the given rows replaced and known."""
    if not len(rows) and block.values.dtype == np.float32:
        return block
    filled, known = block.values.astype(np.float32), block.known.copy()
    filled[rows], known[rows] = values, True
    return Block(block.name, filled, block.level, known)
