"""The loops of `_kernels_numba` in Python, for too few words to load numba."""

import numpy as np

_MASK_32, _MASK_64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
_PLACES = 1 << 16  # n-grams of words at a time


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


def gather_words(buf, starts, ends, blob, offsets):
    """Copy words side by side, each followed by a newline."""
    words = [
        buf[start:end].tobytes()
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    blob[:] = np.frombuffer(b"".join(word + b"\n" for word in words), np.uint8)
    offsets[0] = 0
    np.cumsum([len(word) + 1 for word in words], out=offsets[1:])


def ngram_buckets(buf, starts, ends, min_n, max_n, n_buckets, indptr, ids):
    """Hash the n-grams of every ``<word>`` into ``ids``, which may be longer."""
    if not len(starts):
        return
    text = b"".join([b"<" + word + b">" for word in _words(buf, starts, ends)])
    chars = _Characters(np.frombuffer(text, np.uint8), ends - starts + 2)
    # Of the n-grams that begin at each character, in order.
    lengths = np.minimum(chars.n_left, max_n)
    least = np.full(len(lengths), max(min_n, 1))
    if min_n <= 1:  # "<" and ">" alone are no n-grams
        least[chars.first] = least[chars.n_left == 1] = 2
    counts = np.maximum(lengths - least + 1, 0)
    np.cumsum(np.add.reduceat(counts, chars.first), out=indptr[1:])
    slots = np.cumsum(counts) - counts - least
    at, hashes = np.arange(len(lengths)), np.full(len(lengths), 2166136261, np.uint32)
    for n in range(1, max_n + 1):
        longer = lengths[at] >= n
        at, hashes = at[longer], chars.hash(hashes[longer], at[longer] + n - 1)
        counted = least[at] <= n
        ids[slots[at[counted]] + n] = hashes[counted] % np.uint32(n_buckets)


class _Characters:
    """The characters of words that are one after the other, given by their UTF-8."""

    def __init__(self, text, sizes):
        begins = np.flatnonzero((text & 0xC0) != 0x80)
        self._begins, self._sizes = begins, np.diff(begins, append=len(text))
        # fastText's bytes are signed.
        self._signed = text.astype(np.int8).astype(np.int32).view(np.uint32)
        self.first = np.searchsorted(begins, np.cumsum(sizes) - sizes)
        ends = np.append(self.first[1:], len(begins))
        # Number of characters from each to the end of its word.
        self.n_left = np.repeat(ends, ends - self.first) - np.arange(len(begins))

    def hash(self, hashes, characters):
        """Return FNV-1a hashes, (n,) uint32, continued by one character each."""
        if len(self._begins) == len(self._signed):  # ASCII
            return (hashes ^ self._signed[characters]) * np.uint32(16777619)
        sizes, begins = self._sizes[characters], self._begins[characters]
        for k in range(sizes.max(initial=0)):
            has = sizes > k
            own = self._signed[begins[has] + k]
            hashes[has] = (hashes[has] ^ own) * np.uint32(16777619)
        return hashes


def add_means(ids, indptr, table, own, out):
    """Add the table rows of each word to ``out`` and divide by their number."""
    counts = np.diff(indptr)
    longest = int(counts.max(initial=0))
    if not longest:
        return
    steps = np.arange(longest)
    n_rows = max(1, _PLACES // longest)
    for start in range(0, len(out), n_rows):
        part = slice(start, start + n_rows)
        total, sizes = out[part], counts[part]
        present = steps[:, None] < sizes
        places = np.where(present, indptr[:-1][part] + steps[:, None], 0)
        # Added one after the other, for the same rounding as the compiled sum.
        for rows, mask in zip(ids[places], present[:, :, None], strict=True):
            np.add(total, table[rows], out=total, where=mask)
        total /= np.maximum(sizes + own, 1).astype(np.float32)[:, None]
