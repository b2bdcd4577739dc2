"""FastTextEmbedding: fastText, trained on the training fold.

Vectors of words made from their character n-grams.
"""

from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval

from ..vectors._ngram_hash import ngram_ids
from ..vectors._word_index import loops_for, pack
from ._gensim_base import BaseGensimEmbedding

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


class FastTextEmbedding(BaseGensimEmbedding):
    """Train fastText vectors on the training fold with gensim.

    A word's vector is the mean of its own and of its character n-grams', so that
    words the training fold lacks, misspelt or inflected, get one from their n-grams.

    Parameters
    ----------
    vector_size : int, default=100
        Dimension of the vectors.
    window : int, default=5
        Largest distance between a word and a word it predicts.
    min_count : int, default=5
        Words that occur less often in the training fold have no vector of
        their own.
    epochs : int, default=5
        Passes over the training fold.
    sg : bool, default=False
        Skip-gram if true, else continuous bag of words.
    hs : bool, default=False
        Train with a hierarchical softmax.
    negative : int, default=5
        Number of noise words a target, 0 for no negative sampling.
    ns_exponent : float, default=0.75
        Exponent of the frequencies that noise words are drawn by.
    cbow_mean : bool, default=True
        Average context vectors rather than add them (bag of words only).
    alpha, min_alpha : float, default=0.025, 0.0001
        Learning rate at the beginning and at the end.
    sample : float, default=0.001
        Frequency above which words are randomly left out, 0 for never.
    max_vocab_size : int, default=None
        Prune rare words while counting, so that no more are held in memory.
    max_final_vocab : int, default=None
        Raise `min_count` until at most so many words are left.
    shrink_windows : bool, default=True
        Draw each window's size uniformly from 1 to `window`.
    batch_words : int, default=10000
        Words handed to a worker at a time.
    min_n, max_n : int, default=3, 6
        Shortest and longest character n-grams, the marks of a word's begin and end
        counted. With ``max_n < min_n`` there are none.
    bucket : int, default=2000000
        Number of vectors that n-grams are hashed to; each costs `vector_size` floats
        of memory while training. Fewer save memory, more collide.
    oov : {"subword", "zero", "mean", "random", "error"}, default="subword"
        Vector of a word that was not trained: from its n-grams, zeros, the mean of the
        vocabulary, a random vector by the word's hash, or an error that names it. A
        word that gets zeros is unknown, and later steps leave it out; any other vector
        is used like those of trained words.
    preprocess : {"unit", "centre", "unit-centre-unit", "all-but-the-top"}, default=None
        What is done to the vectors, learned from the 100,000 most frequent words.
    missing : {"raise", "empty"}, default="raise"
        What to do with missing rows (None, NaN, null): raise an error, or take them as
        empty sequences. A TokenSequences is taken as it is.
    random_state : int, RandomState instance or None, default=None
        Seed of the first vectors, of sampling and of noise words.
    n_jobs : int, default=None
        Threads to train with. Results are reproducible with one only.
    verbose : int, default=0
        Show a progress bar over the epochs.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        Row of each word in `vectors_`, the most frequent word first.
    vectors_ : ndarray of float32, shape (n_words, vector_size)
        Composed of words and n-grams as trained, before `preprocess`. The training
        state (output weights, counts) is not kept.
    ngrams_ : NgramVectors
        Vectors of n-grams; in a pickle only those that the training fold has.
    coverage_ : dict
        Share of the training fold's ``"types"`` and ``"tokens"`` that are known.
    dims_ : dict of str to int
        Dimension of the block, by its name.
    n_missing_ : int
        Number of missing rows in the data of `fit`.

    Raises
    ------
    ValueError
        If no word occurs `min_count` times.

    See Also
    --------
    Word2VecEmbedding : Quicker to train; knows only what it was trained on.

    Notes
    -----
    An unseen word's vector is the mean of the vectors of its n-grams, as gensim's
    ``model.wv[word]``; all of a call's unseen words are composed at once. n-grams
    that no training word has keep the random vectors they began with, as in gensim.
    A pickle leaves these out, and a copy draws them again from the seed.

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
        **BaseGensimEmbedding._parameter_constraints,
        "min_n": [Interval(Integral, 1, None, closed="left")],
        "max_n": [Interval(Integral, 0, None, closed="left")],
        "bucket": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        vector_size=100,
        *,
        window=5,
        min_count=5,
        epochs=5,
        sg=False,
        hs=False,
        negative=5,
        ns_exponent=0.75,
        cbow_mean=True,
        alpha=0.025,
        min_alpha=0.0001,
        sample=1e-3,
        max_vocab_size=None,
        max_final_vocab=None,
        shrink_windows=True,
        batch_words=10_000,
        min_n=3,
        max_n=6,
        bucket=2_000_000,
        oov="subword",
        preprocess=None,
        missing="raise",
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.vector_size = vector_size
        self.window = window
        self.min_count = min_count
        self.epochs = epochs
        self.sg = sg
        self.hs = hs
        self.negative = negative
        self.ns_exponent = ns_exponent
        self.cbow_mean = cbow_mean
        self.alpha = alpha
        self.min_alpha = min_alpha
        self.sample = sample
        self.max_vocab_size = max_vocab_size
        self.max_final_vocab = max_final_vocab
        self.shrink_windows = shrink_windows
        self.batch_words = batch_words
        self.min_n = min_n
        self.max_n = max_n
        self.bucket = bucket
        self.oov = oov
        self.preprocess = preprocess
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _make_model(self, **options):
        from gensim.models import FastText

        return FastText(
            **options, min_n=self.min_n, max_n=self.max_n, bucket=self.bucket
        )

    def _fit_vectors(self, tokens, y):
        try:
            super()._fit_vectors(tokens, y)
        except UnicodeEncodeError as error:
            word = error.object.strip("<>")  # gensim's marks of begin and end
            places = np.flatnonzero(tokens.types[tokens.codes] == word)
            rows = np.searchsorted(tokens.offsets, places[:1], side="right") - 1
            where = f"row {rows[0]} holds " if len(rows) else ""
            raise _lone_surrogate(where, word) from error

    def _fit_stream(self, stream):
        try:
            return super()._fit_stream(stream)
        except UnicodeEncodeError as error:
            raise _lone_surrogate("", error.object.strip("<>")) from error

    def _keep(self, model):
        super()._keep(model)
        self.ngrams_ = NgramVectors.of_model(model)

    def _compose(self, words):
        return self.ngrams_.compose(words)


def _lone_surrogate(where, word):
    return ValueError(
        f"FastTextEmbedding: {where}the word {word!r}, which has half of a surrogate "
        "pair and cannot be encoded as UTF-8, as fastText's n-grams are. Replace it in "
        'the texts, for example with text.encode("utf-8", "replace").decode().'
    )
