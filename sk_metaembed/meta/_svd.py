"""SVDMetaEmbedding: keep the leading directions of the concatenated sources."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from .._core._arrays import chunks
from .._core._sklearn import COUNT
from ._base import BaseMetaEmbedding
from ._linear import (
    WEIGHTS_CONSTRAINT,
    SourceMap,
    Weights,
    column_signs,
    known_matrix,
    known_to_any,
    learning_rows,
    mapped_sum,
    source_rows,
    source_weights,
)

_ROUNDING = 10 * np.finfo(np.float32).eps  # smaller singular values are rounding errors
_MIN_SCALE = 1e-36  # quotients by smaller values overflow float32


class SVDMetaEmbedding(BaseMetaEmbedding):
    """Concatenate the sources and keep the leading directions (SVD).

    The result is much smaller than the concatenation and, with `whiten`, better at word
    similarity: the few directions that most vectors share hardly distinguish words, and
    get the same weight as the others.

    Parameters
    ----------
    n_components : int, default=200
        Number of directions to keep.
    whiten : bool, default=True
        Whether to divide each direction by its singular value (U), so that all have the
        same size, instead of keeping its size (U S).
    weights : dict of str to float, sequence of float, or None, default=None
        Factor of each source's vectors, by name or in the order of the blocks. None,
        and sources missing in a dict, mean 1. A source of weight 0 is ignored.
    normalize : bool, default=True
        Whether to scale each source's vectors to unit length first.

    Attributes
    ----------
    components_ : ndarray of float32, shape (n_components_, sum of dims)
        Orthonormal directions in the weighted concatenation (rows of V), the entry of
        largest magnitude positive.
    singular_values_ : ndarray of float64, shape (n_components_,)
        Singular values of the kept directions, in decreasing order.
    n_components_ : int
        Number of directions, at most the rank. If all vectors are zero, there is one
        direction of zeros.
    n_learning_rows_ : int
        Number of rows on which the directions were learned, known to every source.
    weights_ : ndarray of shape (n_sources,)
        The factors used.
    maps_ : dict of str to tuple (mean, matrix)
        Map of each source, by name, of shapes (dim,) and (dim, n_components_): a
        vector, minus the mean (zero here), times the matrix is the source's part of the
        sum.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by name.
    dim_ : int
        Equal to `n_components_`.

    Raises
    ------
    ValueError
        If every weight is 0, if a source knows no word, or if fewer than two rows are
        known to all sources.

    See Also
    --------
    ConcatMetaEmbedding : Keeps all directions.
    GCCAMetaEmbedding : Finds directions on which the sources agree.

    Notes
    -----
    With X the weighted, uncentered concatenation of the n rows that every source knows,
    ``X = U S V'`` truncated to the largest singular values. A row x becomes ``sqrt(n) x
    V / S``, or ``x V`` without `whiten`: on the rows of fit this is ``sqrt(n) U``,
    whose columns have a mean square of one for any n, or ``U S``. The vector of a
    source that does not know a row counts as zero. Words that were not seen in fit are
    projected in the same way.

    As in the paper, rows that some source does not know are not used in fit, because
    their zeros would add artificial directions. Directions whose singular value is zero
    within the rounding of float32 (1.2e-6 of the largest) are dropped.

    References
    ----------
    Yin and Schuetze (2016). Learning word meta-embeddings. ACL.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block, EmbeddedSequences, TokenSequences
    >>> from sk_metaembed import SVDMetaEmbedding
    >>> tokens = TokenSequences.from_lists([["a", "b", "c"]])
    >>> x = Block("x", [[3.0, 4.0], [4.0, 3.0], [1.0, 0.0]], "type")
    >>> y = Block("y", [[1.0], [2.0], [-1.0]], "type")
    >>> svd = SVDMetaEmbedding(n_components=2)
    >>> svd.fit_transform(EmbeddedSequences(tokens, [x, y]))[0].shape
    (3, 2)
    >>> svd.singular_values_.round(2)
    array([2.01, 1.39])
    """

    _parameter_constraints: dict = {
        "n_components": [COUNT],
        "whiten": ["boolean"],
        "weights": WEIGHTS_CONSTRAINT,
        "normalize": ["boolean"],
    }

    def __init__(
        self,
        n_components: int = 200,
        *,
        whiten: bool = True,
        weights: Weights = None,
        normalize: bool = True,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.weights = weights
        self.normalize = normalize

    def _fit_combination(self, blocks, y):
        names = [block.name for block in blocks]
        self.weights_ = source_weights(self.weights, names)
        used = np.flatnonzero(self.weights_)
        rows = learning_rows(
            [names[i] for i in used],
            known_matrix(blocks)[:, used],
            n_knowing=len(used),
        )
        self.n_learning_rows_ = len(rows)
        self._set_directions(*self._decompose(blocks, rows))
        self.maps_ = self._source_maps(blocks)
        self._fitted_normalize = self.normalize

    def _decompose(self, blocks, rows):
        dim = sum(block.dim for block in blocks)
        n_components = min(self.n_components, len(rows), dim)
        parts = (self._concatenate(blocks, rows[part]) for part in chunks(len(rows)))
        return exact_svd(parts, len(rows), dim, n_components)

    def _concatenate(self, blocks, rows):
        parts = [
            source_rows(block, rows, normalize=self.normalize) * np.float32(weight)
            for block, weight in zip(blocks, self.weights_, strict=True)
        ]
        return np.concatenate(parts, axis=1)

    def _set_directions(self, values, directions):
        minimum = np.sqrt(self.n_learning_rows_) * _MIN_SCALE
        rank = np.count_nonzero(values > max(_ROUNDING * values[0], minimum))
        self.n_components_ = max(rank, 1)
        directions = directions[: self.n_components_] * (rank > 0)
        signs = column_signs(directions.T)[:, None]
        self.components_ = (directions * signs).astype(np.float32)
        self.singular_values_ = values[: self.n_components_].astype(np.float64)

    def _source_maps(self, blocks):
        matrix = self.components_.T.astype(np.float64)
        if self.whiten and matrix.any():
            matrix *= np.sqrt(self.n_learning_rows_) / self.singular_values_
        ends = np.cumsum([block.dim for block in blocks])[:-1]
        parts = zip(blocks, self.weights_, np.split(matrix, ends), strict=True)
        return {
            block.name: SourceMap(
                np.zeros(block.dim, dtype=np.float32),
                (weight * part).astype(np.float32),
            )
            for block, weight, part in parts
        }

    def _combine(self, blocks):
        values = mapped_sum(blocks, self.maps_, normalize=self._fitted_normalize)
        return values, known_to_any(blocks, self.weights_)


def exact_svd(parts, n_rows, dim, n_components):
    """Return singular values and right singular vectors of a matrix.

    The matrix, (n_rows, dim), is passed in parts of rows. Values are in decreasing
    order, (n_components,), and vectors are rows, (n_components, dim). A tall matrix is
    decomposed by its Gram matrix in float64. This changes a singular value s by about
    ``dim eps64 / 2 (s_max / s)`` s_max, which for every s that is kept is less than the
    effect of rounding the vectors to float32, eps32 s_max.
    """
    if n_rows < dim:
        whole = np.concatenate(list(parts)).astype(np.float64)
        _, values, directions = np.linalg.svd(whole, full_matrices=False)
        return values[:n_components], directions[:n_components]
    gram = np.zeros((dim, dim))
    for part in parts:
        part = part.astype(np.float64)
        gram += part.T @ part
    squares, directions = eigh(gram, subset_by_index=(dim - n_components, dim - 1))
    values = np.sqrt(np.maximum(squares[::-1], 0))
    return values, directions[:, ::-1].T
