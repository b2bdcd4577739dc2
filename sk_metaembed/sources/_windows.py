"""Long input: overlapping windows, and the window that each word is taken from."""

import numpy as np

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
