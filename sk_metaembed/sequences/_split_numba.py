"""Compiled code to find and code the tokens in UTF-8.

Imported only for input that is long enough to justify loading numba.
"""

import numpy as np

from .._kernels._numba import cached_njit, code_point, hash_bytes, prefetch, same_bytes
from ._characters import BOUNDARY

_AHEAD = 16  # number of spans that slots and records are requested ahead


@cached_njit
def find_tokens(buffer, text_ends, classes, steps, emits, min_length):
    """Find tokens in concatenated UTF-8 by the tables of a `Rule`.

    `text_ends` are the ends of the texts in `buffer`; `classes` has the class of every
    code point, or of the first 128 if `buffer` is ASCII. Returns starts and ends,
    (n_tokens,) each, and the number of tokens per text, (n_texts,).
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
            code, width = code_point(buffer, i)
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


@cached_njit
def find_ascii_tokens(buffer, text_ends, kinds, min_length):
    """Find tokens as `find_tokens` does, but in ASCII and without a branch per byte.

    `kinds` is `Rule.ascii_kinds`. Each text ends in a character that is in no token.
    """
    n_bytes = text_ends[-1]
    starts = np.empty(n_bytes + 1, np.int64)
    ends = np.empty(n_bytes + 1, np.int64)
    n = np.int64(0)
    n_ends = np.int64(0)
    before = np.uint8(0)
    for i in range(n_bytes):
        kind = kinds[buffer[i]]
        starts[n] = i
        n += np.int64((kind & ~before) | (kind >> 1)) & 1
        ends[n_ends] = i
        n_ends += np.int64((before & ~kind) | (before >> 1)) & 1
        before = kind
    if min_length > 1:
        every = n
        n = 0
        for k in range(every):
            starts[n] = starts[k]
            ends[n] = ends[k]
            n += ends[k] - starts[k] >= min_length
    counts = np.empty(len(text_ends), np.int64)
    k = np.int64(0)
    for text in range(len(text_ends)):
        first = k
        while k < n and starts[k] < text_ends[text]:
            k += 1
        counts[text] = k - first
    return starts[:n], ends[:n], counts


@cached_njit
def hash_spans(buffer, starts, ends):
    """Return a hash of each non-empty span, uint64 (n_spans,)."""
    hashes = np.empty(len(starts), np.uint64)
    for k in range(len(starts)):
        hashes[k] = hash_bytes(buffer, starts[k], ends[k])
    return hashes


@cached_njit
def _slots(records, n_types, capacity):
    """Return an open-addressed table of rows of `records`, -1 in free slots."""
    slots = np.full(capacity, -1, np.int32)
    mask = np.uint64(capacity - 1)
    for row in range(n_types):
        at = records[row, 0] & mask
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = row
    return slots


@cached_njit
def code_spans(buffer, starts, ends, hashes):
    """Code spans by their distinct values, in first-seen order.

    Bytes are compared wherever the hash does not prove that spans are equal: collisions
    cost time, never a wrong code. Returns codes, int32 (n_spans,), and the span in
    which each type occurs first, (n_types,).
    """
    codes = np.empty(len(starts), np.int32)
    capacity = 1024
    while capacity < len(starts) // 8:
        capacity *= 2
    # Hash, length, start and span of each type: half a line of the processor's cache.
    records = np.empty((capacity // 2, 4), np.uint64)
    slots = _slots(records, 0, capacity)
    mask = np.uint64(capacity - 1)
    n_types = 0
    for span in range(len(starts)):
        if span + 2 * _AHEAD < len(starts):
            at = hashes[span + 2 * _AHEAD] & mask
            prefetch(slots, np.int64(at) * slots.itemsize)
            row = slots[hashes[span + _AHEAD] & mask]
            if row >= 0:
                prefetch(records, np.int64(row) * 4 * records.itemsize)
        hashed = hashes[span]
        length = np.uint64(ends[span] - starts[span])
        at = hashed & mask
        row = slots[at]
        while row >= 0:
            if (
                records[row, 0] == hashed
                and records[row, 1] == length
                and (
                    length <= np.uint64(8)
                    or same_bytes(
                        buffer,
                        np.int64(records[row, 2]),
                        buffer,
                        starts[span],
                        ends[span] - starts[span],
                    )
                )
            ):
                break
            at = (at + np.uint64(1)) & mask
            row = slots[at]
        if row < 0:
            row = n_types
            slots[at] = row
            records[row, 0] = hashed
            records[row, 1] = length
            records[row, 2] = np.uint64(starts[span])
            records[row, 3] = np.uint64(span)
            n_types += 1
            if 2 * n_types >= capacity:
                capacity *= 2
                mask = np.uint64(capacity - 1)
                records = np.concatenate((records, np.empty_like(records)))
                slots = _slots(records, n_types, capacity)
        codes[span] = row
    return codes, records[:n_types, 3].astype(np.int64)


@cached_njit
def copy_spans(buffer, starts, ends, separator):
    """Return the bytes of spans, each followed by a separator."""
    copied = np.empty((ends - starts).sum() + len(starts), np.uint8)
    n = 0
    for span in range(len(starts)):
        for i in range(starts[span], ends[span]):
            copied[n] = buffer[i]
            n += 1
        copied[n] = separator
        n += 1
    return copied
