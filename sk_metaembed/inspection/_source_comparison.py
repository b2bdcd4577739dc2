"""SourceComparisonDisplay: scores of sources alone and together, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ._display import BaseDisplay
from ._style import point_style

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

# What the default scores are called.
METRICS = {
    "roc_auc": "Area under the ROC curve",
    "accuracy": "Accuracy",
    "r2": "R²",
}
# How scores start that are between 0 and 1, or at most 1.
_SHARES = (
    *("accuracy", "balanced_accuracy", "top_k_accuracy", "average_precision"),
    *("f1", "jaccard", "precision", "recall", "roc_auc"),
)
_EXPLAINED = ("r2", "d2", "explained_variance", "matthews_corrcoef")
_LEVEL = 0.95


def interval(values: Sequence[float] | NDArray[np.float64]) -> tuple[float, float]:
    r"""Return (mean, half the width) of the interval of scores on k folds.

    The training parts of folds overlap, which the plain interval of a mean ignores.
    Following Nadeau and Bengio (2003), the variance of the mean is
    :math:`(1/k + 1/(k-1)) s^2`, as test parts have 1/(k-1) of the training rows.
    """
    from scipy.stats import t

    k = len(values)
    scale = np.std(values, ddof=1) * np.sqrt(1 / k + 1 / (k - 1))
    return float(np.mean(values)), float(t.ppf((1 + _LEVEL) / 2, k - 1) * scale)


def bounds(metric):
    """Return the lowest and the highest value that a score can have."""
    if metric.startswith(_SHARES):
        return 0, 1
    if metric.startswith("neg_"):
        return -np.inf, 0
    return -np.inf, 1 if metric.startswith(_EXPLAINED) else np.inf


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
    narrower than those of the scores: a difference can be significant although the
    intervals of the scores overlap.

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

    def __init__(
        self,
        scores: NDArray[np.float64],
        *,
        seconds: NDArray[np.float64],
        names: Sequence[str],
        metric: str,
        predictions: NDArray[Any] | None = None,
        errors: NDArray[np.float64] | None = None,
        importances: Mapping[str, NDArray[np.float64]] | None = None,
    ) -> None:
        self.scores = scores
        self.seconds = seconds
        self.names = names
        self.metric = metric
        self.predictions = predictions
        self.errors = errors
        self.importances = importances

    def frame(self) -> pd.DataFrame:
        """Return a row per candidate.

        Returns
        -------
        DataFrame
            The columns are "sources"; "score", the mean over folds, and "half_width",
            half its interval; "gain", the score of the last candidate minus that of the
            row, and "gain_half_width", half the interval of these paired differences;
            and "seconds" per fit.
        """
        import pandas as pd

        means = [interval(scores) for scores in self.scores]
        gains = [interval(self.scores[-1] - scores) for scores in self.scores]
        return pd.DataFrame(
            {
                "sources": [*self.names],
                "score": [mean for mean, _ in means],
                "half_width": [width for _, width in means],
                "gain": [gain for gain, _ in gains],
                "gain_half_width": [width for _, width in gains],
                "seconds": self.seconds.mean(axis=1),
            }
        )

    def plot(
        self, ax: Any = None, *, errorbar_kw: Mapping[str, Any] | None = None
    ) -> Self:
        """Draw the mean score of each candidate with its interval.

        Intervals are clipped to the range of the score. The seconds per fit are written
        at the right.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a figure.
        errorbar_kw : dict, default=None
            Passed to ``Axes.errorbar``.

        Returns
        -------
        SourceComparisonDisplay
            The display itself.
        """
        table = self.frame()
        size = (7, 1.2 + 0.36 * len(table))
        ax = self._make_axes(ax, size)
        low, high = bounds(self.metric)
        self.lines_ = []
        for i, row in enumerate(table.itertuples()):
            # The last candidate is what the others are compared with.
            style = point_style(0 if i + 1 < len(table) else 5)
            line = {
                "color": style["color"],
                "marker": style["marker"],
                "capsize": 3,
                **(errorbar_kw or {}),
            }
            ends = np.array([row.score - low, high - row.score])
            width = np.clip(row.half_width, 0, np.maximum(ends, 0))[:, None]
            self.lines_.append(ax.errorbar(row.score, i, xerr=width, **line))
            _write_beside(ax, f"{row.seconds:.2g} s", i)
        _write_beside(ax, "per fit", -0.5)
        ax.axvline(table["score"].iloc[-1], color="gray", linewidth=0.8, zorder=0.5)
        ax.set_yticks(range(len(table)), [*self.names], parse_math=False)
        ax.set_ylim(len(table) - 0.5, -0.5)  # the first candidate on top
        ax.set_xlabel(METRICS.get(self.metric, self.metric))
        ax.spines[["top", "right"]].set_visible(False)
        return self


def _write_beside(ax, text, y):
    place = {"xycoords": ("axes fraction", "data"), "va": "center"}
    ax.annotate(text, (1.01, y), fontsize="small", **place)
