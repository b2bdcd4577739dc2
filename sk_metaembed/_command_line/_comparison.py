"""Scores of pipelines on folds, with intervals."""

import time
from typing import NamedTuple

import numpy as np
from scipy.stats import t
from sklearn.base import clone, is_classifier
from sklearn.inspection import permutation_importance

_LEVEL = 0.95
_IMPORTANCE_ROWS = 1000  # of each fold, at most


class Comparison(NamedTuple):
    """Results on folds.

    Parameters
    ----------
    scores : dict of str to list of float
        Of each candidate, per fold; the last one is the pipeline with everything.
    seconds : dict of str to list of float
        Of fitting.
    predictions : ndarray of shape (n_rows,)
        Of the last candidate, out of fold.
    errors : ndarray of shape (n_rows,)
        Of those predictions: absolute errors, or 1 - probability of the class.
    importances : dict of str to list of float
        Of each column, per fold: how much the score drops when it is shuffled.
    """

    scores: dict
    seconds: dict
    predictions: object
    errors: object
    importances: dict


def compare(candidates, X, y, *, folds, metric, seed, progress):
    """Return the Comparison of (pipeline, columns) by name.

    `progress` is called after each step; there is one per candidate and fold.
    """
    scores, seconds = ({name: [] for name in candidates} for _ in range(2))
    importances = {name: [] for name in X}
    predictions, errors = np.empty(len(X), dtype=object), np.empty(len(X))
    last = list(candidates)[-1]
    for train, test in folds.split(X, y):
        for name, (pipeline, columns) in candidates.items():
            start = time.perf_counter()
            model = clone(pipeline).fit(X.iloc[train][columns], y[train])
            seconds[name].append(time.perf_counter() - start)
            part, expected = X.iloc[test][columns], y[test]
            scores[name].append(metric(model, part, expected))
            if name == last:
                predictions[test] = model.predict(part)
                errors[test] = _errors(model, part, expected)
                drops = permutation_importance(
                    model,
                    part,
                    expected,
                    scoring=metric,
                    n_repeats=1,
                    random_state=seed,
                    max_samples=min(_IMPORTANCE_ROWS, len(test)),
                )
                for column, drop in zip(columns, drops.importances[:, 0], strict=True):
                    importances[column].append(drop)
            progress()
    return Comparison(scores, seconds, predictions, errors, importances)


def _errors(model, X, y):
    if not is_classifier(model):
        return np.abs(model.predict(X) - y)
    places = np.searchsorted(model.classes_, y)
    return 1 - model.predict_proba(X)[np.arange(len(y)), places]


def interval(values):
    r"""Return (mean, half the width) of the interval of scores on k folds.

    The training parts of folds overlap, which the plain interval of a mean ignores.
    Following Nadeau and Bengio (2003), the variance of the mean is
    :math:`(1/k + 1/(k-1)) s^2`, as test parts have 1/(k-1) of the training rows.
    """
    k = len(values)
    scale = np.std(values, ddof=1) * np.sqrt(1 / k + 1 / (k - 1))
    return float(np.mean(values)), float(t.ppf((1 + _LEVEL) / 2, k - 1) * scale)
