"""Which characters make a token: rules small enough to run one character at a time.

A rule sorts characters into a few classes and walks over a text with a table of
steps. The same tables drive the compiled scan and the plain Python one.
"""

import re
import sys
import unicodedata
from functools import lru_cache
from typing import NamedTuple

import numpy as np

# Set in a step where a token, or a gap, begins at this character.
BOUNDARY = 0x80

# Characters of the default rule.
OUTSIDE, WORD, MARK, JOINER, MODIFIER, REGIONAL, SYMBOL = range(7)
_CLASS_OF_KIND = {"L": WORD, "N": WORD, "M": MARK, "P": SYMBOL, "S": SYMBOL}
# Unassigned and private characters may well be visible (newer emoji, icon fonts).
_CLASS_OF_CATEGORY = {"Cn": SYMBOL, "Co": SYMBOL}
_NON_JOINER, _JOINER = 0x200C, 0x200D
_REGIONAL = range(0x1F1E6, 0x1F200)
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_TAGS = range(0xE0020, 0xE0080)

# States of the default rule.
_GAP, _IN_WORD, _IN_SYMBOL, _JOINED, _HALF_FLAG = range(5)


class Rule(NamedTuple):
    """Where tokens begin and end, as tables.

    Attributes
    ----------
    name : str
        Key of `character_classes`.
    ascii_classes : ndarray of uint8, shape (128,)
        Class of each ASCII character.
    steps : ndarray of uint8, shape (n_states, n_classes)
        The state behind a character, plus `BOUNDARY` where something new begins at
        it. State 0 is the gap between tokens.
    emits : ndarray of bool, shape (n_states,)
        Whether what ends in this state is a token.
    min_length : int
        Shorter tokens, in characters, are left out.
    separator : int
        An ASCII character that no token holds.
    """

    name: str
    ascii_classes: np.ndarray
    steps: np.ndarray
    emits: np.ndarray
    min_length: int
    separator: int


def word_class(character):
    """Return the class of a character in the default rule."""
    code = ord(character)
    if code == _JOINER:
        return JOINER
    if code == _NON_JOINER:
        return MARK
    if code in _REGIONAL:
        return REGIONAL
    if code in _SKIN_TONES or code in _TAGS:
        return MODIFIER
    if character == "_":
        return WORD
    category = unicodedata.category(character)
    by_kind = _CLASS_OF_KIND.get(category[0], OUTSIDE)
    return _CLASS_OF_CATEGORY.get(category, by_kind)


def word_rule(punctuation):
    """Return the rule of Unicode words, with or without the other visible signs.

    Parameters
    ----------
    punctuation : bool

    Returns
    -------
    Rule
    """
    fresh = [_GAP, _IN_WORD, _IN_SYMBOL, _JOINED, _IN_SYMBOL, _HALF_FLAG, _IN_SYMBOL]
    steps = np.array([[state | BOUNDARY for state in fresh]] * 5, dtype=np.uint8)
    steps[_GAP, OUTSIDE] = _GAP
    steps[_IN_WORD, [WORD, MARK, JOINER]] = _IN_WORD
    for state in (_IN_SYMBOL, _JOINED, _HALF_FLAG):
        steps[state, [MARK, MODIFIER]] = _IN_SYMBOL
        steps[state, JOINER] = _JOINED
    steps[_JOINED, SYMBOL] = _IN_SYMBOL
    steps[_HALF_FLAG, REGIONAL] = _IN_SYMBOL
    emits = np.array([False, True, punctuation, punctuation, punctuation])
    classes = np.array([word_class(chr(i)) for i in range(128)], dtype=np.uint8)
    return Rule("words", classes, steps, emits, 1, ord("\n"))


# One character, or one bracketed set: what stands inside is left to `re` itself.
_ONE = r"\\[wWdDsS]|\[\^?(?:\\.|[^\]\\\[])+\]"
_RUN = re.compile(
    rf"(?P<flags>\(\?[au]\))?(?P<edge>\\b)?(?P<one>{_ONE})(?P<more>(?:{_ONE})*)"
    r"(?P<count>\+|\{(?P<least>[1-9]\d{0,3}),\})(?P<end>\\b)?",
    re.DOTALL,
)


def run_rule(pattern):
    r"""Return the rule of a regular expression for runs of one kind of character.

    Such are ``\S+``, ``\w{2,}``, ``[^,;]+``, ``(?u)\b\w\w+\b``: what `re` finds are
    the longest runs of one character class, short runs left out.

    Parameters
    ----------
    pattern : str
        A valid regular expression.

    Returns
    -------
    Rule or None
        None where the expression is anything else.
    """
    found = _RUN.fullmatch(pattern)
    if found is None:
        return None
    one, more = found["one"], found["more"]
    repeats, rest = divmod(len(more), len(one))
    # At the ends of a longest run of \w there is a word boundary in any case.
    needless_edges = one == r"\w" or not (found["edge"] or found["end"])
    if rest or one * repeats != more or not needless_edges:
        return None
    single = (found["flags"] or "") + one
    matches = re.compile(single).fullmatch
    classes = np.array([matches(chr(i)) is not None for i in range(128)], np.uint8)
    outside = np.flatnonzero(classes == 0)
    if not len(outside):
        return None
    steps = np.array([[0, 1 | BOUNDARY], [0 | BOUNDARY, 1]], dtype=np.uint8)
    least = repeats + int(found["least"] or 1)
    separator = int(outside[0])
    return Rule(single, classes, steps, np.array([False, True]), least, separator)


@lru_cache(maxsize=8)
def character_classes(name):
    """Return the class of every code point under a rule.

    Parameters
    ----------
    name : str
        `Rule.name`.

    Returns
    -------
    ndarray of uint8, shape (0x110000,)
    """
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    if name == "words":
        return _every_word_class(every)
    classes = np.zeros(len(every), dtype=np.uint8)
    flags, one = (name[:4], name[4:]) if name.startswith("(?") else ("", name)
    for found in re.finditer(f"{flags}(?:{one})+", every):
        classes[slice(*found.span())] = 1
    return classes


def _every_word_class(every):
    categories = list(map(unicodedata.category, every))
    of_category = {
        name: _CLASS_OF_CATEGORY.get(name, _CLASS_OF_KIND.get(name[0], OUTSIDE))
        for name in set(categories)
    }
    classes = np.frombuffer(
        bytes(map(of_category.__getitem__, categories)), dtype=np.uint8
    ).copy()
    special = (ord("_"), _NON_JOINER, _JOINER, *_REGIONAL, *_SKIN_TONES, *_TAGS)
    for code in special:
        classes[code] = word_class(chr(code))
    return classes
