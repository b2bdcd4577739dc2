"""fastText's sub-words: the n-grams of a word, hashed into buckets of vectors."""

import numpy as np

from ._word_index import loops_for


def ngram_ids(packed, min_n, max_n, n_buckets):
    """Hash the n-grams of ``<word>`` for each word.

    Returns
    -------
    ids : ndarray of int64
        The buckets of all words' n-grams, one word after the other.
    indptr : ndarray of int64, shape (n_words + 1,)
        Word ``i`` has ``ids[indptr[i] : indptr[i + 1]]``.
    """
    ngram_buckets = loops_for(packed.n_words).ngram_buckets
    starts, ends = packed.offsets[:-1].copy(), packed.offsets[1:] - 1
    indptr = np.zeros(packed.n_words + 1, np.int64)
    cut = (packed.blob, starts, ends, min_n, max_n, n_buckets, indptr)
    ngram_buckets(*cut, np.empty(0, np.int64))  # only counts
    ids = np.empty(indptr[-1], np.int64)
    ngram_buckets(*cut, ids)
    return ids, indptr


def mean_ngrams(packed, table, min_n, max_n, out, own=False):
    """Turn ``out`` into the mean of the words' n-gram vectors, in place.

    With ``own``, each row of ``out`` is the word's own vector and counts in.
    """
    ids, indptr = ngram_ids(packed, min_n, max_n, len(table))
    if table.dtype != np.float32:  # numba has no float16: widen the rows in use
        used, ids = np.unique(ids, return_inverse=True)
        table = table[used].astype(np.float32)
    loops_for(len(out)).add_means(ids, indptr, np.asarray(table), int(own), out)
