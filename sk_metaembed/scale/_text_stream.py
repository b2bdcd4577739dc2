"""Texts that can be iterated over several times without holding them in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from ._batches import accepts_missing, pipeline_rows
from ._file_sources import TextLines
from ._fingerprint import pipeline_fingerprint
from ._sources import open_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core._typing import SupportsTransform

_BATCH_SIZE = 4096


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
    >>> [batch.rows for batch in TextStream(["a", "b", "c"]).open_source().batches(2)]
    [['a', 'b'], ['c']]
    >>> source = Word2VecEmbedding(vector_size=4, random_state=0).fit(stream)
    >>> sorted(source.vocabulary_)
    ['cat', 'dog', 'sat', 'the']
    >>> folder.cleanup()
    """

    def __init__(
        self,
        source: Any,
        *,
        column: str | None = None,
        tokenizer: SupportsTransform | Literal["spaces"] | None = None,
    ) -> None:
        if isinstance(source, Iterator) or hasattr(source, "read_next_batch"):
            raise TypeError(
                f"TextStream: source is a {type(source).__name__}, which can be "
                "iterated over only once, and training needs several passes. Pass a "
                "function that returns it, TextStream(lambda: generate()), a file, or "
                "a list."
            )
        if tokenizer not in (None, "spaces") and not hasattr(tokenizer, "transform"):
            raise TypeError(
                "TextStream: tokenizer must be a transformer such as Tokenizer(), "
                f'"spaces" or None, got {tokenizer!r}.'
            )
        self.source = source
        self.column = column
        self.tokenizer = tokenizer
        if not self._is_function():
            self.open_source()  # raises if it does not exist

    @property
    def corpus_file(self) -> str | None:
        """Path of the plain file of tokens, None for any other source.

        The threads of gensim read such a file themselves; any other source is read
        by this process.
        """
        if self.tokenizer != "spaces" or self._is_function():
            return None
        opened = self._opened()
        return opened.plain_file if type(opened) is TextLines else None

    def open_source(
        self,
        columns: Sequence[str] = (),
        keep: Sequence[str] = (),
        missing: bool = False,
    ) -> Any:
        """Open the source from its first row, as `transform_in_batches` reads it.

        Parameters
        ----------
        columns : list of str, default=()
            Columns with texts, instead of `column`.
        keep : list of str, default=()
            Columns to be copied.
        missing : bool, default=False
            Whether rows may be missing (None, NaN, null). An estimator as `tokenizer`
            decides this instead, by its parameter ``missing``.

        Returns
        -------
        object
            Its method ``batches(size)`` yields batches of rows.
        """
        if self.tokenizer not in (None, "spaces"):
            missing = accepts_missing(self.tokenizer)
        opened = self._opened(columns, keep, missing)
        if self.tokenizer is None:
            return opened
        return _TokenizedSource(opened, self.tokenizer)

    def _opened(self, columns=(), keep=(), missing=False):
        source = self.source() if self._is_function() else self.source
        return open_source(source, list(columns) or self.column, keep, missing)

    def __iter__(self) -> Iterator[str | list[str]]:
        for batch in self.open_source().batches(_BATCH_SIZE):
            yield from batch.rows

    def _is_function(self):
        return callable(self.source) and not isinstance(self.source, os.PathLike)

    def __repr__(self):
        return f"TextStream({self.source!r:.60})"


class _TokenizedSource:
    """A source whose texts are split into tokens."""

    def __init__(self, source, tokenizer):
        self._source, self._tokenizer = source, tokenizer

    def __getattr__(self, name):
        return getattr(self._source, name)

    def identity(self):
        """Return what identifies the source and its tokenizer, for JSON."""
        splits = self._tokenizer
        if splits != "spaces":
            splits = pipeline_fingerprint(splits)
        return [*self._source.identity(), "tokenizer", splits]

    def batches(self, *args, **kwargs):
        """Yield the batches of the source, with tokens."""
        for batch in self._source.batches(*args, **kwargs):
            yield batch._replace(rows=self._split(batch.rows))

    def _split(self, rows):
        if self._tokenizer == "spaces":
            return [row.split() if isinstance(row, str) else row for row in rows]
        tokens = self._tokenizer.transform(pipeline_rows(rows, self._tokenizer))
        return tokens.to_list() if hasattr(tokens, "to_list") else tokens
