"""From the pieces of a sentence to the windows that a network gets."""

from typing import NamedTuple

import numpy as np

from ._text_alignment import TextPieces
from ._windows import best_windows, window_spans


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
