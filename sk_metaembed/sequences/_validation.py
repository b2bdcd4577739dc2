"""Reading what users pass as texts or token sequences, with errors that name the row.

scikit-learn's ``check_array`` is made for numbers: it turns token lists of equal
length into a matrix and lets None and integers pass as text.
"""

import datetime
import decimal
import numbers
from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np

from .._core._messages import short_repr
from ._embedded_sequences import EmbeddedSequences
from ._row_info import pandas_index
from ._split import split_by_default
from ._token_sequences import TokenSequences

_ALLOWED = (
    "Allowed are a list, tuple, array, generator, or a pandas or polars Series or "
    "one-column DataFrame, of str or of lists of str; or a TokenSequences"
)
_EITHER = "a str or a list of str"
_NUMBERS = numbers.Number | np.bool_ | datetime.date | datetime.timedelta
_SCALARS = float, np.number, np.datetime64, np.timedelta64, decimal.Decimal


def read_rows(X, *, caller="X"):
    """Return the rows of any supported collection as a list, unchecked.

    Parameters
    ----------
    X : list, tuple, ndarray, generator, Series or one-column DataFrame
    caller : str
        Begins the error messages, for example an estimator's name.

    Returns
    -------
    list
    """
    if isinstance(X, str | bytes):
        raise TypeError(
            f"{caller} expects a collection of texts, got a single "
            f"{type(X).__name__}: {short_repr(X)}. Put it in a list: [text]. "
            f"{_ALLOWED}."
        )
    if X is None or isinstance(X, numbers.Number | Mapping | Set):
        came = f"{type(X).__name__}: {short_repr(X)}"
        raise TypeError(f"{caller} got {came}. {_ALLOWED}.")
    if type(X).__name__ == "LazyFrame":
        raise TypeError(f"{caller} got a LazyFrame; call its collect() first.")
    if getattr(X, "ndim", 1) == 2 or hasattr(X, "columns"):
        X = _only_column(X, caller)
    if hasattr(X, "to_pylist"):  # Arrow arrays iterate as scalars, not as str
        return X.to_pylist()
    if getattr(X, "ndim", 1) != 1 or not isinstance(X, Iterable):
        shape = getattr(X, "shape", None)
        came = f"{type(X).__name__}" + (f" of shape {shape}" if shape else "")
        raise TypeError(f"{caller} got {came}. {_ALLOWED}.")
    if hasattr(X, "to_list"):
        return X.to_list()
    return X.tolist() if isinstance(X, np.ndarray) else list(X)


def _only_column(X, caller):
    if hasattr(X, "tocsr"):
        raise TypeError(
            f"{caller} got {type(X).__name__}, a sparse matrix of numbers. If a "
            "vectorizer before this step made it, remove the vectorizer, or use it as "
            f"a source: EstimatorEmbedding(vectorizer, joined=True). {_ALLOWED}."
        )
    n_columns = X.shape[1]
    if n_columns != 1:
        if holds_numbers(X):
            raise ValueError(
                f"{caller} takes one column of texts, got {n_columns} columns of "
                f"numbers (shape {tuple(X.shape)}). Select the column "
                "of texts; if the step before already turns texts into numbers, as "
                "Pooling does, the order of the steps is wrong."
            )
        names = getattr(X, "column_names", getattr(X, "columns", None))
        named = "" if names is None else f", named {short_repr(list(names))}"
        raise ValueError(
            f"{caller} takes one column of texts, got {n_columns} columns "
            f"(shape {tuple(X.shape)}{named}). Select one, for example with "
            'ColumnTransformer([("text", step, "name of the column")]); for token '
            "lists of equal length pass a list of lists, not an array."
            + (" For pairs of texts there is PairEncoder." if n_columns == 2 else "")
        )
    if hasattr(X, "iloc"):
        return X.iloc[:, 0]
    if hasattr(X, "to_series"):
        return X.to_series(0)
    if hasattr(X, "column"):
        return X.column(0)
    return np.asarray(X)[:, 0]


def holds_numbers(X):
    """Return whether X is an array or frame with columns of numbers, as Pooling's."""
    if len(getattr(X, "shape", ())) != 2:
        return False
    dtype = X.dtype if hasattr(X, "dtype") else np.asarray(X).dtype
    return getattr(dtype, "kind", "O") in "biufc" and X.shape[1] > 0


def check_texts(X, *, caller="X"):
    """Return texts as a list of str, or say which row is not one.

    For steps that read raw texts. The words of an error say what to do with missing
    values, numbers and bytes, which a frame holds more often than one thinks.

    Parameters
    ----------
    X : list, tuple, ndarray, generator, Series or one-column DataFrame of str
        One text a row.
    caller : str, default="X"
        Begins the error messages, for example an estimator's name.

    Returns
    -------
    list of str
        One text a row, plain str.

    Raises
    ------
    TypeError
        If X is a single string or no collection, or a row is not a str (None, NaN,
        numbers, bytes, lists).
    ValueError
        If X has several columns.

    See Also
    --------
    check_tokens : For steps that take tokens as well as texts.
    Tokenizer : A step that uses it.

    Examples
    --------
    >>> from sk_metaembed.sequences import check_texts
    >>> check_texts(("one text", "another"))
    ['one text', 'another']
    >>> check_texts(["one text", None])
    Traceback (most recent call last):
        ...
    TypeError: X: row 1 is missing (None). Every row must be a str; ...
    """
    rows = read_rows(X, caller=caller)
    if set(map(type, rows)) <= {str}:
        return rows
    caller = _with_column(caller, X)
    _refuse_numbers(rows, caller)
    return [_text(row, i, caller) for i, row in enumerate(rows)]


def _text(row, i, caller):
    if isinstance(row, str):
        return str(row)
    raise TypeError(_complaint(row, i, caller, "a str"))


def _refuse_numbers(rows, caller):
    """Raise if the first row that is not missing is a number."""
    i, first = first_present(rows)
    if isinstance(first, _NUMBERS):
        raise TypeError(_complaint(first, i, caller, _EITHER))


def first_present(rows):
    """Return number and value of the first row that is not missing, or 0 and ""."""
    present = ((i, row) for i, row in enumerate(rows) if _kind(row) != "missing")
    return next(present, (0, ""))


def _with_column(caller, X):
    """Append the name of the column that X is or has, if any, for messages."""
    if hasattr(X, "columns"):
        name = getattr(X, "column_names", X.columns)[0]  # Arrow's columns are data
    else:
        name = getattr(X, "name", None)
    named = isinstance(name, str | numbers.Integral) and name != ""
    return f"{caller}, column {name!r}" if named else caller


def check_token_lists(rows, *, caller="X"):
    """Return token lists as a TokenSequences, or say which row is wrong.

    Parameters
    ----------
    rows : list of sequence of str
    caller : str, default="X"

    Returns
    -------
    TokenSequences
    """
    for i, row in enumerate(rows):
        if not _is_token_list(row):
            wanted = "a list of str" if any(map(_is_token_list, rows)) else _EITHER
            raise TypeError(_complaint(row, i, caller, wanted))
    rows = [row.tolist() if isinstance(row, np.ndarray) else list(row) for row in rows]
    kinds = set()
    for row in rows:
        kinds.update(map(type, row))
    if kinds <= {str}:
        return TokenSequences.from_lists(rows)
    return TokenSequences.from_lists(
        [_tokens(row, i, caller) for i, row in enumerate(rows)]
    )


def _is_token_list(row):
    if isinstance(row, str | bytes):
        return False
    return isinstance(row, Sequence | np.ndarray) or hasattr(row, "to_list")


def _tokens(row, i, caller):
    for j, token in enumerate(row):
        if not isinstance(token, str):
            raise TypeError(
                f"{caller}: row {i}, token {j} is {_kind(token)} "
                f"({short_repr(token)}). Every token must be a str; "
                + _token_remedy(token)
            )
    return [str(token) for token in row]


def _token_remedy(token):
    came = _kind(token)
    if came == "missing":
        return "leave missing tokens out."
    if came == "of type bytes":
        return "decode bytes first, for example with token.decode('utf-8')."
    if _is_token_list(token):
        return (
            "the lists are nested one level too deep. Flatten each row, for example "
            "with [token for part in row for token in part], or pass each inner list "
            "as a row of its own. Of (word, tag) pairs keep the words: "
            "[word for word, tag in row]."
        )
    if isinstance(token, _NUMBERS):
        return (
            "numbers are not tokens. If they are ids, turn them into str, for example "
            "with [str(t) for t in row]; if they are features or vectors, pass the "
            "texts they were computed from."
        )
    return "convert it, for example with [str(t) for t in row]."


def check_tokens(X, *, caller="X", split=None, missing="raise"):
    """Return texts, token lists or containers as a TokenSequences.

    For steps of your own that take what `Tokenizer` takes: one line reads every form of
    input, so that the rest of the step knows one.

    Parameters
    ----------
    X : TokenSequences, or a collection of str or of token lists
        Strings are split as `Tokenizer` splits them by default.
    caller : str, default="X"
        Begins the error messages, for example an estimator's name.
    split : callable, default=None
        Turns a list of str into a TokenSequences, instead of the default splitting.
    missing : {"raise", "empty"}, default="raise"
        Whether missing rows (None, NaN, null) are an error or empty sequences.

    Returns
    -------
    TokenSequences
        X itself where it is one already. Otherwise it has the index of X, if X is a
        pandas Series or DataFrame, and knows which rows were missing if they may be.

    Raises
    ------
    TypeError
        If X is a single string or no collection, or a row is neither a str nor a
        list of str, or the rows are mixed; or if X is an EmbeddedSequences, whose
        vectors would be lost.
    ValueError
        If X has several columns.

    See Also
    --------
    check_texts : For steps that read texts as they are.
    sk_metaembed.sources.BaseEmbedding : Sources, which read their input so.

    Examples
    --------
    >>> from sk_metaembed.sequences import check_tokens
    >>> check_tokens(["To be, or not"]).to_list()
    [['to', 'be', 'or', 'not']]
    >>> check_tokens([["add-to-cart", "pay"], []]).lengths.tolist()
    [2, 0]
    >>> check_tokens(["To be", None], missing="empty").lengths.tolist()
    [2, 0]
    """
    if isinstance(X, EmbeddedSequences):
        raise TypeError(
            f"{caller} takes texts or tokens, got EmbeddedSequences: the vectors of "
            f"{list(X.names)} would be lost. Pass X.tokens to embed the same tokens "
            "anew, or put both sources into an EmbeddingUnion to have them side by "
            "side."
        )
    if isinstance(X, TokenSequences):
        return X
    rows, absent = read_rows(X, caller=caller), None
    # A missing row says nothing about what the others are meant to be.
    _, first = first_present(rows)
    caller = _with_column(caller, X)
    _refuse_numbers(rows, caller)
    if missing == "empty":
        rows, absent = fill_missing(rows, "" if isinstance(first, str) else [])
    if rows and isinstance(first, str):
        tokens = (split or split_by_default)(check_texts(rows, caller=caller))
    else:
        tokens = check_token_lists(rows, caller=caller)
    return tokens._with_row_info(index=pandas_index(X), missing=absent)


def count_missing(rows):
    """Return how many rows of a TokenSequences or RowInfo are known to be missing."""
    return 0 if rows.missing is None else int(rows.missing.sum())


def fill_missing(rows, empty):
    """Return rows with `empty` in place of missing ones, and where these were."""
    absent = np.array([_kind(row) == "missing" for row in rows], dtype=bool)
    if absent.any():
        rows = [empty if gone else row for row, gone in zip(rows, absent, strict=True)]
    return rows, absent


def _complaint(row, i, caller, wanted):
    came = _kind(row)
    shown = f" ({short_repr(row)})" if came == "missing" else f": {short_repr(row)}"
    return (
        f"{caller}: row {i} is {came}{shown}. Every row must be {wanted}; "
        + _remedy(row, wanted)
    )


def _kind(value):
    if value is None:
        return "missing"
    if type(value).__name__ in ("NAType", "NaTType"):
        return "missing"
    if isinstance(value, _SCALARS) and value != value:  # NaN of any type of number
        return "missing"
    return f"of type {type(value).__name__}"


def _remedy(value, wanted, reader="Tokenizer"):
    """Return what to do with a row; `reader` is a step that accepts missing ones."""
    came = _kind(value)
    if came == "missing":
        empty = '"" (an empty text)' if wanted == "a str" else "[] (no tokens)"
        return (
            f"drop the row, replace it, for example by {empty}, or read it as empty "
            f'with {reader}(missing="empty").'
        )
    if came == "of type bytes":
        return "decode bytes first, for example with row.decode('utf-8')."
    if came == "of type str" or (_is_token_list(value) and wanted == "a str"):
        return "rows of str and rows of token lists cannot be mixed."
    if isinstance(value, _NUMBERS) and wanted == _EITHER:
        return (
            "numbers and dates are not texts, so this is probably the wrong column. "
            "Select the column of texts; ids and categories can be converted with "
            "str(value)."
        )
    return f"drop the row or convert it to {wanted}."
