"""Read the cells of a column of any frame as numbers, dates or strings."""

import datetime
import unicodedata
from numbers import Number

import numpy as np
import pandas as pd

from .._core._messages import short_repr

_REFUSED = (dict, set, frozenset, bytes, bytearray, complex, np.complexfloating)
_LARGEST_WHOLE = 2.0**53  # smaller ones are exact as floats
_MASKED = type(np.ma.masked)
_DURATIONS = datetime.timedelta | np.timedelta64


def read_cells(column, name=""):
    """Return a column as an array of float64, datetime64[us], or str and None.

    Strings are stripped, and in NFC; empty ones are missing. A cell that is a list of
    str becomes a tuple. Dates with a time zone are converted to UTC, as `parse_dates`
    does. A column without any cell is float64; one with integers that floats do not
    tell apart is of str.
    """
    if type(column).__module__.startswith("polars"):
        column = _polars_values(column)
    if isinstance(getattr(column, "dtype", None), pd.CategoricalDtype):
        column = column.astype(object)
    values = _typed_values(column)
    return _object_values(column, name) if values is None else values


def distinct(cells):
    """Return the distinct cells in order, and each cell's place; -1 if missing."""
    codes, values = pd.factorize(cells)
    return values, codes


def per_distinct(function, cells, empty):
    """Apply a function to the distinct cells; missing cells are `empty`."""
    if len(cells) == 1:  # single rows: finding distinct cells takes longer
        missing = cells[0] is None or cells[0] != cells[0]
        values, codes = cells[: 0 if missing else 1], np.array([-1 if missing else 0])
    else:
        values, codes = distinct(cells)
    results = np.asarray(function(values))
    out = np.full((len(cells), *results.shape[1:]), empty, results.dtype)
    out[codes >= 0] = results[codes[codes >= 0]]
    return out


def as_texts(cells):
    """Return cells of any kind as str, with None for missing ones."""
    if cells.dtype.kind == "O":
        return cells
    values, codes = distinct(cells)
    if cells.dtype.kind == "f":
        texts = [_text(value) for value in values]
    else:
        texts = np.datetime_as_string(values, unit="s").tolist()
    return np.array([*texts, None], dtype=object)[codes]


def _polars_values(column):
    """Return a polars Series as an array."""
    import polars as pl

    dtype = column.dtype
    if dtype.is_numeric() or dtype == pl.Boolean:
        values = column.cast(pl.Float64).to_numpy()
        if dtype.is_float() or not _are_large(values).any():
            return values
    if dtype == pl.Date or dtype == pl.Datetime:
        if getattr(dtype, "time_zone", None):
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return column.cast(pl.Datetime("us")).to_numpy()
    if dtype == pl.Duration:
        return column.cast(pl.Duration("us")).to_numpy()
    return np.fromiter(column.to_list(), object)


def _typed_values(column):
    """Return the values of a column whose dtype is numeric or a date, else None."""
    dtype = getattr(column, "dtype", None)
    if getattr(dtype, "kind", "O") == "O" and not hasattr(dtype, "tz"):
        return None
    if pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        if dtype.kind == "c":
            return None
        if isinstance(dtype, np.dtype):
            values = np.asarray(column, dtype=np.float64)
        else:
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return values if dtype.kind == "f" or not _are_large(values).any() else None
    if dtype.kind == "m":
        return pd.to_timedelta(column).to_numpy() / np.timedelta64(1, "s")
    if dtype.kind != "M":
        return None
    if not isinstance(dtype, np.dtype):
        if not hasattr(dtype, "tz"):  # dates of Arrow
            return None
        column = pd.Series(column).dt.tz_convert(None)
    return np.asarray(column).astype("datetime64[us]")


def _object_values(column, name):
    """Return the cells of a column of objects."""
    read = np.asarray if hasattr(column, "dtype") else np.fromiter
    cells = read(column, dtype=object)
    missing = pd.isna(cells)
    types = set(map(type, cells[~missing]))
    if _MASKED in types:
        missing |= np.array([cell is np.ma.masked for cell in cells])
        types.remove(_MASKED)
    if types and _are(types, _DURATIONS):
        seconds = [_seconds(cell) for cell in cells[~missing]]
        return _fill(seconds, missing, np.nan, np.float64)
    if not types & {complex, np.complex128} and _are(types, Number | np.bool_):
        numbers = _as_numbers(cells, missing)
        if numbers is not None:
            return numbers
    if _are(types, datetime.date):
        dates = [_naive(cell) for cell in cells[~missing]]
        return _fill(dates, missing, np.datetime64("NaT"), "datetime64[us]")
    known = {}
    out = np.full(len(cells), None, dtype=object)
    for row in np.flatnonzero(~missing):
        cell = cells[row]
        if isinstance(cell, str):
            if cell not in known:
                known[cell] = _clean(cell) or None
            out[row] = known[cell]
        else:
            out[row] = _other(cell, row, name)
    return out


def _are(types, allowed):
    return all(issubclass(t, allowed) for t in types)


def _as_numbers(cells, missing):
    """Return cells that are numbers as float64, None if some are large integers."""
    try:
        numbers = _fill(cells[~missing], missing, np.nan, np.float64)
    except OverflowError:
        return None
    large = cells[_are_large(numbers)]
    return numbers if all(isinstance(n, float | np.floating) for n in large) else None


def _are_large(numbers):
    """Return which numbers are such that floats do not tell integers apart."""
    return np.abs(numbers) >= _LARGEST_WHOLE


def _fill(present, missing, value, dtype):
    """Return present cells as a typed array, with `value` for missing ones."""
    out = np.full(len(missing), value, dtype)
    out[~missing] = np.asarray(present, dtype=dtype)
    return out


def _naive(cell):
    """Return a date or datetime as datetime64[us], in UTC if it has a time zone."""
    if isinstance(cell, datetime.datetime) and cell.tzinfo is not None:
        cell = cell.astimezone(datetime.UTC).replace(tzinfo=None)
    return np.datetime64(cell, "us")


def _seconds(cell):
    """Return a duration in seconds."""
    is_numpy = isinstance(cell, np.timedelta64)
    return cell / np.timedelta64(1, "s") if is_numpy else cell.total_seconds()


def _other(cell, row, name):
    """Return a cell that is not a str as text, or as a tuple of texts.

    The text is that of the same cell in a column without strings (see `as_texts`).
    """
    if isinstance(cell, list | tuple | np.ndarray) and np.shape(cell) != ():
        if all(isinstance(item, str) for item in cell):
            return tuple(map(_clean, cell)) or None
    elif isinstance(cell, datetime.date):  # as in a column of dates
        return str(np.datetime_as_string(_naive(cell), unit="s"))
    elif isinstance(cell, _DURATIONS):
        return _text(_seconds(cell))
    elif not isinstance(cell, _REFUSED) and _has_text(cell):
        is_number = isinstance(cell, Number | np.bool_)
        return _text(cell) if is_number else _clean(str(cell)) or None
    raise TypeError(
        f"row {row} of the column {name!r} is {short_repr(cell)}. Allowed are str, "
        "numbers, dates and lists of str; decode bytes, expand other cells into "
        "columns, or drop the column."
    )


def _has_text(cell):
    """Return whether a cell has a text other than its class and address."""
    kind = type(cell)
    return kind.__str__ is not object.__str__ or kind.__repr__ is not object.__repr__


def _clean(text):
    return unicodedata.normalize("NFC", text.strip())


def _text(number):
    """Return a number as text, whole numbers without a decimal point."""
    try:
        value = float(number)
    except OverflowError:
        return str(number)
    is_exact = not isinstance(number, float | np.floating) or not _are_large(value)
    return str(int(number)) if value.is_integer() and is_exact else str(value)
