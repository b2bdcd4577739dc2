"""TokenSequences: texts as codes into a table of distinct tokens."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from .._core._arrays import chunks, gather_index, offsets_of, read_only
from .._core._frames import plain_str
from ._characters import Rule
from ._html import tokens_html
from ._indexing import Rows
from ._row_errors import plain_tokens
from ._text_spans import text_spans

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

_CHUNK = 1 << 20  # tokens whose 64-bit copies are in memory at once
_ROWS = 2048  # lists of str that are read at once


class RowInfo(NamedTuple):
    """Information about rows that subsets keep; a field is None if it is unknown."""

    index: Any = None  # pandas Index
    missing: np.ndarray | None = None  # (n_sequences,) bool
    texts: np.ndarray | None = None  # (n_sequences,) of str objects
    rule: Rule | None = None  # by which compiled code splits and locates
    prepare: Callable | None = None  # original texts -> the texts that were split
    locate: Callable | None = None  # such a text and its tokens -> their spans


NO_INFO = RowInfo()


class TokenSequences(Rows[list[str]]):
    """Token sequences, stored as codes into the table of their distinct tokens.

    A *type* is a distinct token, a *token* one occurrence of it. The container stores
    both, so that what does not depend on context is computed once per type. It is
    immutable: it copies the arrays that it is given, and its subsets share `types`.

    Parameters
    ----------
    types : array-like of str, shape (n_types,)
        The distinct tokens. Type-level blocks have one row for each.
    codes : array-like of int, shape (n_tokens,)
        Each token's row in `types`.
    offsets : array-like of int, shape (n_sequences + 1,)
        Sequence ``i`` is ``codes[offsets[i]:offsets[i + 1]]``.
    index : pandas Index or array-like of shape (n_sequences,), default=None
        Labels of the rows, passed on to every DataFrame that a step makes of the
        sequences.

    Attributes
    ----------
    types : ndarray of object, shape (n_types,)
    codes : ndarray of int32, shape (n_tokens,)
    offsets : ndarray of int64, shape (n_sequences + 1,)
    index : pandas Index of shape (n_sequences,), or None
    missing : ndarray of bool, shape (n_sequences,), or None
    texts : ndarray of object, shape (n_sequences,), or None
    lengths : ndarray of int64, shape (n_sequences,)
    n_types, n_tokens : int
    shape : tuple of one int
        ``(n_sequences,)``.

    Raises
    ------
    TypeError
        If types are not str, or codes or offsets are not integers.
    ValueError
        If codes point outside `types`, offsets do not ascend from 0 to n_tokens, or
        `index` has another length.

    See Also
    --------
    Tokenizer : Splits texts into a TokenSequences.
    EmbeddedSequences : Token sequences with their vectors.
    SequencePairs : Pairs of sequences.

    Notes
    -----
    Two TokenSequences are equal if their tokens are; `index`, `missing` and `texts` are
    not compared.

    Examples
    --------
    >>> from sk_metaembed import TokenSequences
    >>> tokens = TokenSequences.from_lists([["to", "be", "or"], ["be"], []])
    >>> tokens
    TokenSequences(3 sequences, 4 tokens, 3 types)
    >>> tokens.types.tolist(), tokens.codes.tolist()
    (['to', 'be', 'or'], [0, 1, 2, 1])
    >>> tokens[0]
    ['to', 'be', 'or']
    >>> tokens[1:].to_list()
    [['be'], []]

    A subset keeps the whole table of types until `compact`:

    >>> tokens[1:].n_types, tokens[1:].compact().n_types
    (3, 1)
    >>> tokens.type_counts().tolist(), tokens.segment_ids().tolist()
    ([1, 2, 1], [0, 0, 0, 1])

    The spans of the tokens in the texts that they were split from:

    >>> from sk_metaembed import Tokenizer
    >>> Tokenizer().transform(["To be!"]).spans().tolist()
    [[0, 2], [3, 5]]
    """

    types: NDArray[np.object_]
    codes: NDArray[np.int32]
    offsets: NDArray[np.int64]
    _row_info: RowInfo

    __slots__ = ("_row_info", "codes", "offsets", "types")

    def __init__(
        self,
        types: ArrayLike,
        codes: ArrayLike,
        offsets: ArrayLike,
        *,
        index: Any = None,
    ) -> None:
        # Copied before the checks, so that no writer can invalidate them.
        table = np.array(types, dtype=object)
        rows = _as_integers(codes, "codes")
        bounds = _as_integers(offsets, "offsets")
        _check_layout(table, rows, bounds)
        # After the check: a code of more than 32 bits would wrap around to another.
        rows = rows.astype(np.int32, copy=False)
        table = np.fromiter(map(plain_str, table), object, len(table))
        bounds = bounds.astype(np.int64, copy=False)
        row_info = RowInfo(index=_checked_index(index, len(bounds) - 1))
        self._assign(types=table, codes=rows, offsets=bounds, _row_info=row_info)

    @classmethod
    def _from_unchecked(cls, types, codes, offsets, row_info=NO_INFO):
        """Build without checks, from arrays that fit together."""
        self = cls.__new__(cls)
        self._assign(types=types, codes=codes, offsets=offsets, _row_info=row_info)
        return self

    def _with_row_info(self, **info):
        """Return the same sequences with other information about their rows."""
        row_info = self._row_info._replace(**info)
        return self._from_unchecked(self.types, self.codes, self.offsets, row_info)

    def _with_words(self, words):
        """Return the same sequences with one other word per type; equal words merge.

        The result keeps the original texts and the information about rows.
        """
        places: dict[str, int] = {}
        codes = [places.setdefault(word, len(places)) for word in words]
        types = np.fromiter(places, object, len(places))
        codes = np.array(codes, dtype=np.int32)[self.codes]
        return self._from_unchecked(types, codes, self.offsets, self._row_info)

    @classmethod
    def from_lists(
        cls, sequences: Iterable[Iterable[str]], *, index: Any = None
    ) -> Self:
        """Build from lists of tokens; types are in first-seen order.

        Parameters
        ----------
        sequences : iterable of sequence of str
            The tokens of each sequence.
        index : pandas Index or array-like of shape (n_sequences,), default=None
            Labels of the rows.

        Returns
        -------
        TokenSequences
            Over the distinct tokens that occur.

        Raises
        ------
        TypeError
            If a row is a single str or not iterable, or a token is not a str.
        """
        lists = (_as_list(row, i) for i, row in enumerate(sequences))
        tokens = cls._from_unchecked_lists(lists)
        if index is None:
            return tokens
        return tokens._with_row_info(index=_checked_index(index, len(tokens)))

    @classmethod
    def _from_unchecked_lists(cls, lists):
        """Build from an iterator of lists of plain str."""
        places: defaultdict[str, int] = defaultdict()
        places.default_factory = places.__len__
        lengths: list[int] = []
        codes = [np.empty(0, np.int32)]
        # In parts, because a str of each token takes ten times the memory of its code.
        while rows := [*islice(lists, _ROWS)]:
            lengths += map(len, rows)
            own = map(places.__getitem__, chain.from_iterable(rows))
            codes.append(np.fromiter(own, np.int32))
        types = np.fromiter(places, object, len(places))
        offsets = offsets_of(np.array(lengths, dtype=np.int64))
        return cls._from_unchecked(types, np.concatenate(codes), offsets)

    def __reduce__(self):
        return type(self)._from_unchecked, (
            np.array(self.types),
            np.array(self.codes),
            np.array(self.offsets),
            self._row_info,
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def index(self) -> pd.Index | None:
        """Labels of the rows: the index of the Series or DataFrame they came from."""
        return self._row_info.index

    @property
    def missing(self) -> NDArray[np.bool_] | None:
        """Which rows were missing, if a step with ``missing="empty"`` read them."""
        missing = self._row_info.missing
        return None if missing is None else read_only(missing)

    @property
    def texts(self) -> NDArray[np.object_] | None:
        """The original texts, which some sources read, or None for token lists."""
        texts = self._row_info.texts
        return None if texts is None else read_only(texts)

    @property
    def n_types(self) -> int:
        """Number of rows of `types`, including those that a subset does not use."""
        return len(self.types)

    @property
    def n_tokens(self) -> int:
        """Number of tokens over all sequences."""
        return len(self.codes)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens per sequence, int64 of shape (n_sequences,)."""
        return np.diff(self.offsets)

    def type_counts(self) -> NDArray[np.int64]:
        """Count the occurrences of each type.

        Returns
        -------
        ndarray of int64, shape (n_types,)
            0 for types that a subset does not use.
        """
        counts = np.zeros(self.n_types, dtype=np.int64)
        # In chunks, because bincount copies codes to 64 bits.
        for start in range(0, self.n_tokens, _CHUNK):
            codes = self.codes[start : start + _CHUNK]
            counts += np.bincount(codes, minlength=self.n_types)
        return counts

    def segment_ids(self) -> NDArray[np.int64]:
        """Return the row number of each token's sequence.

        Returns
        -------
        ndarray of int64, shape (n_tokens,)
            Ascending.
        """
        return np.repeat(np.arange(len(self)), self.lengths)

    def spans(self) -> NDArray[np.int32] | None:
        """Locate each token in `texts`. Not cached.

        Returns
        -------
        ndarray of int32, shape (n_tokens, 2), or None
            First character and the one after the last; -1 for tokens that do not occur
            in the text, such as lemmas of a callable `tokenizer`. None if `texts` is
            None.
        """
        if self._row_info.texts is None:
            return None
        how = self._row_info[3:]
        parts = [np.empty((0, 2), dtype=np.int32)]
        for rows in chunks(len(self)):
            parts.append(text_spans(self[rows], *how))
        return np.concatenate(parts)

    def compact(self) -> Self:
        """Return the same sequences over the used types only, in first-seen order.

        Codes change, so type-level blocks of the old table no longer fit.

        Returns
        -------
        TokenSequences
            Equal to this one; itself if it uses all types in this order.
        """
        first = np.full(self.n_types, self.n_tokens)
        for start in reversed(range(0, self.n_tokens, _CHUNK)):
            codes = self.codes[start : start + _CHUNK][::-1]
            # If a type occurs several times, the last assignment counts.
            first[codes] = np.arange(start + len(codes) - 1, start - 1, -1)
        used = np.flatnonzero(first < self.n_tokens)
        order = used[np.argsort(first[used])]
        if np.array_equal(order, np.arange(self.n_types)):
            return self
        position = np.zeros(self.n_types, dtype=np.int32)
        position[order] = np.arange(len(order), dtype=np.int32)
        codes = position[self.codes]
        return self._from_unchecked(
            self.types[order], codes, self.offsets, self._row_info
        )

    def _row(self, i):
        codes = self.codes[slice(*self.offsets[i : i + 2])]
        return self.types[codes].tolist()

    def _take(self, rows):
        positions, offsets = gather_index(self.offsets, rows)
        info = self._row_info
        taken = (None if values is None else values[rows] for values in info[:3])
        info = RowInfo(*taken, *info[3:])
        return self._from_unchecked(self.types, self.codes[positions], offsets, info)

    def __eq__(self, other):
        if not isinstance(other, TokenSequences):
            return NotImplemented
        if not np.array_equal(self.offsets, other.offsets):
            return False
        if self.types is not other.types and not np.array_equal(
            self.types, other.types
        ):
            self, other = self.compact(), other.compact()
            if not np.array_equal(self.types, other.types):
                return False
        return np.array_equal(self.codes, other.codes)

    def to_list(self) -> list[list[str]]:
        """Return the tokens as lists of str.

        Returns
        -------
        list of list of str
            One list per sequence.
        """
        items = iter(self.types[self.codes].tolist())
        return [list(islice(items, int(n))) for n in self.lengths]

    def to_padded(self) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return the codes padded to the longest sequence, and a mask.

        Returns
        -------
        codes : ndarray of int32, shape (n_sequences, max_length)
            Padded with 0, which is also the code of a type.
        mask : ndarray of bool, shape (n_sequences, max_length)
            True at real tokens.
        """
        return padded(self.codes, self.lengths)

    def __array__(self, dtype=None, copy=None):
        """Raise a TypeError: a classifier would take the tokens for features."""
        raise TypeError(
            f"{self!r} cannot be converted to an array: sequences of tokens have no "
            "columns. Put a source such as PretrainedEmbedding, and then Pooling, "
            "before a step that takes arrays. To look at the tokens use to_list() or "
            "to_padded()."
        )

    def __repr__(self) -> str:
        return (
            f"TokenSequences({len(self)} sequences, {self.n_tokens} tokens, "
            f"{self.n_types} types)"
        )

    def _repr_html_(self):
        return tokens_html(self)


def _checked_index(index, n_rows):
    """Return labels as a pandas Index, or raise a ValueError unless it has n_rows."""
    if index is None:
        return None
    if not hasattr(index, "get_indexer"):
        import pandas as pd

        index = pd.Index(index, copy=True)
    if len(index) != n_rows:
        raise ValueError(
            f"index must have one label per sequence: got {len(index)} labels for "
            f"{n_rows} sequences."
        )
    return index


def _as_list(sequence, i):
    if isinstance(sequence, str | bytes) or not isinstance(sequence, Iterable):
        raise TypeError(
            f"TokenSequences.from_lists: row {i} is {sequence!r}, not a list of str. "
            "Every row must hold the tokens of one sequence; use Tokenizer to split "
            "texts."
        )
    return plain_tokens(list(sequence), f"row {i}")


def padded(values, lengths):
    """Return the values of tokens as (n_sequences, max_length, ...), and a mask."""
    width = int(lengths.max()) if len(lengths) else 0
    mask = np.arange(width) < lengths[:, None]
    array = np.zeros((*mask.shape, *values.shape[1:]), dtype=values.dtype)
    array[mask] = values
    return array, mask


def _as_integers(values, name):
    """Return a copy as int32 or int64."""
    values = np.array(values)
    if values.size == 0:
        return values.astype(np.int64)
    if values.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, got dtype {values.dtype}.")
    kind = np.int32 if values.dtype == np.int32 else np.int64
    return values.astype(kind, copy=False)


def _check_layout(types, codes, offsets):
    if types.ndim != 1 or codes.ndim != 1 or offsets.ndim != 1:
        raise ValueError(
            "types, codes and offsets must be one-dimensional, got shapes "
            f"{types.shape}, {codes.shape} and {offsets.shape}."
        )
    wrong = [t for t in types if not isinstance(t, str)]
    if wrong:
        raise TypeError(
            f"Types must be str, got {type(wrong[0]).__name__}: {wrong[0]!r}."
        )
    if len(set(types)) != len(types):
        raise ValueError("Types must be distinct; `types` contains duplicates.")
    if len(codes) and not (codes.min() >= 0 and codes.max() < len(types)):
        raise ValueError(
            f"Codes must be in [0, {len(types)}), the rows of `types`; got values from "
            f"{codes.min()} to {codes.max()}."
        )
    ends_fit = len(offsets) and offsets[0] == 0 and offsets[-1] == len(codes)
    if not ends_fit or (np.diff(offsets) < 0).any():
        raise ValueError(
            f"Offsets must ascend from 0 to the number of tokens ({len(codes)}), with "
            "one entry more than there are sequences."
        )


def token_columns(tokens):
    """Return the sequence, position and text of each token, as columns."""
    rows = tokens.segment_ids()
    return {
        "sequence": rows,
        "position": np.arange(tokens.n_tokens) - tokens.offsets[:-1][rows],
        "token": tokens.types[tokens.codes],
    }


# A constructor for arrays that fit together and that the caller will not use again.
tokens_from_unchecked = TokenSequences._from_unchecked
