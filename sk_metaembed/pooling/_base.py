"""Base class of pooling transformers.

The base class validates the input, allocates the output, and names its columns: blocks
in order, and the parts of each block. Subclasses implement `_parts`, the widths of a
block's parts, `_pool`, which writes them, and `_fit_pool` if they learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._core._decorators import fit_context, rollback_on_error
from ..sequences._mixins import (
    EmbeddedInputMixin,
    block_dims,
    check_blocks,
    check_embedded,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..sequences import EmbeddedSequences


class BasePooling(EmbeddedInputMixin, TransformerMixin, BaseEstimator):
    """Base class of transformers from embedded sequences to an array."""

    _parameter_constraints: dict = {"add_indicator": ["boolean"]}

    def _fit_pool(self, X):
        """Learn from the training data; nothing by default."""

    def _parts(self, name):
        """Return (label, width) of each part of a block's output, in order."""
        raise NotImplementedError

    def _pool(self, tokens, block, out, column):
        """Write a block's parts into `out`, which is zero, from `column` on."""
        raise NotImplementedError

    @fit_context(prefer_skip_nested_validation=True)
    @rollback_on_error
    def fit(self, X: EmbeddedSequences, y: object = None) -> Self:
        """Learn the names and dimensions of blocks, and weights or projections.

        Required even if nothing is learned, so that data with other blocks raise an
        error in `transform`.

        Parameters
        ----------
        X : EmbeddedSequences
            Training data, from which weights of words are learned.
        y : ignored
            Not used.

        Returns
        -------
        estimator instance
            The fitted transformer.
        """
        X = check_embedded(X)
        self.dims_in_ = block_dims(X)
        self._sequence_blocks = _sequence_level(X)
        self._has_indicator = self.add_indicator
        self._fit_pool(X)
        return self

    if TYPE_CHECKING:

        def fit_transform(
            self, X: EmbeddedSequences, y: object = None, **fit_params: Any
        ) -> NDArray[np.float32]: ...

    def transform(self, X: EmbeddedSequences) -> NDArray[np.float32]:
        """Pool the vectors of each sequence.

        Blocks are concatenated, each with its parts; blocks at sequence level are
        copied unchanged. A sequence without known words gives zeros.

        Parameters
        ----------
        X : EmbeddedSequences
            Must have blocks of the names and dimensions seen in `fit`.

        Returns
        -------
        ndarray of float32, shape (n_sequences, n_features_out)
            One row per sequence, with the columns of `get_feature_names_out`.

        Raises
        ------
        TypeError
            If X is not an EmbeddedSequences.
        ValueError
            If the blocks are not those of fit, or a result exceeds float32.
        """
        check_is_fitted(self)
        X = check_embedded(X)
        self._check_blocks(X)
        out = np.zeros((len(X), self._n_columns()), dtype=np.float32)
        column = 0
        with np.errstate(over="ignore"):  # overflow is reported with its row below
            for block in X.blocks:
                column = self._write_block(X.tokens, block, out, column)
        if self._has_indicator and X.tokens.missing is not None:
            out[:, column] = X.tokens.missing
        _check_finite(out)
        return out

    def get_feature_names_out(
        self, input_features: object = None
    ) -> NDArray[np.object_]:
        """Return a name for each column: ``block__part__number``.

        Parameters
        ----------
        input_features : ignored
            Embedded sequences have blocks, not features.

        Returns
        -------
        ndarray of str objects
            Columns of a sequence-level block have no part: ``block__number``. With
            ``add_indicator=True`` the last name is "missing".
        """
        check_is_fitted(self)
        names = [
            f"{prefix}__{i}" for prefix, width in self._columns() for i in range(width)
        ]
        if self._has_indicator:
            names.append("missing")
        return np.array(names, dtype=object)

    def _columns(self):
        for name, dim in self.dims_in_.items():
            if name in self._sequence_blocks:
                yield name, dim
                continue
            for label, width in self._parts(name):
                yield f"{name}__{label}", width

    def _n_columns(self):
        return sum(width for _, width in self._columns()) + self._has_indicator

    def _write_block(self, tokens, block, out, column):
        if block.level == "sequence":
            out[:, column : column + block.dim] = block.values
            return column + block.dim
        self._pool(tokens, block, out, column)
        return column + sum(width for _, width in self._parts(block.name))

    def _check_blocks(self, X):
        check_blocks(X, self.dims_in_)
        if _sequence_level(X) != self._sequence_blocks:
            raise ValueError(
                f"was fitted with the blocks {sorted(self._sequence_blocks)} "
                f"at level 'sequence'; got {sorted(_sequence_level(X))}, which would "
                "give other columns. Pass the output of the same sources, or call fit."
            )


def _sequence_level(X):
    return {block.name for block in X.blocks if block.level == "sequence"}


def _check_finite(out):
    # A finite sum has finite entries; an infinite one may be an overflow of the sum.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(out.sum()):
            return
    overflowing = np.flatnonzero(~np.isfinite(out).all(axis=1))
    if len(overflowing):
        raise ValueError(
            f"The pooled vector of row {overflowing[0]} exceeds float32 (and "
            f"those of {len(overflowing) - 1} more rows). Scale the vectors, for "
            'example with preprocess="unit" of the source.'
        )
