"""SequencePairs: pairs of sequences over one table of types.

Reading what users pass as pairs of texts, with errors that name row and side.
"""

import numbers
from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np

from .._core._messages import plural, short_repr
from ._embedded_sequences import EmbeddedSequences
from ._html import pairs_html
from ._indexing import row_index
from ._row_errors import (
    NUMBERS,
    TEXT,
    TEXT_OR_TOKENS,
    TOKEN_LIST,
    is_token_list,
    kind,
    plain_tokens,
    row_error,
)
from ._row_info import RowInfo, pandas_index
from ._token_sequences import TokenSequences
from ._validation import (
    fill_missing,
    first_present,
)


class SequencePairs:
    """Pairs of sequences, such as premise and hypothesis, or question and answer.

    Both sides are sequences of one container, so that they share types and vectors:
    what knows words or sequences learns from both sides at once. It is immutable,
    and a subset by rows shares type-level vectors and copies none of them.

    Parameters
    ----------
    sequences : TokenSequences or EmbeddedSequences of shape (2 * n_pairs,)
        All first sides, then all second sides in the same order.

    Attributes
    ----------
    sequences : TokenSequences or EmbeddedSequences of shape (2 * n_pairs,)
    first, second : TokenSequences or EmbeddedSequences of shape (n_pairs,)
        The sides, over the same types.
    shape : tuple of one int
        ``(n_pairs,)``.

    Raises
    ------
    TypeError
        If `sequences` is none of the two containers.
    ValueError
        If their number is odd.

    See Also
    --------
    PairEncoder : Makes them of two columns of texts.
    DynamicMetaClassifier, DynamicMetaRegressor : Learn from them.

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
    """

    __slots__ = ("sequences",)

    def __init__(self, sequences):
        if not isinstance(sequences, TokenSequences | EmbeddedSequences):
            raise TypeError(
                "SequencePairs takes a TokenSequences or EmbeddedSequences with all "
                f"first and then all second sides, got {type(sequences).__name__}. "
                "SequencePairs.from_lists takes pairs of token lists, and PairEncoder "
                "makes them of texts."
            )
        if len(sequences) % 2:
            raise ValueError(
                f"SequencePairs got {len(sequences)} sequences, an odd number: one has "
                "no second side. All first sides come first, then all second ones."
            )
        object.__setattr__(self, "sequences", sequences)

    @classmethod
    def from_lists(cls, pairs):
        """Build from pairs of token lists.

        For pairs that are split into tokens already; `PairEncoder` makes pairs of
        texts. Equal tokens of the two sides get one code.

        Parameters
        ----------
        pairs : iterable of (sequence of str, sequence of str)
            One pair a row.

        Returns
        -------
        SequencePairs
            Of TokenSequences, over the distinct tokens of both sides.

        Raises
        ------
        TypeError
            If a row is no pair, or a side of it no list of str.
        """
        rows, _ = read_pairs(pairs, caller="SequencePairs.from_lists", texts=False)
        if isinstance(rows, list):
            rows = TokenSequences.from_lists(rows)
        return cls(rows)

    def __setattr__(self, name, value):
        raise AttributeError(
            f"SequencePairs is immutable: cannot set {name!r}. Build a new one."
        )

    def __delattr__(self, name):
        raise AttributeError(
            f"SequencePairs is immutable: cannot delete {name!r}. Build a new one."
        )

    def __reduce__(self):
        return type(self), (self.sequences,)

    def __len__(self):
        return len(self.sequences) // 2

    @property
    def shape(self):
        """``(n_pairs,)``, as scikit-learn's splitters ask for it.

        Folds are folds of pairs, and both sides of one are always on the same side of a
        split.
        """
        return (len(self),)

    @property
    def index(self):
        """Labels of the pairs, the index of the DataFrame they came from, or None.

        They are the index of every DataFrame made of the pairs.
        """
        labels = self.sequences.index
        return None if labels is None else labels[: len(self)]

    @property
    def first(self):
        """The first side of every pair.

        It shares types and vectors with the whole, so that its types are also those of
        the second sides.
        """
        return self.sequences[: len(self)]

    @property
    def second(self):
        """The second side of every pair.

        It shares types and vectors with the whole, so that its types are also those of
        the first sides.
        """
        return self.sequences[len(self) :]

    def __getitem__(self, key):
        rows = row_index(key, len(self))
        if isinstance(rows, int):
            return self.sequences[rows], self.sequences[rows + len(self)]
        return type(self)(self.sequences[self.sides_of(rows)])

    def sides_of(self, rows):
        """Return where the sides of some pairs stand in `sequences`.

        All first sides come before all second ones, so that the second side of pair i
        is ``n_pairs`` rows behind the first. Nets that encode both sides in one batch
        ask for it.

        Parameters
        ----------
        rows : ndarray of int
            Numbers of pairs.

        Returns
        -------
        ndarray of int, shape (2 * len(rows),)
            The first sides' rows, then the second sides'.
        """
        return np.concatenate([rows, rows + len(self)])

    def __iter__(self):
        for i in range(len(self)):
            yield self[i]

    def __eq__(self, other):
        if not isinstance(other, SequencePairs):
            return NotImplemented
        return self.sequences == other.sequences

    __hash__ = None  # type: ignore[assignment]

    def to_list(self):
        """Return the pairs as a list of tuples.

        It goes back to what `from_lists` takes, where the pairs hold tokens.

        Returns
        -------
        list of tuple
            Of two token lists, or of two arrays (n_tokens, dim).
        """
        sides = self.sequences.to_list()
        return list(zip(sides[: len(self)], sides[len(self) :], strict=True))

    def __array__(self, dtype=None, copy=None):
        """Refuse: a classifier would take ragged rows for a matrix."""
        raise TypeError(
            f"{self!r} is no array of one row a pair. Let the encoder of PairEncoder "
            "end in vectors, for example with Pooling as its last step."
        )

    def __repr__(self):
        name = type(self.sequences).__name__
        inside = repr(self.sequences).partition(" sequences, ")[2].removesuffix(")")
        return f"SequencePairs({len(self)} pairs of {name}: {inside})"

    def _repr_html_(self):
        return pairs_html(self)


_ALLOWED = (
    "Allowed are an array of shape (n_pairs, 2), a pandas or polars DataFrame of two "
    "columns, a list of pairs, of str or of lists of str; or SequencePairs"
)
_SIDES = ("first", "second")


def read_pairs(X, *, caller="X", texts=True, missing="raise"):
    """Return both sides of pairs as one collection, or say which side is wrong.

    Parameters
    ----------
    X : array of shape (n_pairs, 2), DataFrame, iterable of pairs, or SequencePairs
        Of texts or of token lists.
    caller : str, default="X"
        Begins the error messages, for example an estimator's name.
    texts : bool, default=True
        Whether sides may be texts; if not, they must be token lists.
    missing : {"raise", "empty"}, default="raise"
        Whether missing sides are an error or empty.

    Returns
    -------
    rows : list of str or of list of str, or TokenSequences, or EmbeddedSequences
        All first sides, then all second sides; a container if X is SequencePairs.
    info : RowInfo
        What is known of the sides: which were missing, the labels of the pairs twice.

    Raises
    ------
    TypeError
        If X is no collection of pairs, or a side is missing or neither a str nor a
        list of str, or the sides are mixed.
    ValueError
        If there are more or fewer than two columns, or a row has not two sides.
    """
    if isinstance(X, SequencePairs):
        return X.sequences, tokens_of(X.sequences)._row_info
    index = pandas_index(X)
    info = RowInfo(index=None if index is None else index.append(index))
    first, second = _columns(X, caller)
    rows = [*first, *second]
    if texts and missing == "raise" and set(map(type, rows)) <= {str}:
        return rows, info
    _, known = first_present(rows)
    expected = TOKEN_LIST if not texts or is_token_list(known) else TEXT
    if isinstance(known, NUMBERS):
        expected = TEXT_OR_TOKENS
    if missing == "empty":
        rows, absent = fill_missing(rows, [] if expected == TOKEN_LIST else "")
        info = info._replace(missing=absent)
    read = _tokens if expected == TOKEN_LIST else _text
    n_pairs = len(first)
    rows = [
        read(row, f"{caller}: row {i % n_pairs}, {_SIDES[i // n_pairs]} side", expected)
        for i, row in enumerate(rows)
    ]
    return rows, info


def tokens_of(sequences):
    """Return the tokens of either container."""
    is_embedded = isinstance(sequences, EmbeddedSequences)
    return sequences.tokens if is_embedded else sequences


def holds_pairs(X, *, caller="X"):
    """Tell whether rows are pairs, where they could be single texts or token lists too.

    Parameters
    ----------
    X : anything
    caller : str, default="X"
        Begins the error messages.

    Returns
    -------
    bool
        True for an array or DataFrame of two columns, and a list of pairs of token
        lists.

    Raises
    ------
    TypeError
        For a list of two strings a row, some with white space: either pairs of texts,
        or token lists of two tokens.
    """
    if hasattr(X, "tocsr"):
        return False
    if hasattr(X, "columns") or getattr(X, "ndim", 1) == 2:
        return getattr(X, "shape", (0,))[1:] == (2,)
    is_list = isinstance(X, list | tuple) and len(X) > 0
    if not is_list or not all(isinstance(r, list | tuple) and len(r) == 2 for r in X):
        return False
    sides = [side for row in X for side in row]
    if all(map(is_token_list, sides)):
        return True
    spaced = next((s for s in sides if isinstance(s, str) and len(s.split()) > 1), None)
    if spaced is not None:
        raise TypeError(
            f"{caller}: every row is two strings, some with white space "
            f"({short_repr(spaced)}), which can be a pair of texts or a list of two "
            "tokens. Pass pairs of texts as an array of shape (n_pairs, 2) or a "
            "DataFrame of two columns, or put PairEncoder(Tokenizer()) before this "
            "step; pass token lists as TokenSequences.from_lists(X)."
        )
    return False


def column_names(X):
    """Return the names of a DataFrame's columns, None if there are none that are str.

    Parameters
    ----------
    X : anything

    Returns
    -------
    list of str or None
    """
    if not hasattr(X, "columns"):
        return None
    names = list(getattr(X, "column_names", X.columns))
    return names if all(isinstance(name, str) for name in names) else None


def frame_columns(frame):
    """Return the columns of a pandas or polars DataFrame, or Arrow table, as lists.

    Parameters
    ----------
    frame : DataFrame or Table

    Returns
    -------
    list of list
        Entries keep their own types.
    """
    n_columns = frame.shape[1]
    if hasattr(frame, "iloc"):
        return [frame.iloc[:, j].tolist() for j in range(n_columns)]
    if hasattr(frame, "to_series"):
        return [frame.to_series(j).to_list() for j in range(n_columns)]
    return [frame.column(j).to_pylist() for j in range(n_columns)]


def _columns(X, caller):
    """Return the first sides and the second sides, unchecked."""
    _refuse_others(X, caller)
    if hasattr(X, "columns") and hasattr(X, "shape"):
        _check_two(X.shape, caller)
        return frame_columns(X)
    if getattr(X, "ndim", 1) == 2:
        _check_two(X.shape, caller)
        return X[:, 0].tolist(), X[:, 1].tolist()
    if getattr(X, "ndim", 1) != 1:
        raise ValueError(
            f"{caller} got an array of shape {X.shape}. {_ALLOWED}. Token lists of "
            "equal length go into a list of pairs, not into an array."
        )
    pairs = [_pair(row, i, caller) for i, row in enumerate(X)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _refuse_others(X, caller):
    if isinstance(X, TokenSequences | EmbeddedSequences):
        raise TypeError(
            f"{caller} takes pairs of sequences, got {X!r}, which is single ones. "
            f"{_ALLOWED}."
        )
    single = isinstance(X, str | bytes | numbers.Number | Mapping | Set)
    is_rows = isinstance(X, Iterable) or hasattr(X, "columns")  # an Arrow table
    if X is None or single or hasattr(X, "tocsr") or not is_rows:
        came = f"{type(X).__name__}: {short_repr(X)}"
        raise TypeError(f"{caller} got {came}. {_ALLOWED}.")
    if type(X).__name__ == "LazyFrame":
        raise TypeError(f"{caller} got a LazyFrame; call its collect() first.")


def _check_two(shape, caller):
    if shape[1] != 2:
        raise ValueError(
            f"{caller} takes two columns of texts, the sides of the pairs; got "
            f"{plural(shape[1], 'column')} (shape {tuple(shape)}). Select two, for "
            "example with "
            'ColumnTransformer([("pairs", step, ["one column", "another"])]).'
        )


def _pair(row, i, caller):
    is_text = isinstance(row, str | bytes)
    if is_text or not isinstance(row, Sequence | np.ndarray):
        if not hasattr(row, "to_list") or is_text:
            raise TypeError(
                f"{caller}: row {i} is {kind(row)} ({short_repr(row)}), not a pair. "
                f"Every row must have two sides. {_ALLOWED}."
            )
        row = row.to_list()
    if len(row) != 2:
        raise ValueError(
            f"{caller}: row {i} has {plural(len(row), 'side')} ({short_repr(row)}), "
            "not two. If these are the columns of all pairs, pass "
            "list(zip(first, second))."
        )
    return row


def _text(value, where, expected):
    if isinstance(value, str):
        return str(value)
    raise row_error(value, where, expected, part="side", reader="PairEncoder")


def _tokens(value, where, expected):
    if not is_token_list(value):
        raise row_error(value, where, expected, part="side", reader="PairEncoder")
    tokens = value.tolist() if isinstance(value, np.ndarray) else list(value)
    return plain_tokens(tokens, where)
