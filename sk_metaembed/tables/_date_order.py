"""Choose whether the day, the month or the year is first in the dates of a column.

"05/03/24" is a date by each of the orders "mdy", "dmy" and "ymd". All dates of a column
are read by one, which the dates together show.
"""

import re
from calendar import monthrange

from ._dates import split_numbers

_ORDERS = "mdy", "dmy", "ymd"
_AMBIGUOUS = re.compile(r"(?<!\d)\d\d?\s?([-/.])\s?\d\d?\s?\1\s?\d\d")
_NEARLY = 0.95  # the others can be odd cells


def choose_order(texts, counts):
    """Return the order of day, month and year in texts, and whether they show it.

    Only texts with the most frequent mark count, each as often as it occurs. The first
    evidence for one order alone shows it. The order is "" if no text needs one.
    """
    mark, found = _with_frequent_mark(texts, counts)
    if not found:
        return "", True
    n_dates = {o: sum(n for dates, n in found if o in dates) for o in _ORDERS}
    most = max(n_dates.values())
    near = [o for o in _ORDERS if n_dates[o] >= _NEARLY * most and o + mark != "mdy."]
    parts = _distinct_parts([dates for dates, _ in found], near)
    for orders in (
        [order for order in parts if _has_last_days(*parts[order])],
        [order for order in parts if _is_monthly(*parts[order])],
        [order for order in _ORDERS if n_dates[order] == most],
        ["dmy"] if mark == "." and not _is_year_likely(parts) else [],
    ):
        if len(orders) == 1:
            return orders[0], True
    return _likely_order(parts, mark), False


def first_ambiguous(texts, order=None):
    """Return the first text such as "05/03/2019" that is several dates, or "".

    With the `order` of a `DateFormat`, it is the first text that this does not decide.
    """
    for text in filter(_AMBIGUOUS.search, () if order in ("dmy", "mdy") else texts):
        mark, dates = _by_order(text)
        is_decided = order is not None and (mark == "." or order in dates)
        if not is_decided and len({*dates.values()}) > 1:
            return text
    return ""


def _by_order(text):
    """Return the mark of a text, and its day, month and year by each possible order.

    There are none if a long year is first. A year of two digits is the first of three
    numbers of two digits, or the last.
    """
    first, mark, second, third = split_numbers(text)
    if len(first) > 2 or len(third) < 2:
        return mark, {}
    orders = {"mdy": (second, first, third), "dmy": (first, second, third)}
    if len(first) == len(third) == 2:
        orders["ymd"] = third, second, first
    dates = {order: tuple(map(int, date)) for order, date in orders.items()}
    return mark, {order: date for order, date in dates.items() if _is_date(*date)}


def _is_date(day, month, _):
    return 1 <= month <= 12 and 1 <= day <= monthrange(2000, month)[1]


def _with_frequent_mark(texts, counts):
    """Return the most frequent mark, and the dates and count of each text with it."""
    found = {}
    for text, n in zip(texts, counts, strict=True):
        mark, dates = _by_order(text)
        if dates:
            found.setdefault(mark, []).append((dates, n))
    total = {mark: sum(n for _, n in pairs) for mark, pairs in found.items()}
    mark = max(total, key=total.get, default="")
    return mark, found.get(mark, [])


def _distinct_parts(found, orders):
    """Return the sets of days, months and years of the texts that all orders read."""
    usual = [dates for dates in found if dates.keys() >= {*orders}]
    return {
        order: [*map(set, zip(*(dates[order] for dates in usual), strict=True))]
        for order in orders
        if usual
    }


def _has_last_days(days, _, years):
    """Return whether days, unlike years of two digits, reach 29."""
    is_wide = min(days) < 10 and len(days) > len(years)
    return is_wide and max(days) > 28 >= max(years)


def _is_monthly(days, months, years):
    """Return whether dates are one day of months in all seasons of years, or quarters.

    By another order, they are some of the first days of one month, year after year.
    Two digits up to 31 that do not vary can be the year of other dates.
    """
    is_one_day = days == {1} or (len(days) == 1 and min(years) > 31)
    seasons = {(month - 1) // 3 for month in months}
    are_years = len(years) > 1 or months == {1, 4, 7, 10}
    return is_one_day and len(seasons) == 4 and are_years


def _is_year_likely(parts):
    """Return whether the first of three numbers is rather the year than the last."""
    if "ymd" not in parts:
        return False
    days, _, years = parts["ymd"]
    return max(years) <= 28 and (max(days) > 28 or len(days) > len(years))


def _likely_order(parts, mark):
    """Return the most usual order of dates that do not show it."""
    for order, (days, months, _) in parts.items():
        if days == {1} and len(months) > 3 and (order != "mdy" or mark == "/"):
            return order
    if mark == "-" and _is_year_likely(parts):
        return "ymd"
    return "mdy" if mark == "/" and "mdy" in parts else "dmy"
