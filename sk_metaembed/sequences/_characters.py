"""Rules that define tokens, as tables of a state machine.

A rule assigns each character to one of a few classes; a table of steps gives the next
state for a state and a class. Compiled code and Python use the same tables.
"""

import re
import sys
import unicodedata
from functools import lru_cache
from typing import NamedTuple

import numpy as np

# The bit of a step that marks the beginning of a token or a gap.
BOUNDARY = 0x80

# Classes of the default rule.
OUTSIDE, WORD, MARK, SELECTOR, JOINER, MODIFIER, REGIONAL, SYMBOL = range(8)
_CLASS_OF_CATEGORY = {
    **dict.fromkeys(("Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "No"), WORD),
    **dict.fromkeys(("Mn", "Mc", "Me"), MARK),
    **dict.fromkeys(("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"), SYMBOL),
    **dict.fromkeys(("Sm", "Sc", "Sk", "So"), SYMBOL),
    # Private and unassigned characters may be visible: icon fonts, newer emoji.
    **dict.fromkeys(("Co", "Cn"), SYMBOL),
    **dict.fromkeys(("Zs", "Zl", "Zp", "Cc", "Cf", "Cs"), OUTSIDE),
}
# Characters whose class does not follow from their category.
_SPECIAL = {
    ord("_"): WORD,
    0x200C: SELECTOR,  # zero-width non-joiner
    0x200D: JOINER,
    **dict.fromkeys((*range(0x180B, 0x180E), 0x180F), SELECTOR),
    **dict.fromkeys(range(0xFE00, 0xFE10), SELECTOR),
    **dict.fromkeys(range(0xE0020, 0xE0080), SELECTOR),  # tags, as in Wales' flag
    **dict.fromkeys(range(0xE0100, 0xE01F0), SELECTOR),
    **dict.fromkeys(range(0x1F1E6, 0x1F200), REGIONAL),
    **dict.fromkeys(range(0x1F3FB, 0x1F400), MODIFIER),  # skin tones
}

# States of the default rule.
_GAP, _IN_WORD, _IN_SYMBOL, _JOINED, _HALF_FLAG = range(5)
# The state after the first character of a token or gap, by class.
_FRESH = [_GAP, _IN_WORD, _IN_SYMBOL, _GAP, _GAP, _IN_SYMBOL, _HALF_FLAG, _IN_SYMBOL]


class Rule(NamedTuple):
    """Where tokens begin and end, as tables."""

    name: str  # key of `character_classes`
    ascii_classes: np.ndarray  # class of each ASCII character, uint8 (128,)
    # The state after a character, plus BOUNDARY if a token or gap begins at it, uint8
    # (n_states, n_classes). State 0 is the gap between tokens.
    steps: np.ndarray
    emits: np.ndarray  # whether a span is a token, by its last state, (n_states,)
    min_length: int  # the least number of characters of a token
    separator: int  # an ASCII character that no token contains
    # Role of each ASCII character, uint8 (128,): 0 outside of tokens, 1 part of a run
    # that is a token, 2 a token by itself.
    ascii_kinds: np.ndarray


def word_class(character):
    """Return the class of a character under the default rule."""
    special = _SPECIAL.get(ord(character))
    if special is not None:
        return special
    return _CLASS_OF_CATEGORY[unicodedata.category(character)]


# The same rule for texts in ASCII, without and with punctuation.
ASCII_WORDS = re.compile(r"\w+", re.ASCII), re.compile(r"\w+|[!-~]", re.ASCII)


@lru_cache(maxsize=2)
def word_rule(punctuation):
    """Return the `Rule` for Unicode words, with or without punctuation."""
    steps = np.array([_FRESH] * 5, dtype=np.uint8) | BOUNDARY
    steps[_GAP, [OUTSIDE, SELECTOR, JOINER]] = _GAP
    steps[_IN_WORD, [WORD, MARK, SELECTOR, JOINER]] = _IN_WORD
    for state in (_IN_SYMBOL, _JOINED, _HALF_FLAG):
        steps[state, [MARK, SELECTOR, MODIFIER]] = _IN_SYMBOL
        steps[state, JOINER] = _JOINED
    steps[_JOINED, SYMBOL] = _IN_SYMBOL
    steps[_HALF_FLAG, REGIONAL] = _IN_SYMBOL
    emits = np.array([False, True, punctuation, punctuation, punctuation])
    classes = np.array([word_class(chr(i)) for i in range(128)], dtype=np.uint8)
    kinds = np.where(classes == WORD, 1, 2 * emits[-1] * (classes == SYMBOL))
    return Rule("words", classes, steps, emits, 1, ord("\n"), kinds.astype(np.uint8))


# One character class or bracketed set; `re` itself reads what is inside.
_ONE = r"\\[wWdDsS]|\[\^?(?:\\.|[^\]\\\[])+\]"
_RUN = re.compile(
    rf"(?P<flags>\(\?[au]\))?(?P<edge>\\b)?(?P<one>{_ONE})(?P<more>(?:{_ONE})*)"
    r"(?P<count>\+|\{(?P<least>[1-9]\d{0,3}),\})(?P<end>\\b)?",
    re.DOTALL,
)


def run_rule(pattern):
    r"""Return the `Rule` for a regular expression that matches runs of one class.

    The classes are sets of characters, as in ``\S+``, ``\w{2,}``, ``[^,;]+``,
    ``(?u)\b\w\w+\b``. Return None for any other expression.
    """
    match = _RUN.fullmatch(pattern)
    if match is None:
        return None
    one, more = match["one"], match["more"]
    repeats, rest = divmod(len(more), len(one))
    # A longest run of \w always begins and ends at a word boundary.
    edges_are_redundant = one == r"\w" or not (match["edge"] or match["end"])
    if rest or one * repeats != more or not edges_are_redundant:
        return None
    single = (match["flags"] or "") + one
    matches = re.compile(single).fullmatch
    classes = np.array([matches(chr(i)) is not None for i in range(128)], np.uint8)
    outside = np.flatnonzero(classes == 0)
    if not len(outside):
        return None
    steps = np.array([[0, 1 | BOUNDARY], [0 | BOUNDARY, 1]], dtype=np.uint8)
    least = repeats + int(match["least"] or 1)
    separator = int(outside[0])
    emits = np.array([False, True])
    return Rule(single, classes, steps, emits, least, separator, classes)


@lru_cache(maxsize=8)
def character_classes(name):
    """Return the class of every code point under a `Rule.name`, uint8 (0x110000,)."""
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    if name == "words":
        return _every_word_class(every)
    classes = np.zeros(len(every), dtype=np.uint8)
    flags, one = (name[:4], name[4:]) if name.startswith("(?") else ("", name)
    for match in re.finditer(f"{flags}(?:{one})+", every):
        classes[slice(*match.span())] = 1
    return classes


def _every_word_class(every):
    categories = map(unicodedata.category, every)
    classes = np.array(bytearray(map(_CLASS_OF_CATEGORY.__getitem__, categories)))
    classes[list(_SPECIAL)] = list(_SPECIAL.values())
    return classes
