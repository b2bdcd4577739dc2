"""Read durations and times of day as seconds: "15:00", "PT45M", "1 day 02:03:04".

Whether "15:00" is hours and minutes or minutes and seconds is decided per column.
"""

import datetime
import re

import numpy as np

from ._zones import is_zone, offset_from_utc

_DAY = 86400
_MONTH, _YEAR = 2629800, 31557600  # a year has 365.25 days
_SIZES = {
    "year": _YEAR, "month": _MONTH, "week": 7 * _DAY, "day": _DAY, "hour": 3600,
    "minute": 60, "second": 1, "microsecond": 1e-6, "nanosecond": 1e-9,
    "mon": _MONTH, "min": 60, "sec": 1, "y": _YEAR, "mo": _MONTH, "w": 7 * _DAY,
    "d": _DAY, "h": 3600, "hr": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6,
    "μs": 1e-6, "ns": 1e-9,
}  # fmt: skip
_SAME = {
    "time": ("h:mm", "duration"), "h:mm": ("time",),
    "duration": ("m:ss", "time"), "m:ss": ("duration",),
}  # fmt: skip
_FIELDS = "year", "month", "day", "hour", "minute", "second"
_OBJECTS = ("MonthDayNano", "DateOffset", "relativedelta")  # of Arrow, pandas, dateutil
_NUMBER = r"[+-]?\d+(?:[.,]\d+)?"

# Before or after noon, next to a time of day. It is not the beginning of a word.
_EARLY = ("a", "π", "上午", "午前", "오전")
HALF = (
    rf"([ap]\.?\s?m\.?|[ap]\.?|{'|'.join(_EARLY[2:])}|下午|午後|오후|[πμ]\.?\s?μ\.?)"
    r"(?![^\W\d_]|/)"
)
# Some tools hand over a time of day as a time on their first day.
_FIRST_DAYS = (
    "1899-12-30", "1899-12-31", "1900-01-01", "1904-01-01", "1960-01-01", "1970-01-01",
)  # fmt: skip
_CLOCK = re.compile(
    rf"(?:(?:{'|'.join(_FIRST_DAYS)})[T ])?(?:{HALF}\s?)?([+-]?)"
    r"(?:(\d+)[ .](?=\d+:\d+:))?(\d+):([0-5]\d)(?::([0-5]\d|60))?(?:[.,](\d+))?"
    rf"(?:\s?{HALF})?(?:\s?(?:uhr|hrs?|h)\b)?(?:\s?([a-z+-][\w/:+-]*))?",
    re.IGNORECASE,
)
_DAYS = np.array(_FIRST_DAYS, "datetime64[D]")
_HOUR = re.compile(rf"{HALF}\s?(\d\d?)|(\d\d?)\s?{HALF}", re.IGNORECASE)
_TWO = re.compile(r"[+-]?(\d+):\d\d")
_THREE = re.compile(r"[+-]?(\d+):\d\d:\d\d(?:[.,]\d+)?")
_ISO = re.compile(
    r"([+-]?)P(?=[T\d+-])"
    + "".join(rf"(?:({_NUMBER}){unit})?" for unit in "YMWD")
    + r"(?:T(?=[\d+-])"
    + "".join(rf"(?:({_NUMBER}){unit})?" for unit in "HMS")
    + ")?"
)
_ISO_SIZES = _YEAR, _MONTH, 7 * _DAY, _DAY, 3600, 60, 1
_INTERVAL = re.compile(
    r"interval ([+-]?)'([^']*)'(?: ([a-z]+)(?: to [a-z]+)?)?", re.IGNORECASE
)
_LONGEST = 64  # characters
_WORDS = re.compile(r"\d+ ?[a-z]+,? ?\d", re.IGNORECASE)
# Characters at the ends of other durations without a colon.
_FIRST, _LAST = frozenset("Pp@iI+-上下午오"), frozenset("aApPmM.午전후μo")
_PART = re.compile(rf"({_NUMBER})\s?([a-zμ]+),?\s*", re.IGNORECASE)


def choose_clock(texts, counts):
    """Return "h" if "15:00" is hours and minutes in a column of texts, else "m".

    It is hours and minutes if the first number is at most 24. Next to "1:02:03", which
    has no zeros in front, it is minutes and seconds.
    """
    found = {_TWO: {}, _THREE: {}}
    for text, n in zip(texts, counts, strict=True):
        for pattern, firsts in found.items() if ":" in text else ():
            match = pattern.fullmatch(text)
            if match:
                firsts[match[1]] = firsts.get(match[1], 0) + n
    two, three = found.values()
    n_hours = sum(n for first, n in two.items() if int(first) <= 24)
    is_padded = all(len(first) == 2 for first in {*two, *three})
    is_hours = n_hours >= 0.95 * sum(two.values())
    return "h" if is_hours and (is_padded or not three) else "m"


def read_duration(text, clock="h"):
    """Return the seconds of a text that is a duration or a time of day, or None.

    Times of day with a zone are converted to UTC, if its offset is known.
    """
    if not (":" in text or text[:1] in _FIRST or text[-1:] in _LAST):
        return _of_words(text) if _WORDS.match(text) else None
    if len(text) > _LONGEST:
        return None
    if ":" in text:
        match = _CLOCK.fullmatch(text)
        if match:
            return _of_clock(match, clock)
    elif "P" in text[:2]:
        match = _ISO.fullmatch(text)
        return match and _of_iso(*match.groups())
    else:
        match = _HOUR.fullmatch(text)
        if match:
            before, first, second, after = match.groups()
            hour = hour_of_half(int(first or second), before or after)
            return hour and 3600 * hour
    return _of_interval(text) if text[:1] in "iI" else _of_words(text)


def duration_form(text, clock="h"):
    """Return how a text that `read_duration` reads is written.

    It is "time" of day, also with "PM", "zoned time", "time in IST" (with a zone whose
    offset from UTC is not known), "h:mm" or "m:ss" by the decision for the column,
    "long h:mm" (of more than 24 hours, or of minutes), or "duration".
    """
    match = _CLOCK.fullmatch(text) if ":" in text else None
    if match is None:
        return "time" if _HOUR.fullmatch(text) else "duration"
    before, sign, days, first, _, third, fraction, after, zone = match.groups()
    if zone:
        is_known = offset_from_utc(zone, None) is not None
        return "zoned time" if is_known else f"time in {zone}"
    if before or after:
        return "time"
    if third is None:
        if clock == "m" or fraction is not None:
            return "m:ss"
        return "h:mm" if int(first) <= 24 else "long h:mm"
    is_time = len(first) == 2 and int(first) <= 24 and not sign and not days
    return "time" if is_time else "duration"


def same_forms(form):
    """Return the other forms whose durations are surely read as those of a form."""
    return _SAME.get(form, ())


def is_duration(kind):
    """Return whether `seconds_of` reads cells of a type."""
    types = (np.timedelta64, datetime.timedelta, datetime.time)
    return issubclass(kind, types) or kind.__name__ in _OBJECTS


def times_of_day(dates):
    """Return seconds since midnight of dates that are times of day, else None.

    These are all on the first day of a tool, such as 1899-12-31 in a spreadsheet.
    """
    present = dates[~np.isnat(dates)]
    days = np.unique(present.astype("datetime64[D]"))
    if not 0 < len(days) <= len(_FIRST_DAYS) or not np.isin(days, _DAYS).all():
        return None
    return (dates - dates.astype("datetime64[D]")) / np.timedelta64(1, "s")


def seconds_of(cell):
    """Return the seconds of a duration or a time of day of any library, else None."""
    if isinstance(cell, np.timedelta64):
        return cell / np.timedelta64(1, "s")
    if isinstance(cell, datetime.timedelta):
        return cell.total_seconds()
    if isinstance(cell, datetime.time):
        seconds = 3600 * cell.hour + 60 * cell.minute + cell.second
        offset = cell.utcoffset()
        if offset is not None:
            seconds = (seconds - offset.total_seconds()) % _DAY
        return seconds + cell.microsecond / 1e6
    if type(cell).__name__ in _OBJECTS:
        parts = ((getattr(cell, f"{n}s", None), size) for n, size in _SIZES.items())
        return float(sum(number * size for number, size in parts if number))
    return None


def hour_of_half(hour, half):
    """Return the hour of the day of an hour before or after noon, or None."""
    is_late = half[0] in "pP" or not half.casefold().startswith(_EARLY)
    if hour > 12:
        return hour if is_late and hour < 24 else None
    return hour % 12 + 12 * is_late


def _number(text):
    return float(text.replace(",", "."))


def _of_clock(match, clock):
    """Return the seconds of a match of `_CLOCK`, or None."""
    before, sign, days, first, second, third, fraction, after, zone = match.groups()
    half = before or after
    if third is None:
        is_hours = half or zone or (clock == "h" and fraction is None)
        first, second, third = (first, second, 0) if is_hours else (0, first, second)
    hour = int(first)
    if half:
        hour = None if (before and after) or sign or days else hour_of_half(hour, half)
        if hour is None:
            return None
    seconds = _DAY * int(days or 0) + 3600 * hour + 60 * int(second) + int(third)
    if fraction:
        seconds += float(f"0.{fraction}")
    if zone:
        is_range = zone[0] == "-" and (not third or zone.count(":") > 1)
        if sign or days or seconds > _DAY or not is_zone(zone) or is_range:
            return None
        offset = offset_from_utc(zone, None)
        if offset is not None:
            seconds = (seconds - offset.total_seconds()) % _DAY
    return float(-seconds if sign == "-" else seconds)


def _of_iso(sign, *parts):
    """Return the seconds of the parts of an ISO duration."""
    pairs = zip(parts, _ISO_SIZES, strict=True)
    total = sum(_number(part) * size for part, size in pairs if part)
    return -total if sign == "-" else total


def _of_interval(text):
    """Return the seconds of "INTERVAL '1 02:03:04' DAY TO SECOND", or None."""
    match = _INTERVAL.fullmatch(text)
    if match is None:
        return None
    sign, body, first = match.groups()
    if first is None:
        total = read_duration(body)
    else:
        field = first.casefold().removesuffix("s")
        parts = re.split("[ :-]", body.lstrip("+-"))
        if field not in _FIELDS or len(parts) > len(_FIELDS) - _FIELDS.index(field):
            return None
        try:
            numbers = [*map(float, parts)]
        except ValueError:
            return None
        fields = _FIELDS[_FIELDS.index(field) :]
        pairs = zip(numbers, fields, strict=False)
        total = sum(number * _SIZES[name] for number, name in pairs)
        total = -total if body.startswith("-") else total
    return -total if sign == "-" and total is not None else total


def _of_words(text):
    """Return the seconds of "1 day, 2:03:04", "-1 days +22:00:00" or "@ 2 hours ago".

    Units without a time such as "2 hours" are read with the units of other numbers.
    """
    body = text.removeprefix("@ ")
    is_ago = body.endswith(" ago")
    body = body.removesuffix(" ago")
    total, n_parts, end, last = 0.0, 0, 0, np.inf
    while match := _PART.match(body, end):
        unit = match[2].casefold()
        size = _SIZES.get(unit, _SIZES.get(unit.removesuffix("s")))
        if size is None or size >= last:
            return None
        total, n_parts, last = total + _number(match[1]) * size, n_parts + 1, size
        end = match.end()
    rest = body[end:]
    if rest:
        match = _CLOCK.fullmatch(rest)
        seconds = _of_clock(match, "h") if match and n_parts else None
        if seconds is None:
            return None
        total += seconds
    elif body == text and n_parts < 2:
        return None
    return -total if is_ago else total
