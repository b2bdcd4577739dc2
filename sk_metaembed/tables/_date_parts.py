"""The numbers that dates are encoded by, and dates that stand for "none".

Tools write 9999-12-31, 1900-01-01 or 1970-01-01 where there is no date. So far from the
others, a date would take all of the range in which a linear model tells them apart.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ._cells import typed_text

PARTS = ("days", "year", "month", "day", "weekday", "hour")
_DAY = np.timedelta64(1, "D")
_FEWEST = 6  # distinct dates that have an ordinary range
_FAR = 1  # times this range outside of it: placeholders, if they repeat
_LIMIT = 3  # times this range: no number is further outside
_MOST_PLACEHOLDERS = 10


class DateFormat(NamedTuple):
    """How the dates of a column are written, and which of their parts vary.

    `order` is for ambiguous cells such as "05/03/19": "dmy", "mdy" or "ymd"; "" is
    "mdy" for those with slashes and "dmy" for others. "05.03.2019" has the day first.
    `placeholders` are dates that repeat, far from the others: each has an indicator,
    and is missing otherwise. Days since 1970 are limited to those from `low` to `high`.
    """

    order: str = ""
    parts: tuple[str, ...] = ("days",)
    placeholders: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None


def date_format(order, dates, counts):
    """Return the `DateFormat` of dates of an order, which occur `counts` times."""
    is_date = ~np.isnat(dates)
    dates, places = np.unique(dates[is_date], return_inverse=True)
    counts = np.bincount(places, counts[is_date], len(dates))
    days = date_parts(dates, ["days"])[:, 0]
    if len(days) < _FEWEST:
        return DateFormat(order, varying_parts(dates))
    first = np.quantile(days, 0.05, method="higher")
    last = np.quantile(days, 0.95, method="lower")
    distance = np.maximum(first - days, days - last) / (last - first)
    repeats = counts >= max(2, 0.01 * counts.sum())
    found = np.flatnonzero((distance > _FAR) & repeats)
    found = np.sort(found[np.argsort(-counts[found])][:_MOST_PLACEHOLDERS])
    names = tuple(typed_text(date, "date") for date in dates[found])
    parts = varying_parts(np.delete(dates, found))
    margin = _LIMIT * (last - first)
    return DateFormat(order, parts, names, float(first - margin), float(last + margin))


def date_numbers(dates, dates_format):
    """Return the parts of datetime64 values, float64 of shape (n, n_parts), or NaN."""
    if dates_format.placeholders:
        is_none = np.isin(dates, _moments(dates_format))
        dates = np.where(is_none, np.datetime64("NaT"), dates)
    numbers = date_parts(dates, dates_format.parts)
    for place, low, high in _limits(dates_format):
        column = numbers[:, place]
        # np.clip takes longer for a single row.
        np.minimum(np.maximum(column, low, out=column), high, out=column)
    return numbers


@lru_cache(256)
def _limits(dates_format):
    """Return the place, the least and the largest number of each limited part."""
    if dates_format.low is None:
        return []
    bounds = np.array([dates_format.low, dates_format.high])
    ends = np.datetime64(0, "D") + np.floor(bounds).astype("timedelta64[D]")
    limits = {"days": bounds, "year": date_parts(ends, ["year"])[:, 0]}
    parts = enumerate(dates_format.parts)
    return [(place, *limits[part]) for place, part in parts if part in limits]


def placeholder_names(dates, dates_format):
    """Return the text of each date that is a placeholder, "" for others."""
    moments = _moments(dates_format)
    order = np.argsort(moments)
    names = np.array([*dates_format.placeholders, ""], dtype=object)
    places = np.minimum(np.searchsorted(moments[order], dates), len(moments) - 1)
    return names[np.where(moments[order[places]] == dates, order[places], -1)]


def varying_parts(dates):
    """Return the names of the parts in which dates differ; "days" is always one."""
    values = date_parts(dates[~np.isnat(dates)], PARTS)
    varies = [bool(len(column) and np.ptp(column) > 0) for column in values.T]
    return tuple(
        part for part, v in zip(PARTS, varies, strict=True) if v or part == "days"
    )


def date_parts(dates, parts):
    """Return parts of datetime64 values as float64 of shape (n, n_parts), or NaN.

    "days" counts days since 1970, with fractions; "hour" has fractions too.
    """
    days = dates.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    year = dates.astype("datetime64[Y]")
    hour = (dates - days) / np.timedelta64(1, "h")
    day_number = (days - np.datetime64(0, "D")) / _DAY
    values = {
        "days": day_number + hour / 24,
        "year": (year - np.datetime64(0, "Y")) / np.timedelta64(1, "Y") + 1970,
        "month": (months - year.astype("datetime64[M]")) / np.timedelta64(1, "M") + 1,
        "day": (days - months.astype("datetime64[D]")) / _DAY + 1,
        "weekday": (day_number + 3) % 7,
        "hour": hour,
    }
    return np.column_stack([values[part] for part in parts])


def _moments(dates_format):
    return np.array(dates_format.placeholders, "datetime64[us]")
