"""The rows of a stack, in the forms that its models read."""

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._core._arrays import normalize_rows, pair_features
from .._core._messages import plural
from ..pooling._api import sequence_blocks
from ..sequences import EmbeddedSequences, SequencePairs, TokenSequences
from ..sequences._api import block_dims, check_embedded, tokens_of
from ._ngram_features import CharacterFeatures, WordFeatures

_MOST_LINKED = 0.1  # of all pairs, by texts that they share
_MANY_SHARED = 0.2  # of all pairs


def _scaler():
    from sklearn.preprocessing import StandardScaler

    return StandardScaler()


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
    """

    reads: str
    make_features: Callable | None = None
    per_dimension: bool = False
    per_fold: bool = False


FORMS = {
    "row": Form("vectors"),  # of unit length
    "dimension": Form("vectors", _scaler, per_dimension=True),  # to unit variance
    "given": Form("vectors"),
    "words": Form("tokens", WordFeatures),
    "chars": Form("tokens", CharacterFeatures),
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


def equal_rows(X):
    """Return the number of a row that is equal to each, None if none are.

    Pairs that share a text belong together, too, on whichever sides it is: a model that
    has seen one of them knows the text of the other. A warning is issued if that is not
    possible, because most pairs are linked.
    """
    is_pairs = isinstance(X, SequencePairs)
    tokens = tokens_of(X.sequences if is_pairs else X)
    # Vectors of empty sequences may still differ.
    keys = (
        codes.tobytes() or i
        for i, codes in enumerate(np.split(tokens.codes, tokens.offsets[1:])[:-1])
    )
    places = {}
    texts = np.array([places.setdefault(key, i) for i, key in enumerate(keys)])
    groups = texts
    if is_pairs:
        pairs = np.split(texts, 2)
        groups = linked_pairs(*pairs)
        _warn_of_shared_texts(pairs, groups)
    return groups if len(np.unique(groups)) < len(groups) else None


def _warn_of_shared_texts(pairs, groups):
    """Warn if many pairs share a text with pairs of other groups.

    Texts of a tenth of the pairs, such as the names of all classes, do not count: they
    are known in new pairs, too.
    """
    ends, size = np.concatenate(pairs), 2 * len(groups)
    n_pairs = np.bincount(ends, minlength=size)
    in_groups = np.unique(ends * size + np.tile(groups, 2)) // size
    n_groups = np.bincount(in_groups, minlength=size)
    is_open = (n_groups > 1) & (n_pairs <= _MOST_LINKED * len(groups))
    is_shared = is_open[pairs[0]] | is_open[pairs[1]]
    if is_shared.mean() > _MANY_SHARED:
        warnings.warn(
            f"{np.count_nonzero(is_shared):,} of {plural(len(groups), 'pair')} share a "
            "text with pairs in other folds: texts link more than a tenth of all. "
            "Weights and scores_ are for new pairs of known texts. If new pairs have "
            "new texts, pass groups to fit, such as the first text of each pair.",
            UserWarning,
            stacklevel=4,
        )


def linked_pairs(first, second):
    """Return the number of a pair in the group of each, given the texts' numbers.

    Texts link pairs, the rarest first, unless more than a tenth of all pairs would be
    in one group.
    """
    texts = np.sort(np.stack([first, second]), axis=0)  # (a, b) as (b, a)
    keys = texts[0] * (texts.max(initial=0) + 1) + texts[1]
    _, distinct, pairs = np.unique(keys, return_index=True, return_inverse=True)
    ends = np.unique(texts[:, distinct].ravel(), return_inverse=True)[1]
    members = np.argsort(ends, kind="stable")  # of each text, one after the other
    stops = np.cumsum(np.bincount(ends))
    members = (members % len(distinct)).tolist()
    n_rows = np.bincount(ends, np.tile(np.bincount(pairs), 2))
    by_size = np.argsort(n_rows, kind="stable")
    starts, stops = np.append(0, stops[:-1])[by_size].tolist(), stops[by_size].tolist()
    sizes, parents = np.bincount(pairs).tolist(), [*range(len(distinct))]
    most = max(len(first) * _MOST_LINKED, 2)

    def root(pair):
        while parents[pair] != pair:
            parents[pair] = pair = parents[parents[pair]]
        return pair

    for start, stop in zip(starts, stops, strict=True):
        roots = {root(pair) for pair in members[start:stop]}
        total = sum(sizes[pair] for pair in roots)
        if len(roots) > 1 and total <= most:
            kept = roots.pop()
            sizes[kept] = total
            for other in roots:
                parents[other] = kept
    return distinct[[root(pair) for pair in range(len(distinct))]][pairs]
