"""SourceComparisonDisplay: scores of sources alone and together, with intervals."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from .._core._errors import check_choice
from ._display import BaseDisplay, point_style, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

# Names of the default scores.
_LABELS = {"roc_auc": "Area under the ROC curve", "accuracy": "Accuracy", "r2": "R²"}
_LEVEL = 0.95
_LONGEST = 36  # maximum characters of a label


def interval(values):
    r"""Return (mean, half the width) of the interval of scores on k folds.

    The training parts of folds overlap, which the plain interval of a mean ignores.
    Following Nadeau and Bengio (2003), the variance of the mean is
    :math:`(1/k + 1/(k-1)) s^2`, as test parts have 1/(k-1) of the training rows.
    """
    from scipy.stats import t

    k = len(values)
    scale = np.std(values, ddof=1) * np.sqrt(1 / k + 1 / (k - 1))
    return float(np.mean(values)), float(t.ppf((1 + _LEVEL) / 2, k - 1) * scale)


@dataclass(eq=False, repr=False)
class SourceComparisonDisplay(BaseDisplay):
    """Scores of each source alone and of all together, on the same folds.

    `compare_sources` returns it; the constructor takes precomputed scores.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates, n_folds)
        Scores on held-out rows. The last candidate uses all sources, and the others are
        compared with it.
    seconds : ndarray of shape (n_candidates, n_folds)
        Time to embed the training part and fit the model.
    names : list of str, length n_candidates
        Names of the candidates.
    metric : str
        Name of the score, such as "accuracy".
    predictions : ndarray of shape (n_rows,) or (n_rows, n_columns), default=None
        Out-of-fold predictions of the last candidate.
    errors : ndarray of shape (n_rows,), default=None
        Errors of these predictions: absolute errors, or 1 - probability of the class.
    probabilities : ndarray of shape (n_rows, n_classes), default=None
        Out-of-fold probabilities of the classes, in sorted order, of the last
        candidate; None for numbers and for models without probabilities.
    importances : dict of str to ndarray of shape (n_folds,), default=None
        Importance of each column of a table: the decrease of the last candidate's score
        when the column is shuffled in the test part.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib ErrorbarContainer
        A point with its interval per candidate.

    See Also
    --------
    compare_sources : Computes the scores.

    Notes
    -----
    Intervals have a level of 95 %. With :math:`s^2` the variance of the scores of k
    folds, the variance of their mean is :math:`(1/k + 1/(k-1)) s^2`, since training
    parts overlap [1]_. Differences are taken fold by fold, so their intervals are
    narrower than the intervals of the scores: a difference can be significant although
    the intervals of the scores overlap.

    References
    ----------
    .. [1] C. Nadeau, Y. Bengio. "Inference for the Generalization Error". Machine
       Learning, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed.inspection import SourceComparisonDisplay
    >>> display = SourceComparisonDisplay(
    ...     np.array([[0.7, 0.8, 0.75], [0.8, 0.9, 0.85]]),
    ...     seconds=np.ones((2, 3)),
    ...     names=["glove", "stack"],
    ...     metric="accuracy",
    ... )
    >>> display.frame()[["sources", "score", "gain", "gain_half_width"]].round(2)
      sources  score  gain  gain_half_width
    0   glove   0.75   0.1              0.0
    1   stack   0.85   0.0              0.0
    """

    scores: NDArray[np.float64]
    _: KW_ONLY
    seconds: NDArray[np.float64]
    names: Sequence[str]
    metric: str
    predictions: NDArray[Any] | None = None
    errors: NDArray[np.float64] | None = None
    probabilities: NDArray[np.float64] | None = None
    importances: Mapping[str, NDArray[np.float64]] | None = None

    def frame(self, part: Literal["sources", "columns"] = "sources") -> pd.DataFrame:
        """Return one row per candidate, or per column of a table.

        Parameters
        ----------
        part : {"sources", "columns"}, default="sources"
            The scores of the candidates, or the importances of the columns.

        Returns
        -------
        DataFrame
            For sources, the columns are "sources"; "score", the mean over folds, and
            "half_width", half its interval; "gain", the score of the last candidate
            minus the score of the row, and "gain_half_width", half the interval of
            these paired differences; and "seconds" per fit. For columns, they are
            "column", "importance" and "half_width", by descending importance.

        Raises
        ------
        ValueError
            If `part` is "columns" and there are no importances.
        """
        import pandas as pd

        check_choice(part, ("sources", "columns"), "part")
        if part == "columns":
            if self.importances is None:
                raise ValueError("only pipelines of tables have importances.")
            rows = [(name, *interval(x)) for name, x in self.importances.items()]
            table = pd.DataFrame(rows, columns=["column", "importance", "half_width"])
            return table.sort_values("importance", ascending=False, ignore_index=True)
        rows = [
            (name, *interval(scores), *interval(self.scores[-1] - scores))
            for name, scores in zip(self.names, self.scores, strict=True)
        ]
        columns = ["sources", "score", "half_width", "gain", "gain_half_width"]
        table = pd.DataFrame(rows, columns=columns)
        return table.assign(seconds=self.seconds.mean(axis=1))

    def plot(
        self,
        ax: Any = None,
        *,
        part: Literal["sources", "columns"] = "sources",
        errorbar_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the mean score of each candidate, or the importance of each column.

        The seconds per fit are written to the right of each candidate.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a figure.
        part : {"sources", "columns"}, default="sources"
            As for `frame`.
        errorbar_kw : dict, default=None
            Passed to ``Axes.errorbar``.

        Returns
        -------
        SourceComparisonDisplay
            The display itself.
        """
        table = self.frame(part)
        ax = self._make_axes(ax, (7, 1.2 + 0.36 * len(table)))
        names, means, widths = (table.iloc[:, i].to_numpy() for i in range(3))
        label = _LABELS.get(self.metric, self.metric)
        if part == "columns":
            label = f"{label}: decrease when shuffled"
        self.lines_ = []
        for i, mean in enumerate(means):
            # All other candidates are compared with the last one.
            is_last = part == "sources" and i + 1 == len(means)
            style = point_style(5 if is_last else 0)
            line = {key: style[key] for key in ("color", "marker")} | {"capsize": 3}
            line |= errorbar_kw or {}
            self.lines_.append(ax.errorbar(mean, i, xerr=widths[i], **line))
        if part == "sources":
            _write_beside(ax, "per fit", -0.5)
            for i, seconds in enumerate(table["seconds"]):
                _write_beside(ax, f"{seconds:.2g} s", i)
        reference = means[-1] if part == "sources" else 0.0
        ax.axvline(reference, color="gray", linewidth=0.8, zorder=0.5)
        labels = [shorten(str(name), _LONGEST) for name in names]
        ax.set_yticks(range(len(table)), labels, parse_math=False)
        ax.set_ylim(len(table) - 0.5, -0.5)  # the first row on top
        ax.set_xlabel(label)
        ax.spines[["top", "right"]].set_visible(False)
        return self


def _write_beside(ax, text, y):
    place = {"xycoords": ("axes fraction", "data"), "va": "center"}
    ax.annotate(text, (1.01, y), fontsize="small", **place)
