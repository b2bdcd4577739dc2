"""BlockPCA: reduce each source to few dimensions with a total variance of 1."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core._arrays import chunks, length_limit, row_norms, warn_of_long
from .._core._sklearn import COUNT
from .._core._typing import Names
from ..pooling._api import sequence_blocks
from ..sequences import Block
from ..sequences._api import dimension_names
from ._base import BlocksTransformer
from ._linear import column_signs

_ROUNDING = (10 * np.finfo(np.float32).eps) ** 2  # relative to squares of numbers


class BlockPCA(BlocksTransformer):
    r"""Reduce each source's sequence vectors by PCA, and scale them to equal variance.

    Sources differ in dimension and scale, and trees and other models of tables need few
    dimensions per source. Place this transformer between the sources and `Pooling` or a
    meta-embedding.

    Parameters
    ----------
    n_components : int, default=30
        Number of principal components to keep for each source, limited to its rank.

    Attributes
    ----------
    means_ : dict of str to ndarray of float32, shape (dim,)
        Mean of each source's known sequence vectors.
    components_ : dict of str to ndarray of float32, shape (n_components, dim)
        Principal directions of each source divided by its scale.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by name. `transform` requires the same.
    dims_ : dict of str to int
        Dimension of each block of the output.

    See Also
    --------
    SVDMetaEmbedding : Reduces all sources together.
    StackedMetaClassifier : Fits one linear model per source.

    Notes
    -----
    With m the mean of a source's vectors and V its first principal directions, a vector
    becomes :math:`V (x - m) / s`, where :math:`s^2` is the mean of :math:`\lVert V (x -
    m) \rVert^2` over the training data. Each source therefore has a total variance of
    1, regardless of its dimension. Vectors of words are averaged first, as in
    `Pooling`. A sequence that a source does not know becomes zeros, the mean of the
    training data. A source that knows no training sequence, for example in one fold,
    returns a single dimension of zeros. `fit` leaves out a few vectors that are more
    than 300 times as long as the others, with a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block, EmbeddedSequences, BlockPCA, TokenSequences
    >>> rng = np.random.default_rng(0)
    >>> tokens = TokenSequences.from_lists([["text"]] * 100)
    >>> wide = Block("wide", 100 * rng.normal(size=(100, 50)), "sequence")
    >>> narrow = Block("narrow", rng.normal(size=(100, 2)), "sequence")
    >>> X = EmbeddedSequences(tokens, [wide, narrow])
    >>> reduced = BlockPCA(3).fit_transform(X)
    >>> [(block.name, block.dim) for block in reduced.blocks]
    [('wide', 3), ('narrow', 2)]
    >>> [round(float(block.values.var(axis=0).sum()), 3) for block in reduced.blocks]
    [1.0, 1.0]
    """

    _parameter_constraints: dict = {"n_components": [COUNT]}

    def __init__(self, n_components: int = 30) -> None:
        self.n_components = n_components

    def _blocks(self, X):
        return sequence_blocks(X)

    def get_feature_names_out(self, input_features: object = None) -> Names:
        """Return a name for each component: the name of the source and a number.

        Parameters
        ----------
        input_features : ignored
            The components do not correspond to dimensions of the sources.

        Returns
        -------
        ndarray of str objects
            One name per component, over all sources.
        """
        check_is_fitted(self)
        return dimension_names(self.dims_)

    def _fit_combination(self, blocks, y):
        self.means_, self.components_ = {}, {}
        for block in blocks:
            rows = np.flatnonzero(block.known)
            known = block.values[rows].astype(np.float32, copy=False)
            norms = row_norms(known)
            is_long = norms > length_limit(norms)
            if is_long.any():
                warn_of_long(block.name, rows[is_long])
                known = known[~is_long]
            mean, components = principal_components(known, self.n_components)
            self.means_[block.name], self.components_[block.name] = mean, components
        self.dims_ = {name: len(each) for name, each in self.components_.items()}

    def _outputs(self, blocks):
        return [self._project_block(block) for block in blocks]

    def _project_block(self, block):
        mean, components = self.means_[block.name], self.components_[block.name]
        values = np.zeros((block.n_rows, self.dims_[block.name]), dtype=np.float32)
        for rows in chunks(block.n_rows):
            centered = block.values[rows] - mean
            # With a matrix product, rounding would depend on the other rows.
            values[rows] = np.einsum("ij,kj->ik", centered, components)
        values[~block.known] = 0
        return Block(block.name, values, "sequence", block.known, copy=False)


def principal_components(values, n_components):
    """Return the mean, (dim,), and scaled principal directions of vectors, (n, dim).

    The directions are (n_components, dim), at most the rank. Without vectors, the mean
    and the directions are zero.
    """
    if not len(values):
        mean = np.zeros(values.shape[1], dtype=np.float32)
        return mean, mean[None]
    mean = values.mean(axis=0, dtype=np.float64)
    centered = values - mean
    covariance = centered.T @ centered / len(values)
    variances, directions = np.linalg.eigh(covariance)
    order = np.argsort(variances)[::-1][:n_components]
    # The rounding error of a variance of zero: float32 rounds each dimension at
    # its own size, the eigenvalues are rounded at the size of the largest.
    rounding = _ROUNDING * (mean**2 + np.diag(covariance)) @ directions**2
    least = len(variances) * np.finfo(np.float64).eps * variances.max()
    order = order[variances[order] > np.maximum(rounding, least)[order]]
    order = order if len(order) else np.argsort(variances)[-1:]
    chosen = directions[:, order]
    chosen = (chosen * column_signs(chosen)).T
    variance = variances[order].sum()
    scale = 1 / np.sqrt(variance) if variance > 0 else 1.0  # all vectors may be equal
    return mean.astype(np.float32), (chosen * scale).astype(np.float32)
