"""Base class of sources trained with gensim, and the corpora that it is trained on."""

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

from .._core._decorators import fit_context, rollback_on_error
from ..elmo._corpus import is_stream
from ..sequences import TokenSequences, check_tokens
from ..sequences._mixins import MISSING_CONSTRAINT
from ..sequences._validation import count_missing
from ._base import PREPROCESS_CONSTRAINT
from ._word_base import BaseWordEmbedding

_ROWS = 4096  # read at a time
_FLAG = ["boolean", Options(Integral, {0, 1})]  # gensim's own are 0 and 1
_MAX_LENGTH = 10_000  # gensim silently truncates longer sentences


def is_corpus(X):
    """Return whether X is read once per pass instead of being kept in memory.

    True for a path and for an iterable that is neither a collection nor a generator. A
    generator can be read only once, so it is read into memory.
    """
    return isinstance(X, os.PathLike) or is_stream(X)


class TokenStream:
    """Token lists of a stream, read a few thousand rows at a time.

    If an error occurs in another thread's pass, the pass ends and the error is stored
    in `error`: gensim's threads would wait forever for the rest of the corpus.

    Parameters
    ----------
    X : path-like or iterable of texts or token lists
    caller : str
        Prefix of error messages.
    missing : {"raise", "empty"}
        What to do with missing rows.

    Attributes
    ----------
    n_rows, n_tokens, n_missing : int
        Counts of the latest pass.
    error : Exception or None
    """

    def __init__(self, X, caller, missing="raise"):
        self._caller, self._missing = caller, missing
        self._rows = _Lines(X, caller) if isinstance(X, os.PathLike) else X
        self.n_rows = self.n_tokens = self.n_missing = 0
        self.error = None

    @property
    def corpus_file(self):
        """Path of a file of space-separated tokens that gensim can read, or None."""
        return getattr(self._rows, "corpus_file", None)

    def batches(self):
        """Yield the rows as TokenSequences."""
        self.n_rows = self.n_tokens = self.n_missing = 0
        rows = iter(self._all_rows())
        while batch := list(islice(rows, _ROWS)):
            first = self.n_rows
            try:
                tokens = check_tokens(batch, caller=self._caller, missing=self._missing)
            except TypeError as error:
                error.add_note(
                    f"Row numbers are relative to row {first:,} of the stream."
                )
                raise
            self.n_rows += len(tokens)
            self.n_tokens += tokens.n_tokens
            self.n_missing += count_missing(tokens)
            yield tokens

    def _all_rows(self):
        # A TextStream refuses missing rows unless told otherwise.
        if self._missing == "empty" and hasattr(self._rows, "open_source"):
            batches = self._rows.open_source(missing=True).batches(_ROWS)
            return chain.from_iterable(batch.rows for batch in batches)
        return self._rows

    def guarded(self):
        """Yield the batches until an error occurs, and store the error."""
        if self.error is None:
            try:
                yield from self.batches()
            except Exception as error:
                self.error = error

    def check(self, n_rows, n_tokens):
        """Raise a stored error, or an error if the last pass differs from the first."""
        if self.error is not None:
            raise self.error
        if (self.n_rows, self.n_tokens) != (n_rows, n_tokens):
            raise ValueError(
                f"{self._caller}: the stream yielded {n_rows:,} rows with {n_tokens:,} "
                f"tokens in the first pass, and {self.n_rows:,} with {self.n_tokens:,} "
                "in the last. It must yield the same rows in every pass: its __iter__ "
                "must start over each time, as TextStream(function) does. Or pass a "
                "list."
            )


class _Lines:
    """Lines of a UTF-8 text file, one text per line."""

    def __init__(self, path, caller):
        self._path = Path(path).expanduser()
        if not self._path.is_file():
            raise FileNotFoundError(
                f"{caller}: no such file: {str(self._path)!r}. A path must name a text "
                "file with one sequence per line; TextStream reads folders, JSON "
                "lines, Parquet and compressed files."
            )

    def __iter__(self):
        with open(self._path, "rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    raise ValueError(
                        f"{self._path}, line {number:,}: byte "
                        f"{line[error.start]:#04x} at position {error.start} is not "
                        "valid UTF-8. Convert the file to UTF-8; for a compressed file "
                        "use TextStream."
                    ) from error
                yield text.rstrip("\r\n")


def types_with_counts(counts):
    """Return the words of a ``{word: count}`` dict as one sequence, and the counts."""
    words = np.empty(len(counts), dtype=object)
    words[:] = list(counts)
    ends = np.array([0, len(words)])
    tokens = TokenSequences._trusted(words, np.arange(len(words), dtype=np.int32), ends)
    return tokens, np.fromiter(counts.values(), np.int64, count=len(words))


def _at_least(low, kind=Integral):
    return Interval(kind, low, None, closed="left")


class BaseGensimEmbedding(BaseWordEmbedding):
    """Train word vectors with gensim.

    A subclass implements ``_make_model(**options)``, and extends ``_store(model)`` if
    it needs more than the vectors of the model's words.
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
        oov="zero",
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
        self.oov = oov
        self.preprocess = preprocess
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_trainable(self):
        if not self.hs and not self.negative:
            raise ValueError(
                f"{type(self).__name__}: with hs=False and negative=0 there is no "
                "training objective. Set negative=5 or hs=True."
            )

    def _fit_vectors(self, tokens, y):
        self._check_trainable()
        sentences = Sentences(tokens)
        with quiet_gensim:
            model = self._make_model(**self._options())
            self._build_vocabulary(model, sentences, tokens)
            self._train(model, corpus_iterable=sentences)
        self._store(model)

    def _train(self, model, **corpus):
        model.train(
            **corpus,
            total_examples=model.corpus_count,
            total_words=model.corpus_total_words,
            epochs=self.epochs,
            callbacks=progress_callbacks(self),
        )

    @fit_context(prefer_skip_nested_validation=True)
    @rollback_on_error
    def fit(self, X, y=None):
        """Train on the training data, or on a corpus larger than memory.

        With one job, the same `random_state` gives the same vectors. With several
        threads, the order of updates varies and results are not reproducible.

        Parameters
        ----------
        X : TokenSequences, texts or token lists; a stream of them; or a path
            A stream is an iterable that can be read repeatedly and is not a collection,
            such as `TextStream`. It is read once to count words and once per epoch. A
            path (`pathlib.Path`) names a UTF-8 text file with one sequence per line.
            The result is the same as for a list of the same rows. A generator is read
            into memory.
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
            tokens, n = types_with_counts(counts)
            known = self._fit_lookup(tokens).known
            shares = np.average(known, weights=n)
            self.coverage_ = {"types": float(known.mean()), "tokens": float(shares)}
            self.n_missing_ = stream.n_missing
            return self
        return super().fit(X, y)

    def _fit_stream(self, stream):
        """Train on a stream, and return its word counts."""
        corpus = {"corpus_iterable": StreamSentences(stream)}
        # With several threads, it is faster if gensim reads the file itself.
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
        self._store(model)
        return counts

    def _store(self, model):
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
        """Raise a ValueError if there is no word to train on."""
        if not n_tokens:
            raise ValueError(
                f"{type(self).__name__}: found no tokens in {n_rows} sequences. If X "
                "is a generator, it may be exhausted."
            )
        if len(model.wv):
            return
        message = (
            f"{type(self).__name__}: no word is left to train on. The {n_rows} "
            f"training sequences have {n_tokens} tokens, {n_types} of "
            f"them distinct; the most frequent occurs {highest} times, but "
            f"min_count={self.min_count}. Lower min_count, or fit on more data."
        )
        if highest >= self.min_count:
            message += (
                f" max_vocab_size={self.max_vocab_size} and "
                f"max_final_vocab={self.max_final_vocab} also remove words."
            )
        raise ValueError(message)


class Sentences:
    """Token lists of a TokenSequences, for gensim to iterate over once per epoch."""

    def __init__(self, tokens):
        self.tokens = tokens

    def __iter__(self):
        for start in range(0, len(self.tokens), _ROWS):
            for words in self.tokens[start : start + _ROWS].to_list():
                for begin in range(0, len(words), _MAX_LENGTH):
                    yield words[begin : begin + _MAX_LENGTH]


class StreamSentences:
    """Token lists of a TokenStream, for gensim to iterate over once per epoch."""

    def __init__(self, stream):
        self.stream = stream

    def __iter__(self):
        for tokens in self.stream.guarded():
            yield from Sentences(tokens)


class _QuietGensim:
    """Context manager that silences gensim's log below critical messages.

    Threads may enter concurrently; the last one to leave restores the level.
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


def progress_callbacks(source):
    """Return gensim callbacks that show a progress bar if the source is verbose."""
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
