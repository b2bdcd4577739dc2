"""ConcatMetaEmbedding: the sources side by side."""

from collections.abc import Mapping, Sequence

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core._arrays import chunks
from ._base import BaseMetaEmbedding, joined_names
from ._linear import known_matrix, row_scales, source_weights


class ConcatMetaEmbedding(BaseMetaEmbedding):
    """Concatenate the sources' vectors (CONC).

    The strongest baseline there is, at the price of dimension; nothing is lost and
    nothing learned.

    Parameters
    ----------
    weights : dict of str to float, sequence of float, or None, default=None
        Factor of each source's vectors, by name or in the order of the blocks. None,
        and names that a dict leaves out, mean 1. A source of weight 0 knows nothing.
    normalize : bool, default=True
        Scale each source's vectors to length one first, so that none drowns the
        others.

    Attributes
    ----------
    weights_ : ndarray of shape (n_sources,)
        The factors used.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by its name.
    dim_ : int
        Their sum.

    Raises
    ------
    ValueError
        If no source has a weight above 0.

    See Also
    --------
    AverageMetaEmbedding : The mean instead, in the dimension of one source.

    Notes
    -----
    Row w is ``[k_1 s_1(w), ..., k_n s_n(w)]``. A word is known if any source knows it;
    the part of a source that does not is zeros.

    References
    ----------
    Yin and Schuetze (2016). Learning word meta-embeddings. ACL.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block, ConcatMetaEmbedding
    >>> from sk_metaembed import EmbeddedSequences, TokenSequences
    >>> tokens = TokenSequences.from_lists([["a", "b"]])
    >>> x = Block("x", [[3.0, 4.0], [0.0, 0.0]], "type", known=[True, False])
    >>> y = Block("y", [[2.0], [-5.0]], "type")
    >>> concat = ConcatMetaEmbedding(weights={"y": 8})
    >>> concat.fit_transform(EmbeddedSequences(tokens, [x, y]))[0]
    array([[ 0.6,  0.8,  8. ],
           [ 0. ,  0. , -8. ]], dtype=float32)
    """

    _parameter_constraints: dict = {
        "weights": [Mapping, Sequence, np.ndarray, None],
        "normalize": ["boolean"],
    }

    def __init__(self, *, weights=None, normalize=True):
        self.weights = weights
        self.normalize = normalize

    def _fit_combination(self, blocks, y):
        names = [block.name for block in blocks]
        self.weights_ = source_weights(self.weights, names, type(self).__name__)

    def _combine(self, blocks):
        ends = np.cumsum([block.dim for block in blocks])
        values = np.empty((blocks[0].n_rows, ends[-1]), dtype=np.float32)
        for block, weight, end in zip(blocks, self.weights_, ends, strict=True):
            scales = row_scales(block, weight, self.normalize)
            part = values[:, end - block.dim : end]
            for rows in chunks(block.n_rows):
                part[rows] = block.values[rows] * scales[rows]
        return values, known_matrix(blocks)[:, self.weights_ > 0].any(axis=1)

    def get_feature_names_out(self, input_features=None):
        """Return the names of the sources' dimensions, one behind the other.

        Each dimension is still one of a source, so its name tells which. Sources of
        weight 0 have their dimensions, too.

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
