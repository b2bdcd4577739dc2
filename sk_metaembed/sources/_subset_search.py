"""Search over subsets of sources: greedy steps, stored scores.

A search takes the names of the sources and a function that maps a mask of them,
(n_sources,), to the scores of the folds. It returns the mask of the selected sources
and its history, a list of dict.
"""

from __future__ import annotations

import json
import math
import pickle
from contextlib import suppress
from pathlib import Path

import joblib
import numpy as np

from .._io._atomic import atomic_write

_VERSION = 1  # of stored scores
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


class StoredScores:
    """Fold scores of subsets of blocks, in one file per subset.

    The name of a file is a hash of all that the scores depend on: the blocks of the
    subset, the tokens, and `content`. A search with other sources, or in another
    direction, therefore finds the subsets that it shares with an earlier one.

    Parameters
    ----------
    evaluate : callable
        Maps an EmbeddedSequences to the scores of the folds.
    directory : path-like
    X : EmbeddedSequences
        With the blocks of all sources.
    content : tuple
        All that the scores depend on besides X.
    """

    def __init__(self, evaluate, directory, X, content):
        self._evaluate = evaluate
        self._directory = Path(directory).expanduser()
        self._directory.mkdir(parents=True, exist_ok=True)
        tokens = X.tokens
        texts = None if tokens.texts is None else list(tokens.texts)
        tokens = list(tokens.types), tokens.codes, tokens.offsets, texts
        try:
            self._common = joblib.hash((_VERSION, tokens, content))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            reason = error.args[0]  # joblib appends all data
            raise ValueError(
                "SourceSelector: checkpoint requires that the estimator, cv, scoring "
                f"and labels can be pickled, but {reason}. Define functions in a "
                "module instead of a lambda, or set checkpoint=None."
            ) from error
        self._blocks = {block.name: _hash_of(block) for block in X.blocks}

    def __call__(self, X):
        """Return the scores of a selection of blocks, (n_folds,)."""
        key = joblib.hash((self._common, [self._blocks[name] for name in X.names]))
        file = self._directory / f"{key}.json"
        scores = _read_scores(file)
        if scores is None:
            scores = self._evaluate(X)
            content = {"blocks": list(X.names), "scores": np.asarray(scores).tolist()}
            with atomic_write(file) as stream:
                stream.write(json.dumps(content).encode())
        return scores


def _hash_of(block):
    """Return a hash of a block; a mapped file counts by its content."""
    arrays = [np.ascontiguousarray(array) for array in (block.values, block.known)]
    return joblib.hash((block.name, block.level, arrays))


def _read_scores(file):
    """Return stored scores, None if they are missing or unreadable."""
    with suppress(FileNotFoundError, ValueError, KeyError, TypeError):
        return np.array(json.loads(file.read_bytes())["scores"], dtype=float)
    return None
