"""The minimal program of `_bare_pass` for machines without gcc."""

import numba
import numpy as np

compiled = numba.njit(nogil=True, fastmath=True)
LONGEST = 256


@compiled
def _first_slot(data, begin, end, mask):
    hashed = np.uint64(1469598103934665603)
    for j in range(begin, end):
        hashed = (hashed ^ np.uint64(data[j])) * np.uint64(1099511628211)
    return (hashed ^ (hashed >> np.uint64(32))) & np.uint64(mask)


@compiled
def fill(words, ends, n, slots, mask):
    for row in range(n):
        at = _first_slot(words, ends[row - 1] if row else 0, ends[row], mask)
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & np.uint64(mask)
        slots[at] = row


@compiled
def _find(word, length, words, ends, slots, mask):
    at = _first_slot(word, 0, length, mask)
    while slots[at] >= 0:
        row = slots[at]
        begin = ends[row - 1] if row else 0
        j = 0
        if ends[row] - begin == length:
            while j < length and words[begin + j] == word[j]:
                j += 1
            if j == length:
                return row
        at = (at + np.uint64(1)) & np.uint64(mask)
    return -1


@compiled
def _next_word(text, i, end, word):
    """Copy lower-cased letters up to the next gap; return the end of the gap."""
    length = 0
    while i < end:
        c = text[i]
        i += 1
        if 65 <= c <= 90:
            c |= 32
        if not (97 <= c <= 122 or 48 <= c <= 57 or c == 95):
            break
        if length < LONGEST:
            word[length] = c
            length += 1
    return i, length


@compiled
def mean_vectors(
    text, text_ends, first, last, words, ends, slots, mask, matrix, dim, out
):
    word = np.empty(LONGEST, np.uint8)
    for d in range(first, last):
        i = text_ends[d - 1] if d else 0
        n_tokens = 0
        out[d] = 0
        while i < text_ends[d]:
            i, length = _next_word(text, i, text_ends[d], word)
            if length == 0:
                continue
            n_tokens += 1
            row = _find(word, length, words, ends, slots, mask)
            if row >= 0:
                for j in range(dim):
                    out[d, j] += matrix[row, j]
        if n_tokens:
            out[d] /= np.float32(n_tokens)
