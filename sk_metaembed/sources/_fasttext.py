"""FastTextEmbedding: fastText trained on the training data."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Literal

import numpy as np

from .._core._gensim import import_gensim
from .._core._sklearn import Interval
from ..vectors._word_index import loops_for, ngram_ids, pack
from ._base import Preprocess
from ._word2vec import Word2VecEmbedding
from ._word_base import OOV

if TYPE_CHECKING:
    from .._core._typing import RandomState

_CHUNK = 16_384  # words composed at a time
# Up to this many buckets are drawn one by one; the whole table has millions.
_MAX_SINGLE_DRAWS = 1 << 14


class NgramVectors:
    """Hashed n-gram vectors of a trained fastText model.

    There are millions of buckets, of which a corpus uses few; the others keep their
    random initial values. A pickle contains the trained buckets and the seed; a copy
    draws the rest again when it first composes a word.

    Parameters
    ----------
    table : ndarray of float32, shape (n_buckets, dim)
    trained : ndarray of int64, shape (n_trained,)
        Buckets that were updated in training.
    min_n, max_n : int
        Minimum and maximum n-gram length in characters, including the word boundaries.
    seed : int
        Seed of the generator that drew the initial table.
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
        """Return the n-gram vectors of a trained gensim FastText model."""
        wv = model.wv
        trained = np.unique(np.concatenate(wv.buckets_word)).astype(np.int64)
        # gensim seeds words with seed and n-grams with seed + 1.
        return cls(wv.vectors_ngrams, trained, wv.min_n, wv.max_n, model.seed + 1)

    def __getstate__(self):
        if self._table is None:  # an unpickled copy that has composed no word yet
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
            self.__dict__.pop("_vectors", None)  # last, for concurrent readers
        # Compiled loops trust the shape, and a pickle may come from anywhere.
        if self._table.shape != tuple(self.shape) or self._table.dtype != np.float32:
            raise ValueError(
                f"The n-gram table has shape {self._table.shape} and dtype "
                f"{self._table.dtype}; expected {tuple(self.shape)} and float32. The "
                "estimator is corrupt or was tampered with. Fit it again."
            )
        return self._table

    def compose(self, words):
        """Return mean n-gram vectors, (n_words, dim), and which words have n-grams."""
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
        vectors, table = self.__dict__.get("_vectors"), None
        if vectors is not None:
            used, inverse = np.unique(ids, return_inverse=True)
            if len(used) <= _MAX_SINGLE_DRAWS:
                table, ids = self._rows(used, vectors), inverse
        if table is None:
            table = self.table
        loops_for(len(words)).add_means(ids, indptr, table, 0, out)
        return np.diff(indptr) > 0

    def _rows(self, buckets, vectors):
        """Return the vectors of some buckets without drawing the whole table."""
        positions = np.searchsorted(self.trained, buckets)
        trained = positions < len(self.trained)
        trained[trained] = self.trained[positions[trained]] == buckets[trained]
        values = np.empty((len(buckets), self.shape[1]), np.float32)
        values[trained] = vectors[positions[trained]]
        values[~trained] = initial_rows(self.shape, self.seed, buckets[~trained])
        return values


def initial_table(shape, seed):
    """Draw gensim's initial vectors: uniform in +-1 / dim."""
    return _scaled(np.random.default_rng(seed).random(shape, dtype=np.float32))


def initial_rows(shape, seed, rows):
    """Draw some rows (ascending) of `initial_table`, float32 (n, dim)."""
    dim = shape[1]
    random = np.random.default_rng(seed)
    drawn = np.empty((len(rows), dim), np.float32)
    at = 0  # position of the generator; each step yields two numbers
    advance, draw = random.bit_generator.advance, random.random
    for row, first in zip(drawn, (rows * dim).tolist(), strict=True):
        advance(first // 2 - at)
        if first % 2:
            draw(dtype=np.float32)
        draw(dtype=np.float32, out=row)
        at = first // 2 + (first % 2 + dim + 1) // 2
    return _scaled(drawn)


def _scaled(table):
    table *= 2
    table -= 1
    table /= table.shape[1]
    return table


class FastTextEmbedding(Word2VecEmbedding):
    """Train fastText vectors on the training data with gensim.

    The vector of a word is the mean of its own vector and those of its character
    n-grams, so words that are not in the training data, such as misspelled or inflected
    words, get a vector from their n-grams.

    Parameters
    ----------
    vector_size : int, default=100
        Dimension of the vectors.
    window : int, default=5
        Maximum distance between a word and the word it predicts.
    min_count : int, default=5
        Words with fewer occurrences in the training data have no vector of their own.
    epochs : int, default=5
        Number of passes over the training data.
    sg : bool, default=False
        Use skip-gram if True, else continuous bag of words (CBOW).
    hs : bool, default=False
        Train with hierarchical softmax.
    negative : int, default=5
        Number of noise words per target word, 0 for no negative sampling.
    ns_exponent : float, default=0.75
        Exponent of the word frequencies that noise words are sampled by.
    cbow_mean : bool, default=True
        Average the context vectors instead of adding them (CBOW only).
    alpha, min_alpha : float, default=0.025, 0.0001
        Initial and final learning rate.
    sample : float, default=0.001
        Frequency above which words are randomly downsampled, 0 for no downsampling.
    max_vocab_size : int, default=None
        Maximum number of words in memory while counting; rarer words are pruned.
    max_final_vocab : int, default=None
        Maximum size of the vocabulary; `min_count` is raised to reach it.
    shrink_windows : bool, default=True
        Sample the size of each window uniformly from 1 to `window`.
    batch_words : int, default=10000
        Number of words passed to a worker thread at a time.
    min_n, max_n : int, default=3, 6
        Minimum and maximum length of character n-grams, including the marks of the
        word's start and end. With ``max_n < min_n``, no n-grams are used.
    bucket : int, default=2000000
        Number of vectors that n-grams are hashed to; each takes `vector_size` floats of
        memory during training. Fewer buckets save memory but cause more collisions.
    oov : {"subword", "zero", "mean", "random", "error"}, default="subword"
        Vector of a word without a trained vector: composed of its n-grams, zeros, the
        mean of the vocabulary, a random vector seeded by the word's hash, or an error
        that names the word. A word with zeros is unknown and later steps skip it; any
        other vector is used like a trained one.
    preprocess : {"unit", "center", "unit-center-unit", "all-but-the-top"}, default=None
        Preprocessing of the vectors, learned from the 100,000 most frequent words.
    missing : {"raise", "empty"}, default="raise"
        What to do with missing rows (None, NaN, null): raise an error, or treat them as
        empty sequences. A TokenSequences is used as it is.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial vectors, of downsampling and of noise words.
    n_jobs : int, default=None
        Number of training threads. Results are reproducible with one only.
    verbose : int, default=0
        Show a progress bar over the epochs.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        Row of each word in `vectors_`, the most frequent word first.
    vectors_ : ndarray of float32, shape (n_words, vector_size)
        Trained vectors, composed of words and n-grams, before `preprocess`. The
        training state (output weights, counts) is discarded.
    ngrams_ : NgramVectors
        Vectors of n-grams; a pickle contains only those of the training data.
    coverage_ : dict
        Share of the training data's ``"types"`` and ``"tokens"`` that are known.
    dims_ : dict of str to int
        Dimension of the block, by block name.
    n_missing_ : int
        Number of missing rows in the data passed to `fit`.

    Raises
    ------
    ValueError
        If no word occurs `min_count` times.

    See Also
    --------
    Word2VecEmbedding : Faster to train; only knows words of the training data.
    sk_metaembed.scale.TextStream : A corpus larger than memory to train on.

    Notes
    -----
    The vector of an unseen word is the mean of its n-gram vectors, as in gensim's
    ``model.wv[word]``; all unseen words of a call are composed at once. As in gensim,
    n-grams that occur in no training word keep their random initial vectors. A pickle
    omits them, and a copy draws them again from the seed.

    References
    ----------
    Bojanowski, Grave, Joulin and Mikolov (2017). Enriching word vectors with subword
    information. TACL.

    Examples
    --------
    >>> from sk_metaembed import FastTextEmbedding
    >>> texts = ["walking and talking", "walked and talked"] * 3
    >>> source = FastTextEmbedding(vector_size=4, bucket=100, min_count=3).fit(texts)
    >>> source.transform(["talks"]).block("fasttext").known
    array([ True])
    """

    _parameter_constraints: dict = {
        **Word2VecEmbedding._parameter_constraints,
        "min_n": [Interval(Integral, 1, None, closed="left")],
        "max_n": [Interval(Integral, 0, None, closed="left")],
        "bucket": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        vector_size: int = 100,
        *,
        window: int = 5,
        min_count: int = 5,
        epochs: int = 5,
        sg: bool = False,
        hs: bool = False,
        negative: int = 5,
        ns_exponent: float = 0.75,
        cbow_mean: bool = True,
        alpha: float = 0.025,
        min_alpha: float = 0.0001,
        sample: float = 1e-3,
        max_vocab_size: int | None = None,
        max_final_vocab: int | None = None,
        shrink_windows: bool = True,
        batch_words: int = 10_000,
        min_n: int = 3,
        max_n: int = 6,
        bucket: int = 2_000_000,
        oov: OOV = "subword",
        preprocess: Preprocess | None = None,
        missing: Literal["raise", "empty"] = "raise",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            vector_size,
            window=window,
            min_count=min_count,
            epochs=epochs,
            sg=sg,
            hs=hs,
            negative=negative,
            ns_exponent=ns_exponent,
            cbow_mean=cbow_mean,
            alpha=alpha,
            min_alpha=min_alpha,
            sample=sample,
            max_vocab_size=max_vocab_size,
            max_final_vocab=max_final_vocab,
            shrink_windows=shrink_windows,
            batch_words=batch_words,
            oov=oov,
            preprocess=preprocess,
            missing=missing,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.min_n = min_n
        self.max_n = max_n
        self.bucket = bucket

    def _make_model(self, **options):
        return import_gensim("FastTextEmbedding").models.FastText(
            **options, min_n=self.min_n, max_n=self.max_n, bucket=self.bucket
        )

    def _fit_vectors(self, tokens, y):
        try:
            super()._fit_vectors(tokens, y)
        except UnicodeEncodeError as error:
            word = error.object.strip("<>")  # gensim's word boundaries
            positions = np.flatnonzero(tokens.types[tokens.codes] == word)
            rows = np.searchsorted(tokens.offsets, positions[:1], side="right") - 1
            where = f"row {rows[0]} contains " if len(rows) else ""
            raise _lone_surrogate(where, word) from error

    def _fit_stream(self, stream):
        try:
            return super()._fit_stream(stream)
        except UnicodeEncodeError as error:
            raise _lone_surrogate("", error.object.strip("<>")) from error

    def _store(self, model):
        super()._store(model)
        self.ngrams_ = NgramVectors.of_model(model)

    def _compose(self, words):
        return self.ngrams_.compose(words)


def _lone_surrogate(where, word):
    return ValueError(
        f"FastTextEmbedding: {where}the word {word!r}, which has a lone surrogate and "
        "cannot be encoded as UTF-8 for fastText's n-grams. Replace it in the texts, "
        'for example with text.encode("utf-8", "replace").decode().'
    )
