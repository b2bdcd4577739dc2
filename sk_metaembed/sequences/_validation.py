"""Read texts and token sequences, with errors that name the row.

scikit-learn's ``check_array`` is made for numbers: it converts token lists of equal
length to a matrix and accepts None and integers as text.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Set
from typing import TYPE_CHECKING, Literal

import numpy as np

from .._core._messages import short_repr
from ._embedded_sequences import EmbeddedSequences
from ._row_errors import (
    NUMBERS,
    TEXT,
    TEXT_OR_TOKENS,
    TOKEN_LIST,
    is_missing,
    is_token_list,
    plain_tokens,
    row_error,
)
from ._row_info import pandas_index
from ._split import split_by_default
from ._token_sequences import TokenSequences

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._core._typing import Texts

_ALLOWED = (
    "Allowed are a list, tuple, array, generator, or a pandas or polars Series or "
    "one-column DataFrame, of str or of lists of str; or a TokenSequences"
)


def refuse_other_input(X, allowed=_ALLOWED):
    """Raise a TypeError for anything but a collection of rows, such as a dict."""
    if isinstance(X, str | bytes):
        raise TypeError(
            f"expected a collection of rows, got a single {type(X).__name__}: "
            f"{short_repr(X)}. Put it in a list: [text]. {allowed}."
        )
    if is_lazy(X):
        raise TypeError("X is a LazyFrame; call its collect() first.")
    is_rows = isinstance(X, Iterable) or hasattr(X, "columns")  # an Arrow table
    if not is_rows or isinstance(X, Mapping | Set):
        received = f"{type(X).__name__}: {short_repr(X)}"
        raise TypeError(f"expected a collection of rows, got {received}. {allowed}.")


def is_lazy(X):
    """Return whether X is a query of polars, whose columns are not known yet."""
    return type(X).__name__ == "LazyFrame"


def read_rows(X):
    """Return the rows of any supported collection as a list, unchecked."""
    refuse_other_input(X)
    if getattr(X, "ndim", 1) == 2 or hasattr(X, "columns"):
        X = _only_column(X)
    if hasattr(X, "to_pylist"):  # Arrow arrays iterate as scalars, not as str
        return X.to_pylist()
    if getattr(X, "ndim", 1) != 1:
        received = f"{type(X).__name__} of shape {X.shape}"
        raise TypeError(f"expected a collection of rows, got {received}. {_ALLOWED}.")
    if hasattr(X, "to_list"):
        return X.to_list()
    return X.tolist() if isinstance(X, np.ndarray) else list(X)


def _only_column(X):
    if hasattr(X, "tocsr"):
        raise TypeError(
            f"X is a {type(X).__name__}, a sparse matrix of numbers. If it is "
            "the output of a vectorizer, remove the vectorizer, or use it as a source: "
            f"EstimatorEmbedding(vectorizer, as_text=True). {_ALLOWED}."
        )
    n_columns = X.shape[1]
    if n_columns != 1:
        if holds_numbers(X):
            raise ValueError(
                f"expected one column of texts, got {n_columns} columns of "
                f"numbers (shape {tuple(X.shape)}). Select the column of texts. If a "
                "step before this one, such as Pooling, converts texts to numbers, the "
                "order of the steps is wrong."
            )
        names = getattr(X, "column_names", getattr(X, "columns", None))
        named = "" if names is None else f", names {short_repr(list(names))}"
        raise ValueError(
            f"expected one column of texts, got {n_columns} columns "
            f"(shape {tuple(X.shape)}{named}). Encode several columns by a "
            "TextMetaEncoder, or select columns by name: "
            'ColumnTransformer([("text", step, "name of the column")]). For token '
            "lists of equal length pass a list of lists, not an array."
            + (" For pairs of texts use PairEncoder." if n_columns == 2 else "")
        )
    if hasattr(X, "iloc"):
        return X.iloc[:, 0]
    if hasattr(X, "to_series"):
        return X.to_series(0)
    if hasattr(X, "column"):
        return X.column(0)
    return np.asarray(X)[:, 0]


def holds_numbers(X):
    """Return whether X is an array or frame of numbers, such as Pooling's output."""
    if len(getattr(X, "shape", ())) != 2:
        return False
    dtype = X.dtype if hasattr(X, "dtype") else np.asarray(X).dtype
    return getattr(dtype, "kind", "O") in "biufc" and X.shape[1] > 0


def check_texts(X: Iterable[str]) -> list[str]:
    """Return texts as a list of str, or raise an error that names the first other row.

    For steps that read raw texts. The error says what to do with missing values,
    numbers and bytes.

    Parameters
    ----------
    X : list, tuple, ndarray, generator, Series or one-column DataFrame of str
        One text per row.

    Returns
    -------
    list of str
        One plain str per row.

    Raises
    ------
    TypeError
        If X is a single string or not a collection, or a row is not a str (None, NaN,
        numbers, bytes, lists).
    ValueError
        If X has several columns.

    See Also
    --------
    check_tokens : For steps that take tokens as well as texts.
    Tokenizer : Splits texts into tokens.

    Examples
    --------
    >>> from sk_metaembed.sequences import check_texts
    >>> check_texts(("one text", "another"))
    ['one text', 'another']
    >>> check_texts(["one text", None])
    Traceback (most recent call last):
        ...
    TypeError: row 1 is missing (None). Every row must be a str; ...
    """
    return _check_texts(read_rows(X), _column_of(X))


def _check_texts(rows, column):
    if set(map(type, rows)) <= {str}:
        return rows
    _refuse_numbers(rows, column)
    for i, row in enumerate(rows):
        if not isinstance(row, str):
            raise row_error(row, f"{column}row {i}", TEXT)
    return [str(row) for row in rows]


def _refuse_numbers(rows, column):
    """Raise if the first row that is not missing is a number."""
    i, first = first_present(rows)
    if isinstance(first, NUMBERS):
        raise row_error(first, f"{column}row {i}", TEXT_OR_TOKENS)


def first_present(rows):
    """Return number and value of the first row that is not missing, or 0 and ""."""
    present = ((i, row) for i, row in enumerate(rows) if not is_missing(row))
    return next(present, (0, ""))


def _column_of(X):
    """Return the name of X's only column, if any, as messages begin with it."""
    if hasattr(X, "columns"):
        name = getattr(X, "column_names", X.columns)[0]  # Arrow's columns are data
    else:
        name = getattr(X, "name", None)
    named = isinstance(name, str | numbers.Integral) and name != ""
    return f"column {name!r}, " if named else ""


def _check_token_lists(rows, column):
    """Return token lists as a TokenSequences, or raise for the first other row."""
    for i, row in enumerate(rows):
        if not is_token_list(row):
            expected = TOKEN_LIST if any(map(is_token_list, rows)) else TEXT_OR_TOKENS
            raise row_error(row, f"{column}row {i}", expected)
    rows = [row.tolist() if isinstance(row, np.ndarray) else list(row) for row in rows]
    kinds = set()
    for row in rows:
        kinds.update(map(type, row))
    if kinds <= {str}:
        return TokenSequences.from_lists(rows)
    return TokenSequences.from_lists(
        [plain_tokens(row, f"{column}row {i}") for i, row in enumerate(rows)]
    )


def check_tokens(
    X: Texts,
    *,
    split: Callable[[list[str]], TokenSequences] | None = None,
    missing: Literal["raise", "empty"] = "raise",
) -> TokenSequences:
    """Return texts, token lists or containers as a TokenSequences.

    For your own steps that take the same input as `Tokenizer`.

    Parameters
    ----------
    X : TokenSequences, or a collection of str or of token lists
        Strings are split like `Tokenizer` splits them by default.
    split : callable, default=None
        Converts a list of str to a TokenSequences, instead of the default splitting.
    missing : {"raise", "empty"}, default="raise"
        Whether missing rows (None, NaN, null) are an error or empty sequences.

    Returns
    -------
    TokenSequences
        X itself if it is one. Otherwise it has the index of X, if X is a pandas Series
        or DataFrame, and with ``missing="empty"`` records which rows were missing.

    Raises
    ------
    TypeError
        If X is a single string or not a collection, a row is neither a str nor a list
        of str, or the rows are mixed; or if X is an EmbeddedSequences, whose vectors
        would be lost.
    ValueError
        If X has several columns.

    See Also
    --------
    check_texts : For steps that read raw texts.
    sk_metaembed.sources.BaseEmbedding : Base class of sources, which calls it.

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
            f"this step takes texts or tokens, got EmbeddedSequences: the vectors of "
            f"{list(X.names)} would be lost. Pass X.tokens to embed the tokens again, "
            "or combine both sources in an EmbeddingUnion."
        )
    if isinstance(X, TokenSequences):
        return X
    rows, absent = read_rows(X), None
    # The first row that is present tells whether the rows are texts or token lists.
    _, first = first_present(rows)
    column = _column_of(X)
    _refuse_numbers(rows, column)
    if missing == "empty":
        rows, absent = fill_missing(rows, "" if isinstance(first, str) else [])
    if rows and isinstance(first, str):
        tokens = (split or split_by_default)(_check_texts(rows, column))
    else:
        tokens = _check_token_lists(rows, column)
    return tokens._with_row_info(index=pandas_index(X), missing=absent)


def count_missing(rows):
    """Return how many rows of a TokenSequences or RowInfo are known to be missing."""
    return 0 if rows.missing is None else int(rows.missing.sum())


def fill_missing(rows, empty):
    """Return rows with missing ones replaced by `empty`, and a mask of these."""
    absent = np.array([is_missing(row) for row in rows], dtype=bool)
    if absent.any():
        pairs = zip(rows, absent, strict=True)
        rows = [empty if is_absent else row for row, is_absent in pairs]
    return rows, absent
