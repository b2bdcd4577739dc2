"""How the sources that gensim trains talk to it.

TokenStream: a corpus that is read anew in every pass, for what is trained on it.
"""

import logging
import os
from itertools import chain, islice
from numbers import Integral, Real
from pathlib import Path
from threading import Lock

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, Options

from .._core._decorators import fit_context
from .._training._atomic_fit import rollback_on_error
from ..elmo._corpus import is_stream
from ..sequences import TokenSequences, check_tokens
from ..sequences._mixins import MISSING_CONSTRAINT
from ..sequences._validation import count_missing
from ._base import PREPROCESS_CONSTRAINT
from ._word_base import BaseWordEmbedding

_ROWS = 4096


def is_corpus(X):
    """Tell whether X is to be gone through again and again, and not to be kept.

    A path is that of a file; an iterable is a stream if it is no collection. What can
    be gone through only once, a generator, is no stream: it is read into memory.
    """
    return isinstance(X, os.PathLike) or is_stream(X)


class TokenStream:
    """Token lists of a stream, a few thousand rows in memory at a time.

    What goes wrong while another thread iterates is kept in `error`, and the pass ends
    there: gensim's threads would wait for ever for what does not come.

    Parameters
    ----------
    X : path-like or iterable of texts or token lists
    caller : str
        Begins the error messages.
    missing : {"raise", "empty"}
        What to do with missing rows.

    Attributes
    ----------
    n_rows, n_tokens, n_missing : int
        Of the latest pass.
    error : Exception or None
    """

    def __init__(self, X, caller, missing="raise"):
        self._whose, self._missing = caller, missing
        self._rows = _Lines(X, caller) if isinstance(X, os.PathLike) else X
        self.n_rows = self.n_tokens = self.n_missing = 0
        self.error = None

    @property
    def corpus_file(self):
        """Path of a file of tokens between spaces that gensim may read itself."""
        return getattr(self._rows, "corpus_file", None)

    def batches(self):
        """Yield the rows as TokenSequences, a few thousand at a time."""
        self.n_rows = self.n_tokens = self.n_missing = 0
        rows = iter(self._all_rows())
        while some := list(islice(rows, _ROWS)):
            first = self.n_rows
            try:
                tokens = check_tokens(some, caller=self._whose, missing=self._missing)
            except TypeError as error:
                error.add_note(
                    f"Rows are numbered from row {first:,} of the stream on."
                )
                raise
            self.n_rows += len(tokens)
            self.n_tokens += tokens.n_tokens
            self.n_missing += count_missing(tokens)
            yield tokens

    def _all_rows(self):
        # A TextStream refuses missing rows unless told otherwise.
        if self._missing == "empty" and hasattr(self._rows, "opened_source"):
            batches = self._rows.opened_source(missing=True).batches(_ROWS)
            return chain.from_iterable(batch.rows for batch in batches)
        return self._rows

    def guarded(self):
        """Yield the batches, and end where something goes wrong."""
        if self.error is None:
            try:
                yield from self.batches()
            except Exception as error:
                self.error = error

    def check(self, n_rows, n_tokens):
        """Raise what went wrong in a pass, or say that the stream ran dry.

        Parameters
        ----------
        n_rows, n_tokens : int
            Of the first pass.
        """
        if self.error is not None:
            raise self.error
        if (self.n_rows, self.n_tokens) != (n_rows, n_tokens):
            raise ValueError(
                f"{self._whose}: the stream gave {n_rows:,} rows of {n_tokens:,} "
                f"tokens in the first pass, and {self.n_rows:,} of {self.n_tokens:,} "
                "in the last. It must give the same rows in every pass: let its "
                "__iter__ begin anew each time, as TextStream(function) does, or pass "
                "a list."
            )


class _Lines:
    """Lines of a text file of UTF-8, each a text."""

    def __init__(self, path, caller):
        self._path = Path(path).expanduser()
        if not self._path.is_file():
            raise FileNotFoundError(
                f"{caller}: there is no file {str(self._path)!r}. A path is that of a "
                "text file, a sequence a line; TextStream reads folders, JSON-lines, "
                "Parquet and compressed files."
            )

    def __iter__(self):
        with open(self._path, "rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    raise ValueError(
                        f"{self._path}, line {number:,}: byte "
                        f"{line[error.start]:#04x} at place {error.start} is not "
                        "UTF-8. Bring the file to UTF-8. TextStream reads files that "
                        "are compressed."
                    ) from error
                yield text.rstrip("\r\n")


def types_of(counts):
    """Return the words of a count as one sequence of them.

    Parameters
    ----------
    counts : dict of str to int

    Returns
    -------
    tokens : TokenSequences
        Each word once.
    counts : ndarray of int, shape (n_types,)
        How often each occurs.
    """
    words = np.empty(len(counts), dtype=object)
    words[:] = list(counts)
    ends = np.array([0, len(words)])
    tokens = TokenSequences._trusted(words, np.arange(len(words), dtype=np.int32), ends)
    return tokens, np.fromiter(counts.values(), np.int64, count=len(words))


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

    @fit_context(prefer_skip_nested_validation=True)
    @rollback_on_error
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
