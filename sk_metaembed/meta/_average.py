"""AverageMetaEmbedding: average the sources that know a word."""

import numpy as np

from .._core._arrays import chunks
from ._base import WeightedMetaEmbedding
from ._linear import known_matrix, known_to_any, source_rows


class AverageMetaEmbedding(WeightedMetaEmbedding):
    """Average the sources' vectors (AVG), shorter vectors padded with zeros.

    The average is nearly as good as concatenation, in the dimension of one source,
    because vectors of independently trained sources are nearly orthogonal.

    Parameters
    ----------
    weights : dict of str to float, sequence of float, or None, default=None
        Weight of each source, by name or in the order of the blocks. None, and sources
        missing in a dict, mean 1. A source of weight 0 is ignored.
    normalize : bool, default=True
        Whether to scale each source's vectors to unit length first.

    Attributes
    ----------
    weights_ : ndarray of shape (n_sources,)
        The weights used.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by name.
    dim_ : int
        The largest dimension of the blocks.

    Raises
    ------
    ValueError
        If no weight is positive.

    See Also
    --------
    ConcatMetaEmbedding : Keeps the whole vector of every source.

    Notes
    -----
    Over the sources K(w) that know word w::

        m(w) = sum_{i in K(w)} k_i pad(s_i(w)) / sum_{i in K(w)} k_i

    The vector of a word that no source knows is zero, and the word is not known.

    References
    ----------
    Coates and Bollegala (2018). Frustratingly easy meta-embedding: computing
    meta-embeddings by averaging source word embeddings. NAACL.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import AverageMetaEmbedding, Block
    >>> from sk_metaembed import EmbeddedSequences, TokenSequences
    >>> tokens = TokenSequences.from_lists([["a", "b"]])
    >>> x = Block("x", [[3.0, 4.0], [0.0, 0.0]], "type", known=[True, False])
    >>> y = Block("y", [[2.0], [-5.0]], "type")
    >>> average = AverageMetaEmbedding()
    >>> average.fit_transform(EmbeddedSequences(tokens, [x, y]))[0]
    array([[ 0.8,  0.4],
           [-1. ,  0. ]], dtype=float32)
    """

    def _combine(self, blocks):
        shares = normalized_weights(known_matrix(blocks).T, self.weights_)
        dim = max(block.dim for block in blocks)
        values = np.zeros((blocks[0].n_rows, dim), dtype=np.float32)
        for block, share in zip(blocks, shares, strict=True):
            for rows in chunks(block.n_rows):
                part = source_rows(block, rows, normalize=self._fitted_normalize)
                values[rows, : block.dim] += part * share[rows, None]
        return values, known_to_any(blocks, self.weights_)


def normalized_weights(known, weights):
    """Return each row's weights of the sources that know the row, with sum 1.

    `known` is bool of shape (n_sources, n_rows), and `weights` has the shape
    (n_sources,). The result is float32 of shape (n_sources, n_rows), with zeros for
    rows that no source knows.
    """
    shares = known * weights[:, None]
    total = shares.sum(axis=0)
    return (shares / np.where(total == 0, 1, total)).astype(np.float32)
