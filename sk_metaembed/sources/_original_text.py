"""OriginalText: an original text, read by contextual sources instead of tokens."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np


@dataclass(frozen=True)
class OriginalText:
    """A text before tokenization, and the spans of its tokens.

    Its length is the number of tokens, or of whitespace-separated words if only vectors
    of the whole text are needed.

    Parameters
    ----------
    text : str
    span_bytes : bytes, default=None
        Spans of the tokens, int32 (n_tokens, 2), -1 for tokens that are not in the
        text. None if no token vectors are needed.
    separators : tuple of (int, int), default=()
        Spans of the tokens that separate two texts.
    """

    text: str
    span_bytes: bytes | None = None
    separators: tuple = ()

    @cached_property
    def spans(self):
        """Spans of the tokens, int32 (n_tokens, 2); empty without `span_bytes`."""
        return np.frombuffer(self.span_bytes or b"", dtype=np.int32).reshape(-1, 2)

    def __len__(self):
        if self.span_bytes is None:
            return len(self.text.split())
        return len(self.spans)

    def at_level(self, level):
        """Return what vectors of a level depend on: for sequences, not on tokens."""
        if level == "sequence" and self.span_bytes is not None:
            return OriginalText(self.text, None, self.separators)
        return self


def at_level(sentence, level):
    """Return what a sentence's vectors of a level depend on."""
    return sentence.at_level(level) if isinstance(sentence, OriginalText) else sentence


def distinct_texts(tokens, *, per_token, per_text, separator=None, merge_equal=True):
    """Return distinct texts and the sequences of each.

    Parameters
    ----------
    tokens : TokenSequences
        With original texts.
    per_token, per_text : bool
        Whether vectors of tokens, and of whole texts, are needed.
    separator : str, default=None
        Token that separates two texts.
    merge_equal : bool, default=True
        Whether equal texts are returned once.

    Returns
    -------
    groups : list of list of int
        The sequences of each text.
    sentences : list of OriginalText, or tuple of str
        In first-seen order, without empty ones: those without tokens, or only of
        whitespace if `per_text`. Tokens with a separator that is not in the text are a
        tuple of str.
    """
    use_tokens = per_token or separator is not None
    groups = {}
    for i, (start, stop) in enumerate(pairwise(tokens.offsets.tolist())):
        text = tokens.texts[i]
        if stop > start or (per_text and text.strip()):
            codes = tokens.codes[start:stop].tobytes() if use_tokens else b""
            groups.setdefault((text, codes) if merge_equal else i, []).append(i)
    first = tokens[[sequences[0] for sequences in groups.values()]]
    if not use_tokens:
        return list(groups.values()), [OriginalText(text) for text in first.texts]
    spans = first.spans()
    sentences = [
        _original(text, sequence, spans[start:stop], per_token, separator)
        for text, sequence, (start, stop) in zip(
            first.texts, first, pairwise(first.offsets.tolist()), strict=True
        )
    ]
    return list(groups.values()), sentences


def _original(text, sequence, spans, per_token, separator):
    indices = [i for i, token in enumerate(sequence) if token == separator]
    separators = tuple(map(tuple, spans[indices].tolist()))
    if any(start < 0 for start, _ in separators):
        return tuple(sequence)
    return OriginalText(text, spans.tobytes() if per_token else None, separators)


def nonempty_texts(tokens):
    """Return the rows of texts that are not only whitespace, and these texts.

    Without original texts, the rows that have tokens, and the tokens joined by spaces.
    """
    if tokens.texts is None:
        rows = np.flatnonzero(tokens.lengths)
        return rows, [" ".join(words) for words in tokens[rows]]
    rows = np.flatnonzero([text.strip() != "" for text in tokens.texts])
    return rows, tokens.texts[rows].tolist()


def overlapping(spans, pieces):
    """Return which pieces of a text overlap which tokens, token by token.

    Parameters
    ----------
    spans : ndarray of int, shape (n_tokens, 2)
        Negative for tokens that are not in the text.
    pieces : ndarray of int, shape (n_pieces, 2)
        In text order.

    Returns
    -------
    pieces, tokens : ndarray of int64, shape (n_overlaps,)

    Examples
    --------
    >>> spans, pieces = np.array([[0, 3], [3, 5]]), np.array([[0, 2], [2, 4], [4, 5]])
    >>> [indices.tolist() for indices in overlapping(spans, pieces)]
    [[0, 1, 1, 2], [0, 0, 1, 1]]
    """
    nonempty = np.flatnonzero(pieces[:, 1] > pieces[:, 0])
    starts, ends = pieces[nonempty].T
    first = np.searchsorted(np.maximum.accumulate(ends), spans[:, 0], "right")
    last = np.searchsorted(starts, spans[:, 1], "left")
    sizes = np.where(spans[:, 0] < 0, 0, np.maximum(last - first, 0))
    tokens = np.repeat(np.arange(len(spans)), sizes)
    at = np.arange(len(tokens)) - np.repeat(np.cumsum(sizes) - sizes - first, sizes)
    inside = (starts[at] < spans[tokens, 1]) & (ends[at] > spans[tokens, 0])
    return nonempty[at[inside]], tokens[inside]
