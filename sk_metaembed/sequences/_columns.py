"""Read tables whose columns contain texts or token lists."""

from collections.abc import Mapping

import numpy as np

from .._core._errors import plural, short_repr
from .._core._frames import as_list, column_names, read_frame
from ._embedded_sequences import EmbeddedSequences
from ._row_errors import is_token_list, kind
from ._token_sequences import TokenSequences
from ._validation import first_present, refuse_other_input


def refuse_other_rows(X, *, rows, allowed):
    """Raise a TypeError for containers and anything but a collection of rows."""
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
    if is_token_list(row):
        return row.to_list() if hasattr(row, "to_list") else row
    remedy = "; convert records by pandas.DataFrame" * isinstance(row, Mapping)
    raise TypeError(
        f"row {i} is {kind(row)} ({short_repr(row)}), not {expected}. "
        f"{allowed}{remedy}."
    )


def distinct_cells(cells):
    """Return the distinct texts or token lists, and each cell's place among them."""
    keys = [cell if isinstance(cell, str) else tuple(cell) for cell in cells]
    distinct = dict(zip(keys, cells, strict=True))
    numbers = dict(zip(distinct, range(len(distinct)), strict=True))
    return list(distinct.values()), np.array([numbers[key] for key in keys], np.int64)


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
        return read_frame(X), column_names(X)
    n_dimensions = getattr(X, "ndim", 1)
    if n_dimensions == 2:
        return read_frame(X), None
    if n_dimensions != 1:
        raise ValueError(f"got an array of shape {X.shape}. {_ALLOWED}.")
    rows = as_list(X)
    # A Series or Arrow array is one column, also of token lists.
    if hasattr(X, "to_list") or hasattr(X, "to_pylist"):
        name = getattr(X, "name", None)
        return [rows], [name] if isinstance(name, str) and name else None
    if isinstance(first_present(rows)[1], str):
        return [rows], None
    return [list(column) for column in zip(*rows_of_cells(rows), strict=True)], None


def rows_of_cells(rows, allowed=_ALLOWED):
    """Return rows as sequences of equal length, or raise for the first that is not."""
    rows = [
        row_cells(row, i, expected="a row of cells", allowed=allowed)
        for i, row in enumerate(rows)
    ]
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"row {i} has {plural(len(row), 'cell')}, but row 0 has "
                f"{len(rows[0])}, one per column. For a single column of token lists "
                "pass a Series, or a DataFrame of one column."
            )
    return rows
