"""Greedy search over subsets of sources.

A search takes the names of the sources and a function that maps a mask of them,
(n_sources,), to the scores of the folds. It returns the mask of the selected sources
and its history, a list of dict.
"""

from __future__ import annotations

import math

import numpy as np

_ALL_NAN = (
    "SourceSelector: the scores of all candidate sources are NaN. Check the scorer on "
    "a single fold, and that each fold has what it needs, such as every class."
)


def greedy_search(names, evaluate, *, n_steps, backward, tol):
    """Add or remove the best source, step by step.

    A step that gains less than `tol` is not taken and ends the search.
    """
    # A single source is kept without a step; else forward selection starts from none.
    support = np.full(len(names), backward or n_steps == 0)
    history = []
    for index, mask, scores, accepted in _greedy_steps(
        len(names), evaluate, n_steps=n_steps, backward=backward, tol=tol
    ):
        support = mask if accepted else support
        history.append(
            {
                "source": names[index],
                **_row(names, mask, scores[index], accepted),
                "scores": {names[i]: _mean(s) for i, s in scores.items()},
            }
        )
    return support, history


def _greedy_steps(n_sources, evaluate, *, n_steps, backward, tol):
    """Yield the changed source, the mask after, fold scores by index, if accepted."""
    changed = np.zeros(n_sources, dtype=bool)
    best_score = -np.inf
    for _ in range(n_steps):
        scores = {}
        for index in np.flatnonzero(~changed):
            candidate = changed.copy()
            candidate[index] = True
            scores[int(index)] = evaluate(candidate ^ backward)
        best = _best(scores)
        new_score = _mean(scores[best])
        after = changed.copy()
        after[best] = True
        accepted = tol is None or new_score - best_score >= tol
        yield best, after ^ backward, scores, accepted
        if not accepted:
            return
        changed, best_score = after, new_score


def _best(scores):
    """Return the key with the highest mean score, the first of ties; NaN is lowest."""
    means = {key: _mean(values) for key, values in scores.items()}
    valid = {key: mean for key, mean in means.items() if not np.isnan(mean)}
    if not valid:
        raise ValueError(_ALL_NAN)
    return max(valid, key=valid.get)


def _mean(scores):
    """Return the mean of fold scores, which does not depend on their order."""
    if not np.isfinite(scores).all():
        return float(np.mean(scores))
    return math.fsum(scores) / len(scores)


def _row(names, mask, scores, accepted):
    """Return what the histories of all searches have in common."""
    return {
        "sources": tuple(names[mask]),
        "mean_score": _mean(scores),
        "std_score": float(np.std(scores)),
        "accepted": bool(accepted),
    }
