"""Compiled search for the answers to analogy questions.

Imported inside functions, to load numba only if needed.
"""

import numpy as np

from .._io._numba import cached_njit

_EXCLUDED = np.float32(-np.inf)


@cached_njit
def _exclude(objective, start, words, excluded, offsets):
    """Exclude the words of a question from a tile."""
    for w in words:
        for k in range(offsets[w], offsets[w + 1]):
            at = excluded[k] - start
            if 0 <= at < len(objective):
                objective[at] = _EXCLUDED


@cached_njit
def _exceed(objective, limit):
    """Return whether any entry is larger, without a branch; in most tiles none is."""
    exceeds = np.int32(0)
    for j in range(len(objective)):
        exceeds |= np.int32(objective[j] > limit)
    return exceeds > 0


@cached_njit
def best_in_tile(
    cosines, inverse, start, abc, excluded, offsets, first, last, best, answer
):
    """Update the best candidates of questions with those of one tile.

    Parameters
    ----------
    cosines : ndarray of float32, shape (n_words, n_candidates of the tile)
        Cosines of the distinct words of the questions; shifted to [0, 1] for 3CosMul.
    inverse : ndarray of float32, shape (n_words, n_candidates of the tile), or None
        ``1 / (cosines + epsilon)`` for 3CosMul. None is 3CosAdd.
    start : int
        First candidate of the tile.
    abc : ndarray of int64, shape (n_questions, 3)
        Rows of `cosines`.
    excluded, offsets : ndarray of int64
        ``excluded[offsets[w]:offsets[w + 1]]`` cannot answer questions with word w.
    first, last : int
        Range of questions.
    best : ndarray of float32, shape (n_questions,)
        Largest objective so far; updated in place.
    answer : ndarray of int64, shape (n_questions,)
        Its first candidate; updated in place.
    """
    width = cosines.shape[1]
    objective = np.empty(width, np.float32)
    for q in range(first, last):
        b = cosines[abc[q, 1]]
        c = cosines[abc[q, 2]]
        if inverse is None:
            a = cosines[abc[q, 0]]
            for j in range(width):
                objective[j] = (b[j] - a[j]) + c[j]
        else:
            a = inverse[abc[q, 0]]
            for j in range(width):
                objective[j] = b[j] * c[j] * a[j]
        _exclude(objective, start, abc[q], excluded, offsets)
        if _exceed(objective, best[q]):
            for j in range(width):
                if objective[j] > best[q]:
                    best[q] = objective[j]
                    answer[q] = start + j
