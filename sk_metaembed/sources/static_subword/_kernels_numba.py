"""Compiled loops: words of texts, WordPiece by maximal matching.

Imported inside functions only, because numba is slow to load.
"""

import numpy as np

from ..._io._bytes_numba import code_point, hash_bytes
from ..._io._numba import cached_njit

REMOVED, SPACE, LETTER, ISOLATED, REFUSED = range(5)
_CONTINUES = np.uint64(0x9E3779B97F4A7C15)  # distinguishes pieces inside of words


@cached_njit
def unseen_characters(data, entries, unseen):
    """Return the code points of UTF-8 whose entry is `unseen`, each once.

    They are marked as `unseen` - 1 meanwhile.
    """
    found = np.empty(64, np.int32)
    n = 0
    i = 0
    while i < len(data):
        if data[i] < 0x80:
            i += 1
            continue
        code, width = code_point(data, i)
        if entries[code] == unseen:
            entries[code] = unseen - 1
            if n == len(found):
                found = np.concatenate((found, np.empty_like(found)))
            found[n] = code
            n += 1
        i += width
    return found[:n]


@cached_njit
def _begins(data, i, end, patterns, pattern_ends):
    """Return whether one of the patterns occurs at a byte."""
    start = np.int64(0)
    for k in range(len(pattern_ends)):
        length = pattern_ends[k] - start
        if i + length <= end:
            j = 0
            while j < length and data[i + j] == patterns[start + j]:
                j += 1
            if j == length:
                return True
        start = pattern_ends[k]
    return False


@cached_njit
def _close(starts, ends, n, start, end):
    """Record a word unless it is empty; return the number of words."""
    if end > start:
        starts[n] = start
        ends[n] = end
        n += 1
    return n


@cached_njit
def _write_form(pool, first, last, out, o, starts, ends, n, start):
    """Write a normal form, in which spaces end words; return o, n and start."""
    for j in range(first, last):
        if pool[j] != 32:
            out[o] = pool[j]
            o += 1
        else:
            n = _close(starts, ends, n, start, o)
            start = o
    return o, n, start


@cached_njit
def _read_text(
    data, i, end, kinds, written, table, patterns, first_bytes, out, o, starts, ends, n
):
    """Read ``data[i:end]``; return o, n, and whether it is read as a whole."""
    entries, pool, pool_ends = table
    start = o
    while i < end:
        byte = data[i]
        if first_bytes[byte] and _begins(data, i, end, patterns[0], patterns[1]):
            return o, n, False
        if byte >= 128:
            code, width = code_point(data, i)
            i += width
            entry = entries[code]
            if entry < 0:
                return o, n, False
            first, last = pool_ends[entry], pool_ends[entry + 1]
            o, n, start = _write_form(pool, first, last, out, o, starts, ends, n, start)
            continue
        i += 1
        kind = kinds[byte]
        if kind == LETTER:
            out[o] = written[byte]
            o += 1
        elif kind == REFUSED:
            return o, n, False
        elif kind != REMOVED:
            n = _close(starts, ends, n, start, o)
            start = o
            if kind == ISOLATED:
                out[o] = written[byte]
                o += 1
                n = _close(starts, ends, n, start, o)
                start = o
    return o, _close(starts, ends, n, start, o), True


@cached_njit
def read_words(data, text_ends, kinds, written, table, patterns, out):
    """Find the words of UTF-8 texts and write their normal forms one after another.

    A byte below 128 has a kind and a normal form, ``kinds`` and ``written``; another
    character an entry: its normal form in the pool of a `CharacterTable`. A text with
    one of the patterns (bytes, ends), or with a refused character (a negative entry),
    is left out.

    Returns starts and ends of words in `out`, (n_words,), the number of words per text,
    and whether it was left out, (n_texts,).
    """
    starts = np.empty(len(out), np.int64)
    ends = np.empty(len(out), np.int64)
    counts = np.zeros(len(text_ends), np.int64)
    left_out = np.zeros(len(text_ends), np.bool_)
    first_bytes = np.zeros(256, np.bool_)
    begin = np.int64(0)
    for end in patterns[1]:
        first_bytes[patterns[0][begin]] = True
        begin = end
    n = np.int64(0)
    i = np.int64(0)
    o = np.int64(0)
    options = kinds, written, table, patterns, first_bytes
    for text in range(len(text_ends)):
        end = text_ends[text]
        new_o, new_n, complete = _read_text(
            data, i, end, *options, out, o, starts, ends, n
        )
        if complete:
            counts[text] = new_n - n
            o = new_o
            n = new_n
        left_out[text] = not complete
        i = end
    return starts[:n], ends[:n], counts, left_out


@cached_njit
def vocabulary_slots(pool, ends, continues):
    """Return an open-addressed table of pieces by their bytes, -1 in free slots."""
    capacity = 1024
    while capacity < 3 * len(ends):
        capacity *= 2
    mask = np.uint64(capacity - 1)
    slots = np.full(capacity, -1, np.int32)
    start = np.int64(0)
    for piece in range(len(ends)):
        hashed = hash_bytes(pool, start, ends[piece])
        if continues[piece]:
            hashed ^= _CONTINUES
        at = hashed & mask
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = piece
        start = ends[piece]
    return slots


@cached_njit
def _find(buffer, start, end, inside, vocabulary):
    """Return the number of a piece, -1 if there is none of these bytes."""
    slots, pool, ends, continues = vocabulary
    hashed = hash_bytes(buffer, start, end)
    if inside:
        hashed ^= _CONTINUES
    mask = np.uint64(len(slots) - 1)
    at = hashed & mask
    while slots[at] >= 0:
        piece = slots[at]
        first = ends[piece - 1] if piece > 0 else np.int64(0)
        if continues[piece] == inside and ends[piece] - first == end - start:
            j = 0
            while j < end - start and pool[first + j] == buffer[start + j]:
                j += 1
            if j == end - start:
                return piece
        at = (at + np.uint64(1)) & mask
    return np.int32(-1)


@cached_njit
def _match(buffer, start, end, vocabulary, ids, longest, found, n):
    """Append the pieces of a word; return their number so far, -1 if it has none."""
    at = start
    while at < end:
        stop = min(end, at + longest)
        piece = np.int32(-1)
        while stop > at and piece < 0:
            if stop == end or (buffer[stop] & 0xC0) != 0x80:
                piece = _find(buffer, at, stop, at > start, vocabulary)
            stop -= 1
        if piece < 0:
            return -1
        found[n] = ids[piece]
        n += 1
        at = stop + 1
    return n


@cached_njit
def match_words(buffer, starts, ends, vocabulary, ids, longest, limit, unknown):
    """Split words by maximal matching from the left.

    `vocabulary` are the slots, bytes, ends and positions of pieces, `longest` the bytes
    of the longest one. A word of more than `limit` characters, or with a part that is
    no piece, is the piece `unknown`. Returns the ids of all words, and where each word
    ends.
    """
    total = len(starts)
    for k in range(len(starts)):
        total += ends[k] - starts[k]
    found = np.empty(total, np.int32)
    found_ends = np.empty(len(starts), np.int64)
    n = 0
    for k in range(len(starts)):
        n_characters = 0
        for j in range(starts[k], ends[k]):
            n_characters += (buffer[j] & 0xC0) != 0x80
        after = -1
        if n_characters <= limit:
            after = _match(
                buffer, starts[k], ends[k], vocabulary, ids, longest, found, n
            )
        if after < 0:
            found[n] = unknown
            after = n + 1
        n = after
        found_ends[k] = n
    return found[:n].copy(), found_ends


@cached_njit
def spread(codes, counts, ids, id_ends):
    """Return the ids of texts, given their words' codes, and where each text ends.

    Word `code` has ``ids[id_ends[code - 1]:id_ends[code]]``.
    """
    total = np.int64(0)
    for code in codes:
        total += id_ends[code] - (id_ends[code - 1] if code > 0 else 0)
    out = np.empty(total, np.int32)
    ends = np.empty(len(counts), np.int64)
    n = np.int64(0)
    k = np.int64(0)
    for text in range(len(counts)):
        for word in range(k, k + counts[text]):
            code = codes[word]
            for j in range(id_ends[code - 1] if code > 0 else 0, id_ends[code]):
                out[n] = ids[j]
                n += 1
        k += counts[text]
        ends[text] = n
    return out, ends
