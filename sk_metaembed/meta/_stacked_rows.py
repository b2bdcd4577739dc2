"""The rows of a stack, in the forms that its models read."""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._core._arrays import normalize_rows, pair_features
from ..pooling._api import sequence_blocks
from ..sequences import EmbeddedSequences, SequencePairs, TokenSequences
from ..sequences._api import block_dims, check_embedded, tokens_of
from ._ngram_features import (
    CharacterFeatures,
    NgramFeatures,
    PositionFeatures,
    WordFeatures,
)


def _scaler():
    from sklearn.preprocessing import StandardScaler

    return StandardScaler().set_output(transform="default")


class Form(NamedTuple):
    """A form of the rows of a stack, and how a model of it is fitted.

    Attributes
    ----------
    reads : {"vectors", "tokens", "input"}
        The vectors of a source or of all sources, the tokens, or X itself.
    make_features : callable or None
        Returns the transformer before the model, which needs no y.
    per_dimension : bool
        Whether dimensions are scaled one by one, for which rows must be as many.
    per_fold : bool
        Whether one model per fold is fitted, whose mean counts.
    of_order : bool
        Whether features are of the order of tokens.
    """

    reads: str
    make_features: Callable | None = None
    per_dimension: bool = False
    per_fold: bool = False
    of_order: bool = False


FORMS = {
    "row": Form("vectors"),  # of unit length
    "dimension": Form("vectors", _scaler, per_dimension=True),  # to unit variance
    "given": Form("vectors"),
    "words": Form("tokens", WordFeatures),
    "chars": Form("tokens", CharacterFeatures),
    "ngrams": Form("tokens", NgramFeatures, of_order=True),
    "positions": Form("tokens", PositionFeatures, of_order=True),
    # Of `models`:
    "tokens": Form("tokens", per_fold=True),
    "sequences": Form("input", per_fold=True),
}


class StackRows:
    """The rows of an input of a stack, in each of the `FORMS`.

    Parameters
    ----------
    X : EmbeddedSequences, TokenSequences, or SequencePairs of one of them
    dims : dict of str to int, default=None
        The blocks of fit; None in fit.
    """

    def __init__(self, X, dims=None):
        self.X, self.are_pairs = X, isinstance(X, SequencePairs)
        # Of pairs all first and then all second sides.
        sequences = X.sequences if self.are_pairs else X
        if not isinstance(sequences, TokenSequences):
            check_embedded(sequences, dims)
        elif dims:
            raise TypeError(
                f"The stack was fitted on the sources {[*dims]}, got {X!r} without "
                "sources. Pass EmbeddedSequences with these sources."
            )
        self.sequences, self._by_form = sequences, {}

    @property
    def dims(self):
        """The dimensions of the sources, by name."""
        has_sources = isinstance(self.sequences, EmbeddedSequences)
        return block_dims(self.sequences) if has_sources else {}

    @cached_property
    def _blocks(self):
        return sequence_blocks(self.sequences)

    def vectors(self, form):
        """Return the vectors of each source in a form, (n_rows, n_features) by name."""
        if form not in self._by_form:
            self._by_form[form] = {
                block.name: in_form(block.values, form, self.are_pairs)
                for block in self._blocks
            }
        return self._by_form[form]

    def read(self, name, form):
        """Return what the model of a name reads.

        Vectors are of the source of this name, or of all sources side by side.
        """
        if FORMS[form].reads == "input":
            return self.X
        if FORMS[form].reads == "tokens":
            tokens = tokens_of(self.sequences)
            return SequencePairs(tokens) if self.are_pairs else tokens
        return of_name(self.vectors(form), name)


def of_name(vectors, name):
    """Return the vectors of a source, or of all sources if none has the name."""
    return vectors[name] if name in vectors else np.hstack([*vectors.values()])


def in_form(values, form, of_pairs):
    """Return sequence vectors, or features of pairs of them, in a form."""
    if form == "row":
        values = normalize_rows(values)
    if not of_pairs:
        return values
    u, v = np.split(values, 2)
    features = pair_features(u, v)
    if form == "row":
        # Products of unit vectors have a length of about 1 / sqrt(dim).
        features[:, 3 * u.shape[1] :] *= np.sqrt(u.shape[1])
    cosines = np.einsum("ij,ij->i", normalize_rows(u), normalize_rows(v))
    return np.hstack([features, cosines[:, None]])
