"""Read dates in any usual format, without guessing cell by cell."""

import datetime
import re
import unicodedata
from calendar import isleap
from functools import lru_cache

import numpy as np

from ._durations import HALF, hour_of_half
from ._missing import is_missing
from ._zones import is_zone, offset_from_utc, split_offset

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
_NO_ZONES = frozenset({*_MONTHS, *_WEEKDAYS, *_FILLERS})

# A time has a date in front of it, or is the beginning. A colon is between the two in
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
_MONOTONIC = re.compile(r"\sm=[+-][\d.]+$")  # of Go


# Dates and times that are written in another form first.
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
_DIGITS = re.compile(r"[\d-]\d\d")  # of the next, and faster
_MAY_HAVE_FORM = re.compile(r"(?<!\d)(?:\d{4}(?!\d)|\d{8})|[a-z]-\d\d", re.IGNORECASE)
_NUMERIC = re.compile(r"(\d{1,4})\s?([-/.])\s?(\d{1,2})\s?\2\s?(\d{1,4})\.?")
_LONGEST = 90  # characters of a text that is a date
_YEAR = re.compile(r"[12]\d{3}")
_YEAR_MONTH = re.compile(r"(\d{4})[-/](\d{1,2})")
_MONTH_YEAR = re.compile(r"(\d{1,2})[-/](\d{4})")
_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)")
_FAR_YEAR = re.compile(r"([+-]\d{4,6})-(\d\d)-(\d\d)")
_QUARTER = re.compile(r"(\d{4})[- ]?Q([1-4])|Q([1-4])[- /]?(\d{4})", re.IGNORECASE)
_HALF_YEAR = re.compile(r"([12]\d{3})[- ]?H([12])", re.IGNORECASE)
_MONTH_OF_YEAR = re.compile(r"([12]\d{3})[- ]?M(\d\d?)", re.IGNORECASE)  # of Stata
_WEEK = re.compile(r"([12]\d{3})-?W(\d\d)(?:-?([1-7]))?", re.IGNORECASE)
_DAY_OF_YEAR = re.compile(r"([12]\d{3})-(\d{3})")
_LATE = 335  # of a year, in December
_CHINESE = str.maketrans("年月년월時时시分분", "----:::::", "日일秒초")
_CHINESE_MARKS = re.compile(r"\s*([-:])\s*")
_MOST_CYCLES = 500  # of 400 years; microseconds reach further


def split_numbers(text):
    """Return the digits and the mark of "5/3/2019", or "" for each, without a time."""
    short = text.strip() if len(text) <= _LONGEST else ""
    match = _NUMERIC.fullmatch(_split_time(short)[0])
    return match.groups() if match else ("", "", "", "")


def parse_dates(texts, order):
    """Return texts as datetime64[us], in UTC if their zone is known, NaT if no date."""
    return dates_and_forms(texts, order)[0]


def dates_and_forms(texts, order):
    """Return the date that each text is, as `parse_dates`, and how it is written.

    A form is "date", "zoned date" (with a zone), "date in IST" (with a zone whose
    offset is not known), or "year"; "" if there is no date.
    """
    out = np.full(len(texts), np.datetime64("NaT"), "datetime64[us]")
    forms = [""] * len(texts)
    for i, text in enumerate(texts):
        found = None if is_missing(text) else _parse(text.strip(), order)
        if found is not None:
            out[i], forms[i] = found
    return out, forms


def may_be_days_of_years(texts):
    """Return whether numbers such as "2024-226" reach the end of years, if any."""
    found = filter(None, map(_DAY_OF_YEAR.fullmatch, texts))
    return max((int(match[2]) for match in found), default=366) >= _LATE


def _parse(text, order):
    """Return the date of a text and its form, or None if it is not a date."""
    if len(text) > _LONGEST or not any(map(str.isdecimal, text)):
        return None
    if text[4:5] == text[7:8] == "-":
        found = _iso(text)
        if found is not None:
            return found
    found = _any_form(text, order)
    if found is None and _DIGITS.search(text) and _MAY_HAVE_FORM.search(text):
        form = _usual_form(text)
        found = _any_form(form, order) if form else None
    return found


def _iso(text):
    """Return the date of a text in ISO format and its form, or None."""
    try:
        date = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    offset = date.utcoffset()
    if offset is None:
        return date, "date"
    return _add(date.replace(tzinfo=None), -offset), "zoned date"


def _any_form(text, order):
    """Return the date of a text and its form, or None."""
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
    # All cycles of 400 years are alike.
    n_cycles = 0 if 1 <= year <= 9999 else year // 400 - 5
    if abs(n_cycles) > _MOST_CYCLES:
        return None
    try:
        date = datetime.datetime(year - 400 * n_cycles, month, day)
    except ValueError:
        return None
    form = "year" if text.isdecimal() and len(text) < 8 else "date"
    if zone:
        local = _add(date, since_midnight)
        is_usual = isinstance(local, datetime.datetime)
        offset = offset_from_utc(zone, local if is_usual else date)
        form = f"date in {zone}" if offset is None else "zoned date"
        since_midnight -= offset or datetime.timedelta()
    if n_cycles:
        date = np.datetime64(date, "us") + np.timedelta64(146_097 * n_cycles, "D")
    return _add(date, since_midnight), form


def _add(date, duration):
    """Return a later or earlier date, also beyond the years of Python's datetime."""
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
    """Split the zone off the text behind a time; it is the first word or the last."""
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
    """Return a text in another form of the same date and time, "" if there is none."""
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
    match = _COMPACT.fullmatch(text) or _FAR_YEAR.fullmatch(text)
    if match:
        return tuple(map(int, match.groups()))
    if _YEAR.fullmatch(text):
        return int(text), 1, 1
    match = _YEAR_MONTH.fullmatch(text) or _MONTH_OF_YEAR.fullmatch(text)
    if match:
        return int(match[1]), int(match[2]), 1
    match = _MONTH_YEAR.fullmatch(text)
    if match:
        return int(match[2]), int(match[1]), 1
    match = _QUARTER.fullmatch(text)
    if match:
        return int(match[1] or match[4]), 3 * int(match[2] or match[3]) - 2, 1
    match = _HALF_YEAR.fullmatch(text)
    if match:
        return int(match[1]), 6 * int(match[2]) - 5, 1
    match = _DAY_OF_YEAR.fullmatch(text)
    if match:
        return _of_day_of_year(int(match[1]), int(match[2]))
    match = _WEEK.fullmatch(text)
    return _of_week(*match.groups()) if match else _named(text)


def _of_day_of_year(year, day):
    """Return year, month and day of the n-th day of a year, or None."""
    if not 1 <= day <= 365 + isleap(year) or not 1 <= year <= 9999:
        return None
    date = datetime.date(year, 1, 1) + datetime.timedelta(day - 1)
    return date.year, date.month, date.day


def _of_week(year, week, weekday):
    """Return year, month and day of an ISO week and its weekday, or None."""
    try:
        date = datetime.date.fromisocalendar(int(year), int(week), int(weekday or 1))
    except ValueError:
        return None
    return date.year, date.month, date.day


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
