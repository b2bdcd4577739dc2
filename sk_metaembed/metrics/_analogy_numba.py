"""The compiled loop that finds the answers to analogy questions.

Imported only inside functions, for numba's sake.
"""

import numpy as np

from .._io._numba import cached_njit

_NOWHERE = np.float32(-np.inf)


@cached_njit
def _ban(objective, start, words, banned, offsets):
    """Take a question's own words out of a tile."""
    for w in words:
        for k in range(offsets[w], offsets[w + 1]):
            at = banned[k] - start
            if 0 <= at < len(objective):
                objective[at] = _NOWHERE


@cached_njit
def _exceed(objective, limit):
    """Tell whether any entry is larger, without a branch; in most tiles none is."""
    found = np.int32(0)
    for j in range(len(objective)):
        found |= np.int32(objective[j] > limit)
    return found > 0


@cached_njit
def best_in_tile(
    cosines, inverse, start, abc, banned, offsets, first, last, best, answer
):
    """Update the best candidate of questions by those of one tile.

    Parameters
    ----------
    cosines : ndarray of float32, shape (n_words, n_candidates of the tile)
        Of the questions' distinct words; shifted to between 0 and 1 for 3CosMul.
    inverse : ndarray of float32, shape (n_words, n_candidates of the tile), or None
        ``1 / (cosines + epsilon)`` for 3CosMul. None is 3CosAdd.
    start : int
        The tile's first candidate.
    abc : ndarray of int64, shape (n_questions, 3)
        Rows of `cosines`.
    banned, offsets : ndarray of int64
        Word w may not be answered by ``banned[offsets[w]:offsets[w + 1]]``.
    first, last : int
        The questions at hand.
    best : ndarray of float32, shape (n_questions,)
        Largest objective so far; changed in place.
    answer : ndarray of int64, shape (n_questions,)
        Its candidate, the first among equals; changed in place.
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
        _ban(objective, start, abc[q], banned, offsets)
        if _exceed(objective, best[q]):
            for j in range(width):
                if objective[j] > best[q]:
                    best[q] = objective[j]
                    answer[q] = start + j
