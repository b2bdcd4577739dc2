"""Corpora of a language model, and their vocabularies."""

import os
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from ....sequences import check_tokens
from ..._text_streams import Lines, is_stream, refuse_text, text_files
from .._texts import split_at_spaces

_BUFFER_SIZE = 10_000  # rows of a stream that are shuffled together


def read_corpus(X):
    """Return the RowsCorpus or StreamCorpus of the X passed to `fit`.

    Its method ``rows(rng)`` yields lists of str, in order or shuffled by a Generator.

    >>> corpus = read_corpus([["the", "end"]])
    >>> list(corpus.rows())
    [['the', 'end']]
    """
    if isinstance(X, os.PathLike):
        return StreamCorpus(Lines(text_files(Path(X))))
    refuse_text(X)
    if is_stream(X):
        return StreamCorpus(X)
    return RowsCorpus(check_tokens(X, split=split_at_spaces))


class RowsCorpus:
    """Rows in memory, as TokenSequences."""

    count = None  # the CorpusCount, once counted

    def __init__(self, tokens):
        self.tokens = tokens

    def rows(self, rng=None):
        """Yield the words of each row."""
        n_rows = len(self.tokens)
        for i in range(n_rows) if rng is None else rng.permutation(n_rows):
            yield self.tokens[i]


class StreamCorpus:
    """Rows of an iterable that can be iterated over repeatedly."""

    count = None  # the CorpusCount, once counted

    def __init__(self, iterable):
        self._iterable = iterable

    def rows(self, rng=None):
        """Yield the words of each row."""
        rows = self._rows()
        return rows if rng is None else shuffle_buffer(rows, rng)

    def _rows(self):
        for i, row in enumerate(self._iterable):
            words = row.split() if isinstance(row, str) else row
            is_row = isinstance(words, list | tuple)
            if not is_row or not all(isinstance(word, str) for word in words):
                raise TypeError(
                    f"each row must be a str or a list of str; row {i} "
                    f"of the stream is {row!r:.60}."
                )
            yield words


def shuffle_buffer(rows, rng, size=_BUFFER_SIZE):
    """Yield rows in random order, drawing each from a buffer of `size` rows."""
    buffer = []
    for row in rows:
        if len(buffer) < size:
            buffer.append(row)
            continue
        k = rng.integers(size)
        buffer[k], row = row, buffer[k]
        yield row
    for k in rng.permutation(len(buffer)):
        yield buffer[k]


UNKNOWN = "<UNK>"
SPECIAL = ("<S>", "</S>", UNKNOWN)


class CorpusCount(NamedTuple):
    """Counts of one pass over a corpus."""

    words: Counter
    n_rows: int
    n_words: int


def read_training_corpus(X):
    """Return the corpus of X with its count, or raise if it has too few words."""
    corpus = read_counted_corpus(X)
    count = corpus.count
    if count.n_words == 0:
        raise ValueError(
            f"the corpus is empty: it has {count.n_rows} rows (samples) and "
            "no words. At least one row must have words."
        )
    if len(count.words) < 2:
        raise ValueError(
            f"the corpus has only one distinct word, "
            f"{next(iter(count.words))!r}, in {count.n_rows} rows (n_samples = "
            f"{count.n_rows}). At least two different words are required."
        )
    return corpus


def read_counted_corpus(X):
    """Return the corpus of X with its count."""
    corpus = read_corpus(X)
    words, n_rows = Counter(), 0
    for row in corpus.rows():
        words.update(row)
        n_rows += 1
    corpus.count = CorpusCount(words, n_rows, words.total())
    return corpus


def make_vocabulary(count, min_count):
    """Return the words of a softmax: `SPECIAL`, then words by frequency.

    >>> count = CorpusCount(Counter("abracadabra"), 1, 11)
    >>> make_vocabulary(count, 2)
    ['<S>', '</S>', '<UNK>', 'a', 'b', 'r']
    """
    # vocab.txt has one word per line.
    usable = {
        w: n for w, n in count.words.items() if w not in SPECIAL and "\n" not in w
    }
    frequent = [word for word, n in usable.items() if n >= min_count]
    if not frequent:
        raise ValueError(
            "no word of the corpus can be predicted. The most frequent word occurs "
            f"{max([0, *usable.values()])} times, and min_count={min_count}; words "
            f"with a line break and the marks {SPECIAL} do not count. Use a smaller "
            "min_count, or another corpus."
        )
    return [*SPECIAL, *sorted(frequent, key=lambda word: (-usable[word], word))]
