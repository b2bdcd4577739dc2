"""Word2VecEmbedding: word2vec trained by gensim, and the corpora that gensim reads."""

from __future__ import annotations

import os
import re
import warnings
from itertools import islice, repeat
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Literal, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from ..._core._estimators import fit_context
from ..._core._inherited_docs import inherit_docs
from ..._core._optional import progress_bar
from ..._core._sklearn import (
    COUNT,
    NATURAL,
    NONNEGATIVE,
    POSITIVE,
    Options,
)
from ..._core._typing import RandomState, Texts
from ...sequences import TokenSequences, check_tokens
from ...sequences._api import count_missing
from ...vectors._api import import_gensim
from .._base import Preprocess, SourceDocs, no_tokens_error
from .._text_streams import Lines, is_stream, refuse_text, text_files
from ._base import OOV, BaseWordEmbedding

_ROWS = 4096  # read at a time
# The number of lines of a file that are checked, and the maximum share of words in
# texts that have punctuation inside or are in capitals.
_LINES, _MOST_CHANGED = 1000, 0.5
_PUNCTUATION = ".,;:!?()[]\"'\u2018\u2019\u201c\u201d"
_MAX_LENGTH = 10_000  # gensim silently truncates longer sentences


class TokenStream:
    """Token lists of a stream, read a few thousand rows at a time.

    `n_rows`, `n_tokens` and `n_missing` count the latest pass. If an error occurs in
    another thread's pass, the pass ends and the error is stored in `error`; otherwise
    gensim's threads would wait forever for the rest of the corpus.
    """

    def __init__(self, X, missing="raise"):
        self._missing = missing
        self._rows = X
        if isinstance(X, os.PathLike):
            self._rows = Lines(text_files(Path(X)))
            _warn_of_tokens(X, self._rows)
        self.n_rows = self.n_tokens = self.n_missing = 0
        self.error = None

    def _batches(self):
        """Yield the rows as TokenSequences."""
        self.n_rows = self.n_tokens = self.n_missing = 0
        rows = iter(self._rows)
        while batch := list(islice(rows, _ROWS)):
            first = self.n_rows
            try:
                tokens = check_tokens(batch, missing=self._missing)
            except TypeError as error:
                error.add_note(
                    f"Row numbers are relative to row {first:,} of the stream."
                )
                raise
            self.n_rows += len(tokens)
            self.n_tokens += tokens.n_tokens
            self.n_missing += count_missing(tokens)
            yield tokens

    def __iter__(self):
        """Yield the batches until an error occurs, and store the error."""
        if self.error is None:
            try:
                yield from self._batches()
            except Exception as error:
                self.error = error

    def check(self, n_rows, n_tokens):
        """Raise a stored error, or an error if the last pass differs from the first."""
        if self.error is not None:
            raise self.error
        if (self.n_rows, self.n_tokens) != (n_rows, n_tokens):
            raise ValueError(
                f"the stream yielded {n_rows:,} rows with {n_tokens:,} tokens in the "
                f"first pass, and {self.n_rows:,} with {self.n_tokens:,} in the last. "
                "It must yield the same rows in every pass: its __iter__ must start "
                "over each time. Or pass a list."
            )


def _warn_of_tokens(path, lines):
    """Warn about a file of tokens that would change when split as texts."""
    tokens = [token for line in islice(lines, _LINES) for token in line.split()]
    changed = [
        (token, words)
        for token, words in zip(tokens, check_tokens(tokens), strict=True)
        if words != [token] and not _is_word(token, words)
    ]
    if len(changed) > _MOST_CHANGED * len(tokens):
        token, words = max(changed, key=lambda pair: len(pair[1]))
        warnings.warn(
            f"{path}: the lines look like tokens with spaces between them, but are "
            f"split as texts, into words in lower case: {token!r} is read as {words}. "
            "For walks and other tokens, which are kept as they are, pass "
            "gensim.models.word2vec.LineSentence(path).",
            stacklevel=2,
        )


def _is_word(token, words):
    """Return whether words are one token without punctuation and capitals."""
    letters = token.strip(_PUNCTUATION)
    return words == re.split("['\u2019]", letters.lower()) and not letters.isupper()


class Sentences:
    """Token lists of several TokenSequences, for gensim to read once per epoch."""

    def __init__(self, parts):
        self.parts = parts

    def __iter__(self):
        for tokens in self.parts:
            for start in range(0, len(tokens), _ROWS):
                for words in tokens[start : start + _ROWS].to_list():
                    for begin in range(0, len(words), _MAX_LENGTH):
                        yield words[begin : begin + _MAX_LENGTH]


def progress_callbacks(source):
    """Return gensim callbacks that show a progress bar if the source is verbose."""
    if not source.verbose:
        return ()
    from gensim.models.callbacks import CallbackAny2Vec

    class Progress(CallbackAny2Vec):
        def on_train_begin(self, model):
            self.bar = progress_bar(
                total=model.epochs, desc=type(source).__name__, unit="epoch"
            )

        def on_epoch_end(self, model):
            self.bar.update()

        def on_train_end(self, model):
            self.bar.close()

    return (Progress(),)


_DOWNSAMPLED = 1e-3  # gensim's default of `sample`
_FLAG = ["boolean", Options(Integral, {0, 1})]  # gensim takes 0 and 1


@inherit_docs(SourceDocs)
class Word2VecEmbedding(BaseWordEmbedding):
    """Train word2vec vectors on the training data with gensim.

    Use it for domains without published vectors, and for tokens that are not words:
    logs, item ids, amino acids. In cross-validation, each fold trains its own vectors,
    so nothing leaks from the test fold.

    Parameters
    ----------
    vector_size : int, default=100
        Dimension of the vectors.
    window : int, default=5
        Maximum distance between a word and the word it predicts.
    min_count : int, default=5
        Words with fewer occurrences in the training data are unknown.
    epochs : int, default=5
        Number of passes over the training data.
    sg : bool, default=False
        Use skip-gram if True, else continuous bag of words (CBOW).
    hs : bool, default=False
        Train with hierarchical softmax.
    negative : int, default=5
        Number of noise words per target word, 0 for no negative sampling.
    ns_exponent : float, default=0.75
        Exponent of the word frequencies from which noise words are sampled.
    cbow_mean : bool, default=True
        Average the context vectors instead of adding them (CBOW only).
    alpha : float, default=0.025
        Initial learning rate.
    min_alpha : float, default=0.0001
        Final learning rate.
    sample : float, default=None
        Frequency above which words are randomly downsampled, 0 for no downsampling.
        None is 0.001, the default of gensim, or 1 / n_words if that is larger: all
        tokens of an alphabet of 20 letters are more frequent than 0.001, and most of
        the data would be dropped.
    oov : {"zero", "mean", "error"}, default="zero"
        Vector of a word without a trained vector: zeros, the mean of the vocabulary,
        or an error that names the word. A word with zeros is unknown and later steps
        skip it; the mean is used like a trained vector.
    preprocess : {"unit", "center", "unit-center-unit", "all-but-the-top"}, default=None
        Preprocessing of the vectors, learned from the 100,000 most frequent words.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial vectors, of downsampling and of noise words.
    n_jobs : int, default=None
        Number of training threads. Results are reproducible only with one thread.
    verbose : int, default=0
        Show a progress bar over the epochs.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        Row of each word in `vectors_`, the most frequent word first.
    vectors_ : ndarray of float32, shape (n_words, vector_size)
        Trained vectors before `preprocess`. The training state (output weights, counts)
        is discarded.

    Raises
    ------
    ValueError
        If no word occurs `min_count` times.

    See Also
    --------
    FastTextEmbedding : Also embeds words that are not in the training data.

    References
    ----------
    Mikolov, Sutskever, Chen, Corrado and Dean (2013). Distributed representations of
    words and phrases and their compositionality. NeurIPS.

    Examples
    --------
    >>> from sk_metaembed import Word2VecEmbedding
    >>> logs = [["login", "view", "buy"], ["login", "view", "logout"]] * 5
    >>> source = Word2VecEmbedding(vector_size=4, random_state=0).fit(logs)
    >>> source.transform([["login", "unseen"]])
    EmbeddedSequences(1 sequences, 2 tokens, 2 types; word2vec: type 4d)
    >>> sorted(source.vocabulary_)
    ['buy', 'login', 'logout', 'view']
    """

    _parameter_constraints: dict = {
        "vector_size": [COUNT],
        "window": [COUNT],
        "min_count": [COUNT],
        "epochs": [COUNT],
        "sg": _FLAG,
        "hs": _FLAG,
        "negative": [NATURAL],
        "ns_exponent": [Real],
        "cbow_mean": _FLAG,
        "alpha": [POSITIVE],
        "min_alpha": [NONNEGATIVE],
        "sample": [NONNEGATIVE, None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
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
        sample: float | None = None,
        oov: OOV = "zero",
        preprocess: Preprocess | None = None,
        missing: Literal["raise", "empty"] = "raise",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
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
        self.oov = oov
        self.preprocess = preprocess
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit_vectors(self, tokens, y):
        self._train(Sentences([tokens]), tokens)

    @fit_context
    def fit(self, X: Texts | PathLike[str], y: object = None) -> Self:
        """Train on the training data, or on a corpus larger than memory.

        With one job, the same `random_state` gives the same vectors. With several
        threads, the order of updates varies and results are not reproducible.

        Parameters
        ----------
        X : TokenSequences, texts or token lists; a stream of them; or a path
            A stream is an iterable that can be read repeatedly and is not a collection.
            It is read once to count words and once per epoch. A path (`pathlib.Path`)
            names a UTF-8 text file with one text per line, or a folder with such .txt
            files. The result is the same as for a list of the same rows: texts are
            split into words in lower case. For a file of tokens with spaces between
            them, such as walks, which are kept as they are, pass gensim's
            ``LineSentence(path)``. A generator is read into memory.
        y : ignored
            Nothing is learned from labels.

        Returns
        -------
        estimator instance
            The fitted source.
        """
        refuse_text(X)
        if not (isinstance(X, os.PathLike) or is_stream(X)):
            return super().fit(X, y)
        stream = TokenStream(X, self.missing)
        counts = self._train(Sentences(stream), stream=stream)
        known = self._fit_table(TokenSequences.from_lists([[*counts]])).known
        share = np.average(known, weights=[*counts.values()])
        self.coverage_ = {"types": float(known.mean()), "tokens": float(share)}
        self.n_missing_ = stream.n_missing
        return self

    def _train(self, sentences, tokens=None, stream=None):
        """Train on sentences of tokens or of a stream, and return their word counts."""
        if not self.hs and not self.negative:
            raise ValueError(
                "with hs=False and negative=0 there is no training objective. Set "
                "negative=5 or hs=True."
            )
        model = self._make_model(**self._options())
        self._build_vocabulary(model, sentences)
        n_rows, texts = (0, None) if tokens is None else (len(tokens), tokens.texts)
        if stream is not None:
            n_rows, n_tokens = stream.n_rows, stream.n_tokens
            stream.check(n_rows, n_tokens)
        self._check_vocabulary(model, n_rows or model.corpus_count, texts)
        model.train(
            sentences,
            total_examples=model.corpus_count,
            total_words=model.corpus_total_words,
            epochs=self.epochs,
            callbacks=progress_callbacks(self),
        )
        if stream is not None:
            stream.check(n_rows, n_tokens)
        self._store(model)
        return model.raw_vocab

    def _build_vocabulary(self, model, sentences):
        """Count words and initialize vectors, as ``model.build_vocab`` does.

        `sample` may depend on the number of words, which is known only after counting.
        """
        model.corpus_total_words, model.corpus_count = model.scan_vocab(sentences)
        n_words = sum(n >= self.min_count for n in model.raw_vocab.values())
        if self.sample is None:
            model.sample = max(_DOWNSAMPLED, 1 / max(n_words, 1))
        model.prepare_vocab(keep_raw_vocab=True)
        model.prepare_weights()

    def _store(self, model):
        self.vocabulary_ = dict(model.wv.key_to_index)
        self.vectors_ = model.wv.vectors

    def _table(self):
        return self.vectors_

    def _find(self, words):
        rows = map(self.vocabulary_.get, words.tolist(), repeat(-1))
        return np.fromiter(rows, np.int64, count=len(words))

    def _options(self):
        names = set(Word2VecEmbedding._parameter_constraints)
        ignored = {"oov", "preprocess", "missing", "random_state", "n_jobs", "verbose"}
        options = {name: getattr(self, name) for name in names - ignored}
        options |= {name: int(options[name]) for name in ("sg", "hs", "cbow_mean")}
        if self.sample is None:
            del options["sample"]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return {**options, "seed": seed, "workers": effective_n_jobs(self.n_jobs)}

    def _check_vocabulary(self, model, n_rows, texts):
        """Raise a ValueError if there is no word to train on."""
        n_tokens, counts = model.corpus_total_words, model.raw_vocab
        if not n_tokens:
            raise no_tokens_error(n_rows, texts)
        if not len(model.wv):
            raise ValueError(
                f"no word is left to train on. The {n_rows} training sequences have "
                f"{n_tokens} tokens, {len(counts)} of them distinct; the most frequent "
                f"occurs {max(counts.values())} times, but min_count={self.min_count}. "
                "Lower min_count, or fit on more data."
            )

    def _make_model(self, **options):
        return import_gensim("Word2VecEmbedding").models.Word2Vec(**options)
