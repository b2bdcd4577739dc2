"""What every pooling step shares: blocks in, one row of numbers a sequence out.

A leaf writes `_parts`, and `_fit_pool` where it learns something; the template
checks the input, lays out the columns and names them.
"""

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


class BasePooling(EmbeddedInputMixin, TransformerMixin, BaseEstimator):
    """Base class of steps that turn embedded sequences into an array."""

    _parameter_constraints: dict = {"add_indicator": ["boolean"]}

    def _fit_pool(self, X):
        """Learn from the training fold; nothing by default."""

    def _parts(self, name):
        """Return a label and a width for each part of a block's output, in order."""
        raise NotImplementedError

    def _pool(self, tokens, block, out, at):
        """Write a block's parts into zeros, from column `at` on."""
        raise NotImplementedError

    @fit_context(prefer_skip_nested_validation=True)
    @rollback_on_error
    def fit(self, X, y=None):
        """Learn the blocks' names and dimensions, and what pooling needs of the data.

        Needed even where nothing is learned, so that later data with other blocks are
        an error and not other columns.

        Parameters
        ----------
        X : EmbeddedSequences
            Whose words the weights are learned from, where there are any.
        y : ignored
            There for pipelines.

        Returns
        -------
        estimator instance
            The fitted step.
        """
        X = check_embedded(X, caller=type(self).__name__)
        self.dims_in_ = block_dims(X)
        self._passed = _sequence_level(X)
        self._indicates = self.add_indicator
        self._fit_pool(X)
        return self

    def transform(self, X):
        """Pool the vectors of each sequence.

        Blocks stand side by side, each with its parts; those at sequence level pass as
        they are. A sequence without known words gives zeros.

        Parameters
        ----------
        X : EmbeddedSequences
            With blocks of the names and dimensions seen in fit.

        Returns
        -------
        ndarray of float32, shape (n_sequences, n_features_out)
            One row a sequence, in the order of `get_feature_names_out`.

        Raises
        ------
        TypeError
            If X is not an EmbeddedSequences.
        ValueError
            If the blocks are not those of fit, or a result does not fit float32.
        """
        check_is_fitted(self)
        caller = type(self).__name__
        X = check_embedded(X, caller=caller)
        self._check_blocks(X)
        out = np.zeros((len(X), self._n_columns()), dtype=np.float32)
        at = 0
        with np.errstate(over="ignore"):  # reported with its row
            for block in X.blocks:
                at = self._write_block(X.tokens, block, out, at)
        if self._indicates and X.tokens.missing is not None:
            out[:, at] = X.tokens.missing
        _check_finite(out, caller)
        return out

    def get_feature_names_out(self, input_features=None):
        """Return a name for each column: ``block__part__number``.

        They tell which source and which statistic a column is of, for example to see
        what a classifier leans on.

        Parameters
        ----------
        input_features : ignored
            Embedded sequences have blocks, not features.

        Returns
        -------
        ndarray of str objects
            Columns of a sequence-level block have no part: ``block__number``. The
            last one is "missing" with ``add_indicator=True``.
        """
        check_is_fitted(self)
        names = [
            f"{prefix}__{i}" for prefix, width in self._columns() for i in range(width)
        ]
        if self._indicates:
            names.append("missing")
        return np.array(names, dtype=object)

    def _columns(self):
        for name, dim in self.dims_in_.items():
            if name in self._passed:
                yield name, dim
                continue
            for label, width in self._parts(name):
                yield f"{name}__{label}", width

    def _n_columns(self):
        return sum(width for _, width in self._columns()) + self._indicates

    def _write_block(self, tokens, block, out, at):
        if block.level == "sequence":
            out[:, at : at + block.dim] = block.values
            return at + block.dim
        self._pool(tokens, block, out, at)
        return at + sum(width for _, width in self._parts(block.name))

    def _check_blocks(self, X):
        caller = type(self).__name__
        check_blocks(X, self.dims_in_, caller=caller)
        if _sequence_level(X) != self._passed:
            raise ValueError(
                f"{caller} was fitted with {sorted(self._passed)} at level 'sequence', "
                f"got {sorted(_sequence_level(X))}: their columns would differ. Pass "
                "what the same sources give, or fit again."
            )


def _sequence_level(X):
    return {block.name for block in X.blocks if block.level == "sequence"}


def _check_finite(out, caller):
    # A sum is finite unless some entry is not (or it overflows, then look again).
    if np.isfinite(out.sum(dtype=np.float64)):
        return
    bad = np.flatnonzero(~np.isfinite(out).all(axis=1))
    if len(bad):
        raise ValueError(
            f"{caller}: the pooled vector of row {bad[0]} exceeds float32 (and those "
            f"of {len(bad) - 1} more rows). Scale the vectors, for example with the "
            'source\'s preprocess="unit".'
        )
