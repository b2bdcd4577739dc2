"""Helpers for training with gensim: corpora and progress bars."""

import os
import re
import warnings
from itertools import islice
from pathlib import Path

import numpy as np

from ..._core._optional import progress_bar
from ...sequences import TokenSequences, check_tokens
from ...sequences._api import count_missing
from .._text_streams import Lines, is_stream, refuse_text, text_files

_ROWS = 4096  # read at a time
# Of the lines of a file that are checked, and the share of words that texts have with
# punctuation inside or in capitals, at most.
_LINES, _MOST_CHANGED = 1000, 0.5
_PUNCTUATION = ".,;:!?()[]\"'\u2018\u2019\u201c\u201d"
_MAX_LENGTH = 10_000  # gensim silently truncates longer sentences


def is_corpus(X):
    """Return whether X is read once per pass instead of being kept in memory.

    True for a path and for an iterable that is neither a collection nor a generator. A
    generator can be read only once, so it is read into memory.
    """
    refuse_text(X)
    return isinstance(X, os.PathLike) or is_stream(X)


class TokenStream:
    """Token lists of a stream, read a few thousand rows at a time.

    If an error occurs in another thread's pass, the pass ends and the error is stored
    in `error`: gensim's threads would wait forever for the rest of the corpus.

    Parameters
    ----------
    X : path-like or iterable of texts or token lists
    missing : {"raise", "empty"}
        What to do with missing rows.

    Attributes
    ----------
    n_rows, n_tokens, n_missing : int
        Counts of the latest pass.
    error : Exception or None
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
    """Warn of a file whose lines are tokens that the splitting of texts changes."""
    pieces = [piece for line in islice(lines, _LINES) for piece in line.split()]
    changed = [
        (piece, words)
        for piece, words in zip(pieces, check_tokens(pieces), strict=True)
        if words != [piece] and not _is_word(piece, words)
    ]
    if len(changed) > _MOST_CHANGED * len(pieces):
        piece, words = max(changed, key=lambda pair: len(pair[1]))
        warnings.warn(
            f"{path}: the lines look like tokens with spaces between them, but are "
            f"split as texts, into words in lower case: {piece!r} is read as {words}. "
            "For walks and other tokens, which are kept as they are, pass "
            "gensim.models.word2vec.LineSentence(path).",
            stacklevel=2,
        )


def _is_word(piece, words):
    """Return whether words are a piece of a text without punctuation and capitals."""
    letters = piece.strip(_PUNCTUATION)
    return words == re.split("['\u2019]", letters.lower()) and not letters.isupper()


def types_with_counts(counts):
    """Return the words of a ``{word: count}`` dict as one sequence, and the counts."""
    tokens = TokenSequences.from_lists([[*counts]])
    return tokens, np.fromiter(counts.values(), np.int64, count=len(counts))


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
