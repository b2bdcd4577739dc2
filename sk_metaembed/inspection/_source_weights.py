"""SourceWeightsDisplay: which source a trained mixture leans on."""

import numpy as np

from ._drawing import bar_style, figure_of


class SourceWeightsDisplay:
    """Mean attention that each source gets, by class or any other grouping.

    Shows what `DynamicMetaEmbedding`, `DynamicMetaClassifier` and
    `DynamicMetaRegressor` have learned about their sources. Make one with
    `from_estimator`; the constructor takes what it has computed.

    Parameters
    ----------
    weights : ndarray of shape (n_groups, n_sources)
        Mean weights.
    sources : list of str, length n_sources
        Names of the sources.
    groups : ndarray of shape (n_groups,)
        Names of the groups.
    counts : ndarray of int, shape (n_groups,)
        Number of tokens that each mean is taken over.
    n_unknown : int, default=0
        Number of tokens left out because no source knows them.

    Attributes
    ----------
    ax_ : matplotlib Axes
        What `plot` drew on.
    figure_ : matplotlib Figure
    bars_ : list of matplotlib BarContainer, length n_sources
        The bars of each source, one a group.

    See Also
    --------
    DynamicMetaEmbedding.attention_weights : The weights token by token.

    Notes
    -----
    A mean weight says how much a source contributes to the mixed vectors, not how
    much it helps: sources that agree can replace each other. Under the softmax gate
    weights sum to 1, and a dashed line marks the even share.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed.inspection import SourceWeightsDisplay
    >>> display = SourceWeightsDisplay(
    ...     np.array([[0.7, 0.3], [0.4, 0.6]]),
    ...     sources=["word2vec", "glove"],
    ...     groups=np.array(["sports", "tech"]),
    ...     counts=np.array([120, 80]),
    ... )
    >>> display.frame()
        group  word2vec  glove  n_tokens
    0  sports       0.7    0.3       120
    1    tech       0.4    0.6        80
    """

    def __init__(self, weights, *, sources, groups, counts, n_unknown=0):
        self.weights = weights
        self.sources = sources
        self.groups = groups
        self.counts = counts
        self.n_unknown = n_unknown

    @classmethod
    def from_estimator(cls, estimator, X, *, groups=None, ax=None, bar_kw=None):
        """Average an estimator's attention weights over groups, and plot them.

        Parameters
        ----------
        estimator : estimator with `attention_weights`, or Pipeline that has one
            Fitted. In a Pipeline the steps before it transform X.
        X : EmbeddedSequences, or what the Pipeline takes
            Sequences whose tokens are averaged over.
        groups : array-like of shape (n_sequences,), default=None
            Group of each sequence, such as its class. None makes one group of all.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a figure.
        bar_kw : dict, default=None
            Passed on to ``Axes.barh``.

        Returns
        -------
        SourceWeightsDisplay
            Groups stand in sorted order.

        Raises
        ------
        TypeError
            If there is nothing with `attention_weights`.
        ValueError
            If `groups` has another length than X, or gaps.
        """
        estimator, X = _attending(estimator, X)
        groups = _check_groups(groups, len(X))
        frame = estimator.attention_weights(X)
        sources = [name for name in frame.columns if name not in _PLACES]
        values = frame[sources].to_numpy()
        known = values.any(axis=1)
        names, members = np.unique(groups, return_inverse=True)
        members = members[frame["sequence"].to_numpy()[known]]
        weights, counts = mean_by_group(values[known], members, len(names))
        display = cls(
            weights,
            sources=sources,
            groups=names,
            counts=counts,
            n_unknown=int((~known).sum()),
        )
        return display.plot(ax, bar_kw=bar_kw)

    def plot(self, ax=None, *, bar_kw=None):
        """Draw one bar a group and source.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None makes a figure.
        bar_kw : dict, default=None
            Passed on to ``Axes.barh``.

        Returns
        -------
        self : SourceWeightsDisplay
            With `ax_`, `figure_` and `bars_` set.
        """
        n_groups, n_sources = self.weights.shape
        size = 6.4, 1.0 + n_groups * (0.19 * n_sources + 0.16)
        ax = figure_of(ax, size, type(self).__name__)
        height = 0.84 / n_sources
        rows = np.arange(n_groups)
        self.bars_ = []
        for number, name in enumerate(self.sources):
            places = rows + (number - (n_sources - 1) / 2) * height
            style = {"height": height, "label": name, **bar_style(number)}
            bars = ax.barh(places, self.weights[:, number], **style | (bar_kw or {}))
            ax.bar_label(bars, fmt="%.2f", padding=3, **_LABEL)
            self.bars_.append(bars)
        self._annotate(ax, rows)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _annotate(self, ax, rows):
        largest, shown = self.weights.max(initial=0.0), list(self.bars_)
        if np.allclose(self.weights.sum(axis=1), 1, atol=1e-3):
            even = 1 / len(self.sources)
            shown += [ax.axvline(even, label="even share", **_EVEN)]
            largest = max(largest, even)
        ax.set_xlim(0, 1.12 * largest if largest > 0 else 1)
        ax.set_yticks(rows, [str(name) for name in self.groups])
        ax.set_ylim(len(rows) - 0.5, -0.5)  # the first group on top
        ax.set_xlabel("mean attention weight of the words")
        ax.spines[["top", "right"]].set_visible(False)
        # Beside the axes, where neither bars nor a title can be.
        beside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1)}
        ax.legend(handles=shown, frameon=False, handleheight=1.2, **beside)

    def frame(self):
        """Return the means as a table.

        Returns
        -------
        pandas.DataFrame
            One row a group: ``group``, a column a source, and ``n_tokens``.
        """
        import pandas as pd

        columns = dict(zip(self.sources, self.weights.T, strict=True))
        return pd.DataFrame({"group": self.groups, **columns, "n_tokens": self.counts})


# The line runs behind the bars, and the numbers cover it.
_EVEN = {"color": "black", "linestyle": "--", "linewidth": 1, "zorder": 0.5}
_LABEL = {
    "fontsize": "small",
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 1},
}

# Columns of the attention weights' table that are not sources.
_PLACES = ("sequence", "side", "position", "token")


def mean_by_group(values, members, n_groups):
    """Return the means of rows by group, and the number of rows of each.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
    members : ndarray of int, shape (n_rows,)
    n_groups : int

    Returns
    -------
    means : ndarray of float64, shape (n_groups, n_columns)
        Zeros for a group without rows.
    counts : ndarray of int64, shape (n_groups,)
    """
    counts = np.bincount(members, minlength=n_groups)
    sums = [np.bincount(members, weights=v, minlength=n_groups) for v in values.T]
    return np.stack(sums, axis=1) / np.maximum(counts, 1)[:, None], counts


def _attending(estimator, X):
    """Return the step that has attention weights, and what it is given."""
    if hasattr(estimator, "attention_weights"):
        return estimator, X
    for _, step in getattr(estimator, "steps", ()):
        if hasattr(step, "attention_weights"):
            return step, X
        if hasattr(step, "transform"):
            X = step.transform(X)
    raise TypeError(
        "SourceWeightsDisplay needs an estimator with attention_weights, such as "
        "DynamicMetaEmbedding, or a Pipeline with such a step; got "
        f"{type(estimator).__name__}."
    )


def _check_groups(groups, n_sequences):
    if groups is None:
        return np.full(n_sequences, "all")
    groups = np.asarray(groups)
    if groups.shape != (n_sequences,):
        raise ValueError(
            f"groups must name a group for each of the {n_sequences} sequences of X, "
            f"got an array of shape {groups.shape}."
        )
    # What is missing equals nothing, itself included; None would not sort.
    gaps = np.array([group is None or group != group for group in groups.tolist()])
    if gaps.any():
        raise ValueError(
            f"groups has {int(gaps.sum())} missing entries, the first at row "
            f"{int(gaps.argmax())}. Name a group for every sequence."
        )
    return groups
