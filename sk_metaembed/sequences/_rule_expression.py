"""A rule that defines tokens as a regular expression, for tokenizers outside Python.

It lists the characters of a class by their code points: what is a letter for compiled
tokenizers otherwise depends on the version of Unicode that they were built for.
"""

import numpy as np

from ._characters import (
    JOINER,
    MARK,
    MODIFIER,
    REGIONAL,
    SELECTOR,
    SYMBOL,
    WORD,
    character_classes,
)


def rule_expression(rule):
    """Return an Oniguruma expression whose matches are the tokens of a `Rule`.

    Quantifiers are possessive, so that long tokens need no memory for backtracking.
    """
    classes = character_classes(rule.name)
    if rule.name != "words":
        one = character_set(classes == 1)
        least = rule.min_length - 1
        return (f"{one}{{{least}}}" if least else "") + f"{one}++"

    def any_of(*kinds):
        return character_set(np.isin(classes, kinds))

    word = any_of(WORD) + any_of(WORD, MARK, SELECTOR, JOINER) + "*+"
    if not rule.emits[-1]:
        return word
    flag = any_of(REGIONAL)
    begin = f"(?:{flag}{flag}?+|{any_of(MARK, MODIFIER, SYMBOL)})"
    joined = f"{any_of(JOINER)}{any_of(SYMBOL)}?+"
    return f"{word}|{begin}(?:{any_of(MARK, SELECTOR, MODIFIER)}|{joined})*+"


def character_set(chosen):
    r"""Return a regular expression for one of the chosen code points, bool (0x110000,).

    Without surrogates, which no valid text contains.

    >>> chosen = np.zeros(0x110000, dtype=bool)
    >>> chosen[[ord("a"), ord("b"), ord("z")]] = True
    >>> character_set(chosen)
    '[\\x{61}-\\x{62}\\x{7a}-\\x{7a}]'
    """
    flags = np.zeros(len(chosen) + 2, dtype=np.int8)
    flags[1:-1] = chosen
    flags[0xD800 + 1 : 0xE000 + 1] = 0
    edges = np.flatnonzero(np.diff(flags))
    pairs = zip(edges[::2].tolist(), (edges[1::2] - 1).tolist(), strict=True)
    ranges = (f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in pairs)
    return f"[{''.join(ranges)}]"
