"""Decide what a column of a table contains, and read its cells accordingly.

Everything is decided from the training rows. Reading is row by row: a row alone is
read as in any batch.
"""

import warnings
from functools import partial
from hashlib import sha256
from itertools import compress
from typing import NamedTuple

import numpy as np

from .._core._messages import plural, short_repr
from ._cells import as_texts, distinct, per_distinct
from ._date_order import choose_order, first_ambiguous
from ._dates import DateFormat, date_parts, parse_dates, varying_parts
from ._numbers import (
    NumberFormat,
    are_bounds,
    choose_format,
    is_missing,
    parse_numbers,
)
from ._numbers_inside import NumberPlan, numbers_inside, plan_numbers
from ._string_kinds import (
    Values,
    are_compact_dates,
    are_identifiers,
    are_keys,
    are_merged,
    are_urls,
    is_counter,
    is_prose,
    list_separator,
    sample_values,
)

_SAMPLE = 2000  # distinct values on which most decisions are made
_LIST_SAMPLE = 20_000  # items of lists repeat less often
_FEW = 40  # distinct values of a category, whatever they are


class ColumnKind(NamedTuple):
    """What a column contains, as decided from its training rows.

    `kind` is "number", "binary" (yes or no, 1 or 0), "date", "category" (few values, or
    values that repeat), "name" (short strings, mostly distinct), "code" (strings with
    numbers in most of them), "text" (prose), "list", "url", "key" (distinct by design:
    counters, hashes), "constant" or "empty".
    """

    kind: str
    number_format: NumberFormat | None = None
    numbers: NumberPlan | None = None  # numbers inside strings
    dates: DateFormat | None = None
    strays: tuple[str, ...] = ()  # words that repeat among numbers or dates
    categorical: bool = False  # few enough distinct values to encode each of them
    repeated: float = 0.0  # share of the rows whose value occurs five times or more
    n_distinct: int = 0
    n_missing: int = 0
    n_odd: int = 0  # cells read as missing because they are unlike the others


def column_kind(cells, name=""):
    """Return the ColumnKind of the training cells that `read_cells` returned.

    Issues a warning that names the column and the cells, if a few cells are unlike all
    others: these are read as missing.
    """
    values, codes = distinct(cells)
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    n_rows = int(counts.sum())
    start = ColumnKind(
        "empty",
        repeated=float(counts[counts >= 5].sum() / max(n_rows, 1)),
        n_distinct=len(values),
        n_missing=int((codes < 0).sum()),
    )
    if not len(values):
        return start
    if len(values) == 1 and not start.n_missing:
        return start._replace(kind="constant")
    if cells.dtype.kind == "f":
        kind, odd = _as_floats(start, values, counts)
    elif cells.dtype.kind == "M":
        dates = DateFormat(parts=varying_parts(values))
        kind, odd = start._replace(kind="date", dates=dates), []
    elif counts[[isinstance(value, tuple) for value in values]].sum() > n_rows / 2:
        kind, odd = start._replace(kind="list"), []
    else:
        kind, odd = _as_strings(start, Values(list(_joined(values)), counts), name)
    if odd:
        _warn(kind, odd, cells, name)
    return kind


def as_noun(kind):
    """Return the kind as a message says it: "a number", "yes or no"."""
    is_words = kind.number_format is not None and kind.number_format.booleans
    return "yes or no" if is_words else f"a {kind.kind.replace('binary', 'number')}"


def float_names(kind):
    """Return the names of the columns of `read_floats`; "" is the value itself."""
    if kind.number_format is not None:
        return [""]
    if kind.dates is not None:
        return list(kind.dates.parts)
    return [] if kind.numbers is None else kind.numbers.names


def read_floats(cells, kind):
    """Return numbers of cells, float64 of shape (n_rows, len(float_names(kind)))."""
    if kind.number_format is not None:
        return _read_numbers(cells, kind.number_format)[:, None]
    if kind.dates is not None:
        if cells.dtype.kind != "M":
            read = partial(parse_dates, order=kind.dates.order)
            cells = per_distinct(read, _joined(cells), np.datetime64("NaT"))
        return date_parts(cells, kind.dates.parts)
    if kind.numbers is None:
        return np.empty((len(cells), 0))
    read = partial(numbers_inside, plan=kind.numbers)
    return per_distinct(read, _joined(cells), np.nan).astype(np.float64)


def read_texts(cells, kind):
    """Return each cell as str, "" if it is missing.

    In a column of numbers or dates these are the `strays`, and the numbers themselves
    if the column is `categorical`.
    """
    if kind.number_format is not None or kind.dates is not None:
        return _read_strays(cells, kind)
    texts = ["" if text is None else _without_zero(text) for text in _joined(cells)]
    return np.array([*texts, None], dtype=object)[:-1]


def _without_zero(text):
    """Return "12.0" as "12": pandas reads integers next to missing ones as floats."""
    whole = text.removesuffix(".0")
    return whole if whole.removeprefix("-").isdecimal() else text


def unread_cells(cells, floats, kind):
    """Return which cells of a column of numbers or dates are neither, nor missing.

    `floats` are the output of `read_floats` for these cells.
    """
    if cells.dtype.kind == "M" or not float_names(kind) or kind.numbers is not None:
        return np.zeros(len(cells), dtype=bool)
    is_read = np.isfinite(floats).any(axis=1)
    if cells.dtype.kind == "f":
        return ~is_read & ~np.isnan(cells)
    known = {None, "", *kind.strays}
    is_known = [text in known or is_missing(text) for text in _joined(cells)]
    return ~is_read & ~np.array(is_known, dtype=bool)


def find_duplicates(columns):
    """Return the positions of columns that equal an earlier one, and of that one."""
    first, out = {}, {}
    for position, cells in enumerate(columns):
        is_object = cells.dtype.kind == "O"
        # Adding 0 turns -0.0 into 0.0.
        key = tuple(cells) if is_object else sha256((cells + 0).tobytes()).digest()
        earlier = first.setdefault((cells.dtype, key), position)
        if earlier != position:
            out[position] = earlier
    return out


def _as_floats(start, values, counts):
    """Return the kind of a column of floats, and its infinite values."""
    finite = np.isfinite(values)
    odd = list(values[~finite])
    kind = start._replace(n_odd=int(counts[~finite].sum()))
    values, counts = values[finite], counts[finite]
    if not len(values):
        return kind._replace(kind="empty"), odd
    like_dates = (values > 19000000) & (values < 21000000)
    texts = as_texts(values).tolist() if like_dates.mean() >= 0.99 else []
    if are_compact_dates(texts):
        dates = parse_dates(texts, "mdy")
        odd += values[np.isnat(dates)].tolist()
        n_odd = kind.n_odd + int(counts[np.isnat(dates)].sum())
        dates = DateFormat(parts=varying_parts(dates))
        return kind._replace(kind="date", dates=dates, n_odd=n_odd), odd
    return _number(kind, NumberFormat(), values, counts), odd


def _number(kind, number_format, values, counts):
    """Return the kind of numbers: "number", "binary" or "key"."""
    distinct, n_rows = {*values.tolist()}, int(counts.sum())
    n_distinct = len(distinct)
    name = "key" if is_counter(values, n_rows) else "number"
    return kind._replace(
        kind="binary" if distinct == {0.0, 1.0} else name,
        number_format=number_format,
        categorical=3 <= n_distinct <= 30 and n_rows >= 10 * n_distinct,
    )


def _as_strings(start, values, name):
    """Return the kind of a column of strings, and the odd values."""
    sample = sample_values(values, _SAMPLE)
    if not (are_identifiers(sample) or are_merged(values.texts)):
        for decide in (partial(_as_dates, name=name), _as_numbers):
            kind, odd = decide(start, values, sample)
            if kind is not None:
                return kind, odd
    has_many = len(values.texts) > _FEW
    if has_many and list_separator(sample_values(values, _LIST_SAMPLE)):
        return start._replace(kind="list"), []
    if are_keys(values):
        return start._replace(kind="key"), []
    if are_urls(sample):
        return start._replace(kind="url"), []
    few = start.n_distinct <= min(_FEW, int(values.n_rows) // 2)
    if not few and is_prose(sample):
        return start._replace(kind="text"), []
    plan = plan_numbers(sample.texts, sample.counts)
    kind = start._replace(numbers=plan if plan.slots else None)
    digits = [any(map(str.isdecimal, text)) for text in sample.texts]
    if not few and plan.slots and sample.share(digits) >= 0.8:
        return kind._replace(kind="code"), []
    few = few or start.repeated >= 0.9
    return kind._replace(kind="category" if few else "name", categorical=few), []


def _as_numbers(start, values, sample):
    """Return the kind and odd values of numbers written as strings, else None."""
    number_format = choose_format(sample.texts, sample.counts)
    parsed = parse_numbers(sample.texts, number_format)
    if not _mostly(sample, np.isfinite(parsed), 0.5):
        return None, []
    parsed = parse_numbers(values.texts, number_format)
    found = np.isfinite(parsed)
    kind, odd = _with_others(start, values, found)
    if not _mostly(values, found, 0.5) or not _tolerable(kind.n_odd, values):
        return None, []
    if _have_another_unit(odd, values):
        return None, []
    texts = compress(values.texts, found)
    if found.sum() <= _FEW and are_bounds(texts, parsed[found]):
        return None, []
    return _number(kind, number_format, parsed[found], values.counts[found]), odd


def _as_dates(start, values, sample, name):
    """Return the kind and odd values of dates written as strings, else None.

    Issues a warning if no date shows the order of day, month and year.
    """
    order, is_shown = choose_order(sample.texts, sample.counts)
    found = ~np.isnat(parse_dates(sample.texts, order))
    digits = np.array([text.isdecimal() for text in sample.texts])
    compact = [text for text, d in zip(sample.texts, digits, strict=True) if d]
    if not _mostly(sample, found, 0.8):
        return None, []
    if not _mostly(sample, found & ~digits, 0.5) and not are_compact_dates(compact):
        return None, []
    dates = parse_dates(values.texts, order)
    kind, odd = _with_others(start, values, ~np.isnat(dates))
    if not _tolerable(kind.n_odd, values):
        return None, []
    read = compress(values.texts, ~np.isnat(dates))
    text = "" if is_shown else first_ambiguous(read)
    if text:
        date = parse_dates([text], order)[0].astype("datetime64[D]")
        first = {"d": "day", "m": "month", "y": "year"}[order[0]]
        warnings.warn(
            f"column {name!r} has {text!r}, which is read as {date}, {first} first, "
            "but none of its values shows the order of day, month and year. Pass "
            f"dates, or strings such as {str(date)!r}.",
            UserWarning,
            stacklevel=3,
        )
    dates = DateFormat(order, varying_parts(dates))
    return kind._replace(kind="date", dates=dates), odd


def _mostly(values, found, share):
    """Return whether enough of the rows that are not missing were read."""
    missing = np.array([is_missing(text) for text in values.texts])
    present = values.n_rows - values.counts[missing].sum()
    return present > 0 and values.counts[found].sum() >= share * present


def _with_others(start, values, found):
    """Return a kind with its strays and the numbers of others, and the odd values."""
    strays, odd, n_odd, n_missing = [], [], 0, start.n_missing
    enough = max(2, 0.01 * values.n_rows)
    for i in np.flatnonzero(~found):
        text, n = values.texts[i], int(values.counts[i])
        if is_missing(text):
            n_missing += n
        elif n >= enough and len(strays) < 10 and not any(map(str.isdecimal, text)):
            strays.append(text)
        else:
            odd.append(text)
            n_odd += n
    strays = tuple(strays)
    return start._replace(strays=strays, n_odd=n_odd, n_missing=n_missing), odd


def _have_another_unit(odd, values):
    """Return whether odd values are numbers too, of a unit of at least 1 % of rows."""
    if not odd:
        return False
    counts = dict(zip(values.texts, values.counts, strict=True))
    counts = np.array([counts[text] for text in odd])
    found = np.isfinite(parse_numbers(odd, choose_format(odd, counts)))
    return counts[found].sum() >= max(5, 0.01 * values.n_rows)


def _tolerable(n_odd, values):
    """Return whether odd cells are few enough to be errors."""
    return n_odd <= max(0.05 * values.n_rows, values.n_rows >= 10)


def _read_numbers(cells, number_format):
    """Return cells as float64; NaN for what is not a finite number."""
    if cells.dtype.kind == "M":
        return np.full(len(cells), np.nan)
    numbers = cells * number_format.plain if cells.dtype.kind == "f" else cells
    if cells.dtype.kind == "O":
        read = partial(parse_numbers, number_format=number_format)
        numbers = per_distinct(read, _joined(cells), np.nan)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _read_strays(cells, kind):
    """Return the strays of a column, and its numbers if it is categorical."""
    out = np.full(len(cells), "", dtype=object)
    if kind.categorical:
        numbers = as_texts(read_floats(cells, kind)[:, 0])
        out = np.where(numbers == None, "", numbers)  # noqa: E711
    if kind.strays:
        texts, strays = _joined(cells), {*kind.strays}
        stray = np.array([text in strays for text in texts], dtype=bool)
        out[stray] = texts[stray]
    return out


def _joined(cells):
    """Return cells as str, lists joined by commas, with None for missing cells."""
    texts = as_texts(cells)
    if any(isinstance(text, tuple) for text in texts):
        joined = [", ".join(t) if isinstance(t, tuple) else t for t in texts]
        texts = np.array([*joined, None], dtype=object)[:-1]
    return texts


def _warn(kind, odd, cells, name):
    """Warn about the cells of a column that are unlike all others."""
    shown = ", ".join(
        f"{short_repr(value)} (row {np.flatnonzero(cells == value)[0]})"
        for value in odd[:5]
    )
    what = "infinite" if kind.kind != "date" else "not a date"
    what = f"not {as_noun(kind)}" if cells.dtype.kind == "O" else what
    warnings.warn(
        f"{plural(kind.n_odd, 'cell')} of {len(cells)} in the column {name!r} "
        f"{'is' if kind.n_odd == 1 else 'are'} {what}, and treated as missing: {shown}"
        f"{', ...' if len(odd) > 5 else ''}. Correct them, or replace them by missing "
        "values.",
        UserWarning,
        stacklevel=3,
    )
