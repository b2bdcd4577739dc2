"""Vectors of words made from their character n-grams."""

import numpy as np

from ..vectors._ngram import ngram_ids
from ..vectors._words import pack

_CHUNK = 16_384  # words


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
            table[self.trained] = self.__dict__.pop("_vectors")
            self._table = table
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
        from ..vectors._kernel import add_means  # loads numba

        table = self.table
        ids, indptr = ngram_ids(pack(words), self.min_n, self.max_n, len(table))
        add_means(ids, indptr, table, 0, out)
        return np.diff(indptr) > 0


def initial_table(shape, seed):
    """Draw the vectors that gensim begins with: uniform in +-1 / dim."""
    table = np.random.default_rng(seed).random(shape, dtype=np.float32)
    table *= 2
    table -= 1
    table /= shape[1]
    return table
