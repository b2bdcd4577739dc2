"""Vectors of words made from their character n-grams."""

from itertools import chain

import numpy as np
from scipy.sparse import csr_matrix


def mean_ngram_vectors(words, table, min_n, max_n):
    """Return the mean vector of each word's n-grams, as one sparse product.

    Parameters
    ----------
    words : sequence of str
    table : ndarray of float32, shape (n_buckets, dim)
        Vectors that n-grams are hashed to.
    min_n, max_n : int
        Shortest and longest n-gram in characters, with the marks of begin and end.

    Returns
    -------
    values : ndarray of float32, shape (n_words, dim)
        Zero where a word has no n-gram.
    known : ndarray of bool, shape (n_words,)
        Where a word has one.
    """
    from gensim.models.fasttext import ft_ngram_hashes

    hashes = [ft_ngram_hashes(word, min_n, max_n, len(table)) for word in words]
    counts = np.fromiter(map(len, hashes), np.int64, count=len(hashes))
    columns = np.fromiter(chain.from_iterable(hashes), np.int64, count=counts.sum())
    indptr = np.concatenate([[0], np.cumsum(counts)])
    # Ones first and the division last, in the order of gensim's sums: equal bits.
    ones = np.ones(len(columns), dtype=np.float32)
    total = csr_matrix((ones, columns, indptr), (len(counts), len(table))) @ table
    return total / np.maximum(counts, 1)[:, None].astype(np.float32), counts > 0
