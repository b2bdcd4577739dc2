"""Corpora: rows of words, from memory, from files line by line, or from an iterable.

Vocabulary: the words that a language model predicts.
"""

import codecs
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ..sequences import TokenSequences, check_tokens

_BUFFER = 10_000  # rows of a stream, of which the next one is drawn


def read_corpus(X, *, caller):
    """Return the corpus that X stands for.

    Parameters
    ----------
    X : path-like, TokenSequences, texts, token lists, or an iterable of them
        A path is that of a file, a line a row, or of a folder of ``*.txt``. An
        iterable that can be gone through again, and is no collection, is streamed.
    caller : str
        Begins the error messages.

    Returns
    -------
    RowsCorpus, FilesCorpus or StreamCorpus
        Each gives rows, lists of str, by ``rows(rng)``: in order, or shuffled by a
        numpy Generator.

    Raises
    ------
    FileNotFoundError
        If there is no such file or folder.
    TypeError, ValueError
        If X is nothing of the kind.

    Examples
    --------
    >>> corpus = read_corpus(["the end", ["of", "it"]][:1], caller="Reader")
    >>> list(corpus.rows())
    [['the', 'end']]
    """
    if isinstance(X, os.PathLike):
        return FilesCorpus(_files(Path(X), caller))
    if isinstance(X, str):
        raise TypeError(
            f"{caller} got a single str: {X[:60]!r}. Put a text in a list, [text]; a "
            "file or folder comes as a path, pathlib.Path(...)."
        )
    if is_stream(X):
        return StreamCorpus(X, caller)
    return RowsCorpus(check_tokens(X, caller=caller, split=split_at_spaces))


def split_at_spaces(texts):
    """Return texts as `ElmoEmbedding` splits them."""
    return TokenSequences.from_lists([text.split() for text in texts])


class RowsCorpus:
    """Rows in memory.

    Parameters
    ----------
    tokens : TokenSequences
    """

    def __init__(self, tokens):
        self.tokens = tokens

    def rows(self, rng=None):
        """Yield each row's words."""
        tokens, types = self.tokens, self.tokens.types
        spans = list(pairwise(tokens.offsets.tolist()))
        order = range(len(spans)) if rng is None else rng.permutation(len(spans))
        for i in order:
            a, b = spans[i]
            yield [types[code] for code in tokens.codes[a:b]]


class FilesCorpus:
    """Lines of files of UTF-8, empty ones left out.

    Parameters
    ----------
    files : list of Path
    """

    def __init__(self, files):
        self._files = files

    def rows(self, rng=None):
        """Yield each line's words."""
        if rng is None:
            yield from self._lines(self._files)
        else:
            order = rng.permutation(len(self._files))
            yield from drawn(self._lines([self._files[i] for i in order]), rng)

    def _lines(self, files):
        for file in files:
            with open(file, "rb") as lines:
                for number, line in enumerate(lines, start=1):
                    if number == 1:  # what some editors begin a file with is no word
                        line = line.removeprefix(codecs.BOM_UTF8)
                    words = _decoded(line, file, number).split()
                    if words:
                        yield words


class StreamCorpus:
    """Rows of an iterable that can be gone through again and again.

    Parameters
    ----------
    iterable : iterable of str or of token lists
    caller : str
        Begins the error messages.
    """

    def __init__(self, iterable, caller):
        self._iterable, self._whose = iterable, caller

    def rows(self, rng=None):
        """Yield each row's words."""
        rows = self._rows()
        return rows if rng is None else drawn(rows, rng)

    def _rows(self):
        for i, row in enumerate(self._iterable):
            words = row.split() if isinstance(row, str) else row
            fits = isinstance(words, list | tuple)
            if not fits or not all(isinstance(word, str) for word in words):
                raise TypeError(
                    f"{self._whose}: row {i} of the stream is {row!r:.60}. Every row "
                    "must be a str or a list of str."
                )
            yield list(words)


def drawn(rows, rng, size=_BUFFER):
    """Yield rows in random order, as far as a buffer of some of them allows.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sorted(drawn(range(10), rng, size=4)) == list(range(10))
    True
    """
    held = []
    for row in rows:
        if len(held) < size:
            held.append(row)
            continue
        place = rng.integers(size)
        held[place], row = row, held[place]
        yield row
    for place in rng.permutation(len(held)):
        yield held[place]


def is_stream(X):
    """Tell whether X is to be gone through again, and not to be kept."""
    if isinstance(X, Mapping | Set) or not isinstance(X, Iterable):
        return False
    is_collection = hasattr(X, "__len__") or hasattr(X, "__array__")
    return not is_collection and not isinstance(X, Iterator)


def _files(path, caller):
    path = path.expanduser()
    if path.is_dir():
        found = sorted(p for p in path.rglob("*.txt") if p.is_file())
        if not found:
            raise FileNotFoundError(
                f"{caller}: the folder {path} has no *.txt in it. Give a folder of "
                "plain text, a line a sequence, or the path of one file."
            )
        return found
    if not path.is_file():
        raise FileNotFoundError(f"{caller}: there is no file or folder {str(path)!r}.")
    return [path]


def _decoded(line, file, number):
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{file}, line {number}: byte {line[error.start]:#04x} at place "
            f"{error.start} is not UTF-8. Bring the file to UTF-8, or decode its lines "
            "yourself and pass them as a list."
        ) from error


BEGIN, END, UNKNOWN = "<S>", "</S>", "<UNK>"
SPECIAL = (BEGIN, END, UNKNOWN)


class Vocabulary(NamedTuple):
    """Words by number: marks, what is unknown, then words by frequency.

    Parameters
    ----------
    words : list of str
    numbers : dict of str to int
    """

    words: list
    numbers: dict

    @classmethod
    def of(cls, words):
        """Return the vocabulary of words, the three special ones included."""
        return cls(words, {word: k for k, word in enumerate(words)})


class CorpusCount(NamedTuple):
    """What a first pass over a corpus tells.

    Parameters
    ----------
    words : Counter
    n_rows, n_words : int
    checksum : int, default=0
        That another corpus would hardly have, nor the same rows in another order.
    """

    words: Counter
    n_rows: int
    n_words: int
    checksum: int = 0


def count_words(corpus):
    """Return how often each word occurs, and what tells the corpus from another.

    Parameters
    ----------
    corpus : corpus, as `read_corpus` gives it

    Returns
    -------
    CorpusCount
    """
    words, n_rows, checksum = Counter(), 0, 0
    for row in corpus.rows():
        words.update(row)
        n_rows += 1
        # No text has these two controls; what a list may have is told well enough.
        told = "\x1f".join([*row, "\x1e"]).encode("utf-8", "surrogatepass")
        checksum = zlib.crc32(told, checksum)
    return CorpusCount(words, n_rows, words.total(), checksum)


def make_vocabulary(count, min_count, max_vocabulary, *, caller):
    """Return the vocabulary of a corpus.

    Parameters
    ----------
    count : CorpusCount
    min_count : int
    max_vocabulary : int or None
        Words at most, those of `SPECIAL` not counted.
    caller : str
        Begins the error messages.

    Returns
    -------
    Vocabulary

    Raises
    ------
    ValueError
        If there is nothing to choose from.

    Examples
    --------
    >>> count = CorpusCount(Counter("abracadabra"), 1, 11)
    >>> make_vocabulary(count, 2, None, caller="Reader").words
    ['<S>', '</S>', '<UNK>', 'a', 'b', 'r']
    """
    check_count(count, caller=caller)
    # A file of the vocabulary has a word a line.
    fits = {w: n for w, n in count.words.items() if w not in SPECIAL and "\n" not in w}
    if not fits:
        raise ValueError(
            f"{caller}: no word of the corpus can be predicted: all {len(count.words)} "
            f"are spelled as the marks {SPECIAL}, or hold an end of line."
        )
    frequent = [word for word, n in fits.items() if n >= min_count]
    frequent.sort(key=lambda word: (-count.words[word], word))
    if not frequent:
        most = max(fits.values())
        raise ValueError(
            f"{caller}: no word of the corpus is as frequent as min_count={min_count}; "
            f"the most frequent occurs {most} times. Use a smaller min_count."
        )
    return Vocabulary.of([*SPECIAL, *frequent[:max_vocabulary]])


def check_count(count, *, caller, least=2):
    """See that a corpus has something to learn from: some different words."""
    if count.n_words == 0:
        raise ValueError(
            f"{caller}: the corpus is empty: {count.n_rows} rows (samples), and no "
            "word in them. A language model learns from text."
        )
    if len(count.words) < least:
        raise ValueError(
            f"{caller}: the corpus has only one word, {next(iter(count.words))!r}, in "
            f"{count.n_rows} rows (n_samples = {count.n_rows}). There is nothing to "
            "predict: at least two different words are needed."
        )
