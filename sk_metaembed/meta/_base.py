"""Base classes of transformers of blocks, which validate, align and wrap blocks.

A meta-embedding is a subclass that implements `_combine`, and `_fit_combination` if the
combination is learned.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._core._estimators import fit_context
from .._core._typing import Names
from ..sequences import (
    Block,
    EmbeddedInputMixin,
    EmbeddedSequences,
    SequencesOutputMixin,
)
from ..sequences._api import (
    block_dims,
    check_embedded,
    dimension_names,
)
from ._linear import WEIGHTS_CONSTRAINT, Weights, source_weights


class BlocksTransformer(
    EmbeddedInputMixin, SequencesOutputMixin, TransformerMixin, BaseEstimator
):
    """Base class of transformers from blocks to other blocks with the same rows.

    Subclasses implement ``_outputs(blocks)``, which returns the output blocks, and
    ``_fit_combination(blocks, y)`` if there is anything to learn.
    ``_describe_output(outputs)`` receives the output for the blocks of fit, or for zero
    rows of them.
    """

    _parameter_constraints: dict = {}

    def _fit_combination(self, blocks, y):
        """Learn from the training data; by default, there is nothing to learn."""

    def _outputs(self, blocks):
        """Return the output blocks."""
        raise NotImplementedError(
            f"{type(self).__name__} must implement _outputs(blocks)."
        )

    def _blocks(self, X):
        """Return the blocks of an EmbeddedSequences to learn from and transform."""
        return X.aligned_blocks()

    def _describe_output(self, outputs):
        """Set the attributes that describe the output; by default, there are none."""

    @fit_context
    def fit(self, X: EmbeddedSequences, y: object = None) -> Self:
        """Learn from the training data.

        Only words that occur in the sequences of X are used. The vocabulary of X may
        have further words, for example of other folds.

        Parameters
        ----------
        X : EmbeddedSequences
            Training data, from a source or a union of sources.
        y : array-like, default=None
            Ignored by transformers that need no labels.

        Returns
        -------
        estimator instance
            The fitted transformer.

        Raises
        ------
        ValueError
            If the vectors of a source have dimension 0, or if the sources know too few
            words; see the Raises section of the class.
        """
        blocks = self._fit_blocks(X, y)
        # Zero rows suffice to compute the dimension of the output.
        self._describe_output(self._outputs([block.take(slice(0)) for block in blocks]))
        return self

    @fit_context
    def fit_transform(
        self, X: EmbeddedSequences, y: object = None
    ) -> EmbeddedSequences:
        """Learn from the training data and transform it.

        The result equals that of `fit` followed by `transform`, with less computation.

        Parameters
        ----------
        X : EmbeddedSequences
            As for `fit`.
        y : array-like, default=None
            As for `fit`.

        Returns
        -------
        EmbeddedSequences
            As from `transform`.
        """
        outputs = self._outputs(self._fit_blocks(X, y))
        self._describe_output(outputs)
        return X.with_blocks(outputs)

    def transform(self, X: EmbeddedSequences) -> EmbeddedSequences:
        """Transform blocks with the fitted combination.

        Words that were not seen in `fit` are transformed like other words. The result
        for a word does not depend on the other words of X.

        Parameters
        ----------
        X : EmbeddedSequences
            With blocks of the names and dimensions seen in `fit`.

        Returns
        -------
        EmbeddedSequences
            At the common level of the blocks. A meta-embedding returns one block, named
            after its class; `BlockPCA` one per source, at level "sequence".
        """
        check_is_fitted(self)
        check_embedded(X, self.dims_in_)
        return X.with_blocks(self._outputs(self._blocks(X)))

    def get_feature_names_out(self, input_features: object = None) -> Names:
        """Return the names of the sources' dimensions, in order.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the dimensions of the blocks. None generates names from the blocks'
            names.

        Returns
        -------
        ndarray of str objects
            One name per dimension.
        """
        check_is_fitted(self)
        names = dimension_names(self.dims_in_)
        given = np.asarray(input_features, dtype=object)
        return given if given.shape == names.shape else names

    def _fit_blocks(self, X, y):
        """Learn the combination from X, and return the blocks of X to transform."""
        check_embedded(X)
        dims = block_dims(X)
        empty = [name for name, dim in dims.items() if not dim]
        if empty:
            raise ValueError(
                f"the sources {empty} have vectors of dimension 0 (all "
                f"dimensions: {dims}). Leave them out, or check what they were fitted "
                "on."
            )
        self.dims_in_ = dims
        blocks = learned = self._blocks(X)
        # A part of a TokenSequences keeps the types of the whole, and a fold must not
        # learn from the words of other folds.
        used = X.tokens.type_counts() > 0
        if blocks[0].level == "type" and not used.all():
            learned = tuple(block.take(used) for block in blocks)
        self._fit_combination(learned, y)
        return blocks


class BaseMetaEmbedding(BlocksTransformer):
    """Base class of meta-embeddings; subclass it to write your own.

    A subclass implements one or two methods. Both methods receive a tuple of Blocks
    with the same rows, at the common level of the blocks, or at "token" if the levels
    differ.

    ``_combine(blocks)``
        Returns a new array of shape (n_rows, dim), or a pair of this array and a bool
        array of the known rows. By default, a row is known if any block knows the row.
        Returned arrays become read-only.
    ``_fit_combination(blocks, y)``
        Learns from the training data and sets attributes ending in ``_``. Optional.

    Attributes
    ----------
    dims_in_ : dict of str to int
        Dimension of each block in fit, by name. `transform` requires the same.
    dim_ : int
        Dimension of the meta-embedding.

    See Also
    --------
    ConcatMetaEmbedding : A subclass without training.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block, EmbeddedSequences, TokenSequences
    >>> from sk_metaembed.meta import BaseMetaEmbedding
    >>> class MaximumMetaEmbedding(BaseMetaEmbedding):
    ...     '''The maximum of the sources, entry by entry.'''
    ...
    ...     def _combine(self, blocks):
    ...         return np.maximum.reduce([block.values for block in blocks])
    >>> tokens = TokenSequences.from_lists([["a", "b"]])
    >>> x, y = Block("x", np.eye(2), "type"), Block("y", np.full((2, 2), 0.5), "type")
    >>> maximum = MaximumMetaEmbedding()
    >>> maximum.fit_transform(EmbeddedSequences(tokens, [x, y]))[0]
    array([[1. , 0.5],
           [0.5, 1. ]], dtype=float32)
    >>> maximum.block_name, maximum.get_feature_names_out().tolist()
    ('maximum', ['maximum0', 'maximum1'])
    """

    @property
    def block_name(self) -> str:
        """Name of the output block: the class name without "MetaEmbedding".

        `Pooling` uses it for its column names, and later steps to select the block.
        """
        name = type(self).__name__.lower()
        return name.removesuffix("metaembedding").strip("_") or name

    def _combine(self, blocks):
        """Return the meta-embedding of the rows of the blocks, (n_rows, dim).

        By default, the rows that any source knows are known. Otherwise, return a pair
        of the meta-embedding and the known rows, bool (n_rows,).
        """
        raise NotImplementedError(
            f"{type(self).__name__} must implement _combine(blocks)."
        )

    def get_feature_names_out(self, input_features: object = None) -> Names:
        """Return a name for each dimension: the name of the block and a number.

        Parameters
        ----------
        input_features : ignored
            The dimensions do not correspond to dimensions of the sources.

        Returns
        -------
        ndarray of str objects
            One name per dimension.
        """
        check_is_fitted(self)
        return dimension_names({self.block_name: self.dim_})

    def _outputs(self, blocks):
        values = self._combine(blocks)
        if isinstance(values, tuple):
            values, known = values
        else:
            known = np.logical_or.reduce([block.known for block in blocks])
        return [Block(self.block_name, values, blocks[0].level, known, copy=False)]

    def _describe_output(self, outputs):
        self.dim_ = outputs[0].dim


class WeightedMetaEmbedding(BaseMetaEmbedding):
    """Base class that adds the parameters `weights` and `normalize`."""

    _parameter_constraints: dict = {
        "weights": WEIGHTS_CONSTRAINT,
        "normalize": ["boolean"],
    }

    def __init__(
        self,
        *,
        weights: Weights = None,
        normalize: bool = True,
    ) -> None:
        self.weights = weights
        self.normalize = normalize

    def _fit_combination(self, blocks, y):
        names = [block.name for block in blocks]
        self.weights_ = source_weights(self.weights, names)
        self._fitted_normalize = self.normalize
