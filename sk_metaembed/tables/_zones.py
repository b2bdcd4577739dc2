"""Offsets of time zones from UTC, by the names that tools write."""

import datetime
import re
from functools import cache, lru_cache

# Hours from UTC of abbreviations that have one usual meaning: those of RFC 2822, and
# others that only one part of the world uses. BST, IST and AST have several.
_HOURS = {
    0: "Z UT UTC GMT WET", 1: "CET MEZ WEST WAT", 2: "CEST MESZ EET SAST CAT",
    3: "EEST MSK EAT TRT", 5: "PKT UZT", 7: "WIB ICT", 8: "AWST HKT SGT WITA",
    9: "JST KST", 9.5: "ACST", 10: "AEST", 10.5: "ACDT", 11: "AEDT", 12: "NZST",
    13: "NZDT", -2.5: "NDT", -3: "BRT ART", -3.5: "NST", -4: "EDT", -5: "EST CDT",
    -6: "CST MDT", -7: "MST PDT", -8: "PST AKDT", -9: "AKST HDT", -10: "HST",
}  # fmt: skip
_OFFSETS = {name: hours for hours, names in _HOURS.items() for name in names.split()}
# Those that are no words in lower case.
_SMALL = {"z", "utc", "gmt", "cet", "cest"}
_SMALL |= {"est", "edt", "cst", "cdt", "mst", "mdt", "pst", "pdt"}
# Names of zones that have summer time.
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
    """Return the offset of a zone at a local time, None if it is not known.

    `name` is an offset, an abbreviation or a name of the IANA database. Of an hour that
    occurs twice when summer time ends, it is the first. Without a date (None), the
    offset of zones that have summer time is not known.
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
    """Return the offset of a name as a timedelta, its `ZoneInfo`, or None."""
    match = _OFFSET.fullmatch(name)
    if match:
        sign, *parts = match.groups()
        hours, minutes, seconds = (int(part or 0) for part in parts)
        offset = datetime.timedelta(0, seconds, 0, 0, minutes, hours)
        return None if hours > _MOST_HOURS else -offset if sign == "-" else offset
    name = name.upper() if name in _SMALL else name
    if name in _OFFSETS:
        return datetime.timedelta(hours=_OFFSETS[name])
    return _zone(_IN_AMERICA.get(name, name))


@lru_cache(1024)
def is_zone(name):
    """Return whether a word behind a time is the name of a zone, or looks like one."""
    is_short = _SHORT.fullmatch(name) is not None
    return is_short or "/" in name or offset_from_utc(name, _SUMMER) is not None


def split_offset(text):
    """Split an offset off the beginning of a text; it is "" if there is none."""
    match = _OFFSET.match(text)
    return (match[0], text[match.end() :]) if match else ("", text)


def has_database():
    """Return whether the names of the IANA database are known on this system."""
    return _read_zone("Europe/Paris") is not None


def _zone(name):
    """Return the `ZoneInfo` of a name, in any case if it has a slash, or None."""
    zone = _read_zone(name)
    if zone is None and "/" in name:
        zone = _read_zone(_full_names().get(name.casefold(), name))
    return zone


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
    """Return the names of the IANA database by their forms in lower case."""
    import zoneinfo

    return {name.casefold(): name for name in zoneinfo.available_timezones()}
