"""TokenSequences: texts as codes into a table of distinct tokens.

Properties of a TokenSequences: facts about its rows, and counts.
"""

from collections.abc import Iterable
from itertools import chain, islice

import numpy as np

from ._html import tokens_html
from ._indexing import row_index, span_index
from ._row_errors import token_error
from ._row_info import NO_INFO, as_pandas_index


class TokenCounts:
    """Facts about the rows, and numbers that follow from types, codes and offsets."""

    __slots__ = ()

    @property
    def index(self):
        """Labels of the rows, the index of the Series or DataFrame they came from.

        None if they came from anything else. With ``set_output(transform="pandas")``
        it is the index of every DataFrame made of the sequences, so that columns are
        joined row by row.
        """
        return self._rows.index

    @property
    def missing(self):
        """Which rows were missing, bool of shape (n_sequences,), or None if unknown.

        Missing rows are empty sequences. They are recorded by steps with
        ``missing="empty"``.
        """
        return self._rows.missing

    @property
    def texts(self):
        """The texts that the tokens were split from, as they were written, or None.

        Sources whose vectors depend on case, punctuation or context read these in
        place of the tokens. Token lists have no texts.
        """
        return self._rows.texts

    def spans(self):
        """Return where each token is in `texts`.

        They are computed at each call. A token that a callable `tokenizer` invented
        and that does not occur in the text has none.

        Returns
        -------
        ndarray of int32, shape (n_tokens, 2), or None
            First character and the one after the last; -1 where there is none. None if
            `texts` is None.
        """
        return None if self.texts is None else self._rows.spans(self)

    @property
    def shape(self):
        """``(n_sequences,)``, as scikit-learn's splitters ask for it.

        There is no second number, since sequences differ in length.
        """
        return (len(self),)

    @property
    def n_types(self):
        """Number of rows of `types`; a subset may leave some unused.

        A subset shares the table of the whole, so that codes and type-level vectors
        stay valid.
        """
        return len(self.types)

    @property
    def n_tokens(self):
        """Number of tokens over all sequences.

        A token counts as often as it occurs; what does not depend on context is
        computed `n_types` times instead.
        """
        return len(self.codes)

    @property
    def lengths(self):
        """Number of tokens of each sequence, int64 of shape (n_sequences,).

        Empty sequences have length 0. It is computed from `offsets` at each call.
        """
        return np.diff(self.offsets)

    def type_counts(self):
        """Count the occurrences of each type.

        Word frequencies, for weights by frequency and to see what a corpus is made of.

        Returns
        -------
        ndarray of int64, shape (n_types,)
            Zero for types that a subset leaves unused.
        """
        return np.bincount(self.codes, minlength=self.n_types)

    def segment_ids(self):
        """Return the row of the sequence that each token stands in.

        For sums over sequences in one go: ``np.bincount`` takes it as it is.

        Returns
        -------
        ndarray of int64, shape (n_tokens,)
            Ascending.
        """
        return np.repeat(np.arange(len(self)), self.lengths)


def _read_only(array):
    if not array.flags.writeable:  # the very same array: subsets share it
        return array
    view = array.view()
    view.flags.writeable = False
    return view


class TokenSequences(TokenCounts):
    """Token sequences, stored as codes into the table of their distinct tokens.

    A *type* is a distinct token, a *token* one occurrence of it. What does not
    depend on context is computed once per type; this container keeps the two apart.
    It is immutable, and a subset of it shares the table of types.

    Parameters
    ----------
    types : array-like of str, shape (n_types,)
        The distinct tokens. Rows of a type-level block belong to them.
    codes : array-like of int, shape (n_tokens,)
        Each token's row in `types`.
    offsets : array-like of int, shape (n_sequences + 1,)
        Sequence ``i`` is ``codes[offsets[i]:offsets[i + 1]]``.
    index : pandas Index or array-like of shape (n_sequences,), default=None
        Labels of the rows. They travel with the rows to every frame that a step makes
        of them.

    Attributes
    ----------
    types : ndarray of object, shape (n_types,)
    codes : ndarray of int32, shape (n_tokens,)
    offsets : ndarray of int64, shape (n_sequences + 1,)
    index : pandas Index of shape (n_sequences,), or None
    missing : ndarray of bool, shape (n_sequences,), or None
    texts : ndarray of object, shape (n_sequences,), or None
    shape : tuple of one int
        ``(n_sequences,)``.

    Raises
    ------
    TypeError
        If types are not str, or codes or offsets no integers.
    ValueError
        If codes point outside `types`, offsets do not ascend from 0 to n_tokens, or
        `index` has another length.

    See Also
    --------
    Tokenizer : Makes them of texts.
    EmbeddedSequences : Adds vectors to them.
    SequencePairs : Pairs of them.

    Notes
    -----
    Two of them are equal if their tokens are, whatever `index`, `missing` and `texts`.

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
    """

    __slots__ = ("_rows", "codes", "offsets", "types")

    def __init__(self, types, codes, offsets, *, index=None):
        types = np.asarray(types, dtype=object)
        codes = _integers(codes, "codes")
        offsets = _integers(offsets, "offsets")
        _check_layout(types, codes, offsets)
        # Checked before: a code beyond 32 bits would come back as another one.
        codes = codes.astype(np.int32, copy=False)
        rows = NO_INFO._replace(index=as_pandas_index(index, len(offsets) - 1))
        self._set(types, codes, offsets.astype(np.int64, copy=False), rows)

    def _set(self, types, codes, offsets, rows):
        object.__setattr__(self, "types", _read_only(types))
        object.__setattr__(self, "codes", _read_only(codes))
        object.__setattr__(self, "offsets", _read_only(offsets))
        object.__setattr__(self, "_rows", rows)

    @classmethod
    def _trusted(cls, types, codes, offsets, rows=NO_INFO):
        """Build from arrays that are known to fit together."""
        self = cls.__new__(cls)
        self._set(types, codes, offsets, rows)
        return self

    def _with_row_info(self, **facts):
        """Return the same sequences with other facts about their rows."""
        rows = self._rows._replace(**facts)
        return self._trusted(self.types, self.codes, self.offsets, rows)

    @classmethod
    def from_lists(cls, sequences, *, index=None):
        """Build from lists of tokens; types stand in first-seen order.

        The usual way to make one by hand. Every token is looked at once, in Python:
        what is read from large files is better built from codes.

        Parameters
        ----------
        sequences : iterable of sequence of str
            One sequence of tokens a row.
        index : pandas Index or array-like of shape (n_sequences,), default=None
            Labels of the rows.

        Returns
        -------
        TokenSequences
            Over the distinct tokens that occur.

        Raises
        ------
        TypeError
            If a row is a single str or no collection, or a token is not a str.
        """
        sequences = [_row(sequence, i) for i, sequence in enumerate(sequences)]
        flat = list(chain.from_iterable(sequences))
        try:
            table = dict.fromkeys(flat)
        except TypeError:  # a list is not hashable
            _check_tokens(sequences)
            raise
        if not set(map(type, table)) <= {str, np.str_}:
            _check_tokens(sequences)
        types = np.empty(len(table), dtype=object)
        types[:] = list(table)
        table = dict(zip(table, range(len(table)), strict=True))
        codes = np.fromiter(map(table.__getitem__, flat), np.int32, count=len(flat))
        lengths = np.fromiter(map(len, sequences), np.int64, count=len(sequences))
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        rows = NO_INFO._replace(index=as_pandas_index(index, len(lengths)))
        return cls._trusted(types, codes, offsets, rows)

    def __setattr__(self, name, value):
        raise AttributeError(
            f"TokenSequences is immutable: cannot set {name!r}. Build a new one."
        )

    def __delattr__(self, name):
        raise AttributeError(
            f"TokenSequences is immutable: cannot delete {name!r}. Build a new one."
        )

    def __reduce__(self):
        return type(self)._trusted, (
            np.array(self.types),
            np.array(self.codes),
            np.array(self.offsets),
            self._rows,
        )

    def __len__(self):
        return len(self.offsets) - 1

    def compact(self):
        """Return the same sequences over the used types only, first-seen order.

        A small subset of a large corpus then no longer holds on to all its types. Codes
        change, so that type-level vectors of the old table no longer fit.

        Returns
        -------
        TokenSequences
            Equal to this one.
        """
        order = self._used_types()
        position = np.zeros(self.n_types, dtype=np.int32)
        position[order] = np.arange(len(order), dtype=np.int32)
        return self._trusted(
            self.types[order], position[self.codes], self.offsets, self._rows
        )

    def _used_types(self):
        """Return the rows of the types that occur, in first-seen order."""
        used, first = np.unique(self.codes, return_index=True)
        return used[np.argsort(first)]

    def __getitem__(self, key):
        rows = row_index(key, len(self))
        if isinstance(rows, int):
            return self.types[
                self.codes[slice(*self.offsets[rows : rows + 2])]
            ].tolist()
        positions, offsets = span_index(self.offsets, rows)
        return self._trusted(
            self.types, self.codes[positions], offsets, self._rows.take(rows)
        )

    def __iter__(self):
        for i in range(len(self)):
            yield self[i]

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

    __hash__ = None  # type: ignore[assignment]

    def to_list(self):
        """Return the tokens as a list of lists of str.

        The lists hold plain str, as other libraries take them.

        Returns
        -------
        list of list of str
            One list a sequence.
        """
        flat = self.types[self.codes].tolist()
        items = iter(flat)
        return [list(islice(items, int(n))) for n in self.lengths]

    def to_padded(self):
        """Return codes padded to the longest sequence, and where they are real.

        The padding is a code that a type has as well: only the mask tells them apart.

        Returns
        -------
        codes : ndarray of int32, shape (n_sequences, max_length)
            Padded with 0.
        mask : ndarray of bool, shape (n_sequences, max_length)
            True at real tokens.
        """
        mask = padding_mask(self.lengths)
        codes = np.zeros(mask.shape, dtype=np.int32)
        codes[mask] = self.codes
        return codes, mask

    def __array__(self, dtype=None, copy=None):
        """Refuse: a classifier would take the tokens for features."""
        raise TypeError(
            f"{self!r} cannot be converted to an array: sequences of tokens have no "
            "columns. Put a source such as PretrainedEmbedding, and then Pooling, "
            "before a step that takes arrays. To look at the tokens use to_list() or "
            "to_padded()."
        )

    def __repr__(self):
        return (
            f"TokenSequences({len(self)} sequences, {self.n_tokens} tokens, "
            f"{self.n_types} types)"
        )

    def _repr_html_(self):
        return tokens_html(self)


def _row(sequence, i):
    if isinstance(sequence, str | bytes) or not isinstance(sequence, Iterable):
        raise TypeError(
            f"TokenSequences.from_lists: row {i} is {sequence!r}, not a list of str. "
            "Every row must hold the tokens of one sequence; Tokenizer splits texts."
        )
    return list(sequence)


def _check_tokens(sequences):
    for i, sequence in enumerate(sequences):
        for j, token in enumerate(sequence):
            if not isinstance(token, str):
                where = f"TokenSequences.from_lists: row {i}, token {j}"
                raise token_error(token, where)


def padding_mask(lengths):
    """Return a bool array (n_sequences, max_length), True at real positions."""
    width = int(lengths.max()) if len(lengths) else 0
    return np.arange(width) < np.asarray(lengths)[:, None]


def _integers(values, name):
    values = np.asarray(values)
    if values.size == 0:
        return values.astype(np.int64)
    if values.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, got dtype {values.dtype}.")
    return values if values.dtype == np.int32 else values.astype(np.int64)


def _check_layout(types, codes, offsets):
    if types.ndim != 1 or codes.ndim != 1 or offsets.ndim != 1:
        raise ValueError(
            "types, codes and offsets must be one-dimensional, got shapes "
            f"{types.shape}, {codes.shape} and {offsets.shape}."
        )
    strange = [t for t in types if not isinstance(t, str)]
    if strange:
        raise TypeError(
            f"Types must be str, got {type(strange[0]).__name__}: {strange[0]!r}."
        )
    if len(set(types)) != len(types):
        raise ValueError("Types must be distinct: some token stands in `types` twice.")
    if len(codes) and not (codes.min() >= 0 and codes.max() < len(types)):
        raise ValueError(
            f"Codes must lie in [0, {len(types)}), the rows of `types`; "
            f"got values from {codes.min()} to {codes.max()}."
        )
    ends_fit = len(offsets) and offsets[0] == 0 and offsets[-1] == len(codes)
    if not ends_fit or (np.diff(offsets) < 0).any():
        raise ValueError(
            "Offsets must ascend from 0 to the number of tokens "
            f"({len(codes)}), one more of them than there are sequences."
        )
