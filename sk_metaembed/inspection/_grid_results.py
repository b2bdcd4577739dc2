"""What a search has found, by the values of two of its parameters."""

import re
from numbers import Number
from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier, is_regressor

_MOST = 40  # values of a parameter that a picture shows
_LONGEST = 48  # characters of a value's name
_NOT_SET = "(not set)"


class Cells(NamedTuple):
    """The best candidate for each pair of values, and the scores of its folds."""

    rows: list  # of str, names of the first parameter's values
    columns: list  # of str
    folds: np.ndarray  # (n_rows, n_columns, n_folds), NaN where there is none
    candidates: np.ndarray  # (n_rows, n_columns), -1 where there is none


def fold_scores(results, metric, whose):
    """Return the scores of candidates in test folds, of shape (n_candidates, n_folds).

    Parameters
    ----------
    results : dict
        A search's ``cv_results_``.
    metric : str
        "score", or a name among several.
    whose : str
        Begins the error message.
    """
    pattern = re.compile(r"split(\d+)_test_(.+)")
    found = [match for match in map(pattern.fullmatch, results) if match]
    names = sorted({match[2] for match in found})
    own = sorted((int(match[1]), match[0]) for match in found if match[2] == metric)
    if not own:
        raise ValueError(
            f"{whose}: there are no scores named {metric!r} in the results; metric "
            f"must be one of {names}."
        )
    return np.array([np.asarray(results[key], dtype=np.float64) for _, key in own]).T


def shown_candidates(results, iteration, whose):
    """Return the numbers of the candidates to show: all, or those of one round.

    Parameters
    ----------
    results : dict
        A search's ``cv_results_``; a search by halving has ``iter`` in it.
    iteration : int or None
        None takes the last.
    whose : str
        Begins the error message.
    """
    if "iter" not in results:
        if iteration is not None:
            raise ValueError(
                f"{whose}: only searches by successive halving have iterations. Leave "
                "iteration out."
            )
        return np.arange(len(results["params"]))
    rounds = np.asarray(results["iter"])
    iteration = rounds.max() if iteration is None else iteration
    if iteration not in rounds:
        raise ValueError(
            f"{whose}: there is no iteration {iteration}; there are 0 to "
            f"{rounds.max()}."
        )
    return np.flatnonzero(rounds == iteration)


def chosen_parameters(params, rows, columns, whose):
    """Return the names of the two parameters to show, the second one may be None.

    Parameters
    ----------
    params : list of dict
        Of the candidates.
    rows, columns : str or None
        As asked for.
    whose : str
        Begins the error messages.
    """
    names = list(dict.fromkeys(name for each in params for name in each))
    varying = [name for name in names if len(named_values(params, name)[0]) > 1]
    for asked in (rows, columns):
        if asked is not None and asked not in names:
            raise ValueError(
                f"{whose}: {asked!r} is none of the parameters that were searched, "
                f"{names}."
            )
    # Which sources take part comes first, whatever else there is.
    varying.sort(key=lambda name: not name.endswith("active"))
    free = [name for name in varying or names if name not in (rows, columns)]
    if rows is None:
        if not free:
            raise ValueError(f"{whose}: no parameter was searched.")
        rows = free.pop(0)
    if columns is None:
        columns = next((name for name in free if name in varying), None)
    return rows, columns


def named_values(params, name):
    """Return the distinct values of a parameter by name, and which each candidate has.

    Parameters
    ----------
    params : list of dict
        Of the candidates.
    name : str or None
        Of the parameter; None stands for one that all have alike.

    Returns
    -------
    names : list of str
        Numbers ascending, all else in the order of the candidates.
    members : ndarray of int, shape (n_candidates,)

    Examples
    --------
    >>> named_values([{"C": 10, "a": ("x", "y")}, {"C": 2}], "C")
    (['2', '10'], array([1, 0]))
    >>> named_values([{"C": 10, "a": ("x", "y")}, {"C": 2}], "a")[0]
    ['x + y', '(not set)']
    """
    if name is None:
        return [""], np.zeros(len(params), dtype=np.int64)
    values = [each.get(name, _NOT_SET) for each in params]
    keys = [" ".join(repr(value).split()) for value in values]
    distinct = dict(zip(keys, values, strict=True))
    if all(isinstance(value, Number) for value in distinct.values()):
        distinct = dict(sorted(distinct.items(), key=lambda item: item[1]))
    short = [value_name(value) for value in distinct.values()]
    names = [
        text if short.count(text) == 1 else _cut(key.replace("MetaEmbedding(", "("))
        for key, text in zip(distinct, short, strict=True)
    ]
    places = {key: place for place, key in enumerate(distinct)}
    return names, np.array([places[key] for key in keys])


def value_name(value):
    """Return what a parameter's value is called in a picture.

    Examples
    --------
    >>> from sk_metaembed import ConcatMetaEmbedding
    >>> [value_name(value) for value in (("w2v", "glove"), ConcatMetaEmbedding(), 0.1)]
    ['w2v + glove', 'Concat', '0.1']
    """
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, list | tuple) and all(isinstance(v, str) for v in value):
        return _cut(" + ".join(value))
    if hasattr(value, "get_params") and not isinstance(value, type):
        name = type(value).__name__
        return name.removesuffix("MetaEmbedding") or name
    if isinstance(value, float):
        return f"{value:.3g}"
    return _cut(" ".join(str(value).split()))


def _cut(text):
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def best_cells(params, folds, candidates, names, whose):
    """Return the best candidate for each pair of values.

    Parameters
    ----------
    params : list of dict
        Of all candidates.
    folds : ndarray of shape (n_candidates, n_folds)
    candidates : ndarray of int
        The numbers of those that count.
    names : (str, str or None)
        Of the two parameters.
    whose : str
        Begins the error message.

    Returns
    -------
    Cells
    """
    shown = [params[number] for number in candidates]
    (rows, in_row), (columns, in_column) = (named_values(shown, n) for n in names)
    for name, values in zip(names, (rows, columns), strict=True):
        if len(values) > _MOST:
            raise ValueError(
                f"{whose}: {name} has {len(values)} values; up to {_MOST} can be "
                "shown. Choose other parameters: rows=, columns=."
            )
    best = np.full((len(rows), len(columns)), -1)
    means = folds.mean(axis=1)
    for number, cell in zip(
        candidates, zip(in_row, in_column, strict=True), strict=True
    ):
        held = means[best[cell]] if best[cell] >= 0 else -np.inf
        if means[number] > held:  # never for NaN, the score of a fit that failed
            best[cell] = number
    scores = np.where((best >= 0)[..., None], folds[best], np.nan)
    return Cells(rows, columns, scores, best)


def told_score(search, metric):
    """Return what the scores of a search measure."""
    if metric != "score":
        return metric.replace("_", " ")
    scoring = getattr(search, "scoring", None)
    if isinstance(scoring, str):
        return scoring.replace("_", " ")
    if scoring is None and is_classifier(search):
        return "accuracy"
    return "R²" if scoring is None and is_regressor(search) else "score"
