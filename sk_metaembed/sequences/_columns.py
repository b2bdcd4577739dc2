"""Read frames, arrays and lists whose columns hold texts or token lists."""

from collections.abc import Sequence

import numpy as np

from .._core._messages import plural, short_repr
from ._embedded_sequences import EmbeddedSequences
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
from ._token_sequences import TokenSequences
from ._validation import fill_missing, first_present, is_lazy, refuse_other_input


def column_names(X):
    """Return the names of a DataFrame's columns if all of them are str, else None."""
    if is_lazy(X) or not hasattr(X, "columns"):
        return None
    names = list(getattr(X, "column_names", X.columns))
    return names if all(isinstance(name, str) for name in names) else None


def record_names(step, X):
    """Set a step's `feature_names_in_` to the column names of X, if it has any."""
    step.__dict__.pop("feature_names_in_", None)
    names = column_names(X)
    if names is not None:
        step.feature_names_in_ = np.array(names, dtype=object)


def check_same_names(step, X):
    """Raise a ValueError if the columns of X are named otherwise than in fit."""
    expected, received = getattr(step, "feature_names_in_", None), column_names(X)
    if expected is None or received is None:
        return
    expected = list(expected)
    if received != expected:
        raise ValueError(
            "The feature names should match those that were passed during fit: "
            f"the columns {expected}, in this order; got {received}. Select them: "
            f"X[{expected}]."
        )


def check_names(names):
    """Raise a ValueError unless there are names of columns, each of them once."""
    names = list(names)
    if not names or len(set(names)) < len(names):
        raise ValueError(
            "at least one column is needed, with distinct names; got "
            f"{short_repr(names)}. Rename columns that have the same name."
        )


def frame_columns(frame):
    """Return the columns of a pandas or polars DataFrame, or Arrow table, as lists."""
    n_columns = frame.shape[1]
    if hasattr(frame, "iloc"):
        return [frame.iloc[:, j].tolist() for j in range(n_columns)]
    if hasattr(frame, "to_series"):
        return [frame.to_series(j).to_list() for j in range(n_columns)]
    return [frame.column(j).to_pylist() for j in range(n_columns)]


def refuse_other_rows(X, *, rows, allowed):
    """Raise a TypeError for containers, and for what is no collection of rows."""
    if isinstance(X, TokenSequences | EmbeddedSequences):
        raise TypeError(
            f"this step takes {rows}, got single sequences: {X!r}. {allowed}."
        )
    refuse_other_input(X, allowed)
    if hasattr(X, "tocsr"):
        raise TypeError(f"got {type(X).__name__}, a sparse matrix. {allowed}.")


def row_cells(row, i, *, expected, allowed):
    """Return row i of a list of rows as a sequence, or raise if it is a single value.

    `expected` says what a row is, and how many cells it has.
    """
    is_text = isinstance(row, str | bytes)
    if not is_text and isinstance(row, Sequence | np.ndarray):
        return row
    if hasattr(row, "to_list") and not is_text:
        return row.to_list()
    raise TypeError(
        f"row {i} is {kind(row)} ({short_repr(row)}), not {expected}. {allowed}."
    )


def check_cells(columns, places, *, part, reader, texts=True, missing="raise"):
    """Return the cells of columns of equal length, one column after the other.

    Parameters
    ----------
    columns : list of list
        The cells, of texts or of token lists.
    places : list of str
        What error messages call each column, such as "first side".
    part, reader : str
        What messages call a cell; the step that accepts missing ones.
    texts : bool, default=True
        Whether cells may be texts; if not, they must be token lists.
    missing : {"raise", "empty"}, default="raise"
        Whether missing cells are an error or empty.

    Returns
    -------
    cells : list of str or of list of str
    absent : ndarray of bool, or None
        Which cells are missing; None if not recorded.

    Raises
    ------
    TypeError
        If a cell is missing or neither a str nor a list of str, or both are mixed.
    """
    cells = [cell for column in columns for cell in column]
    if texts and missing == "raise" and set(map(type, cells)) <= {str}:
        return cells, None
    for place, column in zip(places, columns, strict=True):
        i, first = first_present(column)
        if isinstance(first, NUMBERS):  # the whole column is probably a wrong one
            where = f"row {i}, {place}"
            raise row_error(first, where, TEXT_OR_TOKENS, part=part, reader=reader)
    _, known = first_present(cells)
    expected = TOKEN_LIST if not texts or is_token_list(known) else TEXT
    absent = None
    if missing == "empty":
        cells, absent = fill_missing(cells, [] if expected == TOKEN_LIST else "")
    read = _tokens if expected == TOKEN_LIST else _text
    n_rows = len(columns[0]) if columns else 0
    cells = [
        read(
            cell,
            f"row {i % n_rows}, {places[i // n_rows]}",
            expected,
            part=part,
            reader=reader,
        )
        for i, cell in enumerate(cells)
    ]
    return cells, absent


def distinct_cells(cells):
    """Return the distinct texts or token lists, and each cell's place among them."""
    numbers, distinct = {}, []
    places = np.empty(len(cells), dtype=np.int64)
    for i, cell in enumerate(cells):
        key = cell if isinstance(cell, str) else tuple(cell)
        places[i] = numbers.setdefault(key, len(numbers))
        if len(numbers) > len(distinct):
            distinct.append(cell)
    return distinct, places


def _text(value, where, expected, **names):
    if isinstance(value, str):
        return str(value)
    raise row_error(value, where, expected, **names)


def _tokens(value, where, expected, **names):
    if not is_token_list(value):
        raise row_error(value, where, expected, **names)
    tokens = value.tolist() if isinstance(value, np.ndarray) else list(value)
    return plain_tokens(tokens, where)


_ALLOWED = (
    "Allowed are a pandas or polars DataFrame, an Arrow table, an array of shape "
    "(n_rows, n_columns) or a list of rows, whose cells are str or lists of str; or "
    "one column of str as a list, array or Series"
)


def read_columns(X):
    """Return columns of texts or token lists as lists, unchecked, and their names.

    Parameters
    ----------
    X : DataFrame, Arrow table, array, iterable of rows, Series, or iterable of str
        One or several columns.

    Returns
    -------
    columns : list of list
    names : list of str, or None
        None if X does not name all of its columns by str.

    Raises
    ------
    TypeError
        If X is not a collection of rows.
    ValueError
        If rows have different numbers of cells, or X has three dimensions.
    """
    refuse_other_rows(X, rows="columns of texts", allowed=_ALLOWED)
    if hasattr(X, "columns") and hasattr(X, "shape"):
        return frame_columns(X), column_names(X)
    n_dimensions = getattr(X, "ndim", 1)
    if n_dimensions == 2:
        return [X[:, j].tolist() for j in range(X.shape[1])], None
    if n_dimensions != 1:
        raise ValueError(f"got an array of shape {X.shape}. {_ALLOWED}.")
    if hasattr(X, "to_list"):  # a Series is one column, also of token lists
        name = getattr(X, "name", None)
        return [X.to_list()], [name] if isinstance(name, str) and name else None
    rows = X.tolist() if isinstance(X, np.ndarray) else list(X)
    if isinstance(first_present(rows)[1], str):
        return [rows], None
    return _transposed(rows), None


def _transposed(rows):
    """Return the columns of rows of equal length."""
    expected = "a row of cells"
    rows = [
        row_cells(row, i, expected=expected, allowed=_ALLOWED)
        for i, row in enumerate(rows)
    ]
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"row {i} has {plural(len(row), 'cell')}, but row 0 has "
                f"{len(rows[0])}, one per column. For a single column of token lists "
                "pass a Series, or a DataFrame of one column."
            )
    return [list(column) for column in zip(*rows, strict=True)]
