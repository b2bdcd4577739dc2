"""Texts that can be iterated over several times without holding them in memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import filterfalse
from typing import Any, Literal

import numpy as np

from .._core._named_errors import names_errors
from .._core._typing import SupportsTransform
from .._io._compression import detect_compression
from ._fingerprint import pipeline_fingerprint
from ._sources import open_source

_BATCH_SIZE = 4096
_OTHER_SPACE = re.compile(r"[^\S \t-\r]|\ufeff")  # than in ASCII, or a mark


class TextStream:
    r"""Stream texts or token lists from files, tables or functions.

    An iterable that can be iterated over repeatedly and holds at most a few thousand
    rows in memory. Pass it to `Word2VecEmbedding`, `FastTextEmbedding` and
    `ElmoLanguageModel`, which train in several passes over the corpus, and to
    `transform_in_batches`.

    Parameters
    ----------
    source : path-like, callable, iterable, DataFrame, or pyarrow Table or Dataset
        A source of `transform_in_batches` that can be iterated over repeatedly. Pass a
        function without arguments that returns an iterator to stream from a generator.
    column : str, default=None
        The column with the texts, for sources with columns.
    tokenizer : transformer or "spaces", default=None
        Splits the texts: a `Tokenizer`, or any estimator whose `transform` returns
        lists of tokens. "spaces" for tokenized texts with spaces between the tokens.
        None leaves splitting to the estimator.

    Raises
    ------
    TypeError
        If the source can be iterated over only once.
    FileNotFoundError
        If the file does not exist.

    See Also
    --------
    transform_in_batches : Write vectors or predictions for the rows of a stream.
    Word2VecEmbedding : Trains on a stream.

    Notes
    -----
    With ``tokenizer="spaces"`` and a single plain text file, `Word2VecEmbedding` and
    `FastTextEmbedding` with ``n_jobs`` above 1 let the threads of gensim read the file,
    which is the fastest way to train on a large file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sk_metaembed import Word2VecEmbedding
    >>> from sk_metaembed.scale import TextStream
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = Path(folder.name, "corpus.txt")
    >>> _ = file.write_text("the cat sat\nthe dog sat\n" * 10)
    >>> stream = TextStream(file)
    >>> next(iter(stream)), sum(1 for _ in stream)
    ('the cat sat', 20)
    >>> source = Word2VecEmbedding(vector_size=4, random_state=0).fit(stream)
    >>> sorted(source.vocabulary_)
    ['cat', 'dog', 'sat', 'the']
    >>> folder.cleanup()
    """

    @names_errors
    def __init__(
        self,
        source: Any,
        *,
        column: str | None = None,
        tokenizer: SupportsTransform | Literal["spaces"] | None = None,
    ) -> None:
        if isinstance(source, Iterator) or hasattr(source, "read_next_batch"):
            raise TypeError(
                f"source is a {type(source).__name__}, which can be iterated over only "
                "once, and training needs several passes. Pass a function that returns "
                "it, TextStream(lambda: generate()), a file, or a list."
            )
        if tokenizer not in (None, "spaces") and not hasattr(tokenizer, "transform"):
            raise TypeError(
                "tokenizer must be a transformer such as Tokenizer(), "
                f'"spaces" or None, got {tokenizer!r}.'
            )
        self.source = source
        self.column = column
        self.tokenizer = tokenizer
        if not self._is_function():
            self._open_source()  # raises if it does not exist

    @property
    def corpus_file(self) -> str | None:
        """Path of the plain file of tokens, None for any other source.

        The threads of gensim read such a file themselves; any other source is read
        by this process. A plain file has neither a byte order mark nor white space
        beyond ASCII, at which gensim does not split.
        """
        if self.tokenizer != "spaces" or self._is_function() or self.column:
            return None
        files = self._open_source().files
        if len(files) != 1 or detect_compression(files[0])[0] is not None:
            return None
        with open(files[0], encoding="utf-8", errors="replace") as file:
            is_plain = not any(map(_OTHER_SPACE.search, filterfalse(str.isascii, file)))
        return str(files[0]) if is_plain else None

    def _open_source(self, column=None, keep=()):
        """Return a Source that begins with the first row.

        `column` replaces the column of the stream.
        """
        source = self.source() if self._is_function() else self.source
        if isinstance(source, np.ndarray) and source.shape[1:] == (1,):
            source = source[:, 0]  # the texts, instead of lists of one token
        opened = open_source(source, column or self.column, keep)
        if self.tokenizer is None:
            return opened
        tokenizer = pipeline_fingerprint(self.tokenizer)

        def read(size):
            return ((self._split(rows), kept) for rows, kept in opened.read(size))

        return replace(opened, read=read, tokenizer=tokenizer)

    def __iter__(self) -> Iterator[str | list[str]]:
        for rows, _ in self._open_source().read(_BATCH_SIZE):
            yield from rows

    def _split(self, rows):
        if self.tokenizer == "spaces":
            return [row.split() if isinstance(row, str) else row for row in rows]
        tokens = self.tokenizer.transform(rows)
        return tokens.to_list() if hasattr(tokens, "to_list") else tokens

    def _is_function(self):
        return callable(self.source) and not isinstance(self.source, os.PathLike)

    def __repr__(self):
        return f"TextStream({self.source!r:.60})"
