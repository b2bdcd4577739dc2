"""Compiled loops over bytes; imported inside functions, to load numba only if needed.

Words are passed as one byte buffer with start and end positions, so that no loop uses
a Python object.
"""

import numpy as np

from .._kernels._numba import (
    cached_njit,
    hash_bytes,
    inlined_njit,
    low_bytes,
    prefetch,
    same_bytes,
)

LONGEST = 255  # largest stored word length; longer words store this value
_AHEAD = 16  # words between prefetching a slot and using it


@inlined_njit
def _probe(hashed, buf, start, end, blob, offsets, slots):
    """Return (slot, row) of a word with a known hash; row is -1 if the slot is empty.

    The row is -2 if an entry of the table points out of bounds (corrupt file).
    """
    length = end - start
    tag = np.uint64(hashed >> np.uint64(40)) << np.uint64(8)
    tag |= np.uint64(min(length, LONGEST))
    head = low_bytes(buf, start, length)
    mask = np.uint64(len(slots) - 1)
    at = hashed & mask
    for _ in range(len(slots)):
        entry = slots[at, 0]
        if entry == np.uint64(0):
            return at, np.int64(-1)
        if entry >> np.uint64(32) == tag and slots[at, 1] == head:
            row = np.int64(entry & np.uint64(0xFFFFFFFF)) - 1
            if row < 0 or row + 1 >= len(offsets):
                return at, np.int64(-2)
            if length <= 8:
                return at, row
            first, last = offsets[row], offsets[row + 1] - 1
            if first < 0 or last < first or last > len(blob):
                return at, np.int64(-2)
            if last - first == length and same_bytes(buf, start, blob, first, length):
                return at, row
        at = (at + np.uint64(1)) & mask
    return at, np.int64(-2)


@cached_njit
def fill_slots(blob, offsets, slots, first):
    """Insert every word; set ``first[i]`` to the first row with word i."""
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1] - 1
        hashed = hash_bytes(blob, start, end)
        at, other = _probe(hashed, blob, start, end, blob, offsets, slots)
        first[row] = row if other < 0 else other
        if other < 0:
            tag = np.uint64(hashed >> np.uint64(40)) << np.uint64(8)
            tag |= np.uint64(min(end - start, LONGEST))
            slots[at, 0] = (tag << np.uint64(32)) | np.uint64(row + 1)
            slots[at, 1] = low_bytes(blob, start, end - start)


@cached_njit
def find_rows(buf, starts, blob, offsets, slots, rows):
    """Write the row of each query word, or -1."""
    n = len(starts) - 1
    hashes = np.empty(n, np.uint64)
    for i in range(n):
        hashes[i] = hash_bytes(buf, starts[i], starts[i + 1] - 1)
    mask = np.uint64(len(slots) - 1)
    for i in range(n):
        if i + _AHEAD < n:
            prefetch(slots, np.int64((hashes[i + _AHEAD] & mask) * np.uint64(16)))
        start, end = starts[i], starts[i + 1] - 1
        _, rows[i] = _probe(hashes[i], buf, start, end, blob, offsets, slots)


@cached_njit
def _fold(h, byte):
    """Add one byte to a 32-bit FNV-1a hash, as a signed char like fastText."""
    return np.uint32((h ^ np.uint32(np.int32(np.int8(byte)))) * np.uint32(16777619))


@cached_njit
def ngram_buckets(buf, starts, ends, min_n, max_n, n_buckets, indptr, ids):
    """Hash the n-grams of every ``<word>`` into ``ids``, which may be longer.

    N-grams are sequences of code points. fastText hashes bytes as signed characters, so
    bytes above 127 are sign-extended before the xor.
    """
    total = np.int64(0)
    for row in range(len(starts)):
        size = ends[row] - starts[row] + 2
        text = np.empty(size, np.uint8)
        text[0], text[size - 1] = 60, 62
        for i in range(size - 2):
            text[i + 1] = buf[starts[row] + i]
        for i in range(size):
            if text[i] & 0xC0 == 0x80:
                continue
            h = np.uint32(2166136261)
            at, n = i, 0
            while at < size and n < max_n:
                n += 1
                h = _fold(h, text[at])
                at += 1
                while at < size and text[at] & 0xC0 == 0x80:
                    h = _fold(h, text[at])
                    at += 1
                if n >= min_n and not (n == 1 and (i == 0 or at == size)):
                    ids[total] = h % np.uint32(n_buckets)
                    total += 1
        indptr[row + 1] = total


@cached_njit
def add_means(ids, indptr, table, own, out):
    """Add the table rows of each word to ``out``, and divide by the number of rows.

    With ``own`` = 1, the initial ``out`` is the word's own vector and counts too.
    """
    for row in range(len(indptr) - 1):
        for k in range(indptr[row], indptr[row + 1]):
            for j in range(out.shape[1]):
                out[row, j] += table[ids[k], j]
        count = np.float32(indptr[row + 1] - indptr[row] + own)
        if count > 0:
            for j in range(out.shape[1]):
                out[row, j] /= count
