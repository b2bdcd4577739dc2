"""Numbers inside texts, as columns: "Intel i5 2.5GHz" has 5, and 2.5 GHz."""

import re
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ._numbers import (
    BODY,
    UNITS,
    choose_decimal,
    choose_m,
    plain_text,
    read_scale,
    read_value,
    unit_name,
)

# A number in a text, and the word attached to it or next to it.
_INSIDE = re.compile(
    rf"(?<![\d.,])({BODY})([^\W\d_]+(?:/[^\W\d_]+)?|[%\"']| [^\W\d_]+(?:/[^\W\d_]+)?)?"
)
_MOST_SLOTS = 8
_LEAST_SHARE = 0.01  # of the rows


class NumberPlan(NamedTuple):
    """Numbers to take from the texts of a column.

    `units` are those that are told apart; units of the same family are converted to
    the one among them. `slots` are pairs of a unit, "" for all others, and the
    position among the numbers of this unit.
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


def plan_numbers(texts, counts):
    """Return the NumberPlan of distinct texts, which occur `counts` times.

    A slot is taken if at least 1 % of the rows (and five of them) have it, and if it
    has two different values; at most the 8 most frequent ones.
    """
    found = [_find(text) for text in texts]
    pairs = list(zip(found, counts, strict=True))
    decimal = choose_decimal((body, n) for row, n in pairs for _, body, _ in row)
    meaning = choose_m((word or "").strip() for row in found for _, _, word in row)
    enough = max(5, _LEAST_SHARE * sum(counts))
    units = _choose_units(pairs, meaning, enough)
    plan = NumberPlan(decimal, meaning, tuple(sorted(units)))
    rows, values = Counter(), {}
    for row, n in pairs:
        for slot, value in _slots(row, plan).items():
            rows[slot] += n
            values.setdefault(slot, set()).add(value)
    slots = [s for s, n in rows.items() if n >= enough and len(values[s]) > 1]
    slots = sorted(slots, key=lambda slot: (-rows[slot], slot))[:_MOST_SLOTS]
    return plan._replace(slots=tuple(sorted(slots)))


def _choose_units(pairs, meaning, enough):
    """Return the units of enough rows; of each family the most frequent one."""
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
    """Return whether it is negative, the body, and the next word of each number."""
    text = plain_text(text)
    return [
        (text[max(m.start() - 2, 0) : m.start()] in ("-", " -", "(-"), *m.groups())
        for m in _INSIDE.finditer(text)
    ]


def _slots(row, plan):
    """Return the numbers of a text by unit (if in the plan) and occurrence."""
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
    """Return the unit among `units`, or "", and the scale by the word of a number."""
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
    """Return unit and scale of the word behind a number: "M" scales it by 1e6."""
    scale, rest = read_scale(word or "", meaning)
    return unit_name(rest, meaning), scale
