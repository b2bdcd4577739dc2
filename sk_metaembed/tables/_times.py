"""Read durations, times of day, and the offsets of time zones from UTC."""

import datetime
import re
from functools import cache, lru_cache

import numpy as np

# Hours from UTC of abbreviations that have one usual meaning: those of RFC 2822, and
# others that only one part of the world uses. BST, IST and AST have several meanings.
_HOURS = {
    0: "Z UT UTC GMT WET", 1: "CET MEZ WEST WAT", 2: "CEST MESZ EET SAST CAT",
    3: "EEST MSK EAT TRT", 5: "PKT UZT", 7: "WIB ICT", 8: "AWST HKT SGT WITA",
    9: "JST KST", 9.5: "ACST", 10: "AEST", 10.5: "ACDT", 11: "AEDT", 12: "NZST",
    13: "NZDT", -2.5: "NDT", -3: "BRT ART", -3.5: "NST", -4: "EDT", -5: "EST CDT",
    -6: "CST MDT", -7: "MST PDT", -8: "PST AKDT", -9: "AKST HDT", -10: "HST",
}  # fmt: skip
_OFFSETS = {name: hours for hours, names in _HOURS.items() for name in names.split()}
# Abbreviations that are also read in lower case, where they are not words.
_SMALL = {"z", "utc", "gmt", "cet", "cest"}
_SMALL |= {"est", "edt", "cst", "cdt", "mst", "mdt", "pst", "pdt"}
# Abbreviations of American zones, with or without summer time.
_IN_AMERICA = {
    "PT": "America/Los_Angeles", "MT": "America/Denver", "CT": "America/Chicago",
    "ET": "America/New_York",
}  # fmt: skip
_OFFSET = re.compile(
    r"(?:utc|gmt|z)?\s?([+-])(\d\d?)(?::?([0-5]\d)(?::?([0-5]\d))?)?(?![\d:/.])",
    re.IGNORECASE,
)
_NAME = re.compile(r"[a-z][\w+-]*(?:/[a-z][\w+-]*){0,2}", re.IGNORECASE | re.ASCII)
_SHORT = re.compile("[A-Z]{2}T|[A-Z]{1,3}[SD]T")
_WINTER, _SUMMER = datetime.datetime(2024, 1, 1), datetime.datetime(2024, 7, 1)
_MOST_HOURS = 18
_LOCAL = ("localtime", "Factory", "posixrules")  # differ by system


def offset_from_utc(name, date):
    """Return the offset of a zone at a local time, or None if the offset is unknown.

    `name` is an offset, an abbreviation or a name in the IANA database. An hour that
    occurs twice when summer time ends is read as the first. If the date is None, the
    offset of a zone with summer time is unknown.
    """
    zone = _offset_or_zone(name)
    if zone is None or isinstance(zone, datetime.timedelta):
        return zone
    if date is None:
        winter, summer = zone.utcoffset(_WINTER), zone.utcoffset(_SUMMER)
        return winter if winter == summer else None
    try:
        return zone.utcoffset(date)
    except OverflowError:  # the first or last day of Python's years
        return zone.utcoffset(_WINTER)


@lru_cache(1024)
def _offset_or_zone(name):
    """Return the offset of a zone as a timedelta, its `ZoneInfo`, or None."""
    match = _OFFSET.fullmatch(name)
    if match:
        sign, *parts = match.groups()
        hours, minutes, seconds = (int(part or 0) for part in parts)
        offset = datetime.timedelta(0, seconds, 0, 0, minutes, hours)
        return None if hours > _MOST_HOURS else -offset if sign == "-" else offset
    name = name.upper() if name in _SMALL else name
    if name in _OFFSETS:
        return datetime.timedelta(hours=_OFFSETS[name])
    zone = _read_zone(_IN_AMERICA.get(name, name))
    if zone is None and "/" in name:  # ignore the case of letters
        zone = _read_zone(_full_names().get(name.casefold(), name))
    return zone


@lru_cache(1024)
def is_zone(name):
    """Return whether a word after a time is the name of a zone, or looks like one."""
    is_short = _SHORT.fullmatch(name) is not None
    return is_short or "/" in name or offset_from_utc(name, _SUMMER) is not None


def split_offset(text):
    """Return the offset at the beginning of a text, or "", and the rest of the text."""
    match = _OFFSET.match(text)
    return (match[0], text[match.end() :]) if match else ("", text)


def has_database():
    """Return whether the names of the IANA database are known on this system."""
    return _read_zone("Europe/Paris") is not None


def _read_zone(name):
    """Return the `ZoneInfo` of a name, or None."""
    import zoneinfo

    if not _NAME.fullmatch(name) or name in _LOCAL:
        return None
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, OSError, ValueError):  # also for folders
        return None


@cache
def _full_names():
    """Return the names in the IANA database by lower-case name."""
    import zoneinfo

    return {name.casefold(): name for name in zoneinfo.available_timezones()}


_DAY = 86400
_MONTH, _YEAR = 2629800, 31557600  # a year has 365.25 days
_SIZES = {
    "year": _YEAR, "month": _MONTH, "week": 7 * _DAY, "day": _DAY, "hour": 3600,
    "minute": 60, "second": 1, "microsecond": 1e-6, "nanosecond": 1e-9,
    "mon": _MONTH, "min": 60, "sec": 1, "y": _YEAR, "mo": _MONTH, "w": 7 * _DAY,
    "d": _DAY, "h": 3600, "hr": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6,
    "μs": 1e-6, "ns": 1e-9,
}  # fmt: skip
_FIELDS = "year", "month", "day", "hour", "minute", "second"
_OBJECTS = ("MonthDayNano", "DateOffset", "relativedelta")  # in Arrow, pandas, dateutil
_NUMBER = r"[+-]?\d+(?:[.,]\d+)?"

# Marks for before or after noon next to a time of day, but not inside a word.
_EARLY = ("a", "π", "上午", "午前", "오전")
HALF = (
    rf"([ap]\.?\s?m\.?|[ap]\.?|{'|'.join(_EARLY[2:])}|下午|午後|오후|[πμ]\.?\s?μ\.?)"
    r"(?![^\W\d_]|/)"
)
# Some tools return a time of day as a time on their first day.
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

    Hours and minutes have a first number of at most 24. In a column that also has times
    without leading zeros, such as "1:02:03", "15:00" is minutes and seconds.
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
    """Return the seconds and the notation of a duration or a time of day, or None.

    Times of day with a zone are converted to UTC, if the zone's offset is known. The
    notation is "time" (of day, also with "PM"), "zoned time", "time in IST" (with a
    zone whose offset from UTC is unknown), "h:mm" or "m:ss" as `clock` says, "long
    h:mm" (the first number is above 24), or "duration".
    """
    has_colon = ":" in text
    if not (has_colon or text[:1] in _FIRST or text[-1:] in _LAST):
        seconds = _read_words(text) if _WORDS.match(text) else None
    elif len(text) > _LONGEST:
        return None
    elif has_colon and (match := _CLOCK.fullmatch(text)):
        return _read_clock(match, clock)
    elif not has_colon and "P" in text[:2]:
        match = _ISO.fullmatch(text)
        seconds = match and _read_iso(*match.groups())
    elif not has_colon and (match := _HOUR.fullmatch(text)):
        before, first, second, after = match.groups()
        hour = hour_of_half(int(first or second), before or after)
        return None if hour is None else (3600 * hour, "time")
    else:
        seconds = _read_interval(text) if text[:1] in "iI" else _read_words(text)
    return None if seconds is None else (seconds, "duration")


def is_duration(cell_type):
    """Return whether `seconds_of` reads cells of a type."""
    types = (np.timedelta64, datetime.timedelta, datetime.time)
    return issubclass(cell_type, types) or cell_type.__name__ in _OBJECTS


def times_of_day(dates):
    """Return seconds since midnight, or None if a date is not a tool's first day.

    Spreadsheets return times of day as datetimes on 1899-12-31, for example.
    """
    present = dates[~np.isnat(dates)]
    days = np.unique(present.astype("datetime64[D]"))
    if not 0 < len(days) <= len(_FIRST_DAYS) or not np.isin(days, _DAYS).all():
        return None
    return (dates - dates.astype("datetime64[D]")) / np.timedelta64(1, "s")


def seconds_of(cell):
    """Return the seconds of a duration or a time of day from any library."""
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
    parts = ((getattr(cell, f"{n}s", None), size) for n, size in _SIZES.items())
    return float(sum(number * size for number, size in parts if number))


def hour_of_half(hour, half):
    """Return the hour of the day for an hour before or after noon, or None."""
    is_late = half[0] in "pP" or not half.casefold().startswith(_EARLY)
    if hour > 12:
        return hour if is_late and hour < 24 else None
    return hour % 12 + 12 * is_late


def _number(text):
    return float(text.replace(",", "."))


def _read_clock(match, clock):
    """Return the seconds and the notation of a match of `_CLOCK`, or None."""
    before, sign, days, first, second, third, fraction, after, zone = match.groups()
    half = before or after
    is_long = len(first) != 2 or int(first) > 24 or sign or days
    notation = "duration" if is_long else "time"
    if third is None:
        is_hours = half or zone or (clock == "h" and fraction is None)
        notation = "h:mm" if int(first) <= 24 else "long h:mm"
        notation = notation if is_hours else "m:ss"
        first, second, third = (first, second, 0) if is_hours else (0, first, second)
    hour = int(first)
    if half:
        notation = "time"
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
        notation = f"time in {zone}" if offset is None else "zoned time"
        if offset is not None:
            seconds = (seconds - offset.total_seconds()) % _DAY
    return float(-seconds if sign == "-" else seconds), notation


def _read_iso(sign, *parts):
    """Return the seconds of the parts of an ISO duration."""
    pairs = zip(parts, _ISO_SIZES, strict=True)
    total = sum(_number(part) * size for part, size in pairs if part)
    return -total if sign == "-" else total


def _read_interval(text):
    """Return the seconds of "INTERVAL '1 02:03:04' DAY TO SECOND", or None."""
    match = _INTERVAL.fullmatch(text)
    if match is None:
        return None
    sign, body, first = match.groups()
    if first is None:
        found = read_duration(body)
        total = found and found[0]
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


def _read_words(text):
    """Return the seconds of "1 day, 2:03:04", "-1 days +22:00:00" or "@ 2 hours ago".

    Returns None for a single unit such as "2 hours", which is read as a number.
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
        found = _read_clock(match, "h") if match and n_parts else None
        if found is None:
            return None
        total += found[0]
    elif body == text and n_parts < 2:
        return None
    return -total if is_ago else total
