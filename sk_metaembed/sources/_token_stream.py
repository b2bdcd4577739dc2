"""TokenStream: a corpus that is read anew in every pass, for what is trained on it."""

import os
from itertools import chain, islice
from pathlib import Path

import numpy as np

from ..elmo._corpus import is_stream
from ..sequences import TokenSequences, check_tokens
from ..sequences._validation import n_missing

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
    whose : str
        Begins the error messages.
    missing : {"raise", "empty"}
        What to do with missing rows.

    Attributes
    ----------
    n_rows, n_tokens, n_missing : int
        Of the latest pass.
    error : Exception or None
    """

    def __init__(self, X, whose, missing="raise"):
        self._whose, self._missing = whose, missing
        self._rows = _Lines(X, whose) if isinstance(X, os.PathLike) else X
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
                tokens = check_tokens(some, whose=self._whose, missing=self._missing)
            except TypeError as error:
                error.add_note(
                    f"Rows are numbered from row {first:,} of the stream on."
                )
                raise
            self.n_rows += len(tokens)
            self.n_tokens += tokens.n_tokens
            self.n_missing += n_missing(tokens)
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

    def __init__(self, path, whose):
        self._path = Path(path).expanduser()
        if not self._path.is_file():
            raise FileNotFoundError(
                f"{whose}: there is no file {str(self._path)!r}. A path is that of a "
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
