"""Decide what a column of a table contains, from its training rows."""

import warnings
from functools import partial
from hashlib import sha256
from itertools import compress
from typing import NamedTuple

import numpy as np

from .._core._errors import plural, short_repr
from ._cells import distinct, number_text
from ._date_order import choose_order, first_ambiguous
from ._date_parts import DateFormat, date_format
from ._dates import may_be_days_of_years, parse_dates
from ._durations import times_of_day
from ._levels import find_levels
from ._lists import as_list_text
from ._missing import is_missing
from ._numbers import (
    NumberFormat,
    are_bounds,
    choose_format,
    parse_numbers,
)
from ._numbers_inside import NumberPlan, plan_numbers
from ._string_kinds import (
    Values,
    are_compact_dates,
    are_identifiers,
    are_keys,
    are_merged,
    are_saved_lists,
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
    # Words, or dates far from others, that repeat among numbers or dates.
    strays: tuple[str, ...] = ()
    categorical: bool = False  # few enough distinct values to encode each of them
    levels: tuple[float, ...] = ()  # these values, if they are numbers
    separator: str = ", "  # between the items of lists
    repeated: float = 0.0  # share of the rows whose value occurs five times or more
    n_distinct: int = 0
    n_missing: int = 0
    n_odd: int = 0  # cells read as missing because they are unlike the others


def column_kind(cells, name=""):
    """Return the ColumnKind of the `Cells` of the training rows.

    Issues a warning that names the column and the cells, if a few cells are unlike all
    others: these are read as missing.
    """
    values, codes = distinct(cells.values)
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
    times = times_of_day(values) if cells.form == "date" else None
    if times is not None and times.any():
        kind, odd = _as_floats(start, times, counts, "time")
    elif cells.form.endswith("date"):
        dates = date_format("", values, counts)
        kind, odd = _as_date(start, dates), []
    elif cells.form != "text":
        kind, odd = _as_floats(start, values, counts, cells.form)
    elif counts[[isinstance(value, tuple) for value in values]].sum() > n_rows / 2:
        kind, odd = start._replace(kind="list"), []
    else:
        texts = [", ".join(v) if isinstance(v, tuple) else v for v in values]
        kind, odd = _as_strings(start, Values(texts, counts), name)
    if odd:
        _warn(kind, odd, cells, name)
    return kind


def as_noun(kind):
    """Return the kind as a message says it: "a number", "yes or no"."""
    is_words = kind.number_format is not None and kind.number_format.booleans
    return "yes or no" if is_words else f"a {kind.kind.replace('binary', 'number')}"


def find_duplicates(columns):
    """Return the positions of `Cells` that equal earlier ones, and of these."""
    first, out = {}, {}
    for position, cells in enumerate(columns):
        values = cells.values
        is_object = values.dtype.kind == "O"
        # Adding 0 turns -0.0 into 0.0.
        key = tuple(values) if is_object else sha256((values + 0).tobytes()).digest()
        earlier = first.setdefault((values.dtype, key), position)
        if earlier != position:
            out[position] = earlier
    return out


def _as_floats(start, values, counts, form):
    """Return the kind of a column of floats of a form, and its infinite values."""
    finite = np.isfinite(values)
    odd = list(values[~finite])
    kind = start._replace(n_odd=int(counts[~finite].sum()))
    values, counts = values[finite], counts[finite]
    if not len(values):
        return kind._replace(kind="empty"), odd
    like_dates = np.isin(values // 1e6, (19, 20)) | np.isin(values // 1e12, (19, 20))
    like_dates &= form == "number"
    texts = [*map(number_text, values)] if like_dates.mean() >= 0.99 else []
    if are_compact_dates(texts):
        dates = parse_dates(texts, "mdy")
        odd += values[np.isnat(dates)].tolist()
        n_odd = kind.n_odd + int(counts[np.isnat(dates)].sum())
        dates = date_format("", dates, counts)
        return _as_date(kind._replace(n_odd=n_odd), dates), odd
    number_format = NumberFormat(
        unit="s" if form == "duration" or form.endswith("time") else "",
        booleans=form == "bool" and len(values) == 2,
    )
    return _number(kind, number_format, values, counts), odd


def _number(kind, number_format, values, counts):
    """Return the kind of numbers: "number", "binary" or "key"."""
    n_rows = int(counts.sum())
    name = "key" if is_counter(values, n_rows) else "number"
    levels = find_levels(values, n_rows)
    return kind._replace(
        kind="binary" if {*values.tolist()} == {0.0, 1.0} else name,
        number_format=number_format,
        categorical=bool(levels),
        levels=levels,
    )


def _as_strings(start, values, name):
    """Return the kind of a column of strings, and the odd values."""
    sample = sample_values(values, _SAMPLE)
    if not (are_identifiers(sample) or are_merged(values.texts)):
        for decide in (partial(_as_dates, name=name), _as_numbers):
            kind, odd = decide(start, values, sample)
            if kind is not None:
                return kind, odd
    separator = _list_separator(values, sample)
    if separator:
        empty = np.array([not as_list_text(text, separator) for text in values.texts])
        n_missing = start.n_missing + int(values.counts[empty].sum())
        n_distinct = start.n_distinct - int(empty.sum())
        kind = start._replace(n_missing=n_missing, n_distinct=n_distinct)
        return kind._replace(kind="list", separator=separator), []
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


def _list_separator(values, sample):
    """Return the separator of lists as most texts have it, "" if there are no lists."""
    if are_saved_lists(sample):
        return ", "
    has_many = len(values.texts) > _FEW
    found = list_separator(sample_values(values, _LIST_SAMPLE)) if has_many else ""
    if found in ("", "[]"):
        return found and ", "
    has_one = sample.share([found in text for text in sample.texts])
    has_space = sample.share([f"{found} " in text for text in sample.texts])
    return f"{found} " if has_space > has_one / 2 else found


def _as_numbers(start, values, sample):
    """Return the kind and odd values of numbers written as strings, else None."""
    number_format = choose_format(sample.texts, sample.counts)
    parsed = parse_numbers(sample.texts, number_format)
    if not _mostly(sample, np.isfinite(parsed), 0.5):
        return None, []
    parsed = parse_numbers(values.texts, number_format)
    found = np.isfinite(parsed)
    kind, odd = _with_others(start, values, found, _is_finite_word)
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
    if not _mostly(sample, found, 0.8) or not may_be_days_of_years(sample.texts):
        return None, []
    if not _mostly(sample, found & ~digits, 0.5) and not are_compact_dates(compact):
        return None, []
    dates = parse_dates(values.texts, order)
    times = times_of_day(dates)
    if times is not None and np.nansum(times) > 0:
        return None, []
    kind, odd = _with_others(start, values, ~np.isnat(dates), _is_word)
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
    dates = date_format(order, dates, values.counts)
    return _as_date(kind, dates), odd


def _as_date(kind, dates):
    """Return the kind of dates of a `DateFormat`."""
    strays = (*kind.strays, *dates.placeholders)
    return kind._replace(kind="date", dates=dates, strays=strays)


def _mostly(values, found, share):
    """Return whether enough of the rows that are not missing were read."""
    missing = np.array([is_missing(text) for text in values.texts])
    present = values.n_rows - values.counts[missing].sum()
    return present > 0 and values.counts[found].sum() >= share * present


def _with_others(start, values, found, is_stray):
    """Return a kind with its strays and the numbers of others, and the odd values."""
    strays, odd, n_odd = [], [], 0
    n_missing, n_distinct = start.n_missing, start.n_distinct
    enough = max(2, 0.01 * values.n_rows)
    for i in np.flatnonzero(~found):
        text, n = values.texts[i], int(values.counts[i])
        if is_missing(text):
            n_missing += n
            n_distinct -= 1
        elif n >= enough and len(strays) < 10 and is_stray(text):
            strays.append(text)
        else:
            odd.append(text)
            n_odd += n
    strays = tuple(strays)
    kind = start._replace(strays=strays, n_odd=n_odd)
    return kind._replace(n_missing=n_missing, n_distinct=n_distinct), odd


def _is_word(text):
    """Return whether a text has no digits, such as "infinity" among dates."""
    return not any(map(str.isdecimal, text))


def _is_finite_word(text):
    """Return whether a text has no digits, and is not an infinite number."""
    return _is_word(text) and text.strip("+-").casefold() not in ("inf", "infinity")


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


def _warn(kind, odd, cells, name):
    """Warn about the cells of a column that are unlike all others."""
    shown = ", ".join(
        f"{short_repr(value)} (row {np.flatnonzero(cells.values == value)[0]})"
        for value in odd[:5]
    )
    what = "infinite" if kind.kind != "date" else "not a date"
    what = f"not {as_noun(kind)}" if cells.form == "text" else what
    warnings.warn(
        f"{plural(kind.n_odd, 'cell')} of {len(cells)} in the column {name!r} "
        f"{'is' if kind.n_odd == 1 else 'are'} {what}, and treated as missing: {shown}"
        f"{', ...' if len(odd) > 5 else ''}. Correct them, or replace them by missing "
        "values.",
        UserWarning,
        stacklevel=3,
    )
