"""SequencePairs: pairs of sequences over one table of types, and their validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._core._errors import plural, prefix_errors
from .._core._frames import pandas_index, plain_container, read_frame
from ._embedded_sequences import EmbeddedSequences
from ._html import pairs_html
from ._indexing import Rows
from ._token_sequences import RowInfo, TokenSequences
from ._validation import check_cells, refuse_other_rows, rows_of_cells

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd


class SequencePairs(Rows[tuple[Any, Any]]):
    """Pairs of sequences, such as premise and hypothesis, or question and answer.

    Both sides are in one container and share types and vectors, so steps that learn
    from words or sequences learn from both sides. Immutable; a subset of the pairs
    shares the type-level vectors.

    Parameters
    ----------
    sequences : TokenSequences or EmbeddedSequences of shape (2 * n_pairs,)
        All first sides, then all second sides in the same order.

    Attributes
    ----------
    sequences : TokenSequences or EmbeddedSequences of shape (2 * n_pairs,)
    first, second : TokenSequences or EmbeddedSequences of shape (n_pairs,)
        The sides, over the same types.
    index : pandas Index of shape (n_pairs,), or None
    shape : tuple of one int
        ``(n_pairs,)``.

    Raises
    ------
    TypeError
        If `sequences` is neither of the two containers.
    ValueError
        If the number of sequences is odd.

    See Also
    --------
    PairEncoder : Makes pairs of two columns of texts.
    DynamicMetaClassifier, DynamicMetaRegressor : Learn from pairs.

    Examples
    --------
    >>> from sk_metaembed import SequencePairs
    >>> pairs = SequencePairs.from_lists([(["a", "dog"], ["a", "cat"]), (["hi"], [])])
    >>> pairs
    SequencePairs(2 pairs of TokenSequences: 5 tokens, 4 types)
    >>> pairs[0]
    (['a', 'dog'], ['a', 'cat'])
    >>> pairs.second.to_list()
    [['a', 'cat'], []]
    >>> pairs[1:].to_list()
    [(['hi'], [])]
    """

    sequences: TokenSequences | EmbeddedSequences

    __slots__ = ("sequences",)

    def __init__(self, sequences: TokenSequences | EmbeddedSequences) -> None:
        if not isinstance(sequences, TokenSequences | EmbeddedSequences):
            raise TypeError(
                "SequencePairs takes a TokenSequences or EmbeddedSequences with all "
                f"first and then all second sides, got {type(sequences).__name__}. "
                "Use SequencePairs.from_lists for pairs of token lists, and "
                "PairEncoder for pairs of texts."
            )
        if len(sequences) % 2:
            raise ValueError(
                f"SequencePairs got {len(sequences)} sequences, an odd number. "
                "Pass all first sides, then all second sides."
            )
        self._assign(sequences=sequences)

    @classmethod
    @prefix_errors
    def from_lists(cls, pairs: Iterable[Iterable[Iterable[str]]]) -> Self:
        """Build from pairs of token lists; use `PairEncoder` for texts.

        Parameters
        ----------
        pairs : iterable of (sequence of str, sequence of str)
            The token lists of each pair.

        Returns
        -------
        SequencePairs
            Holds TokenSequences over the distinct tokens of both sides.

        Raises
        ------
        TypeError
            If a row is not a pair, or a side is not a list of str.
        """
        rows, _ = read_pairs(pairs, texts=False)
        if isinstance(rows, list):
            rows = TokenSequences.from_lists(rows)
        return cls(rows)

    def __reduce__(self):
        return type(self), (self.sequences,)

    def __len__(self) -> int:
        return len(self.sequences) // 2

    @property
    def index(self) -> pd.Index | None:
        """Labels of the pairs: the index of the DataFrame they came from, or None."""
        labels = self.sequences.index
        return None if labels is None else labels[: len(self)]

    @property
    def first(self) -> TokenSequences | EmbeddedSequences:
        """The first sides, over the types of both sides."""
        return self.sequences[: len(self)]

    @property
    def second(self) -> TokenSequences | EmbeddedSequences:
        """The second sides, over the types of both sides."""
        return self.sequences[len(self) :]

    def _row(self, i):
        return self.sequences[i], self.sequences[i + len(self)]

    def _take(self, rows):
        return type(self)(self.sequences[np.concatenate([rows, rows + len(self)])])

    def __eq__(self, other):
        if not isinstance(other, SequencePairs):
            return NotImplemented
        return self.sequences == other.sequences

    def to_list(self) -> list[tuple[Any, Any]]:
        """Return the pairs as a list of tuples.

        Returns
        -------
        list of tuple
            Pairs of token lists, or of arrays (n_tokens, dim).
        """
        sides = self.sequences.to_list()
        return list(zip(sides[: len(self)], sides[len(self) :], strict=True))

    def __array__(self, dtype=None, copy=None):
        """Raise a TypeError: a classifier would take ragged rows for a matrix."""
        raise TypeError(
            f"{self!r} cannot be converted to an array with one row per pair. Let the "
            "encoder of PairEncoder end in an array, for example by Pooling as its "
            "last step."
        )

    def __repr__(self) -> str:
        name = type(self.sequences).__name__
        inside = repr(self.sequences).partition(" sequences, ")[2].removesuffix(")")
        return f"SequencePairs({len(self)} pairs of {name}: {inside})"

    def _repr_html_(self):
        return pairs_html(self)


_ALLOWED = (
    "Allowed are an array of shape (n_pairs, 2), a pandas or polars DataFrame of two "
    "columns, or a list of pairs, of str or of lists of str; or SequencePairs"
)


def read_pairs(X, *, texts=True, missing="raise"):
    """Return both sides of pairs as one collection, and its `RowInfo`.

    All first sides, then all second sides, as a list of str or of lists of str, or the
    container of SequencePairs. The labels of the pairs are repeated for the second
    sides. With ``texts=False`` sides must be token lists; missing sides are an error or
    empty.
    """
    if isinstance(X, SequencePairs):
        return X.sequences, tokens_of(X.sequences)._row_info
    X = plain_container(X)
    index = pandas_index(X)
    rows, missing_sides = check_cells(
        _columns(X),
        ("first side", "second side"),
        part="side",
        reader="PairEncoder",
        texts=texts,
        missing=missing,
    )
    index = None if index is None else index.append(index)
    return rows, RowInfo(index=index, missing=missing_sides)


def tokens_of(sequences):
    """Return the tokens of a TokenSequences or an EmbeddedSequences."""
    is_embedded = isinstance(sequences, EmbeddedSequences)
    return sequences.tokens if is_embedded else sequences


def _columns(X):
    """Return the first sides and the second sides, unchecked."""
    refuse_other_rows(X, rows="pairs of sequences", allowed=_ALLOWED)
    if getattr(X, "ndim", 1) > 2:
        raise ValueError(
            f"got an array of shape {X.shape}. {_ALLOWED}. Pass token "
            "lists of equal length in a list of pairs, not in an array."
        )
    if hasattr(X, "columns") or getattr(X, "ndim", 1) == 2:
        columns = read_frame(X)
    else:
        rows = rows_of_cells(X, _ALLOWED, expected="a pair")
        columns = [list(column) for column in zip(*rows, strict=True)] or [[], []]
    if len(columns) != 2:
        raise ValueError(
            "expected two columns of texts, the sides of the pairs, got "
            f"{plural(len(columns), 'column')}. Select two, for example with "
            'ColumnTransformer([("pairs", step, ["one column", "another"])]), and pass '
            "lists of first and second sides as list(zip(first, second))."
        )
    return columns
