"""GridSearchDisplay: scores of a search by two of its parameters."""

from __future__ import annotations

import re
from numbers import Number
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.base import is_classifier, is_regressor

from ._display import BaseDisplay, draw_legend
from ._style import point_style, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

_MAX_VALUES = 40  # of a parameter in one picture
_MAX_LENGTH = 48  # characters of a value's name
_MAX_MEANS = 60  # written as numbers; lines of more would be too thin for them
_NOT_SET = "(not set)"
_BEST = {"color": "black", "linestyle": ":", "linewidth": 1, "zorder": 0.5}
_NUMBER = {
    "xytext": (9, 0),
    "textcoords": "offset points",
    "va": "center",
    "fontsize": "small",
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.5},
}


class Cells(NamedTuple):
    """Best candidate of each pair of values and the scores of its folds."""

    rows: list  # of str, names of the first parameter's values
    columns: list  # of str
    folds: np.ndarray  # (n_rows, n_columns, n_folds), NaN where there is none
    candidates: np.ndarray  # (n_rows, n_columns), -1 where there is none


def fold_scores(results, metric):
    """Return scores in the test folds, ``cv_results_`` -> (n_candidates, n_folds)."""
    pattern = re.compile(r"split(\d+)_test_(.+)")
    matches = [match for match in map(pattern.fullmatch, results) if match]
    folds = sorted((int(m[1]), m[0]) for m in matches if m[2] == metric)
    if not folds:
        names = sorted({match[2] for match in matches})
        raise ValueError(f"metric must be one of {names}; got {metric!r}.")
    return np.array([np.asarray(results[key], dtype=np.float64) for _, key in folds]).T


def select_candidates(results, iteration):
    """Return the indices of the candidates: all, or those of one halving iteration."""
    if "iter" not in results:
        if iteration is not None:
            raise ValueError(
                f"iteration={iteration} is only for searches by successive "
                "halving. Leave it out."
            )
        return np.arange(len(results["params"]))
    iterations = np.asarray(results["iter"])
    iteration = iterations.max() if iteration is None else iteration
    if iteration not in iterations:
        raise ValueError(
            f"iteration must be within 0 and {iterations.max()}; got {iteration}."
        )
    return np.flatnonzero(iterations == iteration)


def select_parameters(params, rows, columns):
    """Return the names of the two parameters to show; the second may be None."""
    names = list(dict.fromkeys(name for each in params for name in each))
    varying = [name for name in names if len(named_values(params, name)[0]) > 1]
    for name in (rows, columns):
        if name is not None and name not in names:
            raise ValueError(
                f"{name!r} is not one of the parameters of the search, {names}."
            )
    # The selection of sources comes first, before all other parameters.
    varying.sort(key=lambda name: not name.endswith("active"))
    free = [name for name in varying or names if name not in (rows, columns)]
    if rows is None:
        if not free:
            raise ValueError("the search has no parameters to show.")
        rows = free.pop(0)
    if columns is None:
        columns = next((name for name in free if name in varying), None)
    return rows, columns


def named_values(params, name):
    """Return the names of a parameter's values, and the index of each candidate's.

    Numbers ascend, other values are in the order of the candidates.

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
        text if short.count(text) == 1 else _short(key.replace("MetaEmbedding(", "("))
        for key, text in zip(distinct, short, strict=True)
    ]
    index = {key: i for i, key in enumerate(distinct)}
    return names, np.array([index[key] for key in keys])


def value_name(value):
    """Return the name of a parameter's value in a picture.

    >>> from sk_metaembed import ConcatMetaEmbedding
    >>> [value_name(value) for value in (("w2v", "glove"), ConcatMetaEmbedding(), 0.1)]
    ['w2v + glove', 'Concat', '0.1']
    """
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, list | tuple) and all(isinstance(v, str) for v in value):
        return _short(" + ".join(value))
    if hasattr(value, "get_params") and not isinstance(value, type):
        name = type(value).__name__
        return name.removesuffix("MetaEmbedding") or name
    if isinstance(value, float):
        return f"{value:.3g}"
    return _short(" ".join(str(value).split()))


def _short(text):
    return shorten(text, _MAX_LENGTH)


def best_cells(params, folds, candidates, names):
    """Return the best of the candidates for each pair of values of two parameters."""
    selected = [params[number] for number in candidates]
    (rows, in_row), (columns, in_column) = (named_values(selected, n) for n in names)
    for name, values in zip(names, (rows, columns), strict=True):
        if len(values) > _MAX_VALUES:
            raise ValueError(
                f"{name} has {len(values)} values; at most {_MAX_VALUES} can "
                "be shown. Choose other parameters with rows= and columns=."
            )
    best = np.full((len(rows), len(columns)), -1)
    means = folds.mean(axis=1)
    for number, cell in zip(
        candidates, zip(in_row, in_column, strict=True), strict=True
    ):
        highest = means[best[cell]] if best[cell] >= 0 else -np.inf
        if means[number] > highest:  # False for NaN, the score of a failed fit
            best[cell] = number
    scores = np.where((best >= 0)[..., None], folds[best], np.nan)
    return Cells(rows, columns, scores, best)


def score_name(search, metric):
    """Return the name of the score of a search."""
    if metric != "score":
        return metric.replace("_", " ")
    scoring = getattr(search, "scoring", None)
    if isinstance(scoring, str):
        return scoring.replace("_", " ")
    if scoring is None and is_classifier(search):
        return "accuracy"
    return "R²" if scoring is None and is_regressor(search) else "score"


class GridSearchDisplay(BaseDisplay):
    """Scores of a search by two parameters, with the spread over folds.

    Shows for example the accuracy of each subset of sources with each meta-embedding
    method. Where candidates differ in further parameters, a pair of values shows the
    best of them. Create a display with `from_estimator` or `from_results`; the
    constructor takes precomputed scores.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_columns, n_folds)
        Scores in the test folds, NaN for a pair of values without a candidate.
    rows, columns : list of str
        Names of the two parameters' values.
    row_label : str
        Name of the parameter in rows.
    column_label : str, default=None
        Name of the parameter in columns. None if there is only one column.
    score_label : str, default="score"
        Name of the score.
    candidates : ndarray of int, shape (n_rows, n_columns), default=None
        Rows of ``cv_results_`` with these scores, -1 for none.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the picture.
    figure_ : matplotlib Figure
    points_ : list of matplotlib Line2D, length n_columns
        The means of each column.
    spreads_ : list of matplotlib LineCollection, length n_columns
        Lines from the lowest fold to the highest.
    text_ : list of matplotlib Text
        The means as numbers, from top to bottom; empty if there are too many.
    legend_ : matplotlib Legend or None

    See Also
    --------
    source_subsets : Values for a grid over `active`.
    SourceSelector.frame : Scores of sources selected one by one.

    Notes
    -----
    Folds share training rows: the spread shows how much a score depends on the split
    and is not a confidence interval. To compare two candidates, compare them fold by
    fold. The score of the best of many candidates is optimistic: evaluate it on data
    that the search has not seen.

    By default, the last iteration of a search by successive halving is shown. Scores of
    different iterations come from different amounts of data.

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

    A fitted search:

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> search = GridSearchCV(Ridge(), {"alpha": [0.1, 10]}, cv=2)
    >>> _ = search.fit([[0], [1], [2], [3]], [0, 1, 2, 3])
    >>> GridSearchDisplay.from_estimator(search).frame()["alpha"].tolist()
    ['0.1', '10']
    """

    def __init__(
        self,
        scores: NDArray[np.float64],
        *,
        rows: Sequence[str],
        columns: Sequence[str],
        row_label: str,
        column_label: str | None = None,
        score_label: str = "score",
        candidates: NDArray[np.int64] | None = None,
    ) -> None:
        self.scores = scores
        self.rows = rows
        self.columns = columns
        self.row_label = row_label
        self.column_label = column_label
        self.score_label = score_label
        self.candidates = candidates

    @classmethod
    def from_estimator(
        cls,
        search: Any,
        *,
        metric: str | None = None,
        score_label: str | None = None,
        **options: Any,
    ) -> Self:
        """Show a fitted search, without fitting anything again.

        Parameters
        ----------
        search : GridSearchCV, RandomizedSearchCV or a search by successive halving
            Fitted, with ``cv_results_``.
        metric : str, default=None
            Name of one of several scores. None takes the one in `refit`, or the only
            one.
        score_label : str, default=None
            Name of the score in the picture. None takes it from the search.
        **options
            Passed to `from_results`.

        Returns
        -------
        GridSearchDisplay
            Plotted.

        Raises
        ------
        TypeError
            If `search` has no ``cv_results_``.
        """
        if not hasattr(search, "cv_results_"):
            raise TypeError(
                f"from_estimator requires a fitted search, such as "
                f"GridSearchCV; got {type(search).__name__} without cv_results_."
            )
        refit = getattr(search, "refit", None)
        several = getattr(search, "multimetric_", False)
        if metric is None:
            metric = refit if several and isinstance(refit, str) else "score"
        if score_label is None:
            score_label = score_name(search, metric)
        return cls.from_results(
            search.cv_results_, metric=metric, score_label=score_label, **options
        )

    @classmethod
    def from_results(
        cls,
        cv_results: Mapping[str, Any],
        *,
        rows: str | None = None,
        columns: str | None = None,
        metric: str = "score",
        score_label: str = "score",
        iteration: int | None = None,
        ax: Any = None,
        **plot_kw: Any,
    ) -> Self:
        """Show the ``cv_results_`` of a search.

        Parameters
        ----------
        cv_results : dict
            A search's ``cv_results_``.
        rows : str, default=None
            The parameter with one row per value. None takes the one whose name ends in
            "active", or else the first with several values.
        columns : str, default=None
            The parameter with one color and marker per value. None takes the next one
            with several values, if there is one.
        metric : str, default="score"
            Name of one of several scores.
        score_label : str, default="score"
            Name of the score in the picture.
        iteration : int, default=None
            Iteration of a search by successive halving, counted from 0. None takes the
            last.
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a figure.
        **plot_kw
            Passed to `plot`.

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
        params = list(cv_results["params"])
        folds = fold_scores(cv_results, metric)
        indices = select_candidates(cv_results, iteration)
        names = select_parameters([params[i] for i in indices], rows, columns)
        cells = best_cells(params, folds, indices, names)
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

    def plot(
        self,
        ax: Any = None,
        *,
        include_values: bool | None = None,
        legend: bool = True,
        marker_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw a marker and a line for each pair of values.

        The marker is the mean, the line extends from the lowest fold to the highest. A
        dotted line across all rows marks the best mean.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a figure.
        include_values : bool, default=None
            Whether to write the means. None writes up to 60.
        legend : bool, default=True
            Whether to draw a legend of the markers.
        marker_kw : dict, default=None
            Passed to ``Axes.plot`` for the means.

        Returns
        -------
        GridSearchDisplay
            With `ax_`, `figure_`, `points_`, `spreads_`, `text_` and `legend_` set.
        """
        n_rows, n_columns, n_folds = np.shape(self.scores)
        text = max(map(len, self.rows)) + max(map(len, self.columns))
        size = min(5.4 + 0.085 * text, 12.0), 1.1 + n_rows * (0.2 * n_columns + 0.14)
        ax = self._make_axes(ax, size)
        means = np.mean(self.scores, axis=2)
        if include_values is None:
            include_values = means.size <= _MAX_MEANS
        self.points_: list[Any] = []
        self.spreads_: list[Any] = []
        self.text_: list[Any] = []
        for number in range(n_columns):
            self._draw(ax, number, means, include_values, dict(marker_kw or {}))
        self._annotate(ax, means)
        ax.set_xlabel(f"{self.score_label}\n{_fold_note(n_folds)}")
        self.legend_ = self._legend(ax) if legend else None
        return self

    def _draw(self, ax, number, means, include_values, marker_kw):
        style = point_style(number)
        y = np.arange(len(means)) + self._offset(number)
        low, high = np.min(self.scores, axis=2), np.max(self.scores, axis=2)
        low, high = low[:, number], high[:, number]
        line = {"color": style["color"], "linewidth": 2.2, "zorder": 1.5}
        self.spreads_.append(ax.hlines(y, low, high, **line))
        marker = {"linestyle": "", "color": style["color"], "marker": style["marker"]}
        marker |= {"markeredgecolor": "black", "markeredgewidth": 0.7, "markersize": 7}
        marker |= {"label": self.columns[number]} | marker_kw
        self.points_ += ax.plot(means[:, number], y, **marker)
        if include_values:
            for *position, mean in zip(high, y, means[:, number], strict=True):
                if np.isfinite(mean):
                    self.text_.append(ax.annotate(f"{mean:.3f}", position, **_NUMBER))

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
        ax.set_xlim(low, high + 0.12 * (high - low))  # for the rightmost number

    def _legend(self, ax):
        lines = [line for line in ax.lines if line.get_label() == "best mean"]
        handles = [*self.points_, *lines] if self.column_label else lines
        names = [*self.columns] if self.column_label else []
        names += ["best mean"] * len(lines)
        return draw_legend(ax, handles, names, title=self.column_label)

    def frame(self) -> pd.DataFrame:
        """Return the scores as a table, without drawing.

        Returns
        -------
        pandas.DataFrame
            One row per pair of values with a candidate: the two parameters by name,
            ``mean``, ``std``, ``lowest`` and ``highest`` over folds, and ``candidate``,
            the row of ``cv_results_``.
        """
        import pandas as pd

        i, j = np.nonzero(np.isfinite(self.scores).all(axis=2))
        scores = self.scores[i, j]
        columns: dict[str, Any] = {self.row_label: [self.rows[int(row)] for row in i]}
        if self.column_label is not None:
            columns[self.column_label] = [self.columns[int(column)] for column in j]
        columns |= {"mean": scores.mean(axis=1), "std": scores.std(axis=1)}
        columns |= {"lowest": scores.min(axis=1), "highest": scores.max(axis=1)}
        if self.candidates is not None:
            columns["candidate"] = self.candidates[i, j]
        return pd.DataFrame(columns)


def _fold_note(n_folds):
    if n_folds == 1:
        return "(one fold)"
    return f"(mean of {n_folds} folds, line from lowest to highest)"
