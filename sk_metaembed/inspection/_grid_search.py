"""GridSearchDisplay: scores of candidates by two of their parameters.

What a search has found, by the values of two of its parameters.
"""

import re
from numbers import Number
from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier, is_regressor

from ._style import make_axes, point_style, without_math

_MOST = 40  # values of a parameter that a picture shows
_LONGEST = 48  # characters of a value's name
_NOT_SET = "(not set)"


class Cells(NamedTuple):
    """The best candidate for each pair of values, and the scores of its folds."""

    rows: list  # of str, names of the first parameter's values
    columns: list  # of str
    folds: np.ndarray  # (n_rows, n_columns, n_folds), NaN where there is none
    candidates: np.ndarray  # (n_rows, n_columns), -1 where there is none


def fold_scores(results, metric, caller):
    """Return the scores of candidates in test folds, of shape (n_candidates, n_folds).

    Parameters
    ----------
    results : dict
        A search's ``cv_results_``.
    metric : str
        "score", or a name among several.
    caller : str
        Begins the error message.
    """
    pattern = re.compile(r"split(\d+)_test_(.+)")
    found = [match for match in map(pattern.fullmatch, results) if match]
    names = sorted({match[2] for match in found})
    own = sorted((int(match[1]), match[0]) for match in found if match[2] == metric)
    if not own:
        raise ValueError(
            f"{caller}: there are no scores named {metric!r} in the results; metric "
            f"must be one of {names}."
        )
    return np.array([np.asarray(results[key], dtype=np.float64) for _, key in own]).T


def shown_candidates(results, iteration, caller):
    """Return the numbers of the candidates to show: all, or those of one round.

    Parameters
    ----------
    results : dict
        A search's ``cv_results_``; a search by halving has ``iter`` in it.
    iteration : int or None
        None takes the last.
    caller : str
        Begins the error message.
    """
    if "iter" not in results:
        if iteration is not None:
            raise ValueError(
                f"{caller}: only searches by successive halving have iterations. Leave "
                "iteration out."
            )
        return np.arange(len(results["params"]))
    rounds = np.asarray(results["iter"])
    iteration = rounds.max() if iteration is None else iteration
    if iteration not in rounds:
        raise ValueError(
            f"{caller}: there is no iteration {iteration}; there are 0 to "
            f"{rounds.max()}."
        )
    return np.flatnonzero(rounds == iteration)


def chosen_parameters(params, rows, columns, caller):
    """Return the names of the two parameters to show, the second one may be None.

    Parameters
    ----------
    params : list of dict
        Of the candidates.
    rows, columns : str or None
        As asked for.
    caller : str
        Begins the error messages.
    """
    names = list(dict.fromkeys(name for each in params for name in each))
    varying = [name for name in names if len(named_values(params, name)[0]) > 1]
    for asked in (rows, columns):
        if asked is not None and asked not in names:
            raise ValueError(
                f"{caller}: {asked!r} is none of the parameters that were searched, "
                f"{names}."
            )
    # Which sources take part comes first, whatever else there is.
    varying.sort(key=lambda name: not name.endswith("active"))
    free = [name for name in varying or names if name not in (rows, columns)]
    if rows is None:
        if not free:
            raise ValueError(f"{caller}: no parameter was searched.")
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


def best_cells(params, folds, candidates, names, caller):
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
    caller : str
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
                f"{caller}: {name} has {len(values)} values; up to {_MOST} can be "
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


_MOST_WRITTEN = 60  # means; more lines would be too thin for them


class GridSearchDisplay:
    """What a search has found: the score by two parameters, with the spread of folds.

    Shows for example the accuracy of each subset of sources under each way to combine
    them. Where candidates differ in further parameters, a pair of values shows the
    best of them. Make one with `from_estimator` or `from_results`; the constructor
    takes what these compute.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_columns, n_folds)
        Scores in the test folds, NaN for a pair of values that was not tried.
    rows, columns : list of str
        Names of the two parameters' values.
    row_label : str
        What the rows are: the name of a parameter.
    column_label : str, default=None
        What the columns are. None where there is only one.
    score_label : str, default="score"
        What is measured.
    candidates : ndarray of int, shape (n_rows, n_columns), default=None
        Rows of ``cv_results_`` that the scores are of, -1 for none.

    Attributes
    ----------
    ax_ : matplotlib Axes
        What `plot` drew on.
    figure_ : matplotlib Figure
    points_ : list of matplotlib Line2D, length n_columns
        The means of each column.
    spreads_ : list of matplotlib LineCollection, length n_columns
        From the lowest fold to the highest.
    text_ : list of matplotlib Text
        The means in figures, from above, empty if there are too many.
    legend_ : matplotlib Legend or None

    See Also
    --------
    source_subsets : Values for a grid over `active`.
    SourceSelector.frame : The same for sources chosen one by one.

    Notes
    -----
    Folds share training rows, so that the spread tells how much a score may depend on
    the split, and is no confidence interval; two candidates are best compared fold by
    fold. The best of many is also lucky: score it on data that the search has not seen.

    A search by successive halving is shown at its last iteration, or another one.
    Scores of different iterations come from different amounts of data.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed.inspection import GridSearchDisplay
    >>> results = {
    ...     "params": [
    ...         {"embed__active": ("w2v",), "pool__mode": "mean"},
    ...         {"embed__active": ("w2v", "glove"), "pool__mode": "mean"},
    ...     ],
    ...     "split0_test_score": np.array([0.8, 0.9]),
    ...     "split1_test_score": np.array([0.7, 0.9]),
    ... }
    >>> display = GridSearchDisplay.from_results(results)
    >>> display.frame()[["embed__active", "mean", "lowest", "highest"]]
      embed__active  mean  lowest  highest
    0           w2v  0.75     0.7      0.8
    1   w2v + glove  0.90     0.9      0.9
    """

    def __init__(
        self,
        scores,
        *,
        rows,
        columns,
        row_label,
        column_label=None,
        score_label="score",
        candidates=None,
    ):
        self.scores = scores
        self.rows = rows
        self.columns = columns
        self.row_label = row_label
        self.column_label = column_label
        self.score_label = score_label
        self.candidates = candidates

    @classmethod
    def from_estimator(cls, search, *, metric=None, score_label=None, **options):
        """Show a fitted search.

        Nothing is fitted again: what the search kept is shown. It tells, too, what was
        measured, where `from_results` has to be told.

        Parameters
        ----------
        search : GridSearchCV, RandomizedSearchCV or one by halving
            Fitted, with ``cv_results_``.
        metric : str, default=None
            Which of several scores. None takes the one that `refit` names, or the
            only one.
        score_label : str, default=None
            What is measured. None takes the name of the score.
        **options
            Passed on to `from_results`.

        Returns
        -------
        GridSearchDisplay
            Plotted.

        Raises
        ------
        TypeError
            If there is no ``cv_results_``.
        """
        if not hasattr(search, "cv_results_"):
            raise TypeError(
                f"{cls.__name__}.from_estimator takes a fitted search, such as "
                f"GridSearchCV; got {type(search).__name__} without cv_results_."
            )
        refit = getattr(search, "refit", None)
        several = getattr(search, "multimetric_", False)
        if metric is None:
            metric = refit if several and isinstance(refit, str) else "score"
        if score_label is None:
            score_label = told_score(search, metric)
        return cls.from_results(
            search.cv_results_, metric=metric, score_label=score_label, **options
        )

    @classmethod
    def from_results(
        cls,
        cv_results,
        *,
        rows=None,
        columns=None,
        metric="score",
        score_label="score",
        iteration=None,
        ax=None,
        **plot_kw,
    ):
        """Show the results of a search.

        For results without their search. Of candidates that differ in parameters other
        than the two shown, the best is taken, and `frame` tells which.

        Parameters
        ----------
        cv_results : dict
            A search's ``cv_results_``.
        rows : str, default=None
            The parameter whose values stand below each other. None takes the one that
            ends in "active", or else the first that varies.
        columns : str, default=None
            The parameter whose values differ in colour and marker. None takes the
            next one that varies, if there is one.
        metric : str, default="score"
            Which of several scores.
        score_label : str, default="score"
            What is measured.
        iteration : int, default=None
            Of a search by halving, counted from 0. None takes the last.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a figure.
        **plot_kw
            Passed on to `plot`.

        Returns
        -------
        GridSearchDisplay
            Plotted.

        Raises
        ------
        ValueError
            If there is no such parameter, score or iteration, or a parameter has more
            than 40 values.
        """
        caller, params = cls.__name__, list(cv_results["params"])
        folds = fold_scores(cv_results, metric, caller)
        shown = shown_candidates(cv_results, iteration, caller)
        names = chosen_parameters([params[i] for i in shown], rows, columns, caller)
        cells = best_cells(params, folds, shown, names, caller)
        display = cls(
            cells.folds,
            rows=cells.rows,
            columns=cells.columns,
            row_label=names[0],
            column_label=names[1],
            score_label=score_label,
            candidates=cells.candidates,
        )
        return display.plot(ax, **plot_kw)

    def plot(self, ax=None, *, include_values=None, legend=True, marker_kw=None):
        """Draw a marker and a line for each pair of values.

        The line of a pair of values goes from its lowest fold to its highest, and a
        dotted one across all marks the best mean.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None makes a figure.
        include_values : bool, default=None
            Whether to write the means. None writes up to 60.
        legend : bool, default=True
            Whether to say which marker is which value.
        marker_kw : dict, default=None
            Passed on to ``Axes.plot`` for the means.

        Returns
        -------
        GridSearchDisplay
            With `ax_`, `figure_`, `points_`, `spreads_`, `text_` and `legend_` set.
        """
        n_rows, n_columns, n_folds = np.shape(self.scores)
        words = max(map(len, self.rows)) + max(map(len, self.columns))
        size = min(5.4 + 0.085 * words, 12.0), 1.1 + n_rows * (0.2 * n_columns + 0.14)
        ax = make_axes(ax, size, type(self).__name__)
        means = np.mean(self.scores, axis=2)
        if include_values is None:
            include_values = means.size <= _MOST_WRITTEN
        self.points_, self.spreads_, self.text_ = [], [], []
        for number in range(n_columns):
            self._draw(ax, number, means, include_values, marker_kw or {})
        self._annotate(ax, means)
        ax.set_xlabel(f"{self.score_label}\n{_told_folds(n_folds)}")
        self.legend_ = self._legend(ax) if legend else None
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax, number, means, include_values, marker_kw):
        style = point_style(number)
        y = np.arange(len(means)) + self._offset(number)
        low, high = np.min(self.scores, axis=2), np.max(self.scores, axis=2)
        low, high = low[:, number], high[:, number]
        line = {"color": style["color"], "linewidth": 2.2, "zorder": 1.5}
        self.spreads_.append(ax.hlines(y, low, high, **line))
        look = {"linestyle": "", "color": style["color"], "marker": style["marker"]}
        look |= {"markeredgecolor": "black", "markeredgewidth": 0.7, "markersize": 7}
        look |= {"label": self.columns[number]} | marker_kw
        self.points_ += ax.plot(means[:, number], y, **look)
        if include_values:
            for x, place, mean in zip(high, y, means[:, number], strict=True):
                if np.isfinite(mean):
                    self.text_.append(ax.annotate(f"{mean:.3f}", (x, place), **_BESIDE))

    def _offset(self, number):
        n_columns = len(self.columns)
        return (number - (n_columns - 1) / 2) * 0.8 / n_columns

    def _annotate(self, ax, means):
        rows = np.arange(len(self.rows))
        ax.set_yticks(rows, self.rows, parse_math=False)
        ax.set_ylim(len(rows) - 0.5, -0.5)  # the first row on top
        ax.set_ylabel(self.row_label)
        ax.tick_params(axis="y", length=0)
        for row in rows[1:]:
            ax.axhline(row - 0.5, color="0.85", linewidth=0.8, zorder=0)
        ax.spines[["top", "right"]].set_visible(False)
        if np.isfinite(means).any():
            ax.axvline(np.nanmax(means), label="best mean", **_BEST)
        low, high = ax.get_xlim()
        ax.set_xlim(low, high + 0.12 * (high - low))  # for the last figures

    def _legend(self, ax):
        lines = [line for line in ax.lines if line.get_label() == "best mean"]
        handles = [*self.points_, *lines] if self.column_label else lines
        names = [*self.columns] if self.column_label else []
        names += ["best mean"] * len(lines)
        beside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "frameon": False}
        legend = ax.legend(handles, names, title=self.column_label, **beside)
        return without_math(legend)

    def frame(self):
        """Return the scores as a table.

        For numbers in a text, or for a picture of one's own; matplotlib is not needed.
        Pairs of values that no candidate had are left out.

        Returns
        -------
        pandas.DataFrame
            One row a pair of values that was tried: the parameters by their names,
            ``mean``, ``std``, ``lowest`` and ``highest`` of the folds, and
            ``candidate``, the row of ``cv_results_``.
        """
        import pandas as pd

        i, j = np.nonzero(np.isfinite(self.scores).all(axis=2))
        scores = self.scores[i, j]
        columns = {self.row_label: [self.rows[row] for row in i]}
        if self.column_label is not None:
            columns[self.column_label] = [self.columns[column] for column in j]
        columns |= {"mean": scores.mean(axis=1), "std": scores.std(axis=1)}
        columns |= {"lowest": scores.min(axis=1), "highest": scores.max(axis=1)}
        if self.candidates is not None:
            columns["candidate"] = self.candidates[i, j]
        return pd.DataFrame(columns)


_BEST = {"color": "black", "linestyle": ":", "linewidth": 1, "zorder": 0.5}
_BESIDE = {
    "xytext": (9, 0),
    "textcoords": "offset points",
    "va": "center",
    "fontsize": "small",
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.5},
}


def _told_folds(n_folds):
    if n_folds == 1:
        return "(one fold)"
    return f"(mean of {n_folds} folds, line from lowest to highest)"
