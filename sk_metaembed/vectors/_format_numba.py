"""Compiled writing of float32 as text: the fewest digits that give it back.

Imported only inside functions, for numba's sake.
"""

import numpy as np

from .._io._numba import cached_njit

WIDEST = 16  # bytes of "-1.23456789e-38" and the blank before it
_LARGEST = 60
_POWERS = np.array([float(f"1e{i}") for i in range(_LARGEST + 1)])
_HALF_STEPS = np.array([2.0 ** (max(e, 1) - 151) for e in range(255)])
_WITHIN = 1e-14  # many times what scaling in float64 is off by


@cached_njit
def _scaled(value, exponent):
    """Return value * 10**exponent to a float64's last bits."""
    if exponent >= 0:
        return value * _POWERS[exponent]
    return value / _POWERS[-exponent]


@cached_njit
def _exponent_of(value):
    """Return the decimal exponent of a positive number."""
    exponent = np.int64(np.floor(np.log10(value)))
    if _scaled(1.0, exponent) > value:
        exponent -= 1
    elif _scaled(1.0, exponent + 1) <= value:
        exponent += 1
    return exponent


@cached_njit
def _shortest(value, field):
    """Return (digits, exponent of the first digit) of a positive float32.

    A decimal is read back as this float32 if it lies within half a step of it. Six
    digits that do are those of any shorter number that does, with zeros behind it,
    down to 1.2e-38, where a float32 begins to hold less than six; nine always do.
    The bounds are drawn in by more than scaling is off by, so that a reader that goes
    by way of float64 finds the same number; one right on a bound is passed over.

    Parameters
    ----------
    value : float64
        The float32, exactly.
    field : int
        Its bits of exponent.
    """
    half = _HALF_STEPS[field]
    # Below a power of two the steps are half as long.
    low = half / 2 if field > 1 and value == half * 2.0**24 else half
    least = (value - low) * (1 + _WITHIN)
    most = (value + half) * (1 - _WITHIN)
    first = _exponent_of(value)
    digits = np.int64(0)
    for n_digits in range(6, 10):
        shift = n_digits - 1 - first
        digits = np.int64(np.rint(_scaled(value, shift)))
        back = _scaled(np.float64(digits), -shift)
        if least < back < most:
            break
    if digits == np.int64(_POWERS[n_digits]):  # 9.9999999 was rounded up to 10
        first += 1
    while digits % 10 == 0:
        digits //= 10
    return digits, first


@cached_njit
def _count(digits):
    count = 0
    while digits > 0:
        digits //= 10
        count += 1
    return count


@cached_njit
def _put_digits(out, at, digits, count):
    """Write the last ``count`` digits, with zeros in front where there are fewer."""
    for i in range(at + count - 1, at - 1, -1):
        out[i] = 48 + digits % 10
        digits //= 10
    return at + count


@cached_njit
def _put_fixed(out, at, digits, count, first):
    if first < 0:
        out[at], out[at + 1] = 48, 46
        return _put_digits(out, at + 2, digits, count - 1 - first)
    whole = first + 1
    if count <= whole:
        at = _put_digits(out, at, digits, count)
        for _ in range(whole - count):
            out[at] = 48
            at += 1
        out[at], out[at + 1] = 46, 48
        return at + 2
    split = np.int64(_POWERS[count - whole])
    at = _put_digits(out, at, digits // split, whole)
    out[at] = 46
    return _put_digits(out, at + 1, digits % split, count - whole)


@cached_njit
def _put_scientific(out, at, digits, count, first):
    split = np.int64(_POWERS[count - 1])
    at = _put_digits(out, at, digits // split, 1)
    if count > 1:
        out[at] = 46
        at = _put_digits(out, at + 1, digits % split, count - 1)
    out[at] = 101
    out[at + 1] = 45 if first < 0 else 43
    return _put_digits(out, at + 2, abs(first), 2)


@cached_njit
def _put_number(out, at, value, bits):
    if bits >> np.uint32(31):
        out[at] = 45
        at += 1
    size = abs(np.float64(value))
    if size == 0.0:
        out[at], out[at + 1], out[at + 2] = 48, 46, 48
        return at + 3
    digits, first = _shortest(size, np.int64(bits >> np.uint32(23)) & 255)
    count = _count(digits)
    if size < 1e-4 or size >= 1e9:
        return _put_scientific(out, at, digits, count, first)
    return _put_fixed(out, at, digits, count, first)


@cached_njit
def put_lines(blob, offsets, matrix, bits, out):
    """Write one line a word: the word, then each number after a blank.

    Parameters
    ----------
    blob, offsets : ndarray
        Packed words.
    matrix : ndarray of float32, shape (n_words, dim)
        Finite.
    bits : ndarray of uint32, shape (n_words, dim)
        The same memory.
    out : ndarray of uint8
        With room for all words and `WIDEST` bytes a number.

    Returns
    -------
    int
        Number of bytes written.
    """
    at = 0
    for row in range(len(matrix)):
        for i in range(offsets[row], offsets[row + 1] - 1):
            out[at] = blob[i]
            at += 1
        for column in range(matrix.shape[1]):
            out[at] = 32
            at = _put_number(out, at + 1, matrix[row, column], bits[row, column])
        out[at] = 10
        at += 1
    return at
