"""Read the cells of a column by its kind: as numbers, and as texts.

Reading is row by row: a row alone is read as in any batch.
"""

from typing import NamedTuple

import numpy as np

from ._cells import Cells, as_texts, distinct, per_distinct, typed_text
from ._date_parts import date_numbers, placeholder_names
from ._dates import dates_and_forms
from ._durations import times_of_day
from ._levels import level_names
from ._lists import as_list_text, is_saved_list
from ._missing import is_missing
from ._numbers import convert, numbers_and_forms
from ._numbers_inside import numbers_inside

_PYTHON = {"number": float, "bool": bool}
# Of typed cells.
_UNITS = {"number": "", "bool": "", "duration": "s", "time": "s", "zoned time": "s"}


class Reading(NamedTuple):
    """The numbers of cells, and the forms in which the cells are written.

    Attributes
    ----------
    floats : ndarray of float64, shape (n_rows, n_numbers)
        NaN for what is missing, and for what is not of the kind of the column.
    forms : dict
        The first cell of each form (see `_forms.py`), typed numbers and bools as such,
        others as text.
    """

    floats: np.ndarray
    forms: dict


def float_names(kind):
    """Return the names of the columns of `read_floats`; "" is the value itself."""
    if kind.number_format is not None:
        return [""]
    if kind.dates is not None:
        return list(kind.dates.parts)
    return [] if kind.numbers is None else kind.numbers.names


def read_floats(cells, kind):
    """Return the numbers of `read_column`."""
    return read_column(cells, kind).floats


def read_column(cells, kind):
    """Return the `Reading` of cells, with the columns of `float_names(kind)`."""
    if kind.number_format is not None:
        return _read_numbers(cells, kind)
    if kind.dates is not None:
        return _read_dates(cells, kind)
    forms = _string_forms(cells, kind)
    if kind.numbers is None:
        return Reading(np.empty((len(cells), 0)), forms)

    def read(texts):
        return numbers_inside(texts, kind.numbers)

    floats = per_distinct(read, _joined(cells), np.nan)
    return Reading(floats.astype(np.float64), forms)


def read_example(example, kind):
    """Return how a cell of a column of numbers or dates is read, as text."""
    text = example if isinstance(example, str) else str(example)
    cells = Cells(np.array([text], dtype=object))
    if kind.dates is not None:
        return str(dates_and_forms([text], kind.dates.order)[0][0].astype("M8[s]"))
    if kind.number_format is not None:
        number = read_column(cells, kind).floats[0, 0]
        return f"{number:g} {kind.number_format.unit}".rstrip()
    return ""


def read_texts(cells, kind):
    """Return each cell as str, "" if it is missing.

    In a column of numbers or dates these are the `strays`, and the numbers themselves
    if the column is `categorical`.
    """
    if kind.number_format is not None or kind.dates is not None:
        return _read_strays(cells, kind)
    values, codes = distinct(as_texts(cells))
    texts = [_string(value, kind) for value in values]
    return np.array([*texts, ""], dtype=object)[codes]


def unread_cells(cells, floats, kind):
    """Return which cells of a column of numbers or dates are neither, nor missing.

    `floats` are the output of `read_floats` for these cells.
    """
    if cells.form.endswith("date") or not float_names(kind) or kind.numbers is not None:
        return np.zeros(len(cells), dtype=bool)
    is_read = np.isfinite(floats).any(axis=1)
    if kind.dates is not None and kind.dates.placeholders:
        is_read |= read_texts(cells, kind) != ""
    if cells.form != "text":
        return ~is_read & ~np.isnan(cells.values)
    known = {None, "", *kind.strays}
    is_known = [text in known or is_missing(text) for text in _joined(cells)]
    return ~is_read & ~np.array(is_known, dtype=bool)


def _read_numbers(cells, kind):
    """Return the `Reading` of a column of numbers; NaN for what is not finite."""
    number_format = kind.number_format
    if cells.form.endswith("date"):
        seconds = times_of_day(cells.values) if number_format.is_duration else None
        if seconds is None:
            return Reading(np.full((len(cells), 1), np.nan), {})
        cells = Cells(seconds, "time")
    if cells.form == "text":
        if kind.kind == "binary":  # 1 may be written as "yes"
            number_format = number_format._replace(booleans=True)

        def read(texts):
            return numbers_and_forms(texts, number_format)

        numbers, forms = _by_form(read, _joined(cells), np.nan)
    else:
        numbers = convert(cells.values, _UNITS[cells.form], number_format)
        forms = _typed_form(cells, np.isfinite(numbers))
    is_read = np.isfinite(numbers)
    if kind.number_format.booleans:
        is_read &= (numbers == 0) | (numbers == 1)
    return Reading(np.where(is_read, numbers, np.nan)[:, None], forms)


def _read_dates(cells, kind):
    """Return the `Reading` of a column of dates."""
    dates, forms = _dates_and_forms(cells, kind.dates.order)
    return Reading(date_numbers(dates, kind.dates), forms)


def _dates_and_forms(cells, order):
    """Return cells as datetime64[us], and the first cell of each form."""
    if cells.form.endswith("date"):
        return cells.values, _typed_form(cells, ~np.isnat(cells.values))

    def read(texts):
        return dates_and_forms(texts, order)

    return _by_form(read, _joined(cells), np.datetime64("NaT"))


def _by_form(function, texts, empty):
    """Apply a function to distinct texts that returns values and their forms.

    Returns the value of each text, and the first text of each form.
    """
    values, codes = distinct(texts)
    results, forms = function(values)
    out = np.append(results, np.array([empty], results.dtype))[codes]
    first = dict(zip(reversed(forms), reversed(values), strict=True))
    first.pop("", None)
    return out, {form: first[form] for form in dict.fromkeys(forms) if form}


def _typed_form(cells, is_present):
    """Return the form of typed cells and its first cell, {} if all are missing."""
    row = int(is_present.argmax()) if len(is_present) else 0
    if not is_present[row : row + 1].any():
        return {}
    value = cells.values[row]
    if cells.form in _PYTHON:
        return {cells.form: _PYTHON[cells.form](value)}
    return {cells.form: typed_text(value, cells.form)}


def _string_forms(cells, kind):
    """Return the first cell of each form in a column of strings."""
    if cells.form != "text":
        return _typed_form(cells, cells.values == cells.values)
    if kind.kind != "list":
        texts = (cell for cell in cells.values if cell is not None)
        first = next((cell for cell in texts if isinstance(cell, tuple)), None)
        return {} if first is None else {"list": str([*first])}
    values, _ = distinct(cells.values)
    forms = {}
    for cell in values:
        is_list = isinstance(cell, tuple) or is_saved_list(cell)
        example = str([*cell]) if isinstance(cell, tuple) else cell
        forms.setdefault("list" if is_list else "text", example)
    return forms


def _string(cell, kind):
    """Return a cell of a column of strings as text."""
    if kind.kind == "list":
        return as_list_text(cell, kind.separator)
    return ", ".join(cell) if isinstance(cell, tuple) else _without_zero(cell)


def _without_zero(text):
    """Return "12.0" as "12": pandas reads integers next to missing ones as floats."""
    whole = text.removesuffix(".0")
    return whole if whole.removeprefix("-").isdecimal() else text


def _read_strays(cells, kind):
    """Return the strays of a column, and its numbers if it is categorical."""
    out = np.full(len(cells), "", dtype=object)
    if kind.categorical:
        out = level_names(read_floats(cells, kind)[:, 0], kind.levels)
    if kind.strays:
        texts, strays = _joined(cells), {*kind.strays}
        stray = np.array([text in strays for text in texts], dtype=bool)
        out[stray] = texts[stray]
    if kind.dates is not None and kind.dates.placeholders:
        dates, _ = _dates_and_forms(cells, kind.dates.order)
        names = placeholder_names(dates, kind.dates)
        out = np.where(names != "", names, out)
    return out


def _joined(cells):
    """Return cells as str, lists joined by commas, with None for missing cells."""
    texts = as_texts(cells)
    if any(isinstance(text, tuple) for text in texts):
        joined = [", ".join(t) if isinstance(t, tuple) else t for t in texts]
        texts = np.array([*joined, None], dtype=object)[:-1]
    return texts
