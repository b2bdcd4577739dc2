"""What every step on blocks shares: it checks them, aligns them and wraps the result.

A meta-embedder makes one block of them: its leaf writes `_combine`, and
`_fit_combination` where it learns something.
"""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._core._decorators import fit_context, rollback_on_error
from ..sequences import Block
from ..sequences._mixins import (
    EmbeddedInputMixin,
    SequencesOutputMixin,
    block_dims,
    check_blocks,
    check_embedded,
)


class BlocksTransformer(
    EmbeddedInputMixin,
    SequencesOutputMixin,
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,
):
    """A step from blocks with the same rows to other blocks with these rows.

    A leaf writes ``_outputs(blocks)``, the blocks that it gives, and
    ``_fit_combination(blocks, y)`` where it learns something. The output of fit's
    blocks, or of none of their rows, is shown to ``_set_out(outputs)``.
    """

    _parameter_constraints: dict = {}

    def _fit_combination(self, blocks, y):
        """Learn from the training fold; nothing by default."""

    def _outputs(self, blocks):
        """Return the blocks that come out."""
        raise NotImplementedError(
            f"{type(self).__name__} must define _outputs(blocks)."
        )

    def _set_out(self, outputs):
        """Set the attributes that tell of the output; none by default."""

    @fit_context(prefer_skip_nested_validation=True)
    @rollback_on_error
    def fit(self, X, y=None):
        """Learn from the training fold.

        Words that X merely has in its vocabulary, such as those of other folds, are not
        learned from: only those that occur in its sequences are.

        Parameters
        ----------
        X : EmbeddedSequences
            Of the training fold, from a source or a union of sources.
        y : array-like, default=None
            Ignored by steps that need no labels.

        Returns
        -------
        estimator instance
            The fitted step.

        Raises
        ------
        ValueError
            If a source's vectors have dimension 0, or nothing can be learned from
            what the sources know; the class says when.
        """
        blocks = self._fit_blocks(X, y)
        # No row is enough to learn the output's dimension.
        self._set_out(self._outputs([block.take(slice(0)) for block in blocks]))
        return self

    @fit_context(prefer_skip_nested_validation=True)
    @rollback_on_error
    def fit_transform(self, X, y=None):
        """Learn from the training fold and transform it.

        The result is that of fit and transform, one after the other; what both need is
        computed once.

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
        self._set_out(outputs)
        return X.with_blocks(outputs)

    def transform(self, X):
        """Apply what was learned.

        Words that fit did not see are treated as any others. A word's result does not
        depend on which others come with it.

        Parameters
        ----------
        X : EmbeddedSequences
            With blocks of the names and dimensions seen in fit.

        Returns
        -------
        EmbeddedSequences
            At the blocks' common level. A meta-embedder gives one block, named after
            the class.
        """
        check_is_fitted(self)
        check_embedded(X, caller=type(self).__name__)
        check_blocks(X, self.dims_in_, caller=type(self).__name__)
        return X.with_blocks(self._outputs(X.aligned_blocks()))

    def _fit_blocks(self, X, y):
        caller = type(self).__name__
        check_embedded(X, caller=caller)
        dims = block_dims(X)
        empty = [name for name, dim in dims.items() if not dim]
        if empty:
            raise ValueError(
                f"{caller}: the sources {empty} have vectors of dimension 0 (all: "
                f"{dims}). Leave them out, or look at what they were fitted on."
            )
        self.dims_in_ = dims
        blocks = X.aligned_blocks()
        self._fit_combination(occurring(X.tokens, blocks), y)
        return blocks


def occurring(tokens, blocks):
    """Return the rows of blocks that occur in the sequences.

    Some of many sequences keep the types of all: a fold must not learn from the words
    of the others.

    Parameters
    ----------
    tokens : TokenSequences
    blocks : tuple of Block
        At one level.

    Returns
    -------
    tuple of Block
    """
    used = tokens.type_counts() > 0
    if blocks[0].level != "type" or used.all():
        return blocks
    return tuple(block.take(used) for block in blocks)


def joined_names(dims, input_features=None):
    """Return the names of the sources' dimensions, one behind the other.

    Parameters
    ----------
    dims : dict of str to int
        Dimension of each block, by its name.
    input_features : array-like of str, default=None
        Taken if there is one for each dimension.

    Returns
    -------
    ndarray of str objects
    """
    if input_features is not None and len(input_features) == sum(dims.values()):
        return np.asarray(input_features, dtype=object)
    names = [f"{name}{i}" for name, dim in dims.items() for i in range(dim)]
    return np.array(names, dtype=object)


class BaseMetaEmbedding(BlocksTransformer):
    """Base class of meta-embedders; derive from it to write your own.

    A leaf writes one or two methods. Both get a tuple of Blocks with the same rows,
    at one level: their own if all agree, else "token".

    ``_combine(blocks)``
        Returns an array of shape (n_rows, dim), or such an array and a bool array of
        the rows that are known. By default, a row is known if any block knows it.
    ``_fit_combination(blocks, y)``
        Learns from the training fold, sets attributes ending in ``_``. Leave it out
        where nothing is learned.

    Attributes
    ----------
    dims_in_ : dict of str to int
        Dimension of each block in fit, by its name. Transform wants the same.
    dim_ : int
        Dimension of the meta-embedding.

    See Also
    --------
    ConcatMetaEmbedding : A leaf that learns nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block, EmbeddedSequences, TokenSequences
    >>> from sk_metaembed.meta import BaseMetaEmbedding
    >>> class MaximumMetaEmbedding(BaseMetaEmbedding):
    ...     '''The larger entry of any source.'''
    ...
    ...     def _combine(self, blocks):
    ...         return np.maximum.reduce([block.values for block in blocks])
    >>> tokens = TokenSequences.from_lists([["a", "b"]])
    >>> x, y = Block("x", np.eye(2), "type"), Block("y", np.full((2, 2), 0.5), "type")
    >>> MaximumMetaEmbedding().fit_transform(EmbeddedSequences(tokens, [x, y]))[0]
    array([[1. , 0.5],
           [0.5, 1. ]], dtype=float32)
    """

    @property
    def block_name(self):
        """The name of the output's block: the class's name without "MetaEmbedding".

        Under it `Pooling` names its columns, and a further union or combiner finds the
        block.
        """
        name = type(self).__name__.lower()
        return name.removesuffix("metaembedding").strip("_") or name

    def _combine(self, blocks):
        """Return the meta-embedding of the blocks' rows."""
        raise NotImplementedError(
            f"{type(self).__name__} must define _combine(blocks)."
        )

    def get_feature_names_out(self, input_features=None):
        """Return a name for each dimension: the block's name and a number.

        The dimensions are of no one source any more, so the sources' names are not in
        them.

        Parameters
        ----------
        input_features : ignored
            The dimensions of a meta-embedding are new ones.

        Returns
        -------
        ndarray of str objects
            One name a dimension.
        """
        check_is_fitted(self)
        names = [f"{self.block_name}{i}" for i in range(self.dim_)]
        return np.array(names, dtype=object)

    def _outputs(self, blocks):
        return [self._wrapped(blocks)]

    def _set_out(self, outputs):
        self.dim_ = outputs[0].dim

    def _wrapped(self, blocks):
        combined = self._combine(blocks)
        if not isinstance(combined, tuple):
            known = np.logical_or.reduce([block.known for block in blocks])
            combined = combined, known
        return Block(self.block_name, combined[0], blocks[0].level, combined[1])
