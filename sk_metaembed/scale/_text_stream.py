"""TextStream: texts that are read anew each time they are gone through."""

import os
from collections.abc import Iterator

from ._batches import accepts_missing
from ._file_sources import TextLines
from ._fingerprint import pipeline_fingerprint
from ._sources import open_source

_BATCH = 4096


class TextStream:
    r"""Texts or token lists from files, tables or functions, however many there are.

    An iterable that can be gone through again and again and never holds more than a few
    thousand rows. What is trained in several passes over a corpus larger than memory
    takes one: `Word2VecEmbedding`, `FastTextEmbedding`, `ElmoLanguageModel`.
    `transform_in_batches` takes one too.

    Parameters
    ----------
    source : path-like, callable, iterable, DataFrame, or pyarrow Table or Dataset
        What `transform_in_batches` takes, but nothing that can be gone through only
        once. A function without arguments that returns an iterator makes a stream of
        a generator.
    column : str, default=None
        The column with the texts, where the source has columns.
    tokenizer : transformer or "spaces", default=None
        Splits the texts: a `Tokenizer`, or anything whose ``transform`` gives lists of
        tokens. "spaces" for what is tokenised already, in lines with spaces between the
        tokens. None gives texts, which the estimator splits.

    Raises
    ------
    TypeError
        If the source can be gone through only once.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    transform_in_batches : Vectors or predictions for what a stream gives.

    Notes
    -----
    A plain text file of tokens, ``tokenizer="spaces"``, is read by gensim's threads
    themselves where `Word2VecEmbedding` or `FastTextEmbedding` have ``n_jobs`` above 1:
    the quickest way to train on a large file.

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

    def __init__(self, source, *, column=None, tokenizer=None):
        if isinstance(source, Iterator) or hasattr(source, "read_next_batch"):
            raise TypeError(
                f"TextStream got a {type(source).__name__}, which can be gone through "
                "only once, and training needs several passes. Give a function that "
                "makes it, TextStream(lambda: generate()), a file, or a list."
            )
        if tokenizer not in (None, "spaces") and not hasattr(tokenizer, "transform"):
            raise TypeError(
                f"TextStream: tokenizer must be a transformer such as Tokenizer(), "
                f'"spaces" or None, got {tokenizer!r}.'
            )
        self.source = source
        self.column = column
        self.tokenizer = tokenizer
        if not self._is_function():
            self.opened_source()  # complains of what is not there

    @property
    def corpus_file(self):
        """Path of the one plain file of tokens that this reads, else None.

        gensim's threads read such a file without Python between them and the disk;
        every other source goes through this process.
        """
        if self.tokenizer != "spaces" or self._is_function():
            return None
        opened = self._opened()
        return opened.plain_file if type(opened) is TextLines else None

    def opened_source(self, columns=(), keep=(), missing=False):
        """Return the source, as `transform_in_batches` reads it.

        Each call begins anew, from the first row; of a function it is what the function
        makes then.

        Parameters
        ----------
        columns : list of str, default=()
            In place of `column`.
        keep : list of str, default=()
            Columns that are carried along.
        missing : bool, default=False
            Whether rows may be missing (None, NaN, null). With an estimator as
            `tokenizer` they may be if it has ``missing="empty"``.

        Returns
        -------
        source
            With ``batches(size, cursor)``.
        """
        if self.tokenizer not in (None, "spaces"):
            missing = accepts_missing(self.tokenizer)
        opened = self._opened(columns, keep, missing)
        return opened if self.tokenizer is None else _Tokenized(opened, self.tokenizer)

    def _opened(self, columns=(), keep=(), missing=False):
        source = self.source() if self._is_function() else self.source
        return open_source(source, list(columns) or self.column, keep, missing)

    def __iter__(self):
        for batch in self.opened_source().batches(_BATCH):
            yield from batch.rows

    def _is_function(self):
        return callable(self.source) and not isinstance(self.source, os.PathLike)

    def __repr__(self):
        return f"TextStream({self.source!r:.60})"


class _Tokenized:
    """A source whose texts come as lists of tokens."""

    def __init__(self, source, tokenizer):
        self._source, self._tokenizer = source, tokenizer

    @property
    def name(self):
        """What messages call it."""
        return self._source.name

    @property
    def n_rows(self):
        """How many rows there are, None where nobody knows."""
        return self._source.n_rows

    def no_rows(self):
        """Return the columns that are carried along, without rows."""
        return self._source.no_rows()

    def identity(self):
        """Return what the source is known by, and what splits its texts."""
        splits = self._tokenizer
        if splits != "spaces":
            splits = pipeline_fingerprint(splits)
        return [*self._source.identity(), "tokenizer", splits]

    def batches(self, size, cursor=None):
        """Yield a Batch of up to `size` rows at a time, from a cursor on."""
        for batch in self._source.batches(size, cursor):
            yield batch._replace(rows=self._split(batch.rows))

    def _split(self, rows):
        if self._tokenizer == "spaces":
            return [row.split() if isinstance(row, str) else row for row in rows]
        tokens = self._tokenizer.transform(rows)
        return tokens.to_list() if hasattr(tokens, "to_list") else tokens
