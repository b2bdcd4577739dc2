"""Read the cells of a column by its format: as numbers, and as texts.

Cells are read row by row, so a row is read the same alone and in a batch. Distinct
texts are parsed once; each parser returns a value and its notation, the way the value
is written: a notation of typed cells ("number", "bool", "date", "zoned date", "time",
"duration"), "text", "list", or the family of a unit, such as "share" for "84.9%".
"""

import re
from typing import NamedTuple

import numpy as np

from ._cells import Cells, as_texts, distinct, is_missing_mark, typed_text
from ._column_format import level_names
from ._dates import date_numbers, placeholder_names, read_dates
from ._lists import as_list_text, parse_list
from ._numbers import convert, numbers_inside, read_numbers
from ._times import times_of_day

# pandas reads integers next to missing ones as floats.
_WHOLE = re.compile(r"-?\d+\.0\Z")
_PYTHON = {"number": float, "bool": bool}
# The units of typed cells.
_UNITS = {"number": "", "bool": "", "duration": "s", "time": "s", "zoned time": "s"}


class Reading(NamedTuple):
    """What the cells of a column mean.

    `floats`, (n_rows, n_numbers), has the columns of `float_names`, and NaN for cells
    that are missing or not allowed by the format. `texts` has str objects, "" if
    missing. In a column of numbers or dates, the texts are the `sentinels`, and the
    numbers too if the column is `categorical`. `notations` has the first cell of each
    notation, numbers and bools typed, others as text.
    """

    floats: np.ndarray
    texts: np.ndarray
    notations: dict


def float_names(column_format):
    """Return the names of the columns of `floats`; "" is the value itself."""
    if column_format.numbers is not None:
        return [""]
    if column_format.dates is not None:
        return list(column_format.dates.parts)
    return [] if column_format.inside is None else column_format.inside.names


def read_column(cells, column_format):
    """Return the `Reading` of cells."""
    if column_format.numbers is not None:
        reading = _read_numbers(cells, column_format)
    elif column_format.dates is not None:
        reading = _read_dates(cells, column_format)
    else:
        return _read_strings(cells, column_format)
    if column_format.sentinels:
        given, sentinels = as_texts(cells), {*column_format.sentinels}
        is_known = np.array([text in sentinels for text in given], dtype=bool)
        reading.texts[is_known] = given[is_known]
    return reading


def read_example(example, column_format):
    """Return how a cell of a column of numbers or dates is read, as text."""
    cells = Cells(np.array([str(example)], dtype=object))
    if column_format.dates is not None:
        dates, _ = read_dates(cells.values, column_format.dates.order)
        return str(dates[0].astype("M8[s]"))
    if column_format.numbers is not None:
        number = read_column(cells, column_format).floats[0, 0]
        return f"{number:g} {column_format.numbers.unit}".rstrip()
    return ""


def unread_cells(cells, reading, column_format):
    """Return a mask of the cells that the format of numbers or dates cannot read.

    `reading` is the `Reading` of these cells.
    """
    numbers, dates = column_format.numbers, column_format.dates
    if cells.notation.endswith("date") or (numbers is None and dates is None):
        return np.zeros(len(cells.values), dtype=bool)
    is_read = np.isfinite(reading.floats).any(axis=1)
    if dates is not None and dates.placeholders:
        is_read |= reading.texts != ""
    if cells.notation != "text":
        return ~is_read & ~np.isnan(cells.values)
    known = {None, "", *column_format.sentinels}
    is_known = [text in known or is_missing_mark(text) for text in as_texts(cells)]
    return ~is_read & ~np.array(is_known, dtype=bool)


def _read_numbers(cells, column_format):
    """Return the `Reading` of a column of numbers; infinite numbers become NaN."""
    number_format = column_format.numbers
    if cells.notation.endswith("date"):
        seconds = times_of_day(cells.values) if number_format.is_duration else None
        nothing = np.full(len(cells.values), np.nan)
        cells = Cells(nothing if seconds is None else seconds, "time")
    if cells.notation == "text":
        if column_format.kind == "binary":  # 1 may be written as "yes"
            number_format = number_format._replace(booleans=True)
        numbers, notations = _parse(cells, read_numbers, number_format, np.nan)
    else:
        numbers = convert(cells.values, _UNITS[cells.notation], number_format)
        notations = _typed_notation(cells, np.isfinite(numbers))
    is_read = np.isfinite(numbers)
    if column_format.numbers.booleans:
        is_read &= (numbers == 0) | (numbers == 1)
    numbers = np.where(is_read, numbers, np.nan)
    if column_format.categorical:
        texts = level_names(numbers, column_format.levels)
    else:
        texts = np.full(len(numbers), "", dtype=object)
    return Reading(numbers[:, None], texts, notations)


def _read_dates(cells, column_format):
    """Return the `Reading` of a column of dates: their parts."""
    dates_format = column_format.dates
    if cells.notation.endswith("date"):
        dates, notations = cells.values, _typed_notation(cells, ~np.isnat(cells.values))
    else:
        order, missing = dates_format.order, np.datetime64("NaT")
        dates, notations = _parse(cells, read_dates, order, missing)
    if dates_format.placeholders:
        texts = placeholder_names(dates, dates_format)
    else:
        texts = np.full(len(dates), "", dtype=object)
    return Reading(date_numbers(dates, dates_format), texts, notations)


def _read_strings(cells, column_format):
    """Return the `Reading` of a column of strings: the numbers inside them."""
    if column_format.kind == "list":
        is_text = cells.notation == "text"
        values, codes = distinct(cells.values if is_text else as_texts(cells))
        texts = [as_list_text(value, column_format.separator) for value in values]
    else:
        values, codes = distinct(as_texts(cells))
        texts = [t[:-2] if t[-2:] == ".0" and _WHOLE.match(t) else t for t in values]
    texts = np.array([*texts, ""], dtype=object)[codes]
    floats = np.empty((len(texts), 0))
    if column_format.inside is not None:
        numbers = numbers_inside(values, column_format.inside)
        floats = _by_row(numbers, codes, np.nan).astype(np.float64)
    return Reading(floats, texts, _string_notations(cells, column_format))


def _parse(cells, read, how, missing):
    """Return the value of each cell, and the first text of each notation.

    ``read(texts, how)`` returns the values and notations of distinct texts.
    """
    texts, codes = distinct(as_texts(cells))
    values, notations = read(texts, how)
    first = dict(zip(reversed(notations), reversed(texts), strict=True))
    found = {each: first[each] for each in dict.fromkeys(notations) if each}
    return _by_row(values, codes, missing), found


def _by_row(values, codes, missing):
    """Return the value of each code, and `missing` for the code -1."""
    end = np.full((1, *values.shape[1:]), missing, values.dtype)
    return np.concatenate([values, end])[codes]


def _typed_notation(cells, is_present):
    """Return the notation of typed cells with its first cell, {} if all are missing."""
    if not is_present.any():
        return {}
    value = cells.values[is_present.argmax()]
    if cells.notation in _PYTHON:
        return {cells.notation: _PYTHON[cells.notation](value)}
    return {cells.notation: typed_text(value, cells.notation)}


def _string_notations(cells, column_format):
    """Return the first cell of each notation in a column of strings."""
    if cells.notation != "text":
        return _typed_notation(cells, cells.values == cells.values)
    if column_format.kind != "list":
        lists = (cell for cell in cells.values if isinstance(cell, tuple))
        first = next(lists, None)
        return {} if first is None else {"list": str([*first])}
    notations = {}
    for cell in distinct(cells.values)[0]:
        is_list = isinstance(cell, tuple) or parse_list(cell) is not None
        example = str([*cell]) if isinstance(cell, tuple) else cell
        notations.setdefault("list" if is_list else "text", example)
    return notations
