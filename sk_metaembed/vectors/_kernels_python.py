"""Loops of `_kernels_numba` in Python, for too few words to load numba."""

import numpy as np

_MASK_32, _MASK_64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


def _words(buf, starts, ends):
    data = buf.tobytes()
    pairs = zip(starts.tolist(), ends.tolist(), strict=True)
    return [data[start:end] for start, end in pairs]


def _hash(word):
    h = len(word) * 0x9E3779B97F4A7C15 & _MASK_64
    for start in range(0, len(word), 8):
        h ^= int.from_bytes(word[start : start + 8], "little")
        h = h * 0xFF51AFD7ED558CCD & _MASK_64
        h ^= h >> 32
    return h


def _row(word, blob, offsets, slots):
    """Return the row of a word, -1 if it is absent, -2 if the table is corrupt."""
    h, n_words, mask = _hash(word), len(offsets) - 1, len(slots) - 1
    tag = (h >> 40) << 8 | min(len(word), 255)
    head, at = int.from_bytes(word[:8], "little"), h & mask
    for _ in range(len(slots)):
        entry = slots[at, 0]
        if entry == 0:
            return -1
        if entry >> 32 == tag and slots[at, 1] == head:
            row = (entry & _MASK_32) - 1
            if not 0 <= row < n_words:
                return -2
            if len(word) <= 8:
                return row
            first, last = offsets[row], offsets[row + 1] - 1
            if first < 0 or last < first or last > len(blob):
                return -2
            if blob[first:last] == word:
                return row
        at = (at + 1) & mask
    return -2


def find_rows(buf, starts, blob, offsets, slots, rows):
    """Write the row of each query word, or -1."""
    words = _words(buf, starts[:-1], starts[1:] - 1)
    # Reading single entries is faster from a memoryview than from an array.
    store = memoryview(blob), memoryview(offsets), memoryview(slots)
    rows[:] = [_row(word, *store) for word in words]


def ngram_buckets(buf, starts, ends, min_n, max_n, n_buckets, indptr, ids):
    """Hash the n-grams of every ``<word>`` into ``ids``, which may be longer."""
    total = 0
    for row, word in enumerate(_words(buf, starts, ends)):
        text = f"<{word.decode('utf-8', 'surrogatepass')}>"
        characters = [c.encode("utf-8", "surrogatepass") for c in text]
        last = len(characters) - 1
        for first in range(last + 1):
            hashed = 2166136261  # FNV-1a
            for n, character in enumerate(characters[first : first + max_n], 1):
                for byte in character:
                    signed = byte | 0xFFFFFF00 if byte > 127 else byte  # as fastText
                    hashed = (hashed ^ signed) * 16777619 & _MASK_32
                # "<" and ">" alone are no n-grams.
                if n >= min_n and not (n == 1 and first in (0, last)):
                    ids[total] = hashed % n_buckets
                    total += 1
        indptr[row + 1] = total


def add_means(ids, indptr, table, own, out):
    """Add the table rows of each word to ``out`` and divide by their number."""
    for row, total in enumerate(out):
        own_ids = ids[indptr[row] : indptr[row + 1]]
        for i in own_ids:  # one after the other, as the compiled loop rounds
            total += table[i]
        total /= np.float32(max(len(own_ids) + own, 1))
