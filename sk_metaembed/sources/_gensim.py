"""How the sources that gensim trains talk to it."""

import logging
from numbers import Integral, Real
from threading import Lock

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, Options

from ..sequences._estimator import MISSING_CONSTRAINT
from ..sequences._whole_fit import whole_or_nothing
from ._base import PREPROCESS_CONSTRAINT
from ._token_stream import TokenStream, is_corpus, types_of
from ._words import BaseWordEmbedding

_FLAG = ["boolean", Options(Integral, {0, 1})]  # gensim's own are 0 and 1
_LONGEST = 10_000  # gensim cuts longer sentences without a word


def _at_least(low, kind=Integral):
    return Interval(kind, low, None, closed="left")


class BaseGensimEmbedding(BaseWordEmbedding):
    """Train vectors on the training fold with gensim.

    A leaf gives `_make_model(**options)`, and extends `_keep(model)` where it needs
    more of the trained model than the vectors of its words.
    """

    _parameter_constraints: dict = {
        **BaseWordEmbedding._parameter_constraints,
        "vector_size": [_at_least(1)],
        "window": [_at_least(1)],
        "min_count": [_at_least(1)],
        "epochs": [_at_least(1)],
        "sg": _FLAG,
        "hs": _FLAG,
        "negative": [_at_least(0)],
        "ns_exponent": [Real],
        "cbow_mean": _FLAG,
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "min_alpha": [_at_least(0, Real)],
        "sample": [_at_least(0, Real)],
        "max_vocab_size": [_at_least(1), None],
        "max_final_vocab": [_at_least(1), None],
        "shrink_windows": _FLAG,
        "batch_words": [_at_least(1)],
        "preprocess": PREPROCESS_CONSTRAINT,
        "missing": MISSING_CONSTRAINT,
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def _check_trainable(self):
        if not self.hs and not self.negative:
            raise ValueError(
                f"{type(self).__name__}: hs=False and negative=0 leave nothing to "
                "train with. Set negative to 5 or so, or hs=True."
            )

    def _fit_vectors(self, tokens, y):
        self._check_trainable()
        sentences = Sentences(tokens)
        with quiet_gensim:
            model = self._make_model(**self._options())
            self._build_vocabulary(model, sentences, tokens)
            self._train(model, corpus_iterable=sentences)
        self._keep(model)

    def _train(self, model, **corpus):
        model.train(
            **corpus,
            total_examples=model.corpus_count,
            total_words=model.corpus_total_words,
            epochs=self.epochs,
            callbacks=progress(self),
        )

    @_fit_context(prefer_skip_nested_validation=True)
    @whole_or_nothing
    def fit(self, X, y=None):
        """Train on the training fold, or on a stream that memory need not hold.

        The same random state gives the same vectors with one job; several threads train
        in an order that is not the same twice.

        Parameters
        ----------
        X : TokenSequences, texts or token lists; a stream of them; or a path
            A stream is an iterable that can be gone through again and again and is no
            collection, such as `TextStream`: there is a pass to count words, and one an
            epoch. A path (`pathlib.Path`) is that of a text file of UTF-8, a sequence
            a line. What comes out is what a list of the same rows gives. A generator
            can be gone through only once, and is read into memory.
        y : ignored
            Nothing is learned from labels.

        Returns
        -------
        estimator instance
            The fitted source.

        See Also
        --------
        sk_metaembed.scale.TextStream :
            Texts larger than memory, read anew in each pass.
        PretrainedEmbedding : Vectors that are trained already.

        Examples
        --------
        >>> from sk_metaembed import Word2VecEmbedding
        >>> source = Word2VecEmbedding(vector_size=4, min_count=2, random_state=0)
        >>> sorted(source.fit(["to be or not to be"]).vocabulary_)
        ['be', 'to']
        """
        if is_corpus(X):
            self._check_trainable()
            stream = TokenStream(X, type(self).__name__, self.missing)
            counts = self._fit_stream(stream)
            tokens, n = types_of(counts)
            known = self._settle(tokens).known
            shares = np.average(known, weights=n)
            self.coverage_ = {"types": float(known.mean()), "tokens": float(shares)}
            self.n_missing_ = stream.n_missing
            return self
        return super().fit(X, y)

    def _fit_stream(self, stream):
        """Train on a stream, and return how often each word occurs in it."""
        corpus = {"corpus_iterable": StreamSentences(stream)}
        # gensim's threads read lines themselves, where more than one has to.
        if effective_n_jobs(self.n_jobs) > 1 and stream.corpus_file is not None:
            corpus = {"corpus_file": stream.corpus_file}
        with quiet_gensim:
            model = self._make_model(**self._options())
            model.build_vocab(**corpus, keep_raw_vocab=True)
            n_rows, n_tokens = stream.n_rows, stream.n_tokens
            stream.check(n_rows, n_tokens)
            counts = model.raw_vocab
            self._check_vocabulary(
                model,
                n_rows or model.corpus_count,
                model.corpus_total_words,
                len(counts),
                max(counts.values(), default=0),
            )
            self._train(model, **corpus)
        stream.check(n_rows, n_tokens)
        model.raw_vocab = None
        self._keep(model)
        return counts

    def _keep(self, model):
        self.vocabulary_ = dict(model.wv.key_to_index)
        self.vectors_ = model.wv.vectors

    def _table(self):
        return self.vectors_

    def _find(self, words):
        row = self.vocabulary_.get
        return np.fromiter((row(w, -1) for w in words), np.int64, count=len(words))

    def _options(self):
        names = set(BaseGensimEmbedding._parameter_constraints)
        ours = {"oov", "preprocess", "missing", "random_state", "n_jobs", "verbose"}
        options = {name: getattr(self, name) for name in names - ours}
        for flag in ("sg", "hs", "cbow_mean"):
            options[flag] = int(options[flag])
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        return {
            **options,
            "seed": int(seed),
            "workers": effective_n_jobs(self.n_jobs),
        }

    def _build_vocabulary(self, model, sentences, tokens):
        counts = tokens.type_counts()
        highest = int(counts.max(initial=0))
        sizes = len(tokens), tokens.n_tokens, tokens.n_types, highest
        if highest >= self.min_count:
            model.build_vocab(sentences)
        self._check_vocabulary(model, *sizes)

    def _check_vocabulary(self, model, n_rows, n_tokens, n_types, highest):
        """Refuse to train where no word is left."""
        if not n_tokens:
            raise ValueError(
                f"{type(self).__name__} got {n_rows} sequences without a single "
                "token; there is nothing to train on. If X is a generator, it may have "
                "been read before."
            )
        if len(model.wv):
            return
        too_high = (
            f"{type(self).__name__}: no word is left to train on. The {n_rows} "
            f"training sequences have {n_tokens} tokens, {n_types} of "
            f"them distinct; the most frequent occurs {highest} times, but "
            f"min_count={self.min_count}. Lower min_count, or fit on more data."
        )
        if highest >= self.min_count:  # pruned away
            too_high += (
                f" The limits max_vocab_size={self.max_vocab_size} and "
                f"max_final_vocab={self.max_final_vocab} count as well."
            )
        raise ValueError(too_high)


class Sentences:
    """Token lists for gensim, once more for every epoch, a few at a time.

    Parameters
    ----------
    tokens : TokenSequences
    """

    def __init__(self, tokens):
        self.tokens = tokens

    def __iter__(self):
        for start in range(0, len(self.tokens), 4096):
            for words in self.tokens[start : start + 4096].to_list():
                for begin in range(0, len(words), _LONGEST):
                    yield words[begin : begin + _LONGEST]


class StreamSentences:
    """Token lists of a stream for gensim, once more for every epoch.

    Parameters
    ----------
    stream : TokenStream
    """

    def __init__(self, stream):
        self.stream = stream

    def __iter__(self):
        for tokens in self.stream.guarded():
            yield from Sentences(tokens)


class _QuietGensim:
    """Keep gensim's log messages, which reach the screen unasked, to critical ones.

    Several threads may be inside; the last to leave restores the level.
    """

    def __init__(self):
        self.lock = Lock()
        self.n_inside = 0

    def __enter__(self):
        logger = logging.getLogger("gensim")
        with self.lock:
            if not self.n_inside:
                self.level = logger.level
                logger.setLevel(max(self.level, logging.CRITICAL))
            self.n_inside += 1

    def __exit__(self, *error):
        with self.lock:
            self.n_inside -= 1
            if not self.n_inside:
                logging.getLogger("gensim").setLevel(self.level)


quiet_gensim = _QuietGensim()


def progress(source):
    """Return gensim callbacks that show the epochs, if the source is verbose."""
    if not source.verbose:
        return ()
    from gensim.models.callbacks import CallbackAny2Vec
    from tqdm import tqdm

    class Progress(CallbackAny2Vec):
        def on_train_begin(self, model):
            self.bar = tqdm(
                total=model.epochs, desc=type(source).__name__, unit="epoch"
            )

        def on_epoch_end(self, model):
            self.bar.update()

        def on_train_end(self, model):
            self.bar.close()

    return (Progress(),)
