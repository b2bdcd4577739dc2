"""Read numbers as people write them, alone in a cell or inside texts.

The meaning of ambiguous cells ("1,299", "30 m") is decided once per column, from its
training cells, and stored in a `NumberFormat` or `NumbersInside`.
"""

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from math import isfinite
from typing import NamedTuple

import numpy as np

from ._cells import is_missing_mark
from ._times import choose_clock, read_duration

# Spreadsheets translate true and false.
_TRUE = frozenset(
    ["true", "yes", "y", "t", "wahr", "vrai", "verdadero", "verdadeiro", "vero"]
    + ["waar", "prawda", "sant", "истина"]
)
_FALSE = frozenset(
    ["false", "no", "n", "f", "falsch", "faux", "falso", "onwaar", "fałsz", "falskt"]
    + ["ложь"]
)
_TRUTH = {"true": 1.0, "false": 0.0}  # spreadsheets translate these

# Words and signs around a number that is an upper or lower bound.
_BOUND = re.compile(r"([<≤]|(?:under|up to)\b)|([>≥]|over\b|.*\+$)", re.I | re.DOTALL)

# Words before a number that do not change its value.
_ABOUT = re.compile(r"[~≈<>≤≥=]+|(?:approx|ca|about|circa|over|under|up to)\b\.?", re.I)
_PREFIXES = frozenset(
    ["usd", "eur", "gbp", "inr", "rs", "rm", "chf", "kr", "cny", "jpy", "us", "no"]
)  # fmt: skip
_NO_UNITS = frozenset(["st", "nd", "rd", "th"])
_SCALES = {
    "k": 1e3, "K": 1e3, "thousand": 1e3, "lakh": 1e5, "lakhs": 1e5, "lac": 1e5,
    "M": 1e6, "mn": 1e6, "Mn": 1e6, "mio": 1e6, "Mio": 1e6, "million": 1e6,
    "cr": 1e7, "Cr": 1e7, "crore": 1e7, "crores": 1e7,
    "B": 1e9, "bn": 1e9, "Bn": 1e9, "mrd": 1e9, "Mrd": 1e9, "billion": 1e9,
    "trillion": 1e12,
}  # fmt: skip
_FAMILIES: dict[str, dict[str, float]] = {
    "duration": {
        "ns nanosecond": 1e-9, "us μs microsecond": 1e-6, "ms millisecond": 1e-3,
        "s sec second": 1, "min minute": 60, "h hr hour": 3600, "d day": 86400,
        "wk week": 604800, "mo mon month": 2629800, "y yr year": 31557600,
    },
    "mass": {
        "mg": 1e-3, "g gm gram": 1, "kg kilo kilogram": 1e3,
        "oz ounce": 28.349523125, "lb pound": 453.59237,
    },
    "length": {
        "mm": 1e-3, "cm": 1e-2, "m meter metre": 1, "km": 1e3,
        'in inch inche " ” \'\'': 0.0254, "ft foot feet ' ’": 0.3048,
        "yd yard": 0.9144, "mi mile": 1609.344,
    },
    "volume": {"ml": 1e-3, "cl": 1e-2, "l liter litre ltr": 1},
    "data": {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12},
    "share": {"% percent pct": 1},
    "frequency": {"hz": 1, "khz": 1e3, "mhz": 1e6, "ghz": 1e9},
}  # fmt: skip
# The family, name and size of each unit, by the words for the unit.
UNITS = {
    word: (family, words.split()[0], float(size))
    for family, units in _FAMILIES.items()
    for words, size in units.items()
    for word in words.split()
}

_EXPONENT = r"(?:[eE][-+]?\d+(?!\w))?"
BODY = rf"\d+(?:[.,]\d+)*{_EXPONENT}|(?<!\w)[.,]\d+{_EXPONENT}"
_WHOLE = re.compile(rf"\d{{1,3}}(?:[ ']\d{{3}})+(?!\d)(?:[.,]\d+)?|{BODY}")
_SINGLE = re.compile(rf"(\D*?)({_WHOLE.pattern})(\D*)")
_FRACTION = re.compile(r"(\d+) (\d+)/0*([1-9]\d*)(\D*)")
# Texts that need no further checks if the decimal separator is a point.
_USUAL = re.compile(r"\d+(?:\.\d+)?|[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_LONGEST = 64  # characters of a text that is a number


class NumberFormat(NamedTuple):
    """How the numbers of a column are written.

    `decimal` is the decimal separator of ambiguous cells. Numbers are returned in
    `unit`; units of the same family are converted, durations to seconds. `m` is the
    meaning of the unit "m", `booleans` whether the cells are yes and no, `plain` the
    size of numbers without a unit, in `unit`, and `clock` whether "15:00" is hours and
    minutes ("h"), or minutes and seconds ("m").
    """

    decimal: str = "."
    unit: str = ""
    m: str = "m"
    booleans: bool = False
    plain: float = 1.0
    clock: str = "h"

    @property
    def is_duration(self):
        """Whether the numbers are durations or times of day."""
        return self.unit in UNITS and UNITS[self.unit][0] == "duration"


def may_be_numbers(texts):
    """Return whether any text has a digit or is a bool, or all are yes and no."""
    if any(any(map(str.isnumeric, t)) or t.casefold() in _TRUTH for t in texts):
        return True
    words = {plain_text(text).casefold() for text in texts if not is_missing_mark(text)}
    return words <= _TRUE | _FALSE


def are_bounds(texts, numbers):
    """Return whether a number has different bounds, such as "<40" and ">=40"."""
    sides = {}
    for text, number in zip(texts, numbers, strict=True):
        bound = _BOUND.match(text.strip())
        sides.setdefault(number, set()).add(bound and bound.lastindex)
    return any(len(found) > 1 for found in sides.values())


def choose_number_format(texts, counts=None):
    """Return the NumberFormat of distinct texts, which occur `counts` times."""
    counts = [1] * len(texts) if counts is None else counts
    rows = [
        (plain_text(text), n)
        for text, n in zip(texts, counts, strict=True)
        if len(text) <= _LONGEST and not is_missing_mark(text)
    ]
    words = {text.casefold() for text, _ in rows}
    both = len(words & _TRUE) == len(words & _FALSE) == 1
    if both and words <= _TRUE | _FALSE:
        return NumberFormat(booleans=True)
    clock = choose_clock(*zip(*rows, strict=True)) if rows else "h"
    rows = [
        (text, n, () if read_duration(text) else [*_WHOLE.finditer(text)])
        for text, n in rows
    ]
    decimal = choose_decimal((m[0], n) for _, n, found in rows for m in found)
    meaning = meaning_of_m(_suffix(t, m) for t, _, found in rows for m in found)
    number_format = NumberFormat(decimal, m=meaning, clock=clock)
    units, values = Counter(), {}
    for text, n, _ in rows:
        quantity = _quantity(text, number_format)
        if quantity:
            unit, value, _ = quantity
            units[unit] += n if unit else 0
            values.setdefault(unit, []).append(value)
    unit = max(units, key=lambda unit: (units[unit], unit), default="")
    if UNITS.get(unit, ("",))[0] == "duration":  # the most frequent unit
        m = "min" if meaning == "m" else meaning
        return number_format._replace(unit="s", m=m, plain=UNITS[unit][2])
    plain = np.array(values.get("", [0.0]))
    is_share = (np.abs(plain) <= 1).all() and (plain % 1 > 0).any()
    # "0.12" next to "12%"
    are_shares = unit == "%" and is_share and np.median(values["%"]) > 1
    return number_format._replace(unit=unit, plain=100.0 if are_shares else 1.0)


def read_numbers(texts, number_format):
    """Return the number and the notation of each text; NaN and "" if not a number.

    Digits with leading zeros are numbers here; whether they identify something is
    decided for the column (see `choose_column_format`). "1/2" is a date, a score or a
    ratio, but not a number; "5 1/2" is. A notation is "number", "bool", a notation of
    `read_duration`, the family of the unit, such as "share", or the unit itself if the
    unit has no family.
    """
    numbers, notations = np.empty(len(texts)), ["number"] * len(texts)
    plain, has_words = number_format.plain, number_format.booleans
    point = number_format.decimal == "."
    for i, text in enumerate(texts):
        # float() reads most cells, and is twenty times as fast as `_parse`.
        is_usual = (point or "." not in text) and "_" not in text and not has_words
        if is_usual and text[-1:].isdecimal():
            try:
                numbers[i] = float(text) * plain
                continue
            except ValueError:
                pass
        numbers[i], notations[i] = _parse(text, number_format)
    return numbers, notations


def convert(value, unit, number_format):
    """Return a value in the unit of the format, NaN for a unit of another family."""
    if unit == "":
        return value * number_format.plain
    if unit == number_format.unit:
        return value
    family, _, size = UNITS.get(unit, (None, unit, 1.0))
    target, _, base = UNITS.get(number_format.unit, ("", "", 1.0))
    return value * size / base if family == target else value * np.nan


def plain_text(text):
    """Return a text with ASCII digits, signs, spaces and separators."""
    text = text.strip()
    if text.isascii():
        return text
    text = re.sub("(?=[¼-¾⅐-⅞])", " ", text)
    text = unicodedata.normalize("NFKC", text).translate(_CHARACTERS)
    return re.sub(r"\d", lambda m: str(int(m[0])), text).strip()


_CHARACTERS = str.maketrans("−–—⁄’٬٫‘", "---/''.'")


def _parse(text, number_format):
    """Return the number of a text, or NaN, and its notation."""
    word = text.strip().casefold()
    if number_format.booleans and (word in _TRUE or word in _FALSE):
        return float(word in _TRUE), "bool"
    if len(text) > _LONGEST or is_missing_mark(text):
        return np.nan, ""
    quantity = _quantity(plain_text(text), number_format)
    if quantity is None:
        return (_TRUTH[word], "bool") if word in _TRUTH else (np.nan, "")
    unit, value, notation = quantity
    value = convert(value, unit, number_format)
    return value, notation if isfinite(value) else ""


def _quantity(text, number_format):
    """Return the unit, value and notation of a plain text that is a number, or None."""
    duration = read_duration(text, number_format.clock)
    if duration is not None:
        return "s", *duration
    decimal, meaning = number_format.decimal, number_format.m
    single = _SINGLE.fullmatch(text)
    if single is None:
        found = _compound(text, decimal, meaning)
    else:
        before, body, after = single.groups()
        affixes = _read_affixes(before, after, meaning)
        value = read_value(body, decimal)
        is_read = affixes is not None and value is not None
        found = (affixes[0], affixes[1] * value) if is_read else None
    if found is None:
        return None
    unit, value = found
    return unit, value, UNITS[unit][0] if unit in UNITS else unit or "number"


@lru_cache(4096)
def _read_affixes(before, after, meaning):
    """Return the unit and factor in the texts before and after a number, or None."""
    sign, before = 1.0, _ABOUT.sub("", before, count=1)
    letters = "".join(filter(str.isalpha, before)).casefold()
    if letters and letters not in _PREFIXES and not _is_currency(before[-1:]):
        return None  # "Windows 10" and "i5" are names
    if before.startswith("(") and after.endswith(")"):
        sign, before, after = -1.0, before[1:], after[:-1]
    before = before.strip(" +")
    if after.strip() == "-":
        sign, after = -1.0, ""
    if "-" in (before[:1], before[-1:]):
        sign, before = -sign, before.strip("- ")
    scale, word = read_scale(after, meaning)
    if word and before and not word.startswith("/"):  # "$5/h" has one unit
        return None
    word = before + word
    if len(word) > 20 or not all(map(_is_of_unit, word)):
        return None
    return unit_name(word, meaning), sign * scale


def _is_of_unit(character):
    """Return whether a character may occur in a unit, such as "km/h" and "°C"."""
    return character.isalpha() or character in " ./%°\"'-" or _is_currency(character)


def _is_currency(character):
    return character != "" and unicodedata.category(character) == "Sc"


def _compound(text, decimal, meaning):
    """Return unit and value of "1 h 30 min" and "5 1/2 in", or None."""
    fraction = _FRACTION.fullmatch(text)
    if fraction:
        whole, top, bottom, after = fraction.groups()
        affixes = _read_affixes("", after, meaning)
        value = int(whole) + int(top) / int(bottom)
        return affixes and (affixes[0], affixes[1] * value)
    found = list(_WHOLE.finditer(text))
    if not 2 <= len(found) <= 7 or found[0].start() > 0:
        return None
    parts = [read_value(match[0], decimal) for match in found]
    units = [UNITS.get(unit_name(_suffix(text, match), meaning)) for match in found]
    if None in parts or None in units or len({family for family, *_ in units}) > 1:
        return None
    sizes = [size for *_, size in units]
    if sorted({*sizes}, reverse=True) != sizes:
        return None
    total = sum(part * size for part, size in zip(parts, sizes, strict=True))
    return units[0][1], total / sizes[0]


def _suffix(text, match):
    """Return the text between a number and the next one."""
    following = _WHOLE.search(text, match.end())
    return text[match.end() : following.start() if following else None].strip(" ,;")


def read_scale(word, meaning):
    """Split "million USD" into 1e6 and "USD", and "kg" into 1 and "kg"."""
    word = word.strip("+ ").removesuffix("/-")
    first, _, rest = word.partition(" ")
    if first == "m" and meaning == "million":
        return 1e6, rest
    if first in _SCALES:
        return _SCALES[first], rest
    # "1.2M€"
    if first[:1] in ("k", "K", "M", "B") and first[1:] and not first[1].isalnum():
        return _SCALES[first[0]], word[1:]
    return 1.0, word


def unit_name(word, meaning):
    """Return the name of a unit: in lower case, singular and without a full stop."""
    name = " ".join(word.casefold().split()).rstrip(".")
    if name == "m":
        return meaning
    if name in _NO_UNITS:
        return ""
    if name in UNITS:
        return UNITS[name][1]
    if len(name) > 2 and name.endswith("s"):
        name = name[:-1].rstrip(".")
    return UNITS[name][1] if name in UNITS else name


def read_value(body, decimal):
    """Return the number written in a text of digits, or None if malformed."""
    body = body.replace(" ", "").replace("'", "")
    if decimal == "." and _USUAL.fullmatch(body):
        return float(body.replace(",", ""))
    digits, mark, power = body.replace("E", "e").partition("e")
    role = _separator_role(digits)
    if role is None:
        return None
    if role == "?":
        role = decimal
    other = "." if role == "," else ","
    digits = digits.replace(other, "").replace(role, ".")
    return float(digits + mark + power)


def _separator_role(digits):
    """Return the decimal separator, "?" if ambiguous, or None if malformed."""
    dots, commas = digits.count("."), digits.count(",")
    if not dots and not commas:
        return "."
    if dots and commas:
        last = max(".,", key=digits.rfind)
        whole = digits.rpartition(last)[0]
        first = "," if last == "." else "."
        return last if last not in whole and _grouped(whole, first) else None
    mark, other = (".", ",") if dots else (",", ".")
    if not _grouped(digits, mark):
        return mark if dots + commas == 1 else None
    return other if dots + commas > 1 else "?"


def _grouped(digits, mark):
    """Return whether a separator groups digits: "1,234,567", or "12,34,567"."""
    first, *middle, last = digits.split(mark)
    if not 1 <= len(first) <= 3 or first.startswith("0") or len(last) != 3:
        return False
    return {len(part) for part in middle} in ({2}, {3}, set())


def choose_decimal(bodies):
    """Return the decimal separator of most numbers.

    If no number shows the separator, "1.299" is 1299 next to whole numbers such as
    "850", because a fixed number of decimals would occur in all numbers.
    """
    votes, whole, grouped = Counter(), False, set()
    for body, n in bodies:
        digits = _digits(body)
        if "." in digits or "," in digits:
            role = _separator_role(digits)
            votes[role] += n
            if role == "?" and "." in digits:
                grouped.add(digits)
        else:
            whole = whole or len(digits) > 2
    if not votes["."] and not votes[","]:
        return "," if whole and len(grouped) > 2 else "."
    return "," if votes[","] > votes["."] else "."


def _digits(body):
    return body.partition("e")[0].replace(" ", "").replace("'", "")


def first_with_decimal(texts, decimal):
    """Return the first text that shows `decimal` to be the decimal separator, or "".

    If `decimal` is "?", return the first text with a separator of either role.
    """
    for text in texts:
        plain = plain_text(text)
        if ":" in plain and read_duration(plain) is not None:
            continue
        bodies = [_digits(match[0]) for match in _WHOLE.finditer(plain)]
        if decimal in [_separator_role(b) for b in bodies if not b.isdecimal()]:
            return text
    return ""


def meaning_of_m(words):
    """Return the meaning of "m": minutes, millions or metres."""
    words = {word.strip() for word in words}
    names = {unit_name(word, "m") for word in words}
    if "m" not in words:
        return "m"
    if names & {"h", "s", "min"}:
        return "min"
    return "million" if {"k", "K", "B", "bn"} & words else "m"


# A number in a text, and the word attached to it or next to it.
_INSIDE = re.compile(
    rf"(?<![\d.,])({BODY})([^\W\d_]+(?:/[^\W\d_]+)?|[%\"']| [^\W\d_]+(?:/[^\W\d_]+)?)?"
)
_MOST_SLOTS = 8
_LEAST_SHARE = 0.01  # minimum share of rows with a slot


class NumbersInside(NamedTuple):
    """Numbers to take from the texts of a column.

    `units` are the units to distinguish, one per family; other units of a family are
    converted. `slots` are pairs of a unit, "" for all other units, and the position
    among the numbers of this unit.
    """

    decimal: str = "."
    m: str = "m"
    units: tuple[str, ...] = ()
    slots: tuple[tuple[str, int], ...] = ()

    @property
    def names(self):
        """Names of the slots, such as "ghz", "gb" and "gb 2"."""
        return [
            (unit or "number") + (f" {i + 1}" if i else "") for unit, i in self.slots
        ]


def choose_numbers_inside(texts, counts):
    """Return the NumbersInside of distinct texts, which occur `counts` times.

    A slot needs two different values, and numbers in at least five rows and 1 % of the
    rows. At most the 8 most frequent slots are returned.
    """
    found = [_find(text) for text in texts]
    if not any(found):
        return NumbersInside()
    pairs = list(zip(found, counts, strict=True))
    decimal = choose_decimal((body, n) for row, n in pairs for _, body, _ in row)
    meaning = meaning_of_m((word or "").strip() for row in found for _, _, word in row)
    enough = max(5, _LEAST_SHARE * sum(counts))
    units = _choose_units(pairs, meaning, enough)
    plan = NumbersInside(decimal, meaning, tuple(sorted(units)))
    rows, values = Counter(), {}
    for row, n in pairs:
        for slot, value in _slots(row, plan).items():
            rows[slot] += n
            values.setdefault(slot, set()).add(value)
    slots = [s for s, n in rows.items() if n >= enough and len(values[s]) > 1]
    slots = sorted(slots, key=lambda slot: (-rows[slot], slot))[:_MOST_SLOTS]
    return plan._replace(slots=tuple(sorted(slots)))


def _choose_units(pairs, meaning, enough):
    """Return the units in at least `enough` rows, the most frequent of each family."""
    rows = Counter()
    for row, n in pairs:
        rows.update(dict.fromkeys((_read_word(w, meaning)[0] for *_, w in row), n))
    units = {}
    for unit, n in sorted(rows.items(), key=lambda item: (-item[1], item[0])):
        if unit and n >= enough:
            units.setdefault(UNITS.get(unit, (unit,))[0], unit)
    return set(units.values())


def numbers_inside(texts, plan):
    """Return the numbers of each text, float32 of shape (n_texts, n_slots), or NaN."""
    out = np.full((len(texts), len(plan.slots)), np.nan)
    for i, text in enumerate(texts if plan.slots else []):
        found = _slots(_find(text), plan)
        out[i] = [found.get(slot, np.nan) for slot in plan.slots]
    limit = np.finfo(np.float32).max
    return np.clip(out, -limit, limit).astype(np.float32)


def _find(text):
    """Return the sign, the digits and the next word of each number in a text."""
    text = plain_text(text)
    return [
        (text[max(m.start() - 2, 0) : m.start()] in ("-", " -", "(-"), *m.groups())
        for m in _INSIDE.finditer(text)
    ]


def _slots(row, plan):
    """Return the numbers in a text by unit (in the plan, or "") and occurrence."""
    seen, out = {}, {}
    for negative, body, word in row:
        value = read_value(body, plan.decimal)
        if value is None:  # a version: "4.0.3"
            value = float(".".join(re.split("[.,]", body)[:2]) or 0)
        unit, scale = _convert_word(word, plan.m, plan.units)
        seen[unit] = occurrence = seen.get(unit, -1) + 1
        out[unit, occurrence] = (-value if negative else value) * scale
    return out


@lru_cache(4096)
def _convert_word(word, meaning, units):
    """Return the unit (in `units` or "") and the factor of the word after a number."""
    unit, scale = _read_word(word, meaning)
    if unit in units:
        return unit, scale
    family, _, size = UNITS.get(unit, (None, unit, 1.0))
    for target in units:
        if family and UNITS.get(target, ("",))[0] == family:
            return target, scale * size / UNITS[target][2]
    return "", scale


@lru_cache(4096)
def _read_word(word, meaning):
    """Return the unit and the factor of the word after a number; "M" is 1e6."""
    scale, rest = read_scale(word or "", meaning)
    return unit_name(rest, meaning), scale
