"""Vectors of words from tables of n-grams: fastText's, and floret's Bloom embeddings.

fastText adds one row per n-gram to a word's own row. floret has no rows of words: the
word itself and each of its n-grams select one to four rows by MurmurHash3.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ._word_index import mean_ngrams, pack

_MULTIPLIERS = np.array([0x87C37B91114253D5, 0x4CF5AD432745937F], np.uint64)
_MIXERS = np.array([0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53], np.uint64)


class Floret(NamedTuple):
    """How floret selects the rows of words."""

    hash_count: int  # rows per n-gram, 1 to 4
    seed: int
    begin: str  # mark before a word
    end: str
    spacy: bool  # spaCy also counts n-grams of no character and of one mark alone
    lowercase: bool


class Subwords(NamedTuple):
    """A table of n-gram vectors, and how words select its rows."""

    table: np.ndarray  # (n_rows, dim)
    min_n: int
    max_n: int
    floret: Floret | None = None


def compose(packed, subwords, out):
    """Set ``out``, zeros (n_words, dim), to the vectors of words by their n-grams."""
    table, min_n, max_n, floret = subwords
    if floret is None:
        mean_ngrams(packed, table, min_n, max_n, out)
        return
    words, rows = floret_rows(packed, floret, min_n, max_n, len(table))
    used, rows = np.unique(rows, return_inverse=True)
    shape = (packed.n_words, len(used))
    counts = csr_array((np.ones(len(rows), np.float32), (words, rows)), shape)
    totals = np.bincount(words, minlength=packed.n_words)
    out[:] = counts @ table[used].astype(np.float32, copy=False)
    out /= np.maximum(totals, 1).astype(np.float32)[:, None]


def floret_rows(packed, floret, min_n, max_n, n_rows):
    """Return the index of a word and a table row for each hash of an n-gram."""
    texts = packed.to_list("surrogatepass")
    if floret.lowercase:
        texts = [text.lower() for text in texts]
    marked = [f"{floret.begin}{text}{floret.end}" for text in texts]
    if floret.spacy:
        marked = [
            mark if text else "" for mark, text in zip(marked, texts, strict=True)
        ]
    blob, offsets = pack(marked)
    characters = np.flatnonzero((blob & 0xC0) != 0x80)
    first = np.searchsorted(characters, offsets[:-1])
    sizes = np.diff(first, append=len(characters)) - 1
    present = np.flatnonzero(sizes > 0)
    spans = [(present, offsets[:-1][present], offsets[1:][present] - 1)]
    for n in range(min_n if floret.spacy else max(min_n, 1), max_n + 1):
        counts = np.where(sizes > 0, np.maximum(sizes - n + 1, 0), 0)
        words = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(len(words)) - np.repeat(np.cumsum(counts) - counts, counts)
        if n == 1 and not floret.spacy:
            inner = (within > 0) & (within < sizes[words] - 1)
            words, within = words[inner], within[inner]
        starts = first[words] + within
        spans.append((words, characters[starts], characters[starts + n]))
    words, starts, ends = (np.concatenate(parts) for parts in zip(*spans, strict=True))
    hashes = murmur3_128(blob, starts, ends - starts, floret.seed)[
        :, : floret.hash_count
    ]
    return np.repeat(words, floret.hash_count), (hashes % np.uint32(n_rows)).ravel()


def murmur3_128(buffer, starts, lengths, seed):
    """Return the four 32-bit words of MurmurHash3_x64_128 of each span of bytes.

    >>> buffer = np.frombuffer(b"floret", np.uint8)
    >>> murmur3_128(buffer, np.array([0]), np.array([6]), 7)
    array([[4137621052, 2578542871,  159988306, 1190726884]], dtype=uint32)
    """
    data = np.concatenate([buffer, np.zeros(16, np.uint8)])
    # 8 bytes from every position on
    eights = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))
    h1 = np.full(len(starts), seed, np.uint64)
    h2 = h1.copy()
    for block in range(int(lengths.max(initial=0)) // 16):
        longer = np.flatnonzero(lengths >= 16 * (block + 1))
        at = starts[longer] + 16 * block
        a, b = h1[longer], h2[longer]
        a = _rotate(a ^ _scramble(eights[at], 0), 27) + b
        a = a * np.uint64(5) + np.uint64(0x52DCE729)
        b = _rotate(b ^ _scramble(eights[at + 8], 1), 31) + a
        h1[longer], h2[longer] = a, b * np.uint64(5) + np.uint64(0x38495AB5)
    tail, at = lengths & 15, starts + (lengths & ~15)
    h2 ^= _scramble(_lowest(eights[at + 8], tail - 8), 1)
    h1 ^= _scramble(_lowest(eights[at], tail), 0)
    h1 ^= lengths.astype(np.uint64)
    h2 ^= lengths.astype(np.uint64)
    h1 += h2
    h2 += h1
    h1, h2 = _mix(h1), _mix(h2)
    h1 += h2
    h2 += h1
    return np.stack([h1, h2], axis=1).astype("<u8").view("<u4")


def murmur2_64(buffer, starts, lengths, seed):
    """Return MurmurHash64A of each span of bytes, uint64, as spaCy hashes strings.

    >>> buffer = np.frombuffer(b"coffee", np.uint8)
    >>> murmur2_64(buffer, np.array([0]), np.array([6]), 1)
    array([3197928453018144401], dtype=uint64)
    """
    multiplier = np.uint64(0xC6A4A7935BD1E995)
    data = np.concatenate([buffer, np.zeros(16, np.uint8)])
    eights = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))
    hashes = np.uint64(seed) ^ (lengths.astype(np.uint64) * multiplier)
    for block in range(int(lengths.max(initial=0)) // 8):
        longer = np.flatnonzero(lengths >= 8 * (block + 1))
        k = eights[starts[longer] + 8 * block] * multiplier
        k = (k ^ (k >> np.uint64(47))) * multiplier
        hashes[longer] = (hashes[longer] ^ k) * multiplier
    rest = lengths & 7
    some = np.flatnonzero(rest)
    last = _lowest(eights[(starts + (lengths & ~7))[some]], rest[some])
    hashes[some] = (hashes[some] ^ last) * multiplier
    hashes = (hashes ^ (hashes >> np.uint64(47))) * multiplier
    return hashes ^ (hashes >> np.uint64(47))


def _lowest(words, n_bytes):
    """Keep the lowest bytes of 64-bit words; none for 0 or less, all for 8 or more."""
    n_bytes = np.clip(n_bytes, 0, 8)
    kept = (np.uint64(1) << (8 * (n_bytes & 7)).astype(np.uint64)) - np.uint64(1)
    return np.where(n_bytes == 8, words, words & kept)


def _rotate(words, bits):
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))


def _scramble(words, which):
    words = _rotate(words * _MULTIPLIERS[which], (31, 33)[which])
    return words * _MULTIPLIERS[1 - which]


def _mix(words):
    for mixer in _MIXERS:
        words = (words ^ (words >> np.uint64(33))) * mixer
    return words ^ (words >> np.uint64(33))
