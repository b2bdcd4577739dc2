"""Read dates in any usual format, by one order of day, month and year per column."""

import datetime
import re
import unicodedata
from calendar import isleap, monthrange
from collections import Counter
from contextlib import suppress
from functools import lru_cache
from itertools import compress
from typing import NamedTuple

import numpy as np

from ._cells import is_missing_mark, typed_text
from ._times import HALF, hour_of_half, is_zone, offset_from_utc, split_offset

# The names of each month in English, German, French, Spanish, Italian, Portuguese and
# Dutch, without accents.
_MONTH_NAMES = [
    "january januar janvier enero gennaio janeiro januari",
    "february februar fevrier febrero febbraio fevereiro februari",
    "march marz maerz mars marzo marco maart mrz",
    "april avril abril aprile",
    "may mai mayo maggio maio mei",
    "june juni juin junio giugno junho",
    "july juli juillet julio luglio julho",
    "august aout agosto augustus",
    "september septembre septiembre settembre setembro",
    "october oktober octobre octubre ottobre outubro",
    "november novembre noviembre novembro",
    "december dezember decembre diciembre dicembre dezembro",
]
_WEEKDAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
_FILLERS = frozenset(["st", "nd", "rd", "th", "of", "de", "den", "der", "le", "the"])


def _beginnings(lists):
    """Return the position of a word's list by each unambiguous start of the word."""
    found = {}
    for position, names in enumerate(lists):
        for name in names.split():
            for end in range(3, len(name) + 1):
                found.setdefault(name[:end], set()).add(position)
    return {start: min(where) for start, where in found.items() if len(where) == 1}


_MONTHS = _beginnings(_MONTH_NAMES)
_WEEKDAYS = _beginnings([_WEEKDAY_NAMES])
_NO_ZONES = frozenset({*_MONTHS, *_WEEKDAYS, *_FILLERS})

# A time follows a date, or begins the text. A colon separates date and time in
# "13/Aug/2024:17:04" and "13AUG24:17:04".
_TIME = re.compile(
    rf"(?:^|(?<=\d)T|[ ,]\s*|(?<=\d{{4}}):|(?<=[a-z]\d\d):)(?:{HALF}\s?)?"
    r"(\d\d?):(\d\d)(?::(\d\d)(?:[.,:](\d{1,9}))?)?"
    rf"(?:\s?{HALF})?(?:\s?(?:uhr|hrs?|h)\b)?(?![\d:])",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z][\w/+-]*", re.IGNORECASE)
_IN_BRACKETS = re.compile(r"\s?[\[(]([^\[\]()]+)[\])]")
_LINK = re.compile(r"[\s,]+(?:at|um|à|a las|às|alle|kl\.?|klo|ore)$", re.IGNORECASE)
_ERA = re.compile(r"\s(bce?|ad|ce)$", re.IGNORECASE)
_MONOTONIC = re.compile(r"\sm=[+-][\d.]+$")  # written by Go


# Patterns of dates and times that are first rewritten in a usual form.
_FORMS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # "20240813T170413Z", "20240813170413"
        r"(?P<date>\d{8})[t _-]?(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)?"
        r"(?:[.,](?P<fraction>\d{1,9}))?(?P<rest>z|[+-]\d.*)?",
        # of cameras: "2024:08:13 17:04:13"
        r"(?P<date>\d{4}:\d\d:\d\d) (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
        r"(?:[.,](?P<fraction>\d{1,9}))?(?P<rest>.*)",
        # "13-AUG-24 05.04.13.000000 PM", "2024-08-13-17.04.13", "13.8.2024 17.04"
        r"(?P<date>.*(?:\d{4}|[a-z]-\d\d|\d{4}-\d\d-\d\d))[ ,-]+(?P<hour>\d\d?)\."
        r"(?P<minute>\d\d)(?:\.(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?"
        r"(?![\d.])(?P<rest>.*)",
        # "13/08/2024 17h04"
        r"(?P<date>.*\d{4}.*)[ ,](?P<hour>\d\d?)\s?h\s?(?P<minute>\d\d)"
        r"(?:m(?:in)?\s?(?P<second>\d\d)s?)?(?P<rest>)",
        # "2024-08-13Z"
        r"(?P<date>\d{4}-\d\d-\d\d)(?P<rest>z|[+-]\d\d:\d\d)",
    )
]
_NUMERIC_START = re.compile(r"\d|[+-]\d|q\d", re.IGNORECASE)
_LONGEST_NUMERIC = 13  # characters, of "+012024-08-13"
_DIGITS = re.compile(r"[\d-]\d\d")  # a faster check before the next pattern
_MAY_HAVE_FORM = re.compile(r"(?<!\d)(?:\d{4}(?!\d)|\d{8})|[a-z]-\d\d", re.IGNORECASE)
_NUMERIC = re.compile(r"(\d{1,4})\s?([-/.])\s?(\d{1,2})\s?\2\s?(\d{1,4})\.?")
_LONGEST = 90  # characters of a text that is a date
_DAY_OF_YEAR = re.compile(r"[12]\d{3}-(\d{3})")
_LATE = 335  # a day of the year in December
_CHINESE = str.maketrans("年月년월時时시分분", "----:::::", "日일秒초")
_CHINESE_MARKS = re.compile(r"\s*([-:])\s*")
_MOST_CYCLES = 500  # cycles of 400 years; microseconds reach further


def read_dates(texts, order):
    """Return the date and the notation of each text; NaT and "" if not a date.

    Dates are datetime64[us], in UTC if their zone is known. A notation is "date",
    "zoned date" (with a zone), "date in IST" (with a zone of unknown offset), or
    "year".
    """
    dates = np.full(len(texts), np.datetime64("NaT"), "datetime64[us]")
    notations = [""] * len(texts)
    for i, text in enumerate(texts):
        found = None if is_missing_mark(text) else _parse(text.strip(), order)
        if found is not None:
            dates[i], notations[i] = found
    return dates, notations


def may_be_days_of_years(texts):
    """Return whether any day of a year, such as "2024-350", is in December."""
    found = filter(None, map(_DAY_OF_YEAR.fullmatch, texts))
    return max((int(match[1]) for match in found), default=366) >= _LATE


def _parse(text, order):
    """Return the date of a text and its notation, or None if it is not a date."""
    if len(text) > _LONGEST or not any(map(str.isdecimal, text)):
        return None
    if text[4:5] == text[7:8] == "-":
        with suppress(ValueError):  # raised for texts of other forms
            date = datetime.datetime.fromisoformat(text)
            offset = date.utcoffset()
            if offset is None:
                return date, "date"
            return _add(date.replace(tzinfo=None), -offset), "zoned date"
    found = _read_parts(text, order)
    if found is None and _DIGITS.search(text) and _MAY_HAVE_FORM.search(text):
        usual = _usual_form(text)
        found = _read_parts(usual, order) if usual else None
    return found


def _read_parts(text, order):
    """Return the date of a text with a time and a zone, and its notation, or None."""
    date, time, zone = _split_time(text)
    era = _ERA.search(date) if date[-1:] in "cCeEdD" else None
    numbers = _year_month_day(date[: era.start()] if era else date, order)
    if numbers is None:
        return None
    since_midnight = _time_of_day(time) if time else datetime.timedelta()
    if since_midnight is None:
        return None
    year, month, day = numbers
    year = 1 - year if era and era[1][0] in "bB" else year
    # The calendar repeats every 400 years.
    n_cycles = 0 if 1 <= year <= 9999 else year // 400 - 5
    if abs(n_cycles) > _MOST_CYCLES:
        return None
    try:
        date = datetime.datetime(year - 400 * n_cycles, month, day)
    except ValueError:
        return None
    notation = "year" if text.isdecimal() and len(text) < 8 else "date"
    if zone:
        local = _add(date, since_midnight)
        is_usual = isinstance(local, datetime.datetime)
        offset = offset_from_utc(zone, local if is_usual else date)
        notation = f"date in {zone}" if offset is None else "zoned date"
        since_midnight -= offset or datetime.timedelta()
    if n_cycles:
        date = np.datetime64(date, "us") + np.timedelta64(146_097 * n_cycles, "D")
    return _add(date, since_midnight), notation


def _add(date, duration):
    """Return a date plus a duration, also outside the years of Python's datetime."""
    if isinstance(date, datetime.datetime):
        try:
            return date + duration
        except OverflowError:
            pass
    return np.datetime64(date, "us") + np.timedelta64(duration, "us")


def _split_time(text):
    """Return a text without its time, the match of the time or None, and the zone."""
    if not text.isascii() and ("年" in text or "년" in text):
        text = _CHINESE_MARKS.sub(r"\1", text.translate(_CHINESE)).rstrip("-:")
    if ":" not in text:
        return text.strip(" ,"), None, ""
    named = ""
    if " m=" in text:
        text = _MONOTONIC.sub("", text)
    bracket = _IN_BRACKETS.search(text) if "(" in text or "[" in text else None
    if bracket:
        outside = text[: bracket.start()] + text[bracket.end() :]
        text, named = (outside, bracket[1]) if outside else (bracket[1], "")
    time = _TIME.search(text)
    if time is None:
        return text.strip(" ,"), None, ""
    before = text[: time.start()].strip(" ,")
    if before and not before[-1].isdecimal():
        before = _LINK.sub("", before)
    after = text[time.end() :].strip(" ,")
    zone, after = _split_zone(after) if after else ("", "")
    if named and not zone and _is_zone(named):
        zone = named
    return f"{before} {after}".strip(" ,") if after else before, time, zone


def _split_zone(text):
    """Return the zone in the text after a time, and the rest of the text."""
    zone, rest = split_offset(text)
    if not zone:
        word = _WORD.match(text)
        if word and _is_zone(word[0]):
            zone, rest = split_offset(text[word.end() :].strip())
            zone = zone or word[0]
        elif " " in text:
            rest, _, last = text.rpartition(" ")
            is_last = split_offset(last) == (last, "") or _is_zone(last)
            return (last, rest) if is_last else ("", text)
    else:
        word = _WORD.fullmatch(rest.strip())
        rest = "" if word and _is_zone(word[0]) else rest
    return zone, rest.strip(" ,")


@lru_cache(1024)
def _is_zone(word):
    """Return whether a word next to a time is a zone."""
    is_name = _without_accents(word.casefold()) in _NO_ZONES
    return _WORD.fullmatch(word) is not None and not is_name and is_zone(word)


def _usual_form(text):
    """Return the date and time of a text in a usual form, or "" if unknown."""
    for pattern in _FORMS:
        match = pattern.fullmatch(text)
        if match:
            parts = match.groupdict("")
            date, rest = parts["date"].replace(":", "-"), parts["rest"].strip()
            time = [parts.get(p) or "00" for p in ("hour", "minute", "second")]
            fraction = parts.get("fraction") or "0"
            return f"{date} {':'.join(time)}.{fraction} {rest}".strip()
    return ""


def _time_of_day(match):
    """Return the time since midnight of a matched time, or None."""
    before, hour, minute, second, fraction, after = match.groups()
    hour, minute, second = int(hour), int(minute), int(second or 0)
    half = before or after
    hour = hour_of_half(hour, half) if half else hour
    if hour is None or minute > 59 or second > 60 or hour > 24:
        return None
    if (before and after) or (hour == 24 and minute + second > 0):
        return None
    microseconds = int((fraction or "0").ljust(6, "0")[:6])
    return datetime.timedelta(0, 3600 * hour + 60 * minute + second, microseconds)


def _year_month_day(text, order):
    """Return year, month and day of a text without its time, or None."""
    match = _NUMERIC.fullmatch(text)
    if match:
        return _numeric(*match.groups(), order)
    if len(text) > _LONGEST_NUMERIC or not _NUMERIC_START.match(text):
        return _named(text)
    for pattern, read in _PARTS_OF_YEARS:
        match = pattern.fullmatch(text)
        if match:
            return read(*map(int, match.groups("1")))
    return _named(text)


def _day_of_year(year, day):
    """Return year, month and day of the n-th day of a year, or None."""
    if not 1 <= day <= 365 + isleap(year) or not 1 <= year <= 9999:
        return None
    date = datetime.date(year, 1, 1) + datetime.timedelta(day - 1)
    return date.year, date.month, date.day


def _week(year, week, weekday):
    """Return year, month and day of an ISO week and its weekday, or None."""
    try:
        date = datetime.date.fromisocalendar(year, week, weekday)
    except ValueError:
        return None
    return date.year, date.month, date.day


# Dates, months, quarters and other parts of years, each with its year, month and day.
_PARTS_OF_YEARS = [
    (re.compile(pattern, re.IGNORECASE), read)
    for pattern, read in (
        (r"(\d{4})(\d\d)(\d\d)", lambda year, month, day: (year, month, day)),
        (r"([+-]\d{4,6})-(\d\d)-(\d\d)", lambda year, month, day: (year, month, day)),
        (r"([12]\d{3})", lambda year: (year, 1, 1)),
        (r"(\d{4})[-/](\d{1,2})", lambda year, month: (year, month, 1)),
        (r"(\d{1,2})[-/](\d{4})", lambda month, year: (year, month, 1)),
        # Stata writes "2024m8".
        (r"([12]\d{3})[- ]?M(\d\d?)", lambda year, month: (year, month, 1)),
        (r"(\d{4})[- ]?Q([1-4])", lambda year, quarter: (year, 3 * quarter - 2, 1)),
        (r"Q([1-4])[- /]?(\d{4})", lambda quarter, year: (year, 3 * quarter - 2, 1)),
        (r"([12]\d{3})[- ]?H([12])", lambda year, half: (year, 6 * half - 5, 1)),
        (r"([12]\d{3})-(\d{3})", _day_of_year),
        (r"([12]\d{3})-?W(\d\d)(?:-?([1-7]))?", _week),
    )
]


def _numeric(first, mark, second, third, order):
    """Return year, month and day of "2019-03-05", "5.3.2019" or "3/5/19"."""
    is_first = order == "ymd" and len(third) == 2
    if is_first or len(first) > 2 or int(first) > 31:
        is_date = len(first) > 1 and len(third) < 3
        return (_year(first), int(second), int(third)) if is_date else None
    if len(third) < 2:
        return None
    if mark == "." or order not in ("dmy", "mdy"):  # with points, the day comes first
        order = "mdy" if mark == "/" else "dmy"
    day, month = (first, second) if order == "dmy" else (second, first)
    return _year(third), int(month), int(day)


def _named(text):
    """Return year, month and day of "March 5th, 2019", "5 Mar 19" or "Mar 2019"."""
    words = re.findall(r"[^\W\d_]+|\d+", text.casefold())
    numbers = [word for word in words if word.isdecimal()]
    names = [_without_accents(word) for word in words if not word.isdecimal()]
    months = [_MONTHS[name] + 1 for name in names if name in _MONTHS]
    known = all(w in _MONTHS or w in _FILLERS or w in _WEEKDAYS for w in names)
    if len(months) != 1 or not known or not 1 <= len(numbers) <= 2:
        return None
    if len(numbers) == 1:
        (year,) = numbers
        long = len(year) > 2 or int(year) > 31
        return (_year(year), months[0], 1) if long else None
    day, year = numbers if len(numbers[0]) < 3 else numbers[::-1]
    return _year(year), months[0], int(day)


def _without_accents(word):
    """Return a word in ASCII letters where possible."""
    if word.isascii():
        return word
    parts = unicodedata.normalize("NFKD", word)
    return "".join(part for part in parts if not unicodedata.combining(part))


def _year(digits):
    """Return a year; two digits are 1969 to 2068."""
    year = int(digits)
    return year if len(digits) > 2 else year + (1900 if year > 68 else 2000)


_ORDERS = "mdy", "dmy", "ymd"
_AMBIGUOUS = re.compile(r"(?<!\d)\d\d?\s?([-/.])\s?\d\d?\s?\1\s?\d\d")
_NEARLY = 0.95  # the others can be odd cells


def choose_order(texts, counts):
    """Return the order of day, month and year, and whether the texts show the order.

    Only texts with the most frequent mark count, each as often as it occurs. The first
    kind of evidence that holds for only one order shows the order. The order is "" if
    no text needs one.
    """
    by_mark, total = {}, Counter()
    for text, n in zip(texts, counts, strict=True):
        mark, dates = _by_order(text)
        if dates:
            by_mark.setdefault(mark, []).append((dates, n))
            total[mark] += n
    if not by_mark:
        return "", True
    mark = max(total, key=total.get)
    found = by_mark[mark]
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
    """Return the first text that can be several dates, such as "05/03/2019", or "".

    If the `order` of a `DateFormat` is passed, return the first text that is ambiguous
    in this order.
    """
    for text in filter(_AMBIGUOUS.search, () if order in ("dmy", "mdy") else texts):
        mark, dates = _by_order(text)
        is_decided = order is not None and (mark == "." or order in dates)
        if not is_decided and len({*dates.values()}) > 1:
            return text
    return ""


def _by_order(text):
    """Return the mark of a text, and its day, month and year by each possible order.

    There are no orders if a year of four digits comes first. A year of two digits is
    the first or the last of three numbers of two digits.
    """
    date = _split_time(text.strip())[0] if len(text) <= _LONGEST else ""
    match = _NUMERIC.fullmatch(date)
    first, mark, second, third = match.groups() if match else ("", "", "", "")
    if len(first) > 2 or len(third) < 2:
        return mark, {}
    orders = {"mdy": (second, first, third), "dmy": (first, second, third)}
    if len(first) == len(third) == 2:
        orders["ymd"] = third, second, first
    dates = {order: tuple(map(int, date)) for order, date in orders.items()}
    return mark, {order: date for order, date in dates.items() if _is_date(*date)}


def _is_date(day, month, _):
    """Return whether a day exists in a month of a leap year."""
    return 1 <= month <= 12 and 1 <= day <= monthrange(2000, month)[1]


def _distinct_parts(found, orders):
    """Return distinct days, months and years by order, for texts with all orders."""
    usual = [dates for dates in found if dates.keys() >= {*orders}]
    return {
        order: [*map(set, zip(*(dates[order] for dates in usual), strict=True))]
        for order in orders
        if usual
    }


def _has_last_days(days, _, years):
    """Return whether values exceed 28, so that they are days instead of short years."""
    is_wide = min(days) < 10 and len(days) > len(years)
    return is_wide and max(days) > 28 >= max(years)


def _is_monthly(days, months, years):
    """Return whether dates are on one day of the month, all through several years.

    In another order, the dates would be the first days of one month, year after year.
    The first days of all quarters of one year count too. A fixed number up to 31 can be
    a year of two digits.
    """
    is_one_day = days == {1} or (len(days) == 1 and min(years) > 31)
    seasons = {(month - 1) // 3 for month in months}
    are_years = len(years) > 1 or months == {1, 4, 7, 10}
    return is_one_day and len(seasons) == 4 and are_years


def _is_year_likely(parts):
    """Return whether the first of three numbers is more likely a year than the last."""
    if "ymd" not in parts:
        return False
    days, _, years = parts["ymd"]
    return max(years) <= 28 and (max(days) > 28 or len(days) > len(years))


def _likely_order(parts, mark):
    """Return the usual order of dates that do not show their order."""
    for order, (days, months, _) in parts.items():
        if days == {1} and len(months) > 3 and (order != "mdy" or mark == "/"):
            return order
    if mark == "-" and _is_year_likely(parts):
        return "ymd"
    return "mdy" if mark == "/" and "mdy" in parts else "dmy"


PARTS = ("days", "year", "month", "day", "weekday", "hour")
_DAY = np.timedelta64(1, "D")
_FEWEST = 6  # distinct dates from which an ordinary range is computed
_FAR = 1  # times this range outside it: repeated dates are placeholders
_LIMIT = 3  # times this range outside it: numbers are clipped
_MOST_PLACEHOLDERS = 10


class DateFormat(NamedTuple):
    """How the dates of a column are written, and which of their parts vary.

    `order` is the order of ambiguous cells such as "05/03/19": "dmy", "mdy" or "ymd";
    "" means "mdy" for cells with slashes and "dmy" for others. "05.03.2019" has the day
    first. `placeholders` are dates that repeat, far from the others: each is encoded as
    an indicator and as missing. Days since 1970 are clipped to the range from `low` to
    `high`.
    """

    order: str = ""
    parts: tuple[str, ...] = ("days",)
    placeholders: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None


def choose_date_format(order, dates, counts):
    """Return the `DateFormat` of dates, which occur `counts` times."""
    is_date = ~np.isnat(dates)
    dates, places = np.unique(dates[is_date], return_inverse=True)
    counts = np.bincount(places, counts[is_date], len(dates))
    days = date_parts(dates, ["days"])[:, 0]
    if len(days) < _FEWEST:
        return DateFormat(order, _varying_parts(dates))
    first = np.quantile(days, 0.05, method="higher")
    last = np.quantile(days, 0.95, method="lower")
    distance = np.maximum(first - days, days - last) / (last - first)
    repeats = counts >= max(2, 0.01 * counts.sum())
    found = np.flatnonzero((distance > _FAR) & repeats)
    found = np.sort(found[np.argsort(-counts[found])][:_MOST_PLACEHOLDERS])
    names = tuple(typed_text(date, "date") for date in dates[found])
    parts = _varying_parts(np.delete(dates, found))
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
        # np.clip is slower for a single row.
        np.minimum(np.maximum(column, low, out=column), high, out=column)
    return numbers


@lru_cache(256)
def _limits(dates_format):
    """Return the position, the minimum and the maximum of each limited part."""
    if dates_format.low is None:
        return []
    bounds = np.array([dates_format.low, dates_format.high])
    ends = np.datetime64(0, "D") + np.floor(bounds).astype("timedelta64[D]")
    limits = {"days": bounds, "year": date_parts(ends, ["year"])[:, 0]}
    parts = enumerate(dates_format.parts)
    return [(place, *limits[part]) for place, part in parts if part in limits]


def placeholder_names(dates, dates_format):
    """Return each placeholder date as text, and "" for other dates."""
    moments = _moments(dates_format)
    order = np.argsort(moments)
    names = np.array([*dates_format.placeholders, ""], dtype=object)
    places = np.minimum(np.searchsorted(moments[order], dates), len(moments) - 1)
    return names[np.where(moments[order[places]] == dates, order[places], -1)]


def _varying_parts(dates):
    """Return the names of the parts in which dates differ, and "days" in any case."""
    first, *others = PARTS
    varies = np.ptp(date_parts(dates, others), axis=0) > 0
    return first, *compress(others, varies)


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
    """Return the placeholders as datetime64[us]."""
    return np.array(dates_format.placeholders, "datetime64[us]")
