"""Vectors of words made from their character n-grams."""

import numpy as np

from ..vectors._ngram import ngram_ids
from ..vectors._words import loops_for, pack

_CHUNK = 16_384  # words
# Up to this many n-grams are drawn one by one; the whole table is millions of them.
_FEW = 1 << 14


class NgramVectors:
    """The vectors of n-grams, hashed to buckets, of a trained fastText model.

    There are millions of buckets, of which a corpus uses few; the others keep the
    random numbers that they began with. A pickle holds the used ones and the seed;
    the rest is drawn again when a copy first composes a word.

    Parameters
    ----------
    table : ndarray of float32, shape (n_buckets, dim)
        All vectors.
    trained : ndarray of int64, shape (n_trained,)
        Buckets that training touched.
    min_n, max_n : int
        Shortest and longest n-gram in characters, with the marks of begin and end.
    seed : int
        Of the generator that the table was first drawn by.
    """

    def __init__(self, table, trained, min_n, max_n, seed):
        self._table = table
        self.shape = table.shape
        self.trained = trained
        self.min_n = min_n
        self.max_n = max_n
        self.seed = seed

    @classmethod
    def of_model(cls, model):
        """Take what is needed from a trained gensim FastText model."""
        wv = model.wv
        trained = np.unique(np.concatenate(wv.buckets_word)).astype(np.int64)
        # gensim draws words by the seed and n-grams by the next.
        return cls(wv.vectors_ngrams, trained, wv.min_n, wv.max_n, model.seed + 1)

    def __getstate__(self):
        if self._table is None:  # a copy that has composed nothing yet
            return dict(self.__dict__)
        vectors = self._table[self.trained]
        return {**self.__dict__, "_table": None, "_vectors": vectors}

    def __setstate__(self, state):
        self.__dict__.update(state)

    @property
    def table(self):
        """All vectors, float32 of shape (n_buckets, dim)."""
        if self._table is None:
            table = initial_table(self.shape, self.seed)
            table[self.trained] = self._vectors
            self._table = table
            self.__dict__.pop("_vectors", None)  # last: other threads may be here
        # Compiled loops read as many rows as the shape says, whoever wrote the copy.
        if self._table.shape != tuple(self.shape) or self._table.dtype != np.float32:
            raise ValueError(
                f"the table of n-grams has shape {self._table.shape} of "
                f"{self._table.dtype}, and should have {tuple(self.shape)} of float32: "
                "the estimator was damaged or forged. Fit it again."
            )
        return self._table

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
        values = np.zeros((len(words), self.shape[1]), dtype=np.float32)
        known = np.zeros(len(words), dtype=bool)
        if not self.shape[0]:
            return values, known
        for start in range(0, len(words), _CHUNK):
            rows = slice(start, start + _CHUNK)
            known[rows] = self._add_means(words[rows], values[rows])
        return values, known

    def _add_means(self, words, out):
        ids, indptr = ngram_ids(pack(words), self.min_n, self.max_n, self.shape[0])
        used, vectors = np.unique(ids), self.__dict__.get("_vectors")
        if vectors is not None and len(used) <= _FEW:
            table, ids = self._some(used, vectors), np.searchsorted(used, ids)
        else:
            table = self.table
        loops_for(len(words)).add_means(ids, indptr, table, 0, out)
        return np.diff(indptr) > 0

    def _some(self, buckets, vectors):
        """Return the vectors of some buckets, without drawing those of all."""
        places = np.searchsorted(self.trained, buckets)
        trained = places < len(self.trained)
        trained[trained] = self.trained[places[trained]] == buckets[trained]
        values = np.empty((len(buckets), self.shape[1]), np.float32)
        values[trained] = vectors[places[trained]]
        values[~trained] = initial_rows(self.shape, self.seed, buckets[~trained])
        return values


def initial_table(shape, seed):
    """Draw the vectors that gensim begins with: uniform in +-1 / dim."""
    return _scaled(np.random.default_rng(seed).random(shape, dtype=np.float32))


def initial_rows(shape, seed, rows):
    """Draw some rows of `initial_table`.

    Parameters
    ----------
    shape : tuple of int
    seed : int
    rows : ndarray of int64, shape (n,)
        In ascending order.

    Returns
    -------
    ndarray of float32, shape (n, dim)
    """
    dim = shape[1]
    random = np.random.default_rng(seed)
    drawn = np.empty((len(rows), dim), np.float32)
    at = 0  # in the generator's steps, each of which gives two numbers
    for place, first in enumerate((rows * dim).tolist()):
        random.bit_generator.advance(first // 2 - at)
        skip = first % 2
        drawn[place] = random.random(skip + dim, dtype=np.float32)[skip:]
        at = first // 2 + (skip + dim + 1) // 2
    return _scaled(drawn)


def _scaled(table):
    table *= 2
    table -= 1
    table /= table.shape[1]
    return table
