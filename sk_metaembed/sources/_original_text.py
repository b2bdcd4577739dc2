"""OriginalText: an original text, read by contextual sources instead of tokens."""

import unicodedata
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ..sequences import TokenSequences


@dataclass(frozen=True)
class OriginalText:
    """A text as it was written, and its tokens' characters.

    Its length is the number of tokens, or of words between spaces where only one
    vector of the whole is wanted.

    Parameters
    ----------
    text : str
    places : bytes, default=None
        Spans of the tokens, int32 (n_tokens, 2), -1 for tokens that are not in the
        text. None where no vectors of tokens are wanted.
    separators : tuple of (int, int), default=()
        Spans of the tokens that stand between two texts.
    """

    text: str
    places: bytes | None = None
    separators: tuple = ()

    @cached_property
    def spans(self):
        """Spans of the tokens, int32 (n_tokens, 2); none if no tokens are wanted."""
        return np.frombuffer(self.places or b"", dtype=np.int32).reshape(-1, 2)

    def __len__(self):
        if self.places is None:
            return len(self.text.split())
        return len(self.spans)

    def at_level(self, level):
        """Return what vectors of this level depend on: of a sequence, not on tokens."""
        if level == "sequence" and self.places is not None:
            return OriginalText(self.text, None, self.separators)
        return self


def at_level(sentence, level):
    """Return what a sentence's vectors of this level depend on."""
    return sentence.at_level(level) if isinstance(sentence, OriginalText) else sentence


def distinct_texts(tokens, *, words, whole, separator=None, merge_equal=True):
    """Return distinct texts and the sequences where each stands.

    Parameters
    ----------
    tokens : TokenSequences
        That know their texts.
    words, whole : bool
        Whether vectors of tokens, and of whole texts, are wanted.
    separator : str, default=None
        A token that stands between two texts.
    merge_equal : bool, default=True
        Whether equal ones are one.

    Returns
    -------
    places : list of list of int
    sentences : list of OriginalText, or tuple of str
        In first-seen order, without those that have nothing to embed: no tokens, or
        only white space where whole texts are wanted. Tokens of which a separator is
        not in the text stay a tuple of str.
    """
    by_tokens = words or separator is not None
    places = {}
    for i, (start, stop) in enumerate(pairwise(tokens.offsets.tolist())):
        text = tokens.texts[i]
        if stop > start or (whole and text.strip()):
            codes = tokens.codes[start:stop].tobytes() if by_tokens else b""
            places.setdefault((text, codes) if merge_equal else i, []).append(i)
    first = tokens[[which[0] for which in places.values()]]
    if not by_tokens:
        return list(places.values()), [OriginalText(text) for text in first.texts]
    spans = first.spans()
    sentences = [
        _written(text, sequence, spans[start:stop], words, separator)
        for text, sequence, (start, stop) in zip(
            first.texts, first, pairwise(first.offsets.tolist()), strict=True
        )
    ]
    return list(places.values()), sentences


def _written(text, sequence, spans, words, separator):
    between = [i for i, token in enumerate(sequence) if token == separator]
    separators = tuple(map(tuple, spans[between].tolist()))
    if any(start < 0 for start, _ in separators):
        return tuple(sequence)
    return OriginalText(text, spans.tobytes() if words else None, separators)


def filled_texts(tokens):
    """Return which sequences have something to embed as a whole, and their texts.

    Parameters
    ----------
    tokens : TokenSequences

    Returns
    -------
    rows : ndarray of int
        Where the text is not only white space; without texts, where there are tokens.
    texts : list of str
        As they were written; without texts, tokens joined by spaces.
    """
    if tokens.texts is None:
        rows = np.flatnonzero(tokens.lengths)
        return rows, [" ".join(words) for words in tokens[rows]]
    rows = np.flatnonzero([text.strip() != "" for text in tokens.texts])
    return rows, tokens.texts[rows].tolist()


def original_words(tokens):
    """Return the distinct words as the texts spell them, and the word of each token.

    Parameters
    ----------
    tokens : TokenSequences

    Returns
    -------
    words : list of str
        In NFC. Tokens that are not in the text are spelled as they are.
    codes : ndarray of int, shape (n_tokens,), or None
        None without texts: the words are the types.
    """
    if tokens.texts is None:
        return [str(word) for word in tokens.types], None
    words = tokens.types[tokens.codes].tolist()
    texts = tokens.texts[tokens.segment_ids()]
    for i, (start, end) in enumerate(tokens.spans().tolist()):
        if start >= 0:
            words[i] = unicodedata.normalize("NFC", texts[i][start:end])
    found = TokenSequences.from_lists([words])
    return found.types.tolist(), found.codes


def overlapping(spans, pieces):
    """Return which pieces of a text overlap which tokens, token by token.

    Parameters
    ----------
    spans : ndarray of int, shape (n_tokens, 2)
        Negative for tokens that are not in the text.
    pieces : ndarray of int, shape (n_pieces, 2)
        In the order of the text.

    Returns
    -------
    pieces, tokens : ndarray of int64, shape (n_overlaps,)

    Examples
    --------
    >>> spans, pieces = np.array([[0, 3], [3, 5]]), np.array([[0, 2], [2, 4], [4, 5]])
    >>> [found.tolist() for found in overlapping(spans, pieces)]
    [[0, 1, 1, 2], [0, 0, 1, 1]]
    """
    kept = np.flatnonzero(pieces[:, 1] > pieces[:, 0])
    starts, ends = pieces[kept].T
    first = np.searchsorted(np.maximum.accumulate(ends), spans[:, 0], "right")
    last = np.searchsorted(starts, spans[:, 1], "left")
    sizes = np.where(spans[:, 0] < 0, 0, np.maximum(last - first, 0))
    tokens = np.repeat(np.arange(len(spans)), sizes)
    at = np.arange(len(tokens)) - np.repeat(np.cumsum(sizes) - sizes - first, sizes)
    inside = (starts[at] < spans[tokens, 1]) & (ends[at] > spans[tokens, 0])
    return kept[at[inside]], tokens[inside]
