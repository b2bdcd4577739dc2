"""Long input: overlapping windows, and the window that each word is taken from.

From the pieces of a sentence to the windows that a network gets.

Which sequences are longer than a model takes at once.
"""

from typing import NamedTuple

import numpy as np

from ..cache._compute import distinct_sentences
from ._text_alignment import TextPieces

_FAR = np.iinfo(np.int64).max


def window_spans(n_pieces, capacity):
    """Return where windows begin and end; neighbours share half of their pieces.

    Parameters
    ----------
    n_pieces : int
    capacity : int
        Largest number of pieces a window.

    Returns
    -------
    ndarray of int, shape (n_windows, 2)
        The last ends with the text and is as long as the others.

    Examples
    --------
    >>> window_spans(9, 4).tolist()
    [[0, 4], [2, 6], [4, 8], [5, 9]]
    >>> window_spans(3, 4).tolist()
    [[0, 3]]
    """
    if n_pieces <= capacity:
        return np.array([[0, n_pieces]])
    stride = max(1, capacity // 2)
    starts = np.append(np.arange(0, n_pieces - capacity, stride), n_pieces - capacity)
    return np.column_stack([starts, starts + capacity])


def best_windows(words, spans, at=None):
    """Return, for each piece, the window in which its word has most context.

    Context is the number of pieces on the side that has fewer; the text's own ends
    count as no limit. A word that no window holds whole is taken piece by piece.

    Parameters
    ----------
    words : ndarray of int, shape (n_pieces,)
        The word of each piece; pieces of one word stand together.
    spans : ndarray of int, shape (n_windows, 2)
        From `window_spans`.
    at : ndarray of int, shape (n_pieces,), default=None
        The places of the pieces in the text, those of a word one behind the other. A
        place may come with several words. None for all places in order.

    Returns
    -------
    ndarray of int, shape (n_pieces,)

    Examples
    --------
    >>> spans = window_spans(9, 4)
    >>> best_windows(np.array([0, 1, 2, 2, 3, 4, 5, 6, 7]), spans).tolist()
    [0, 0, 0, 0, 1, 2, 2, 3, 3]
    """
    n = len(words)
    if len(spans) == 1:
        return np.zeros(n, dtype=np.int64)
    if not n:
        return np.zeros(0, dtype=np.int64)
    at = np.arange(n) if at is None else at
    firsts = np.flatnonzero(np.r_[True, words[1:] != words[:-1]])
    sizes = np.diff(np.r_[firsts, n])
    window, context = _best(at[firsts], at[firsts + sizes - 1] + 1, spans)
    result = np.repeat(window, sizes)
    apart = np.flatnonzero(np.repeat(context < 0, sizes))
    result[apart] = _best(at[apart], at[apart] + 1, spans)[0]
    return result


def _best(begins, ends, spans):
    """Return the best window of each stretch of pieces, and its context there."""
    last = len(spans) - 1
    stride = max(1, (spans[0, 1] - spans[0, 0]) // 2)
    # All but the last begin at multiples of the stride: few can hold a stretch.
    near = begins[:, None] // stride - np.arange(3)
    tried = np.column_stack([np.clip(near, 0, last), np.full(len(begins), last)])
    tried.sort(axis=1)
    start, stop = spans[tried, 0], spans[tried, 1]
    left, right = begins[:, None] - start, stop - ends[:, None]
    inside = (left >= 0) & (right >= 0)
    left = np.where(start == 0, _FAR, left)
    right = np.where(stop == spans[-1, 1], _FAR, right)
    context = np.where(inside, np.minimum(left, right), -1)
    best = context.argmax(axis=1)
    rows = np.arange(len(begins))
    return tried[rows, best], context[rows, best]


class Window(NamedTuple):
    """What goes through the network at once, and what is taken from it."""

    sentence: int
    ids: np.ndarray
    types: np.ndarray
    positions: np.ndarray  # of the pieces whose vectors are taken
    words: np.ndarray  # the word of each
    apart: np.ndarray  # whether the word's other pieces are taken elsewhere
    counted: np.ndarray  # positions that the sentence's mean goes over


def windows_of(sentence, pieces, frame, limit, *, truncate=False):
    """Return the windows of a sentence, none if it has no pieces.

    Parameters
    ----------
    sentence : int
        Its number.
    pieces : Pieces or TextPieces
    frame : Frame
    limit : int or None
        Largest number of pieces a window, special tokens and prefix included.
    truncate : bool, default=False
        Take the first window only.

    Returns
    -------
    list of Window

    Raises
    ------
    ValueError
        If special tokens and prefix leave no room.
    """
    n_prefix = _n_prefix(pieces)
    n_body = len(pieces.ids) - n_prefix
    if not n_body:
        return []
    capacity = body_capacity(limit, frame, pieces, n_prefix)
    spans = window_spans(n_body, capacity)
    if truncate:
        spans = spans[:1]
    body = _body(pieces, n_prefix, spans)
    windows = [
        _window(sentence, pieces, frame, body, k, span)
        for k, span in enumerate(spans.tolist())
    ]
    return [window for window in windows if len(window.counted)]


def n_cut(pieces, frame, limit):
    """Return how many pieces of a sentence are beyond the first window."""
    n_prefix = _n_prefix(pieces)
    n_body = len(pieces.ids) - n_prefix
    return max(0, n_body - body_capacity(limit, frame, pieces, n_prefix))


def body_capacity(limit, frame, pieces, n_prefix):
    """Return the room for pieces beside special tokens and prefix."""
    if limit is None:
        return max(1, len(pieces.ids) - n_prefix)
    n_special = len(frame.left) + len(pieces.right)
    capacity = limit - n_special - n_prefix
    if capacity < 1:
        raise ValueError(
            f"TransformerEmbedding: {limit} pieces a window leave no room for words "
            f"beside {n_special} special tokens and {n_prefix} pieces of the prefix. "
            "Use a larger max_length or a shorter prefix."
        )
    return capacity


def _n_prefix(pieces):
    if isinstance(pieces, TextPieces):
        return pieces.n_prefix
    inside = np.flatnonzero(pieces.words >= 0)
    return int(inside[0]) if len(inside) else len(pieces.words)


class _Body(NamedTuple):
    """The pieces behind the prefix, and the windows they are taken from."""

    n_prefix: int
    windows: np.ndarray  # in which each piece counts for the sentence's mean
    at: np.ndarray  # pieces of words, word by word
    words: np.ndarray  # the word of each
    chosen: np.ndarray  # the window that its vector is taken from


def _body(pieces, n_prefix, spans):
    size = spans[-1, 1]
    if isinstance(pieces, TextPieces):
        inside = pieces.at < n_prefix + size
        at, words = pieces.at[inside] - n_prefix, pieces.words[inside]
        # The vector of a text depends on no tokens.
        counted = best_windows(np.arange(size), spans)
        return _Body(n_prefix, counted, at, words, best_windows(words, spans, at))
    words = pieces.words[n_prefix : n_prefix + size]
    chosen = best_windows(words, spans)
    at = np.flatnonzero(words >= 0)
    return _Body(n_prefix, chosen, at, words[at], chosen[at])


def _window(sentence, pieces, frame, body, k, span):
    start, stop = span
    head = len(frame.left) + body.n_prefix
    inner = np.r_[: body.n_prefix, body.n_prefix + start : body.n_prefix + stop]
    left = np.array(frame.left, dtype=np.int64).reshape(-1, 2)
    right = np.array(pieces.right, dtype=np.int64).reshape(-1, 2)
    counted = [np.flatnonzero(body.windows[start:stop] == k) + head]
    if k == 0:
        counted.insert(0, np.arange(head))
    if stop == len(body.windows):
        counted.append(np.arange(len(right)) + head + stop - start)
    taken = np.flatnonzero(body.chosen == k)
    return Window(
        sentence,
        np.concatenate([left[:, 0], pieces.ids[inner], right[:, 0]]),
        np.concatenate([left[:, 1], pieces.types[inner], right[:, 1]]),
        body.at[taken] - start + head,
        body.words[taken],
        _split_words(body.words, body.chosen)[taken],
        np.concatenate(counted),
    )


def _split_words(words, chosen):
    """Return, for each piece, whether its word is taken from several windows."""
    same_word = words[1:] == words[:-1]
    torn = words[1:][same_word & (chosen[1:] != chosen[:-1])]
    return np.isin(words, torn)


_REMEMBERED = 100_000
_WIDEST = 11  # bytes that NFKC makes of one, at most


def pieces_beyond(tokens, aligner, limit, read=distinct_sentences):
    """Return how many pieces of each sequence are beyond the first window.

    Sequences that cannot be long, for they have few bytes, are not split into pieces;
    of others the number is remembered.

    Parameters
    ----------
    tokens : TokenSequences
    aligner : Aligner
        Its `remembered` is filled.
    limit : int or None
        Largest number of pieces a window.
    read : callable, default=distinct_sentences
        From tokens to distinct sentences and their places. What reads texts has to
        give whole texts.

    Returns
    -------
    ndarray of int, shape (n_sequences,)
    """
    beyond = np.zeros(len(tokens), dtype=np.int64)
    if limit is None:
        return beyond
    most = _most_of_words(tokens)
    if tokens.texts is not None:
        most = np.maximum(most, [_most_pieces(text) for text in tokens.texts])
    candidates = np.flatnonzero(most + aligner.overhead > limit)
    places, sentences = read(tokens[candidates])
    known = aligner.remembered
    if len(known) > _REMEMBERED:
        known.clear()
    new = [s for s in sentences if (hash(s), limit) not in known]
    for sentence, pieces in zip(new, aligner.encode(new), strict=True):
        known[hash(sentence), limit] = n_cut(pieces, aligner.frame, limit)
    for where, sentence in zip(places, sentences, strict=True):
        beyond[candidates[where]] = known[hash(sentence), limit]
    return beyond


def _most_of_words(tokens):
    """Return how many pieces the words of each sequence can have."""
    sizes = [_most_pieces(word) for word in tokens.types.tolist()]
    sums = np.r_[0, np.cumsum(np.array(sizes, dtype=np.int64)[tokens.codes])]
    return sums[tokens.offsets[1:]] - sums[tokens.offsets[:-1]]


def _most_pieces(word):
    """Return how many pieces a word can have, a space before it included."""
    if word.isascii():
        return len(word) + 1
    return _WIDEST * len(word.encode("utf-8", "replace")) + 1
