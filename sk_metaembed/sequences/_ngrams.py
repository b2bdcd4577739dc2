"""TF-IDF features of words and their n-grams, from token codes rather than strings."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from ._split import canonical, canonical_words, prepare_texts


class Ngrams(NamedTuple):
    """The n-grams of the training data that are counted, length by length.

    Parameters
    ----------
    words : dict of str to int
        Number of each word, from 0.
    keys : list of ndarray of int64
        For lengths 2, 3, ...: the sorted keys of the n-grams. A key is the number of
        the n-gram's beginning, among those that are one shorter, times ``len(words)``
        plus the number of its last word. The number of an n-gram is its place here.
    idf : ndarray of float32, shape (n_features,)
        Inverse document frequencies of words, then of the n-grams of each length.
    """

    words: dict
    keys: list
    idf: np.ndarray


def lowered(tokens):
    """Return a TokenSequences whose types are in lower case and NFC."""
    return tokens._with_words(prepare_texts(tokens.types))


def word_counts(tokens):
    """Return the words of each sequence, CSR (n_sequences, n_types), 1 per token."""
    ones = np.ones(tokens.n_tokens, dtype=np.float32)
    shape = len(tokens), tokens.n_types
    return csr_matrix((ones, tokens.codes, tokens.offsets), shape=shape)


def learn_ngrams(tokens, max_length, max_features):
    """Return the `Ngrams` of a TokenSequences: of each length, the most frequent.

    Frequency is the number of sequences that contain an n-gram; ties are decided by the
    order of first occurrence of their words.
    """
    tokens = canonical(tokens)
    rows = tokens.segment_ids()
    kept, frequencies = _most_frequent(tokens.codes, rows, max_features)
    numbers = _places(kept, tokens.codes)
    words = dict(zip(tokens.types[kept].tolist(), range(len(kept)), strict=True))
    keys, counts, prefixes = [], [frequencies], numbers
    for length in range(2, max_length + 1):
        pairs, starts = _pairs(prefixes, numbers, rows, length, len(words))
        kept, frequencies = _most_frequent(pairs, rows[starts], max_features)
        keys.append(kept)
        counts.append(frequencies)
        prefixes = _spread(_places(kept, pairs), starts, len(rows))
    n = len(tokens)
    idf = 1 + np.log((1 + n) / (1 + np.concatenate(counts)))
    return Ngrams(words, keys, idf.astype(np.float32))


def ngram_weights(tokens, ngrams):
    """Return the TF-IDF rows of sequences, CSR float32 (n_sequences, n_features).

    A feature that occurs c times weighs ``(1 + ln c) idf``; rows have unit length, or
    are zero without a known feature.
    """
    from sklearn.preprocessing import normalize

    # Half the memory of int64, which scipy keeps.
    places = tuple(places.astype(np.int32) for places in _features(tokens, ngrams))
    shape = len(tokens), len(ngrams.idf)
    ones = np.ones(len(places[0]), dtype=np.float32)
    weights = csr_array((ones, places), shape=shape)
    weights.sum_duplicates()  # the constructor of SciPy 1.13 does not
    weights.data = (1 + np.log(weights.data)) * ngrams.idf[weights.indices]
    return normalize(weights, copy=False) if weights.nnz else weights


def _features(tokens, ngrams):
    """Return sequence and column of each known n-gram of each sequence."""
    get = ngrams.words.get
    words = canonical_words(tokens.types)
    of_types = np.fromiter((get(word, -1) for word in words), dtype=np.int64)
    numbers = of_types[tokens.codes]
    rows = tokens.segment_ids()
    all_rows, columns = [rows[numbers >= 0]], [numbers[numbers >= 0]]
    prefixes, n_before = numbers, len(ngrams.words)
    for length, keys in enumerate(ngrams.keys, start=2):
        pairs, starts = _pairs(prefixes, numbers, rows, length, len(ngrams.words))
        places = _places(keys, pairs)
        known = places >= 0
        all_rows.append(rows[starts[known]])
        columns.append(n_before + places[known])
        prefixes = _spread(places, starts, len(rows))
        n_before += len(keys)
    return np.concatenate(all_rows), np.concatenate(columns)


def _pairs(prefixes, numbers, rows, length, n_words):
    """Return the keys of n-grams whose parts are known, and the tokens they start at.

    `prefixes` has the number of the n-gram of ``length - 1`` words that starts at each
    token, and `numbers` the number of the word there; both are -1 if it is unknown.
    """
    last = length - 1
    starts = np.flatnonzero(
        (prefixes[:-last] >= 0) & (numbers[last:] >= 0) & (rows[:-last] == rows[last:])
    )
    return prefixes[starts] * n_words + numbers[starts + last], starts


def _most_frequent(keys, rows, n):
    """Return up to n sorted keys that occur in the most rows, and in how many."""
    order = np.lexsort((rows, keys))
    keys, rows = keys[order], rows[order]
    is_new = np.ones(len(keys), dtype=bool)
    is_new[1:] = (keys[1:] != keys[:-1]) | (rows[1:] != rows[:-1])
    distinct, frequencies = np.unique(keys[is_new], return_counts=True)
    kept = np.sort(np.argsort(-frequencies, kind="stable")[:n])
    return distinct[kept].astype(np.int64), frequencies[kept]


def _places(keys, searched):
    """Return the place of each searched number in sorted keys, -1 if it is missing."""
    if not len(keys):
        return np.full(len(searched), -1, dtype=np.int64)
    places = np.searchsorted(keys, searched)
    places[places == len(keys)] = 0
    return np.where(keys[places] == searched, places, -1)


def _spread(numbers, starts, n_tokens):
    """Return the number of the n-gram that starts at each token, -1 without one."""
    spread = np.full(n_tokens, -1, dtype=np.int64)
    spread[starts] = numbers
    return spread
