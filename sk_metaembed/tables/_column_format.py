"""Decide what a column of a table contains, from its training rows."""

import re
import warnings
from collections import Counter
from functools import lru_cache
from hashlib import sha256
from itertools import compress
from typing import NamedTuple

import numpy as np

from .._core._errors import plural, short_repr
from ._cells import distinct, is_missing_mark, number_text
from ._dates import (
    DateFormat,
    choose_date_format,
    choose_order,
    first_ambiguous,
    may_be_days_of_years,
    read_dates,
)
from ._lists import are_saved_lists, as_list_text, find_separator
from ._numbers import (
    NumberFormat,
    NumbersInside,
    are_bounds,
    choose_number_format,
    choose_numbers_inside,
    may_be_numbers,
    read_numbers,
)
from ._times import times_of_day

_SAMPLE = 2000  # distinct values that most decisions look at
_LIST_SAMPLE = 20_000  # items of lists repeat less often
_FEW = 40  # distinct values that always form a category
_MOST_SENTINELS = 10
_URL = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
_HASH = re.compile(r"(?=.*\d)[0-9a-f-]{16,}", re.IGNORECASE)
_COUNTER = re.compile(r"(\D{0,12})0*(\d{1,15})")
_COMPACT = re.compile(r"(19|20)\d{6}(?:\d{6})?")
_INFINITE = ("inf", "infinity")

_MOST_LEVELS = 30
_ROWS_PER_LEVEL = 10
_MOST_DISTINCT = 300  # numbers, before they are rounded


class ColumnFormat(NamedTuple):
    """What a column contains and how it is written, decided from its training rows.

    `kind` is "number", "binary" (yes or no, 1 or 0), "date", "category" (few values, or
    values that repeat), "name" (short strings, mostly distinct), "code" (strings with
    numbers in most of them), "text" (prose), "list", "url", "key" (distinct by design:
    counters, hashes), "constant" or "empty".
    """

    kind: str
    numbers: NumberFormat | None = None
    dates: DateFormat | None = None
    inside: NumbersInside | None = None  # numbers inside strings
    # Words that repeat among numbers or dates.
    sentinels: tuple[str, ...] = ()
    categorical: bool = False  # few enough distinct values to encode each of them
    levels: tuple[float, ...] = ()  # the distinct values, if they are numbers
    separator: str = ", "  # between the items of lists
    repeated: float = 0.0  # share of the rows whose value occurs five times or more
    n_distinct: int = 0
    n_missing: int = 0

    @property
    def noun(self):
        """The kind in messages, such as "a number" or "yes or no"."""
        is_words = self.numbers is not None and self.numbers.booleans
        return "yes or no" if is_words else f"a {self.kind.replace('binary', 'number')}"


class _Values(NamedTuple):
    """The distinct strings of a column, or a sample of them, and their counts."""

    texts: list[str]
    counts: np.ndarray

    def share(self, mask):
        """Return the share of rows whose value is selected by a mask."""
        n_rows = max(self.counts.sum(), 1)
        return float(self.counts[[bool(m) for m in mask]].sum() / n_rows)

    def are_mostly(self, found, share):
        """Return whether at least a share of the rows with a value is selected."""
        missing = np.array([is_missing_mark(text) for text in self.texts])
        present = self.counts[~missing].sum()
        return present > 0 and self.counts[found].sum() >= share * present

    def sample(self, size):
        """Return the most frequent values and equally spaced others, with weights."""
        if len(self.texts) <= size:
            return self
        order = np.argsort(-self.counts, kind="stable")
        top, rest = order[: size // 2], np.sort(order[size // 2 :])
        chosen = rest[np.linspace(0, len(rest) - 1, size // 2).astype(int)]
        weight = self.counts[rest].sum() / self.counts[chosen].sum()
        counts = np.concatenate([self.counts[top], self.counts[chosen] * weight])
        return _Values([self.texts[i] for i in (*top, *chosen)], counts)


def choose_column_format(cells, name=""):
    """Return the `ColumnFormat` of the `Cells` of the training rows.

    If a few cells are unlike all others, they are read as missing, and a warning names
    the column and these cells.
    """
    values, codes = distinct(cells.values)
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    n_rows = int(counts.sum())
    start = ColumnFormat(
        "empty",
        repeated=float(counts[counts >= 5].sum() / max(n_rows, 1)),
        n_distinct=len(values),
        n_missing=int((codes < 0).sum()),
    )
    if not len(values):
        return start
    if len(values) == 1 and not start.n_missing:
        return start._replace(kind="constant")
    times = times_of_day(values) if cells.notation == "date" else None
    if times is not None and times.any():
        column_format, odd = _float_format(start, times, counts, "time")
    elif cells.notation.endswith("date"):
        dates = choose_date_format("", values, counts)
        column_format, odd = start._replace(kind="date", dates=dates), {}
    elif cells.notation != "text":
        column_format, odd = _float_format(start, values, counts, cells.notation)
    elif counts[[isinstance(value, tuple) for value in values]].sum() > n_rows / 2:
        column_format, odd = start._replace(kind="list"), {}
    else:
        texts = [", ".join(v) if isinstance(v, tuple) else v for v in values]
        column_format, odd = _string_format(start, _Values(texts, counts), name)
    if odd:
        _warn_of_odd_cells(column_format, odd, cells, name)
    return column_format


def find_duplicates(columns):
    """Return the positions of `Cells` that are equal to earlier ones."""
    seen, duplicates = set(), set()
    for position, cells in enumerate(columns):
        values = cells.values
        is_object = values.dtype.kind == "O"
        # Adding 0 turns -0.0 into 0.0.
        key = tuple(values) if is_object else sha256((values + 0).tobytes()).digest()
        if (values.dtype, key) in seen:
            duplicates.add(position)
        seen.add((values.dtype, key))
    return duplicates


# Each of these functions returns a `ColumnFormat`; some also return the odd values,
# which are read as missing, with their counts.


def _float_format(start, values, counts, notation):
    """Return the format of a column of floats, and its infinite values."""
    finite = np.isfinite(values)
    odd = dict(zip(values[~finite], counts[~finite], strict=True))
    values, counts = values[finite], counts[finite]
    if not len(values):
        return start, odd
    like_dates = np.isin(values // 1e6, (19, 20)) | np.isin(values // 1e12, (19, 20))
    like_dates &= notation == "number"
    texts = [*map(number_text, values)] if like_dates.mean() >= 0.99 else []
    if texts and _are_compact_dates(texts):
        dates, _ = read_dates(texts, "mdy")
        no_date = np.isnat(dates)
        odd |= zip(values[no_date].tolist(), counts[no_date], strict=True)
        dates = choose_date_format("", dates, counts)
        return start._replace(kind="date", dates=dates), odd
    number_format = NumberFormat(
        unit="s" if notation == "duration" or notation.endswith("time") else "",
        booleans=notation == "bool" and len(values) == 2,
    )
    return _number_format(start, number_format, values, counts), odd


def _number_format(start, number_format, values, counts):
    """Return the format of numbers: "number", "binary" or "key"."""
    n_rows = int(counts.sum())
    kind = "key" if _is_counter(values, n_rows) else "number"
    levels = find_levels(values, n_rows)
    return start._replace(
        kind="binary" if {*values.tolist()} == {0.0, 1.0} else kind,
        numbers=number_format,
        categorical=bool(levels),
        levels=levels,
    )


def _string_format(start, values, name):
    """Return the format of a column of strings, and the odd values."""
    sample = values.sample(_SAMPLE)
    long = [text for text in values.texts if len(text) > 15 and text.isdecimal()]
    n_merged = len(long) - len({*map(float, long)})  # equal as floats
    if (
        may_be_numbers(sample.texts)
        and not _are_identifiers(sample)
        and n_merged <= 0.01 * len(values.texts)
    ):
        found = _date_text_format(start, values, sample, name)
        found = found or _number_text_format(start, values, sample)
        if found is not None:
            return found
    separator = ", " if are_saved_lists(sample) else ""
    if not separator and len(values.texts) > _FEW:
        separator = find_separator(values.sample(_LIST_SAMPLE))
    if separator:
        empty = np.array([not as_list_text(text, separator) for text in values.texts])
        return start._replace(
            kind="list",
            separator=separator,
            n_missing=start.n_missing + int(values.counts[empty].sum()),
            n_distinct=start.n_distinct - int(empty.sum()),
        ), {}
    if _are_keys(values):
        return start._replace(kind="key"), {}
    if sample.share(map(_URL.fullmatch, sample.texts)) >= 0.9:
        return start._replace(kind="url"), {}
    few = start.n_distinct <= min(_FEW, int(values.counts.sum()) // 2)
    if not few and _is_prose(sample):
        return start._replace(kind="text"), {}
    inside = choose_numbers_inside(sample.texts, sample.counts)
    column_format = start._replace(inside=inside if inside.slots else None)
    digits = [any(map(str.isdecimal, text)) for text in sample.texts]
    if not few and inside.slots and sample.share(digits) >= 0.8:
        return column_format._replace(kind="code"), {}
    few = few or start.repeated >= 0.9
    return column_format._replace(
        kind="category" if few else "name", categorical=few
    ), {}


def _number_text_format(start, values, sample):
    """Return the format and odd values of numbers written as strings, else None."""
    number_format = choose_number_format(sample.texts, sample.counts)
    numbers, _ = read_numbers(sample.texts, number_format)
    if not sample.are_mostly(np.isfinite(numbers), 0.5):
        return None
    if sample is not values:
        numbers, _ = read_numbers(values.texts, number_format)
    is_read = np.isfinite(numbers)
    found = _with_sentinels(start, values, is_read, is_finite=True)
    if found is None or not values.are_mostly(is_read, 0.5):
        return None
    column_format, odd = found
    if odd and _have_another_unit(odd, values):
        return None
    texts = compress(values.texts, is_read)
    if is_read.sum() <= _FEW and are_bounds(texts, numbers[is_read]):
        return None
    counts = values.counts[is_read]
    return _number_format(column_format, number_format, numbers[is_read], counts), odd


def _date_text_format(start, values, sample, name):
    """Return the format and odd values of dates written as strings, else None.

    Issues a warning if no date shows the order of day, month and year.
    """
    order, is_shown = choose_order(sample.texts, sample.counts)
    dates, _ = read_dates(sample.texts, order)
    is_read = ~np.isnat(dates)
    if not sample.are_mostly(is_read, 0.8) or not may_be_days_of_years(sample.texts):
        return None
    digits = np.array([text.isdecimal() for text in sample.texts])
    are_separated = sample.are_mostly(is_read & ~digits, 0.5)
    if not are_separated and not _are_compact_dates([*compress(sample.texts, digits)]):
        return None
    if sample is not values:
        dates, _ = read_dates(values.texts, order)
        is_read = ~np.isnat(dates)
    times = times_of_day(dates)
    if times is not None and np.nansum(times) > 0:
        return None
    found = _with_sentinels(start, values, is_read)
    if found is None:
        return None
    column_format, odd = found
    text = "" if is_shown else first_ambiguous(compress(values.texts, is_read))
    if text:
        date = read_dates([text], order)[0][0].astype("datetime64[D]")
        first = {"d": "day", "m": "month", "y": "year"}[order[0]]
        warnings.warn(
            f"column {name!r} has {text!r}, which is read as {date}, {first} first, "
            "but none of its values shows the order of day, month and year. Pass "
            f"dates, or strings such as {str(date)!r}.",
            UserWarning,
            stacklevel=3,
        )
    dates = choose_date_format(order, dates, values.counts)
    return column_format._replace(kind="date", dates=dates), odd


def _with_sentinels(start, values, is_read, is_finite=False):
    """Return a format with the words that repeat as sentinels, and the odd values.

    Odd values are values that were not read as numbers or dates. Returns None if there
    are too many odd values to be errors. If `is_finite`, "inf" is odd.
    """
    sentinels, odd, n_rows = [], {}, values.counts.sum()
    n_missing, n_distinct = start.n_missing, start.n_distinct
    enough = max(2, 0.01 * n_rows)
    for i in np.flatnonzero(~is_read):
        text, n = values.texts[i], int(values.counts[i])
        is_word = not any(map(str.isdecimal, text))
        if is_finite and text.strip("+-").casefold() in _INFINITE:
            is_word = False
        if is_missing_mark(text):
            n_missing += n
            n_distinct -= 1
        elif n >= enough and len(sentinels) < _MOST_SENTINELS and is_word:
            sentinels.append(text)
        else:
            odd[text] = n
    if sum(odd.values()) > max(0.05 * n_rows, n_rows >= 10):
        return None
    return start._replace(
        sentinels=tuple(sentinels), n_missing=n_missing, n_distinct=n_distinct
    ), odd


def _have_another_unit(odd, values):
    """Return whether 1 % of the rows or more are numbers of another unit."""
    counts = np.array([*odd.values()])
    number_format = choose_number_format([*odd], counts)
    is_read = np.isfinite(read_numbers([*odd], number_format)[0])
    return counts[is_read].sum() >= max(5, 0.01 * values.counts.sum())


def _warn_of_odd_cells(column_format, odd, cells, name):
    """Warn about the cells of a column that are unlike all others."""
    shown = ", ".join(
        f"{short_repr(value)} (row {np.flatnonzero(cells.values == value)[0]})"
        for value in [*odd][:5]
    )
    what = "infinite" if column_format.kind != "date" else "not a date"
    what = f"not {column_format.noun}" if cells.notation == "text" else what
    n_odd = int(sum(odd.values()))
    warnings.warn(
        f"{plural(n_odd, 'cell')} of {len(cells.values)} in the column {name!r} "
        f"{'is' if n_odd == 1 else 'are'} {what}, and treated as missing: {shown}"
        f"{', ...' if len(odd) > 5 else ''}. Correct them, or replace them by missing "
        "values.",
        UserWarning,
        stacklevel=3,
    )


# What the values of a column look like.


def _are_identifiers(sample):
    """Return whether values are digits of one length, some with leading zeros."""
    digits = [t.isdecimal() and not is_missing_mark(t) for t in sample.texts]
    length = np.bincount([len(text) for text in sample.texts], sample.counts).argmax()
    alike = [d and len(t) == length for d, t in zip(digits, sample.texts, strict=True)]
    zeros = [a and t[0] == "0" for a, t in zip(alike, sample.texts, strict=True)]
    return length > 1 and sample.share(alike) >= 0.7 and sample.share(zeros) >= 0.01


def _are_compact_dates(texts):
    """Return whether nearly all are dates such as "20190305" or "20190305170413"."""
    shaped = [text for text in texts if _COMPACT.fullmatch(text)]
    if len(shaped) < max(10, 0.99 * len(texts)):
        return False
    return (~np.isnat(read_dates(shaped, "mdy")[0])).sum() >= 0.99 * len(texts)


def _is_counter(values, n_rows):
    """Return whether whole numbers are close together but hardly repeat.

    n random numbers from a range of r have about n ** 2 / (2 r) equal pairs.
    """
    values = np.asarray(values, dtype=np.float64)
    if len({*values.tolist()}) < 0.99 * n_rows or (values != np.floor(values)).any():
        return False
    return n_rows**2 / (2 * (np.ptp(values) + 1)) > 20


def _are_keys(values):
    """Return whether strings are distinct hashes, or a prefix and a counter."""
    enough = 0.99 * values.counts.sum()
    if len(values.texts) < max(enough, 20):
        return False
    if sum(_HASH.fullmatch(text) is not None for text in values.texts) >= enough:
        return True
    matches = list(filter(None, map(_COUNTER.fullmatch, values.texts)))
    prefixes = Counter(match[1] for match in matches).most_common(1)
    if not prefixes or prefixes[0][1] < enough:
        return False
    numbers = [int(match[2]) for match in matches if match[1] == prefixes[0][0]]
    return _is_counter(numbers, len(numbers))


def _is_prose(sample):
    """Return whether strings have more than 12 words or 90 characters on average."""
    words = [len(text.split()) for text in sample.texts]
    characters = [len(text) for text in sample.texts]
    words, characters = np.average([words, characters], axis=1, weights=sample.counts)
    return words > 12 or characters > 90


# Numbers with few values have an indicator per value. A value is the same number in the
# files of all tools: as float32, or rounded to 15 digits by a spreadsheet.


def find_levels(values, n_rows):
    """Return the distinct numbers in ascending order, or () if there are many."""
    if len({*values.tolist()}) > _MOST_DISTINCT:
        return ()
    levels = np.unique(_at_15_digits(values)).tolist()
    is_few = 3 <= len(levels) <= _MOST_LEVELS
    has_rows = n_rows >= _ROWS_PER_LEVEL * len(levels)
    return tuple(levels) if is_few and has_rows else ()


def level_names(numbers, levels):
    """Return the level of each number as text, "" if it is not a level.

    Numbers are compared as float32, or at 15 digits if levels are equal as float32.
    """
    keys, names, round_ = _keys(levels)
    numbers = round_(numbers)
    places = np.minimum(np.searchsorted(keys, numbers), len(keys) - 1)
    return names[np.where(keys[places] == numbers, places, -1)]


@lru_cache(1024)
def _keys(levels):
    """Return rounded levels, their names followed by "", and the rounding function."""
    levels = np.array(levels)
    is_single = len(np.unique(_as_single(levels))) == len(levels)
    round_ = _as_single if is_single else _at_15_digits
    pairs = zip(levels, keys := round_(levels), strict=True)
    names = [str(key) if level % 1 else number_text(level) for level, key in pairs]
    return keys, np.array([*names, ""], dtype=object), round_


def _as_single(numbers):
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32)


def _at_15_digits(numbers):
    """Return numbers rounded to 15 digits, but whole numbers unchanged."""
    values, places = np.unique(numbers, return_inverse=True)
    is_whole = values == np.rint(values)
    values[~is_whole] = [float(f"{value:.15g}") for value in values[~is_whole]]
    return values[places]
