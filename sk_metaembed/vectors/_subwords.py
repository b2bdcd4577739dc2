"""Vectors of words from tables of n-grams: fastText's, and floret's Bloom embeddings.

fastText adds one row per n-gram to a word's own row. floret has no rows of words: the
word itself and each of its n-grams select one to four rows by MurmurHash3.
"""

from itertools import chain

import numpy as np
from scipy.sparse import csr_array

from .._core._arrays import offsets_of
from .._kernels._compiled import use_compiled
from ._store import pack

_SECONDS = 3e-5  # time for the n-grams of a word in Python
_MULTIPLIERS = np.array([0x87C37B91114253D5, 0x4CF5AD432745937F], np.uint64)
_MIXERS = np.array([0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53], np.uint64)


def compose(packed, subwords, out):
    """Set ``out``, zeros (n_words, dim), to vectors composed of words' n-grams."""
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


def ngram_ids(packed, min_n, max_n, n_buckets):
    """Hash the n-grams of ``<word>`` for each word, as fastText does.

    Returns the buckets of all n-grams, int64, word after word, and where they begin:
    word ``i`` has ``ids[indptr[i] : indptr[i + 1]]``.
    """
    if not use_compiled(_SECONDS * packed.n_words):
        settings = min_n, max_n, n_buckets
        buckets = [_buckets_of(word, *settings) for word in packed.to_bytes()]
        ids = np.fromiter(chain.from_iterable(buckets), np.int64)
        return ids, offsets_of(list(map(len, buckets)))
    from ._kernels_numba import ngram_buckets

    starts, ends = packed.offsets[:-1].copy(), packed.offsets[1:] - 1
    indptr = np.zeros(packed.n_words + 1, np.int64)
    ids = np.empty(_most_ngrams(ends - starts + 2, min_n, max_n), np.int64)
    words = packed.blob, starts, ends
    ngram_buckets(*words, min_n, max_n, n_buckets, indptr, ids)
    return ids[: indptr[-1]], indptr


def _buckets_of(word, min_n, max_n, n_buckets):
    """Return the buckets of the n-grams of a word, a list, in Python."""
    text = f"<{word.decode('utf-8', 'surrogatepass')}>"
    characters = [c.encode("utf-8", "surrogatepass") for c in text]
    last, buckets = len(characters) - 1, []
    for first in range(last + 1):
        hashed = 2166136261  # FNV-1a
        for n, character in enumerate(characters[first : first + max_n], 1):
            for byte in character:
                signed = byte | 0xFFFFFF00 if byte > 127 else byte  # as in fastText
                hashed = (hashed ^ signed) * 16777619 & 0xFFFFFFFF
            # "<" and ">" alone are not n-grams.
            if n >= min_n and not (n == 1 and first in (0, last)):
                buckets.append(hashed % n_buckets)
    return buckets


def _most_ngrams(sizes, min_n, max_n):
    """Return the number of n-grams of words of these sizes in ASCII."""
    longest = np.minimum(sizes, max_n)
    kinds = np.maximum(longest - min_n + 1, 0)
    return int((kinds * (2 * sizes + 2 - min_n - longest) // 2).sum())


def mean_ngrams(packed, table, min_n, max_n, out, own=False):
    """Set ``out``, (n_words, dim), to the means of the n-gram vectors, in place.

    With ``own``, each row of ``out`` is the word's own vector and part of the mean.
    """
    ids, indptr = ngram_ids(packed, min_n, max_n, len(table))
    if table.dtype != np.float32:  # numba has no float16: widen the rows in use
        used, ids = np.unique(ids, return_inverse=True)
        table = table[used].astype(np.float32)
    if use_compiled(_SECONDS * len(out)):
        from ._kernels_numba import add_means

        add_means(ids, indptr, np.asarray(table), int(own), out)
        return
    for row, total in enumerate(out):
        own_ids = ids[indptr[row] : indptr[row + 1]]
        for i in own_ids:  # added one by one, to round like the compiled loop
            total += table[i]
        total /= np.float32(max(len(own_ids) + own, 1))


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
    # 8 bytes starting at every position
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
