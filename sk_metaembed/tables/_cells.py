"""Decide what each cell means, typed or as text.

A table is read in two steps. `read_cells` converts a column of any frame to `Cells`,
row by row: a typed cell and the texts that tools write for it become one value, or a
text from which this value is read. `choose_column_format` then decides from the
training rows what the column contains, and `read_column` reads any cells by this
format: as numbers, dates or texts, and with the notations in which they are written.
The notations of the training rows are stored; other notations of later rows get a
warning that names both.
"""

import datetime
import unicodedata
from dataclasses import dataclass
from numbers import Number

import numpy as np

from .._core._errors import short_repr
from .._core._frames import is_missing
from .._core._optional import pandas as pd
from ._times import is_duration, seconds_of

# Texts that mean a missing value in every column: what tools write for it, and errors
# of spreadsheets. The texts that pandas reads as missing:
_PANDAS = """
#N/A #NA -1.#IND -1.#QNAN -NaN -nan 1.#IND 1.#QNAN
<NA> N/A NA NULL NaN None n/a nan null
"""
# PostgreSQL and MySQL, database clients, Hive, Excel's pivot tables, MATLAB, Go, NumPy.
_TOOLS = r"""
\N (null) (NULL) [NULL] <null> <NULL> __HIVE_DEFAULT_PARTITION__ (blank) (Blank)
<missing> <undefined> <nil> NaT
"""
# Errors of Excel, LibreOffice and Google Sheets, in the languages of their users.
_ERRORS = """
#DIV/0! #VALUE! #REF! #NAME? #NUM! #NULL! #N/A! #SPILL! #CALC! #FIELD! #BLOCKED! #ERROR!
#CONNECT! #UNKNOWN! #BUSY! #PYTHON! #TIMEOUT! #EXTERNAL! #GETTING_DATA
#WERT! #BEZUG! #ZAHL! #NV #ÜBERLAUF! #KALK!
#VALEUR! #NOM? #NOMBRE! #NUL! #PROPAGATION! #CALCUL!
#¡DIV/0! #¡VALOR! #¡REF! #¿NOMBRE? #¡NUM! #¡NULO! #¡DESBORDAMIENTO!
#VALOR! #NOME? #NÚM! #NULO! #N/D #N/D! #DESPEJAR! #RIF! #VALORE! #NULLO!
#DEEL/0! #WAARDE! #VERW! #NAAM? #GETAL! #LEEG! #N/B #OVERLOOP!
#DZIEL/0! #ARG! #ADR! #NAZWA? #LICZBA! #ZERO!
#DIVISION/0! #VÄRDEFEL! #REFERENS! #NAMN? #OGILTIGT! #SAKNAS! #SKÄRNINGSPUNKT!
#ДЕЛ/0! #ЗНАЧ! #ССЫЛКА! #ИМЯ? #ЧИСЛО! #ПУСТО! #Н/Д
"""
MISSING = frozenset(
    ["", "#N/A N/A", *f"{_PANDAS} {_TOOLS} {_ERRORS}".split()]
    + [f"Err:{number}" for number in range(501, 541)]  # LibreOffice
    + ["#" * width for width in range(3, 40)]  # a cell that is too narrow
)
# Words that people write for a missing number or date, in lower case. In a category
# they may be values. SAS and Stata write ".a" to ".z".
_ALSO = frozenset(
    ["na", "n.a.", "nat", "nil", "none", "undefined", "#n/a", "-nan", "\\n"]
    + ["nan(ind)", "-nan(ind)", "nan(snan)", "-nan(snan)"]  # from Microsoft's C library
    + ["-", "--", "---", ".", "...", "?", "–", "—", "._"]
    + [f".{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    # of MySQL, and day 0 of Excel
    + ["0000-00-00", "0000-00-00 00:00:00", "00/00/0000", "1900-01-00", "1/0/1900"]
)
_LOWER = _ALSO | {text.casefold() for text in MISSING}


def is_missing_mark(text):
    """Return whether a text marks a missing number or date, such as "N/A" or "-"."""
    return text.strip().casefold() in _LOWER


_REFUSED = (dict, set, frozenset, bytes, bytearray, complex, np.complexfloating)
# Bools as spreadsheets, R and databases write them.
_BOOLS = dict.fromkeys(["TRUE", "true"], "True") | dict.fromkeys(
    ["FALSE", "false"], "False"
)
_LARGEST_WHOLE = 2.0**53  # smaller ones are exact as floats
_ENDS = np.array(["-200000", "200000"], "datetime64[Y]")
_LARGEST_SINGLE = 2**24  # the same for float32
_MASKED = type(np.ma.masked)
_SHORT_FLOATS = np.float32, np.float16


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a column, read by `read_cells`.

    `values` are float64 with NaN, datetime64[us] with NaT, or objects: str, tuples of
    str, None. `notation` is the type that the tool returns: "number", "bool" (1 and 0),
    "duration" (seconds), "time" (seconds since midnight), "zoned time" (the same in
    UTC), "date", "zoned date" (in UTC) or "text" (each shows its own notation).
    """

    values: np.ndarray
    notation: str = "text"


def read_cells(column, name=""):
    """Return the `Cells` of a column of a frame, or of a list.

    Strings are stripped and normalized to NFC. Empty strings, and texts that tools
    write for missing values, are missing. A list of str becomes a tuple. Dates with a
    time zone are converted to UTC, as `read_dates` does. A float32 becomes the shortest
    decimal number that rounds to it. In a column that mixes types, a cell that is not a
    str becomes the text from which its value is read. A column without cells becomes
    numbers. A column with integers that floats cannot distinguish becomes texts.
    """
    if type(column).__module__.startswith("polars"):
        cells = _polars_cells(column)
        column = column if cells is not None else np.fromiter(column.to_list(), object)
    else:
        if isinstance(getattr(column, "dtype", None), pd.CategoricalDtype):
            values = column.dtype.categories.dtype
            column = column.astype(values if values.kind == "f" else object)
        cells = _typed_cells(column)
    return _object_cells(column, name) if cells is None else cells


def distinct(values):
    """Return distinct values in order of appearance, and their codes, -1 if missing."""
    if len(values) == 1:  # pandas takes longer
        is_present = values[0] is not None and bool(values[0] == values[0])
        return values[: int(is_present)], np.array([is_present - 1])
    codes, distinct_values = pd.factorize(values)
    return distinct_values, codes


def as_texts(cells):
    """Return `Cells` as str, lists joined by commas, with None for missing cells.

    A typed cell becomes the same text as in a column that mixes types.
    """
    if cells.notation == "text":
        texts = cells.values
        if tuple in {*map(type, texts)}:
            joined = [", ".join(t) if isinstance(t, tuple) else t for t in texts]
            texts = np.array([*joined, None], dtype=object)[:-1]
        return texts
    values, codes = distinct(cells.values)
    texts = [typed_text(value, cells.notation) for value in values]
    return np.array([*texts, None], dtype=object)[codes]


def typed_text(value, notation):
    """Return a typed value as the text from which the same value is read."""
    if notation.endswith("date"):
        return _date_text(value) + "Z" * (notation == "zoned date")
    if notation == "bool":
        return str(bool(value))
    if notation.endswith("time"):
        moment = np.datetime64(0, "us") + np.timedelta64(round(1e6 * value), "us")
        clock = str(moment)[11:].removesuffix(".000000")
        return clock + "Z" * (notation == "zoned time")
    return f"{number_text(value)} s" if notation == "duration" else number_text(value)


def _polars_cells(column):
    """Return the cells of a polars Series, or None if the cells are objects."""
    import polars as pl

    dtype = column.dtype
    if dtype.is_float():
        return _numeric_cells(column.to_numpy())
    if dtype.is_numeric() or dtype == pl.Boolean:
        values = column.cast(pl.Float64).to_numpy()
        if not _are_large(values).any():
            return Cells(values, "bool" if dtype == pl.Boolean else "number")
    if dtype == pl.Date or dtype == pl.Datetime:
        is_zoned = getattr(dtype, "time_zone", None) is not None
        if is_zoned:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        dates = column.cast(pl.Datetime("us")).to_numpy()
        return Cells(dates, "zoned date" if is_zoned else "date")
    if dtype == pl.Duration:
        return Cells(column.to_numpy() / np.timedelta64(1, "s"), "duration")
    if dtype == pl.Time:
        return Cells(column.cast(pl.Int64).to_numpy() / 1e9, "time")
    return None


def _typed_cells(column):
    """Return the cells of a column of numbers or dates, or None for other dtypes."""
    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, pd.PeriodDtype):
        return Cells(_microseconds(pd.Series(column).dt.to_timestamp()), "date")
    if getattr(dtype, "kind", "O") == "O" and not hasattr(dtype, "tz"):
        return None
    if pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        return None if dtype.kind == "c" else _numeric_cells(column)
    if dtype.kind == "m":
        seconds = pd.to_timedelta(column).to_numpy() / np.timedelta64(1, "s")
        return Cells(seconds, "duration")
    if dtype.kind == "M" and hasattr(dtype, "tz"):
        return Cells(_microseconds(pd.Series(column).dt.tz_convert(None)), "zoned date")
    is_date = dtype.kind == "M" and isinstance(dtype, np.dtype)  # not of Arrow
    return Cells(_microseconds(column), "date") if is_date else None


def _microseconds(dates):
    """Return dates in microseconds, clipped to the range of `_ENDS`."""
    dates = np.asarray(dates)
    if np.datetime_data(dates.dtype)[0] in ("us", "ns", "ps", "fs", "as"):
        return dates.astype("datetime64[us]")
    return np.clip(dates, *_ENDS.astype(dates.dtype)).astype("datetime64[us]")


def _numeric_cells(column):
    """Return the cells of a column of numbers or bools; None for large integers."""
    dtype = column.dtype
    own = getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype))
    is_short = own.kind == "f" and own.itemsize < 8
    target = own if is_short else np.float64
    if isinstance(dtype, np.dtype):
        values = np.asarray(column, dtype=target)
    else:
        values = column.to_numpy(dtype=target, na_value=np.nan)
    if is_short:
        return Cells(_shortest(values), "number")
    if own.kind != "f" and _are_large(values).any():
        return None
    return Cells(values, "bool" if own.kind == "b" else "number")


def _shortest(numbers):
    """Return float32 or float16 as the shortest decimals that round to them."""
    out = numbers.astype(np.float64)
    with np.errstate(all="ignore"):
        exponents = np.floor(np.log10(np.abs(out)))
        is_long = (out != np.rint(out)) | (np.abs(out) > _LARGEST_SINGLE)
        open_ = np.flatnonzero(np.isfinite(exponents) & is_long)
        for digits in range(2 if numbers.itemsize < 4 else 5, 9):
            power = digits - exponents[open_]
            # Powers with negative exponents are not exact.
            up, down = 10.0 ** np.maximum(power, 0), 10.0 ** np.maximum(-power, 0)
            rounded = np.rint(out[open_] * up / down) * down / up
            is_same = rounded.astype(numbers.dtype) == numbers[open_]
            out[open_[is_same]] = rounded[is_same]
            open_ = open_[~is_same]
    return out


def _object_cells(column, name):
    """Return the cells of a column of objects."""
    read = np.asarray if hasattr(column, "dtype") else np.fromiter
    cells = read(column, dtype=object)
    missing = pd.isna(cells)
    types = set(map(type, cells[~missing]))
    if _MASKED in types:
        missing |= np.array([cell is np.ma.masked for cell in cells])
        types.remove(_MASKED)
    present, has_times = cells[~missing], bool(types) and all(map(is_duration, types))
    has_dates = bool(types) and all(issubclass(t, datetime.date) for t in types)
    zoned = {*map(_has_zone, present)} if has_times or has_dates else ()
    if has_times:
        seconds = _fill([*map(seconds_of, present)], missing, np.nan, np.float64)
        notation = "time" if datetime.time in types else "duration"
        return Cells(seconds, "zoned time" if True in zoned else notation)
    are_numbers = all(issubclass(t, Number | np.bool_) for t in types)
    if are_numbers and not types & {complex, np.complex128}:
        numbers = _as_numbers(cells, missing, types)
        if numbers is not None:
            is_bool = bool(types) and types <= {bool, np.bool_}
            return Cells(numbers, "bool" if is_bool else "number")
    # If only some of the dates have a zone, texts show which ones.
    if has_dates and len(zoned) < 2:
        dates = [*map(_naive, present)]
        dates = _fill(dates, missing, np.datetime64("NaT"), "datetime64[us]")
        return Cells(dates, "zoned date" if True in zoned else "date")
    known = {}
    out = np.full(len(cells), None, dtype=object)
    for row in np.flatnonzero(~missing):
        cell = cells[row]
        if isinstance(cell, str):
            if cell not in known:
                known[cell] = _clean(cell)
            out[row] = known[cell]
        else:
            out[row] = _other(cell, row, name)
    return Cells(out)


def _as_numbers(cells, missing, types):
    """Return cells that are numbers as float64, or None if some are large integers."""
    present = cells[~missing]
    if types & {*_SHORT_FLOATS}:
        present = [_plain_number(cell) for cell in present]
    try:
        numbers = _fill(present, missing, np.nan, np.float64)
    except OverflowError:
        return None
    large = cells[_are_large(numbers)]
    return numbers if all(isinstance(n, float | np.floating) for n in large) else None


def _are_large(numbers):
    """Return which numbers are too large for floats to distinguish integers."""
    return np.abs(numbers) >= _LARGEST_WHOLE


def _fill(present, missing, value, dtype):
    """Return present cells as a typed array, with `value` for missing ones."""
    out = np.full(len(missing), value, dtype)
    out[~missing] = np.asarray(present, dtype=dtype)
    return out


def _has_zone(cell):
    """Return whether a date or time has an offset from UTC."""
    return getattr(cell, "tzinfo", None) is not None


def _naive(cell):
    """Return a date or datetime as datetime64[us], in UTC if it has a time zone."""
    offset = cell.utcoffset() if _has_zone(cell) else None
    if offset is None:
        return np.datetime64(cell, "us")
    local = np.datetime64(cell.replace(tzinfo=None), "us")
    return local - np.timedelta64(offset, "us")


def _date_text(date):
    """Return a datetime64 in ISO format, without a time at midnight.

    Years of more than four digits have a sign.
    """
    units = (unit for unit in ("D", "s") if date == date.astype(f"datetime64[{unit}]"))
    text = str(np.datetime_as_string(date, unit=next(units, "us")))
    return f"+{text}" if text[4] != "-" and text[0] != "-" else text


def _plain_number(number):
    """Return a float32 or float16 as the shortest decimal, other numbers as is."""
    return float(str(number)) if isinstance(number, _SHORT_FLOATS) else number


def _other(cell, row, name):
    """Return a cell that is not a str as text, or as a tuple of texts.

    The text is read as the value that the cell has in a column of its type.
    """
    if is_duration(type(cell)):
        notation = "time" if isinstance(cell, datetime.time) else "duration"
        notation = "zoned time" if _has_zone(cell) else notation
        return typed_text(seconds_of(cell), notation)
    if isinstance(cell, list | tuple | np.ndarray) and np.shape(cell) != ():
        items = [item for item in cell if not is_missing(item)]
        if all(isinstance(item, str) for item in items):
            items = [unicodedata.normalize("NFC", item.strip()) for item in items]
            return tuple(items) or None
    elif isinstance(cell, datetime.date):
        return typed_text(_naive(cell), "zoned date" if _has_zone(cell) else "date")
    elif isinstance(cell, bool | np.bool_):
        return str(bool(cell))
    elif isinstance(cell, Number):
        if not isinstance(cell, _REFUSED):
            return number_text(_plain_number(cell))
    elif not isinstance(cell, _REFUSED) and _has_text(cell):
        return _clean(str(cell))
    raise TypeError(
        f"row {row} of the column {name!r} is {short_repr(cell)}. Allowed are str, "
        "numbers, dates and lists of str; decode bytes, expand other cells into "
        "columns, or drop the column."
    )


def _has_text(cell):
    """Return whether a cell has a text other than its class and address."""
    own = type(cell)
    return own.__str__ is not object.__str__ or own.__repr__ is not object.__repr__


def _clean(text):
    """Return a text in normalized form, or None if it marks a missing value."""
    text = unicodedata.normalize("NFC", text.strip())
    if text in MISSING:
        return None
    return _BOOLS.get(text, text)


def number_text(number):
    """Return a number as text, whole numbers without a decimal point."""
    try:
        value = float(number)
    except OverflowError:
        return str(number)
    is_exact = not isinstance(number, float | np.floating) or not _are_large(value)
    return str(int(number)) if value.is_integer() and is_exact else str(value)
