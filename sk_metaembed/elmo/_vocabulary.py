"""Vocabulary: the words that a language model predicts."""

import zlib
from collections import Counter
from typing import NamedTuple

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


def make_vocabulary(count, min_count, max_vocabulary, *, whose):
    """Return the vocabulary of a corpus.

    Parameters
    ----------
    count : CorpusCount
    min_count : int
    max_vocabulary : int or None
        Words at most, those of `SPECIAL` not counted.
    whose : str
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
    >>> make_vocabulary(count, 2, None, whose="Reader").words
    ['<S>', '</S>', '<UNK>', 'a', 'b', 'r']
    """
    check_count(count, whose=whose)
    # A file of the vocabulary has a word a line.
    fits = {w: n for w, n in count.words.items() if w not in SPECIAL and "\n" not in w}
    if not fits:
        raise ValueError(
            f"{whose}: no word of the corpus can be predicted: all {len(count.words)} "
            f"are spelled as the marks {SPECIAL}, or hold an end of line."
        )
    frequent = [word for word, n in fits.items() if n >= min_count]
    frequent.sort(key=lambda word: (-count.words[word], word))
    if not frequent:
        most = max(fits.values())
        raise ValueError(
            f"{whose}: no word of the corpus is as frequent as min_count={min_count}; "
            f"the most frequent occurs {most} times. Use a smaller min_count."
        )
    return Vocabulary.of([*SPECIAL, *frequent[:max_vocabulary]])


def check_count(count, *, whose, least=2):
    """See that a corpus has something to learn from: some different words."""
    if count.n_words == 0:
        raise ValueError(
            f"{whose}: the corpus is empty: {count.n_rows} rows (samples), and no word "
            "in them. A language model learns from text."
        )
    if len(count.words) < least:
        raise ValueError(
            f"{whose}: the corpus has only one word, {next(iter(count.words))!r}, in "
            f"{count.n_rows} rows (n_samples = {count.n_rows}). There is nothing to "
            "predict: at least two different words are needed."
        )
