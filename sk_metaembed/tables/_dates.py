"""Read dates in any usual format, without guessing cell by cell."""

import datetime
import re
import unicodedata
from typing import NamedTuple

import numpy as np

from ._missing import is_missing

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
    """Return the position of the list of each beginning that is in one list alone."""
    found = {}
    for position, names in enumerate(lists):
        for name in names.split():
            for end in range(3, len(name) + 1):
                found.setdefault(name[:end], set()).add(position)
    return {start: min(where) for start, where in found.items() if len(where) == 1}


_MONTHS = _beginnings(_MONTH_NAMES)
_WEEKDAYS = _beginnings([_WEEKDAY_NAMES])

_TIME = re.compile(
    r"(?:^|[T ,]\s*)(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?"
    r"\s*([ap])?\.?(?:m\.?)?\s*(z|utc|gmt)?\s*([+-]\d\d:?(?:\d\d)?)?"
    r"(?:\s*\[?[a-z/_]+\]?$)?(?=$|[ ,])",
    re.IGNORECASE,
)
_NUMERIC = re.compile(r"(\d{1,4})\s?([-/.])\s?(\d{1,2})\s?\2\s?(\d{1,4})")
_ZONED = re.compile(r":\S*\s*(?:[+-]\d\d(?::?\d\d)?|z|utc|gmt)$", re.IGNORECASE)
_LONGEST = 60  # characters of a text that is a date
_YEAR = re.compile(r"[12]\d{3}")
_YEAR_MONTH = re.compile(r"(\d{4})[-/](\d{1,2})")
_MONTH_YEAR = re.compile(r"(\d{1,2})[-/](\d{4})")
_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)")
_QUARTER = re.compile(r"(\d{4})[- ]?Q([1-4])|Q([1-4])[- /]?(\d{4})", re.IGNORECASE)
_JAPANESE = str.maketrans("年月", "--", "日")
PARTS = ("days", "year", "month", "day", "weekday", "hour")


class DateFormat(NamedTuple):
    """How the dates of a column are written, and which of their parts vary.

    `order` is for ambiguous cells such as "05/03/19": "dmy", "mdy" or "ymd"; "" is
    "mdy" for those with slashes and "dmy" for others. "05.03.2019" has the day first.
    """

    order: str = ""
    parts: tuple[str, ...] = ("days",)


def split_numbers(text):
    """Return the digits and the mark of "5/3/2019", or "" for each, without a time."""
    short = text.strip() if len(text) <= _LONGEST else ""
    match = _NUMERIC.fullmatch(_split_time(short)[0])
    return match.groups() if match else ("", "", "", "")


def parse_dates(texts, order):
    """Return texts as datetime64[us], in UTC if they have an offset, NaT if no date."""
    return dates_and_forms(texts, order)[0]


def dates_and_forms(texts, order):
    """Return the date that each text is, as `parse_dates`, and how it is written.

    A form is "date", "zoned date" (with an offset) or "year"; "" if there is no date.
    """
    out = np.full(len(texts), np.datetime64("NaT"), "datetime64[us]")
    forms = [""] * len(texts)
    for i, text in enumerate(texts):
        date = None if is_missing(text) else _parse(text.strip(), order)
        if date is not None:
            out[i] = date
            forms[i] = _form(text.strip())
    return out, forms


def _form(text):
    """Return the form of a text that is a date."""
    if text.isdecimal() and len(text) < 8:
        return "year"
    return "zoned date" if _ZONED.search(text) else "date"


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
    day_number = (days - np.datetime64(0, "D")) / np.timedelta64(1, "D")
    values = {
        "days": day_number + hour / 24,
        "year": (year - np.datetime64(0, "Y")) / np.timedelta64(1, "Y") + 1970,
        "month": (months - year.astype("datetime64[M]")) / np.timedelta64(1, "M") + 1,
        "day": (days - months.astype("datetime64[D]")) / np.timedelta64(1, "D") + 1,
        "weekday": (day_number + 3) % 7,
        "hour": hour,
    }
    return np.column_stack([values[part] for part in parts])


def _parse(text, order):
    """Return the datetime of a text, or None if it is not a date."""
    if len(text) > _LONGEST or not any(map(str.isdecimal, text)):
        return None
    if text[4:5] == text[7:8] == "-":
        date = _iso(text)
        if date is not None:
            return date
    date, time = _split_time(text)
    numbers = _year_month_day(date, order)
    if numbers is None:
        return None
    try:
        date = datetime.datetime(*numbers)
        return date + _time_of_day(time) if time else date
    except (ValueError, OverflowError):
        return None


def _split_time(text):
    """Return a text without its time, and the match of the time or None."""
    time = _TIME.search(text) if ":" in text else None
    date = f"{text[: time.start()]} {text[time.end() :]}" if time else text
    return date.strip(" ,"), time


def _iso(text):
    """Return the datetime of a text in ISO format, in UTC if it has an offset."""
    try:
        date = datetime.datetime.fromisoformat(text)
        return date.replace(tzinfo=None) - (date.utcoffset() or datetime.timedelta())
    except (ValueError, OverflowError):
        return None


def _time_of_day(match):
    """Return the time since midnight of a matched time, in UTC if it has an offset."""
    hour, minute, second, fraction, half, _, offset = match.groups()
    hour, minute, second = int(hour), int(minute), int(second or 0)
    if half:
        hour = hour % 12 + (12 if half in "pP" else 0)
    if hour > 24 or minute > 59 or second > 60:
        raise ValueError
    microseconds = int((fraction or "0").ljust(6, "0")[:6])
    time = datetime.timedelta(0, 3600 * hour + 60 * minute + second, microseconds)
    if offset:
        digits = offset[1:].replace(":", "").ljust(4, "0")
        shift = datetime.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        time -= shift if offset[0] == "+" else -shift
    return time


def _year_month_day(text, order):
    """Return year, month and day of a text without its time, or None."""
    if "年" in text:
        text = text.translate(_JAPANESE).rstrip("-")
    match = _NUMERIC.fullmatch(text)
    if match:
        return _numeric(*match.groups(), order)
    match = _COMPACT.fullmatch(text)
    if match:
        return tuple(map(int, match.groups()))
    if _YEAR.fullmatch(text):
        return int(text), 1, 1
    match = _YEAR_MONTH.fullmatch(text)
    if match:
        return int(match[1]), int(match[2]), 1
    match = _MONTH_YEAR.fullmatch(text)
    if match:
        return int(match[2]), int(match[1]), 1
    match = _QUARTER.fullmatch(text)
    if match:
        return int(match[1] or match[4]), 3 * int(match[2] or match[3]) - 2, 1
    return _named(text)


def _numeric(first, mark, second, third, order):
    """Return year, month and day of "2019-03-05", "5.3.2019" or "3/5/19"."""
    is_first = order == "ymd" and len(third) == 2
    if is_first or len(first) > 2 or int(first) > 31:
        is_date = len(first) > 1 and len(third) < 3
        return (_year(first), int(second), int(third)) if is_date else None
    if len(third) < 2:
        return None
    if mark == "." or order not in ("dmy", "mdy"):  # points are behind day and month
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
