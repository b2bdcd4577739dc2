"""Codes of digits, and the numbers that tools make of them.

A number has no zeros in front, a float at most 17 digits. Excel keeps 15 digits, and
writers of its files 15 or 16.
"""

import re

_ROUNDED = re.compile(r"\d(?:\.\d+)?[eE]\+\d\d")
_EXACT = 15  # digits of any float


def find_codes(texts):
    """Return the codes of digits by their numbers, and the length of those with zeros.

    The length is 0 if none has zeros in front. There are no codes by numbers if all
    have one length. Where digits are rare, a number can be a string of its own.
    """
    texts = {*texts} - {""}
    digits = sorted(filter(str.isdecimal, texts))
    length = max((len(text) for text in digits if text[0] == "0"), default=0)
    if length < 2:
        return None, 0
    are_most = len(digits) >= len(texts) / 2
    if are_most and {*map(len, digits)} == {length}:
        return None, length
    codes = {}
    for text in digits:
        codes.setdefault(text.lstrip("0") or "0", []).append(text)
    for number, found in codes.items():
        if not are_most and number not in found:
            found.append(number)
    return codes, length


def codes_by_float(codes):
    """Return the long ones among codes of digits by the floats that they become."""
    found = {}
    for code in codes:
        if len(code) > _EXACT and code.isdecimal():
            number = float(code)
            by_excel = float(code[:_EXACT].ljust(len(code), "0"))
            written = float(f"{number:.15g}"), float(f"{number:.16g}")
            for each in {number, by_excel, *written}:
                found.setdefault(each, []).append(code)
    return found


def is_rounded(text):
    """Return whether a text is a number without its last digits, as 1.5e+18."""
    return "+" in text and _ROUNDED.fullmatch(text) is not None


def may_be_rounded(text):
    """Return whether the last digits of a number can be those of a float."""
    if len(text) > _EXACT and text.isdecimal():
        return float(text) == int(text) or not text[_EXACT:].strip("0")
    return is_rounded(text)
