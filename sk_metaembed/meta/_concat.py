"""ConcatMetaEmbedding: concatenate the sources."""

from __future__ import annotations

import numpy as np

from .._core._arrays import chunks
from ._base import BlocksTransformer, WeightedMetaEmbedding
from ._linear import known_to_any, source_rows


class ConcatMetaEmbedding(WeightedMetaEmbedding):
    """Concatenate the sources' vectors (CONC).

    Concatenation is a strong baseline that keeps all information without training, at
    the cost of a large dimension.

    Parameters
    ----------
    weights : dict of str to float, sequence of float, or None, default=None
        Factor of each source's vectors, by name or in the order of the blocks. None,
        and sources missing in a dict, mean 1. A source of weight 0 is ignored, but
        keeps its dimensions.
    normalize : bool, default=True
        Whether to scale each source's vectors to unit length first, so that no source
        dominates.

    Attributes
    ----------
    weights_ : ndarray of shape (n_sources,)
        The factors used.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by name.
    dim_ : int
        Sum of the dimensions of the blocks.

    Raises
    ------
    ValueError
        If no weight is positive.

    See Also
    --------
    AverageMetaEmbedding : Averages the vectors, in the dimension of one source.

    Notes
    -----
    Row w is ``[k_1 s_1(w), ..., k_n s_n(w)]``. A word is known if any source knows it;
    the vectors of the other sources are zero.

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
    >>> concat.get_feature_names_out().tolist()
    ['x0', 'x1', 'y0']
    """

    def _combine(self, blocks):
        ends = np.cumsum([block.dim for block in blocks])
        values = np.empty((blocks[0].n_rows, ends[-1]), dtype=np.float32)
        for block, weight, end in zip(blocks, self.weights_, ends, strict=True):
            own = values[:, end - block.dim : end]
            for rows in chunks(block.n_rows):
                part = source_rows(block, rows, normalize=self._fitted_normalize)
                own[rows] = part * np.float32(weight)
        return values, known_to_any(blocks, self.weights_)

    # Unlike in other combinations, the dimensions are those of the sources.
    get_feature_names_out = BlocksTransformer.get_feature_names_out
