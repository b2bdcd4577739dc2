"""AverageMetaEmbedding: the mean of the sources that know a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core._arrays import chunks
from ._base import BaseMetaEmbedding
from ._linear import known_matrix, row_scales, source_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray


class AverageMetaEmbedding(BaseMetaEmbedding):
    """Average the sources' vectors (AVG), shorter vectors padded with zeros.

    Nearly as good as concatenation, in the dimension of one source, because vectors of
    independently trained sources are nearly orthogonal.

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

    _parameter_constraints: dict = {
        "weights": [Mapping, Sequence, np.ndarray, None],
        "normalize": ["boolean"],
    }

    def __init__(
        self,
        *,
        weights: Mapping[str, float] | Sequence[float] | NDArray[Any] | None = None,
        normalize: bool = True,
    ) -> None:
        self.weights = weights
        self.normalize = normalize

    def _fit_combination(self, blocks, y):
        names = [block.name for block in blocks]
        self.weights_ = source_weights(self.weights, names)

    def _combine(self, blocks):
        shares = normalized_weights(known_matrix(blocks).T, self.weights_)
        dim = max(block.dim for block in blocks)
        values = np.zeros((blocks[0].n_rows, dim), dtype=np.float32)
        for block, share in zip(blocks, shares, strict=True):
            scales = row_scales(block, share, self.normalize)
            for rows in chunks(block.n_rows):
                values[rows, : block.dim] += block.values[rows] * scales[rows]
        return values, known_matrix(blocks)[:, self.weights_ > 0].any(axis=1)


def normalized_weights(known, weights):
    """Return each row's weights of the sources that know it, with sum 1.

    Takes `known`, bool of shape (n_sources, n_rows), and weights (n_sources,); returns
    float32 of shape (n_sources, n_rows), zeros if no source knows the row.
    """
    shares = known * weights[:, None]
    total = shares.sum(axis=0)
    return (shares / np.where(total == 0, 1, total)).astype(np.float32)
