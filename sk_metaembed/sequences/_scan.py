"""Compiled passes over UTF-8: find tokens, give each a code, collect the types.

Imported only where a text is long enough to be worth loading numba.
"""

import numba
import numpy as np

from ._characters import BOUNDARY


def _compiled(function):
    """Compile without the GIL; keep the machine code where a folder can be written."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no folder to keep it in: compiled again in each process
        return numba.njit(nogil=True)(function)


@_compiled
def _code_point(buffer, i):
    """Return the code point that begins at a byte, and its length in bytes."""
    lead = np.int64(buffer[i])
    if lead < 0x80:
        return lead, 1
    if lead < 0xE0:
        return (lead & 0x1F) << 6 | (buffer[i + 1] & 0x3F), 2
    middle = np.int64(buffer[i + 1] & 0x3F) << 6 | (buffer[i + 2] & 0x3F)
    if lead < 0xF0:
        return (lead & 0x0F) << 12 | middle, 3
    return (lead & 0x07) << 18 | middle << 6 | (buffer[i + 3] & 0x3F), 4


@_compiled
def find_tokens(buffer, text_ends, classes, steps, emits, min_length):
    """Find where tokens begin and end, by a rule's tables.

    Parameters
    ----------
    buffer : ndarray of uint8
        The texts in UTF-8, one behind the other.
    text_ends : ndarray of int64, shape (n_texts,)
        Where each text ends in `buffer`.
    classes : ndarray of uint8
        Class of every code point; of the first 128 if `buffer` is ASCII.
    steps, emits, min_length
        See `Rule`.

    Returns
    -------
    starts, ends : ndarray of int64, shape (n_tokens,)
    counts : ndarray of int64, shape (n_texts,)
        Number of tokens of each text.
    """
    starts = np.empty(len(buffer), np.int64)
    ends = np.empty(len(buffer), np.int64)
    counts = np.empty(len(text_ends), np.int64)
    n = 0
    i = 0
    for text in range(len(text_ends)):
        before = n
        state = 0
        start = i
        length = 0
        while i < text_ends[text]:
            code, width = _code_point(buffer, i)
            step = steps[state, classes[code]]
            if step & BOUNDARY:
                if emits[state] and length >= min_length:
                    starts[n] = start
                    ends[n] = i
                    n += 1
                start = i
                length = 0
            state = step & ~BOUNDARY
            length += 1
            i += width
        if emits[state] and length >= min_length:
            starts[n] = start
            ends[n] = i
            n += 1
        counts[text] = n - before
    return starts[:n].copy(), ends[:n].copy(), counts


@_compiled
def _hash(buffer, start, end):
    """Return a hash; of two spans of one length up to 8 it is never the same.

    Each round is a bijection of 64 bits, and 8 bytes go through a single one.
    """
    hashed = np.uint64(end - start) * np.uint64(0x9E3779B97F4A7C15)
    i = start
    while i < end:
        word = np.uint64(0)
        shift = np.uint64(0)
        for j in range(i, min(i + 8, end)):
            word |= np.uint64(buffer[j]) << shift
            shift += np.uint64(8)
        hashed ^= word
        hashed *= np.uint64(0xFF51AFD7ED558CCD)
        hashed ^= hashed >> np.uint64(32)
        i += 8
    return hashed


@_compiled
def _same(buffer, a, b, length):
    j = 0
    while j < length and buffer[a + j] == buffer[b + j]:
        j += 1
    return j == length


@_compiled
def _grown(hashes, n_types, capacity):
    """Return a table of `capacity` slots that holds the types so far."""
    slots = np.full(capacity, -1, np.int32)
    mask = np.uint64(capacity - 1)
    for row in range(n_types):
        at = hashes[row] & mask
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = row
    return slots


@_compiled
def code_tokens(buffer, starts, ends):
    """Code the spans by the distinct ones, numbered in first-seen order.

    Spans are compared byte by byte: equal hashes cost time, never a wrong code.

    Parameters
    ----------
    buffer : ndarray of uint8
    starts, ends : ndarray of int64, shape (n_tokens,)

    Returns
    -------
    codes : ndarray of int32, shape (n_tokens,)
    firsts : ndarray of int64, shape (n_types,)
        Token in which each type is first seen.
    """
    codes = np.empty(len(starts), np.int32)
    capacity = 1024
    while capacity < len(starts) // 8:
        capacity *= 2
    firsts = np.empty(capacity // 2, np.int64)
    hashes = np.empty(capacity // 2, np.uint64)
    slots = _grown(hashes, 0, capacity)
    mask = np.uint64(capacity - 1)
    n_types = 0
    for token in range(len(starts)):
        start = starts[token]
        length = ends[token] - start
        hashed = _hash(buffer, start, start + length)
        at = hashed & mask
        row = slots[at]
        while row >= 0:
            if hashes[row] == hashed:
                first = starts[firsts[row]]
                if ends[firsts[row]] - first == length and (
                    length <= 8 or _same(buffer, first, start, length)
                ):
                    break
            at = (at + np.uint64(1)) & mask
            row = slots[at]
        if row < 0:
            row = n_types
            slots[at] = row
            firsts[row] = token
            hashes[row] = hashed
            n_types += 1
            if 2 * n_types >= capacity:
                firsts = np.concatenate((firsts, np.empty_like(firsts)))
                hashes = np.concatenate((hashes, np.empty_like(hashes)))
                capacity *= 2
                mask = np.uint64(capacity - 1)
                slots = _grown(hashes, n_types, capacity)
        codes[token] = row
    return codes, firsts[:n_types].copy()


@_compiled
def gather_spans(buffer, starts, ends, separator):
    """Return the bytes of the spans, a separator behind each.

    Parameters
    ----------
    buffer : ndarray of uint8
    starts, ends : ndarray of int64, shape (n,)
    separator : int

    Returns
    -------
    ndarray of uint8
    """
    total = len(starts)
    for k in range(len(starts)):
        total += ends[k] - starts[k]
    gathered = np.empty(total, np.uint8)
    at = 0
    for k in range(len(starts)):
        for j in range(starts[k], ends[k]):
            gathered[at] = buffer[j]
            at += 1
        gathered[at] = separator
        at += 1
    return gathered
