"""Vectors of words made from their character n-grams."""

from typing import NamedTuple

import numpy as np

from ..vectors._words import pack

_CHUNK = 16_384


class NgramVectors(NamedTuple):
    """The vectors of hashed n-grams, without those that training never touched.

    fastText hashes n-grams to millions of buckets, of which a corpus uses few; the
    others keep the random numbers that they began with, and these can be drawn again.

    Parameters
    ----------
    buckets : ndarray of int64, shape (n_trained,)
        Buckets that training touched, ascending.
    vectors : ndarray of float32, shape (n_trained, dim)
        Their vectors.
    n_buckets : int
        Number of all buckets.
    min_n, max_n : int
        Shortest and longest n-gram in characters, with the marks of begin and end.
    seed : int
        Of the generator that all vectors were first drawn by.
    """

    buckets: np.ndarray
    vectors: np.ndarray
    n_buckets: int
    min_n: int
    max_n: int
    seed: int

    @classmethod
    def of_model(cls, model):
        """Take what is needed from a trained gensim FastText model."""
        wv = model.wv
        buckets = np.unique(np.concatenate(wv.buckets_word)).astype(np.int64)
        vectors = wv.vectors_ngrams[buckets]
        # gensim draws words by the seed and n-grams by the next.
        return cls(buckets, vectors, wv.bucket, wv.min_n, wv.max_n, model.seed + 1)

    def of_buckets(self, buckets):
        """Return the vectors of some buckets, float32 of shape (n, dim)."""
        places = np.searchsorted(self.buckets, buckets)
        places[places == len(self.buckets)] = 0
        trained = self.buckets[places] == buckets
        vectors = self.vectors[places]
        dim = self.vectors.shape[1]
        vectors[~trained] = initial_rows(self.seed, buckets[~trained], dim)
        return vectors

    def compose(self, words):
        """Return the mean vector of each word's n-grams.

        Parameters
        ----------
        words : sequence of str

        Returns
        -------
        values : ndarray of float32, shape (n_words, dim)
            Zero where a word has no n-gram.
        known : ndarray of bool, shape (n_words,)
            Where a word has one.
        """
        values = np.zeros((len(words), self.vectors.shape[1]), dtype=np.float32)
        known = np.zeros(len(words), dtype=bool)
        if not len(self.buckets):
            return values, known
        for start in range(0, len(words), _CHUNK):
            rows = slice(start, start + _CHUNK)
            known[rows] = self._add(words[rows], values[rows])
        return values, known

    def _add(self, words, out):
        from ..vectors._kernel import add_means, ngram_buckets  # loads numba

        packed = pack(words)
        starts, ends = packed.offsets[:-1].copy(), packed.offsets[1:] - 1
        indptr = np.zeros(len(words) + 1, dtype=np.int64)
        cut = (packed.blob, starts, ends, self.min_n, self.max_n, self.n_buckets)
        ngram_buckets(*cut, indptr, np.empty(0, dtype=np.int64))  # only counts
        ids = np.empty(indptr[-1], dtype=np.int64)
        ngram_buckets(*cut, indptr, ids)
        used, ids = np.unique(ids, return_inverse=True)
        add_means(ids, indptr, self.of_buckets(used), 0, out)
        return np.diff(indptr) > 0


def initial_rows(seed, rows, dim):
    """Draw some rows of a matrix that gensim fills from a seed, and only these.

    Parameters
    ----------
    seed : int
    rows : ndarray of int64, shape (n,)
    dim : int

    Returns
    -------
    ndarray of float32, shape (n, dim)

    Notes
    -----
    The matrix is uniform in +-1 / dim and filled row by row. A step of PCG64 gives
    two float32, so that row r begins in the middle of a step where r * dim is odd.
    """
    bits = np.random.PCG64(seed)
    begin = bits.state
    drawn = np.empty((len(rows), dim), dtype=np.float32)
    for i, first in enumerate((rows * dim).tolist()):
        bits.state = begin
        bits.advance(first // 2)
        floats = np.random.Generator(bits).random(dim + first % 2, dtype=np.float32)
        drawn[i] = floats[first % 2 :]
    return (drawn * np.float32(2) - np.float32(1)) / np.float32(dim)
