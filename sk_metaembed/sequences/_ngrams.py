"""Features of words, n-grams and positions, computed from token codes."""

from itertools import islice, pairwise, product
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, csr_matrix, vstack

from .._core._arrays import offsets_of
from ._split import look_up, prepare_texts
from ._text_spans import locate_words
from ._token_sequences import TokenSequences

_MAX_POSITIONS = 1000  # counted from each end of a sequence
# Width and shift. Wide windows, which overlap, read tokens whose position varies.
_WINDOWS = (1, 0), (4, 0), (4, 2), (16, 0), (16, 8)
_BLOCK = 1 << 19  # tokens per block; bounds the memory for intermediate results
_PER_NUMBER = 4  # entries of a table per number that is looked up
_MOST_PAIRS = 1 << 62  # pairs of a key and a row that int64 can number
_PER_KEY = 16  # distinct values of the last bits per key


class Ngrams(NamedTuple):
    """The n-grams of the training data that become features, by length.

    `words` maps words to numbers from 0. `keys` holds sorted keys for each of the
    lengths 2, 3, ... and then for each of `gaps`. A key is the number of the n-gram
    without its last word, times ``len(words)``, plus the number of the last word. The
    index of a key is the number of its n-gram. `idf` has an entry per feature, float32:
    the n-grams of each length from `min_length` on, and the pairs of words at each of
    the distances `gaps`.
    """

    words: dict
    keys: list
    idf: np.ndarray
    min_length: int = 1
    gaps: tuple = ()


class Positions(NamedTuple):
    """The pairs of a position and a word, in the training data, that become features.

    `words` maps words to numbers from 0. A key is the number of a window of positions
    times ``len(words)`` plus the number of the word, and `keys` are sorted. `from_end`
    says whether positions are counted from the end too.
    """

    words: dict
    keys: np.ndarray
    from_end: bool


def folds_case(tokens):
    """Return whether n-grams ignore case, because the tokens are words of texts.

    Case has a meaning in token lists, and in tokens that a user's pattern or function
    finds in texts, such as atoms of molecules or events.
    """
    return getattr(tokens._row_info.locate, "func", None) is locate_words


def without_case(tokens):
    """Return a TokenSequences whose types are in lower case and NFC."""
    return tokens._with_words(prepare_texts(tokens.types))


def word_counts(tokens):
    """Return a 1 for each token, CSR (n_sequences, n_types), with repeated entries."""
    ones = np.ones(tokens.n_tokens, dtype=np.float32)
    shape = len(tokens), tokens.n_types
    return csr_matrix((ones, tokens.codes, tokens.offsets), shape=shape)


def distinct_word_counts(tokens):
    """Return the counts of words in each sequence, CSR (n_sequences, n_types)."""
    counts = csr_array(word_counts(tokens), copy=True)  # the codes are read-only
    counts.sum_duplicates()
    return counts


def learn_ngrams(
    tokens, max_length, max_features=None, min_count=1, *, min_length=1, gaps=()
):
    """Return the `Ngrams` of a TokenSequences: the most frequent ones of each kind.

    Frequency is the number of sequences that contain an n-gram; ties are decided by the
    order of first occurrence of their words. Features have `min_length` words or more,
    or are pairs with a distance among `gaps`, and at least `min_count` occurrences.
    """
    rows = np.repeat(np.arange(len(tokens), dtype=np.int32), tokens.lengths)
    limits = max_features, min_count
    kept, frequencies = _most_frequent(tokens.codes, rows, *limits)
    numbers = beginnings = _places(kept, tokens.codes)
    words = dict(zip(tokens.types[kept].tolist(), range(len(kept)), strict=True))
    keys, counts, n_beginnings = [], [frequencies], len(words)
    distances = *range(1, max_length), *gaps
    for i, distance in enumerate(distances):
        if i >= max_length - 1:
            beginnings, n_beginnings = numbers, len(words)
        sizes = n_beginnings, len(words)
        pairs, starts = _pairs(beginnings, numbers, rows, distance, sizes)
        kept, frequencies = _most_frequent(pairs, rows[starts], *limits)
        keys.append(kept)
        counts.append(frequencies)
        if i + 1 < len(distances):
            beginnings, n_beginnings = np.full(len(rows), -1, np.int32), len(kept)
            beginnings[starts] = _places(kept, pairs)
    n, counts = len(tokens), np.concatenate(counts[min_length - 1 :])
    idf = 1 + np.log((1 + n) / (1 + counts))
    return Ngrams(words, keys, idf.astype(np.float32), min_length, tuple(gaps))


def ngram_weights(tokens, ngrams):
    """Return the TF-IDF rows of sequences, CSR float32 (n_sequences, n_features).

    A feature that occurs c times weighs ``(1 + ln c) idf``; rows have unit length, or
    are zero without a known feature.
    """
    weights = ngram_counts(tokens, ngrams)
    weights.data = 1 + np.log(weights.data)
    weights.data *= ngrams.idf[weights.indices]
    return unit_rows(weights)


def ngram_counts(tokens, ngrams):
    """Return the counts of n-grams, CSR float32 (n_sequences, n_features)."""
    words = look_up(tokens.types, ngrams.words, -1)
    n_blocks = max(-(-tokens.n_tokens // _BLOCK), 1)
    ends = np.linspace(0, tokens.n_tokens, n_blocks + 1)[1:-1]
    bounds = [0, *np.searchsorted(tokens.offsets, ends).tolist(), len(tokens)]
    sizes = [len(each) for each in (ngrams.words, *ngrams.keys)]
    blocks = []
    for first, last in pairwise(bounds):
        part = tokens[first:last]
        segments, rows, columns, n_before = part.segment_ids(), [], [], 0
        kinds = zip(sizes, ngram_numbers(part, ngrams, words), strict=True)
        for size, numbers in islice(kinds, ngrams.min_length - 1, None):
            known = np.flatnonzero(numbers >= 0)
            rows.append(segments[known])
            columns.append(n_before + numbers[known])
            n_before += size
        rows, columns = np.concatenate(rows), np.concatenate(columns)
        blocks.append(_counts(rows, columns, (len(part), len(ngrams.idf))))
    return blocks[0] if n_blocks == 1 else vstack(blocks, format="csr")


def characters_of(words):
    """Return the characters of words, with a space before and after each.

    Words are split at white space. Return a TokenSequences with one row per part, and
    the number of each row's word.
    """
    parts = [word.split() for word in words]
    padded = [f" {part} " for each in parts for part in each]
    owners = np.repeat(np.arange(len(words)), [len(each) for each in parts])
    encoded = "".join(padded).encode("utf-32-le", "surrogatepass")
    points = np.frombuffer(encoded, dtype=np.uint32)
    used = np.flatnonzero(np.bincount(points))
    types = np.fromiter(map(chr, used.tolist()), object, len(used))
    codes = np.searchsorted(used, points).astype(np.int32)
    lengths = np.fromiter(map(len, padded), np.int64, len(padded))
    offsets = offsets_of(lengths)
    return TokenSequences._from_unchecked(types, codes, offsets), owners


def learn_positions(tokens, max_features):
    """Return the most frequent `Positions` of a TokenSequences."""
    used = np.flatnonzero(tokens.type_counts())
    words = dict(zip(tokens.types[used].tolist(), range(len(used)), strict=True))
    from_end = len(np.unique(tokens.lengths[tokens.lengths > 0])) > 1
    rows, keys = _cells(tokens, words, from_end)
    order = np.argsort(rows, kind="stable")
    kept, _ = _most_frequent(keys[order], rows[order], max_features, 1)
    return Positions(words, kept, from_end)


def position_weights(tokens, positions):
    """Return weights of tokens by position, CSR float32 (n_sequences, n_features).

    The weights are those of `ngram_weights`, without inverse document frequencies.
    """
    rows, keys = _cells(tokens, positions.words, positions.from_end)
    columns = _places(positions.keys, keys)
    known, shape = columns >= 0, (len(tokens), len(positions.keys))
    counts = _counts(rows[known], columns[known], shape)
    counts.data = 1 + np.log(counts.data)
    return unit_rows(counts)


def ngram_numbers(tokens, ngrams, words=None):
    """Yield the number of the n-gram that starts at each token, -1 if it is unknown.

    Yields one array of shape (n_tokens,) per length, from 1 on, and then one per gap.
    `words` are the numbers of the types; None looks them up.
    """
    if words is None:
        words = look_up(tokens.types, ngrams.words, -1)
    words = words[tokens.codes]
    rows, numbers = tokens.segment_ids(), words
    yield words
    max_length = 1 + len(ngrams.keys) - len(ngrams.gaps)
    distances = *range(1, max_length), *ngrams.gaps
    n_words, n_beginnings = len(ngrams.words), len(ngrams.words)
    for i, (keys, distance) in enumerate(zip(ngrams.keys, distances, strict=True)):
        if i >= max_length - 1:
            numbers, n_beginnings = words, n_words
        sizes = n_beginnings, n_words
        pairs, starts = _pairs(numbers, words, rows, distance, sizes)
        numbers, n_beginnings = np.full(len(rows), -1, np.int32), len(keys)
        numbers[starts] = _places(keys, pairs)
        yield numbers


def _cells(tokens, words, from_end):
    """Return the sequence and the key of each known token for all `Positions`."""
    numbers = look_up(tokens.types, words, -1)[tokens.codes]
    rows = tokens.segment_ids()
    from_start = np.arange(tokens.n_tokens) - tokens.offsets[rows]
    ends = [from_start]
    if from_end:
        ends.append(tokens.lengths[rows] - 1 - from_start)
    all_rows, keys = [], []
    for i, (positions, (width, shift)) in enumerate(product(ends, _WINDOWS)):
        known = np.flatnonzero((numbers >= 0) & (positions < _MAX_POSITIONS))
        windows = i * _MAX_POSITIONS + (positions[known] + shift) // width
        all_rows.append(rows[known])
        keys.append(windows * len(words) + numbers[known])
    return np.concatenate(all_rows), np.concatenate(keys)


def _counts(rows, columns, shape):
    """Return a CSR array with the number of entries of each pair of row and column."""
    # Half the memory of int64, which scipy keeps.
    places = rows.astype(np.int32), columns.astype(np.int32)
    counts = csr_array((np.ones(len(rows), dtype=np.float32), places), shape=shape)
    counts.sum_duplicates()  # the constructor of SciPy 1.13 does not
    return counts


def unit_rows(weights):
    """Scale the rows of a CSR array to unit length, in place, except zeros."""
    from sklearn.preprocessing import normalize

    return normalize(weights, copy=False) if weights.nnz else weights


def _pairs(beginnings, numbers, rows, distance, sizes):
    """Return the keys of n-grams whose parts are known, and the tokens that start one.

    `beginnings` has the number of the n-gram without its last word that starts at each
    token, and `numbers` the number of the word there; both are -1 if it is unknown.
    `sizes` are the numbers of beginnings and of words. The last word is `distance`
    tokens after the start.
    """
    first, second = beginnings[:-distance], numbers[distance:]
    are_known = (first >= 0) & (second >= 0) & (rows[:-distance] == rows[distance:])
    starts = np.flatnonzero(are_known)
    is_small = sizes[0] * sizes[1] <= np.iinfo(np.int32).max
    keys = first[starts].astype(np.int32 if is_small else np.int64)
    keys *= sizes[1]
    keys += second[starts]
    return keys, starts


def _most_frequent(keys, rows, n, min_count):
    """Return the n keys that occur in the most rows, sorted, and their numbers of rows.

    `rows` must ascend. With None as n, all keys are returned. Keys with fewer than
    `min_count` occurrences are left out.
    """
    n_rows = int(rows[-1]) + 1 if len(rows) else 1
    distinct = None
    if int(keys.max(initial=0)) >= _MOST_PAIRS // n_rows:
        distinct, keys = np.unique(keys, return_inverse=True)
    pairs = keys.astype(np.int64) * n_rows + rows
    pairs.sort()
    keys = pairs // n_rows
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    is_new = np.diff(pairs, prepend=-1) != 0
    frequencies = np.add.reduceat(is_new, starts, dtype=np.int64) if len(keys) else keys
    often = np.flatnonzero(np.diff(starts, append=len(keys)) >= min_count)
    most = np.sort(often[np.argsort(-frequencies[often], kind="stable")[:n]])
    found = keys[starts[most]]
    return found if distinct is None else distinct[found], frequencies[most]


def _places(keys, searched):
    """Return the index of each searched number in sorted keys, -1 if it is missing."""
    if not len(keys):
        return np.full(len(searched), -1, dtype=np.int32)
    if max(keys[-1], searched.max(initial=0)) <= _PER_NUMBER * len(searched):
        table = np.full(int(max(keys[-1], searched.max(initial=0))) + 1, -1, np.int32)
        table[keys] = np.arange(len(keys), dtype=np.int32)
        return table[searched]
    possible = slice(None)
    n_numbers = 1 << (_PER_KEY * len(keys)).bit_length()
    if n_numbers <= _PER_NUMBER * len(searched):
        # Most numbers are missing, and the last bits of most match no key.
        is_possible = np.zeros(n_numbers, dtype=bool)
        is_possible[keys & (n_numbers - 1)] = True
        possible = np.flatnonzero(is_possible[searched & (n_numbers - 1)])
    places = np.searchsorted(keys, searched[possible])
    places[places == len(keys)] = 0
    result = np.full(len(searched), -1, dtype=np.int32)
    result[possible] = np.where(keys[places] == searched[possible], places, -1)
    return result
