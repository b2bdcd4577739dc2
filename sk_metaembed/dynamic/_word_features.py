"""Features of words that the attention of the Dynamic* estimators may read."""

import numpy as np

N_FEATURES = 7


def count_words(tokens):
    """Return how often each word occurs in TokenSequences, by word."""
    counts = tokens.type_counts()
    used = np.flatnonzero(counts)
    words = tokens.types[used].tolist()
    return dict(zip(words, counts[used].tolist(), strict=True))


def word_features(types, counts):
    """Return features of words, float32 of shape (n_types, N_FEATURES).

    Log frequency relative to the most frequent word, whether the word is rare (seen
    once or never), log length, the fraction of upper-case letters, whether the first
    letter is one, and the fractions of digits and of other characters than letters and
    digits.

    Parameters
    ----------
    types : ndarray of str
    counts : dict of str to int
        Frequencies in the training fold.
    """
    highest = np.log1p(max(counts.values(), default=1))
    table = np.zeros((len(types), N_FEATURES), dtype=np.float32)
    for row, word in zip(table, types.tolist(), strict=True):
        n, count = max(len(word), 1), counts.get(word, 0)
        row[0] = np.log1p(count) / highest
        row[1] = count < 2
        row[2] = np.log(n) / 3
        row[3] = sum(map(str.isupper, word)) / n
        row[4] = word[:1].isupper()
        row[5] = sum(map(str.isdigit, word)) / n
        row[6] = sum(not c.isalnum() for c in word) / n
    return table
