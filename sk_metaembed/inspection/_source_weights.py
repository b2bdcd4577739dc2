"""SourceWeightsDisplay: which source a trained mixture leans on.

Bars of mean weights, by group and source, and what tells the sources apart.

Mean attention weights of sources by groups of tokens, of one estimator or more.

Groups of tokens: by sequence, by tag, by a function of the word, by frequency.
"""

from collections.abc import Mapping

import numpy as np

from ..sequences import TokenSequences
from ..sequences._tags import read_tags
from ._attention import find_attention_step, weight_columns
from ._panels import panel_axes
from ._style import bar_style, without_math

# The line runs behind the bars, and the numbers cover it.
_EVEN = {
    "label": "even share",
    "color": "black",
    "linestyle": "--",
    "linewidth": 1,
    "zorder": 0.5,
}
_LABEL = {
    "fontsize": "small",
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 1},
}


def draw_bars(ax, weights, sources, groups, largest, bar_kw):
    """Draw one estimator's bars.

    Parameters
    ----------
    ax : matplotlib Axes
    weights : ndarray of shape (n_groups, n_sources)
    sources, groups : sequence of str
    largest : float
        The largest weight of any panel, for a scale that all share.
    bar_kw : dict
        For ``Axes.barh``.

    Returns
    -------
    list of matplotlib BarContainer
        One a source.
    """
    n_sources = len(sources)
    height = 0.84 / n_sources
    rows = np.arange(len(weights))
    drawn, seen = [], np.nansum(weights, axis=1) > 0
    for number, name in enumerate(sources):
        places = rows + (number - (n_sources - 1) / 2) * height
        style = {"height": height, "label": name, **bar_style(number)}
        bars = ax.barh(places, weights[:, number], **style | bar_kw)
        numbers = [
            f"{w:.2f}" if shown and not np.isnan(w) else ""
            for w, shown in zip(weights[:, number], seen, strict=True)
        ]
        ax.bar_label(bars, numbers, padding=3, **_LABEL)
        drawn.append(bars)
    has = ~np.isnan(weights).all(axis=0)
    if np.allclose(np.nansum(weights[seen], axis=1), 1, atol=1e-3):
        ax.axvline(1 / has.sum(), **_EVEN)
        largest = max(largest, 1 / has.sum())
    ax.set_xlim(0, 1.12 * largest if largest > 0 else 1)
    empty = ["" if shown else "\n(no known words)" for shown in seen]
    names = [f"{name}{note}" for name, note in zip(groups, empty, strict=True)]
    ax.set_yticks(rows, names, parse_math=False)
    ax.set_ylim(len(rows) - 0.5, -0.5)  # the first group on top
    ax.set_xlabel("mean attention weight")
    ax.spines[["top", "right"]].set_visible(False)
    return drawn


def bars_legend(ax, bars, sources):
    """Say beside a panel, where neither bars nor a title can be, what bars mean."""
    lines = [line for line in ax.lines if line.get_label() == _EVEN["label"]]
    names = [*sources, *(line.get_label() for line in lines)]
    beside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1)}
    legend = ax.legend(
        [*bars, *lines], names, frameon=False, handleheight=1.2, **beside
    )
    return without_math(legend)


def token_groups(groups, frame, n_sequences, frequencies, caller):
    """Return the groups, and which one each row of a table of weights belongs to.

    Parameters
    ----------
    groups : None, array-like, lists of str, TokenSequences, callable or "frequency"
        As `SourceWeightsDisplay.from_estimator` describes them.
    frame : pandas.DataFrame
        With ``sequence`` and, unless there is a row a sequence, ``token``.
    n_sequences : int
    frequencies : mapping of str to int, or None
    caller : str
        Begins the error messages.

    Returns
    -------
    names : ndarray of shape (n_groups,)
        In the order in which they are shown.
    members : ndarray of int, shape (n_rows,)
    """
    rows = frame["sequence"].to_numpy()
    if frequencies is not None and not _is(groups, "frequency"):
        raise ValueError(
            f"{caller}: frequencies come with groups='frequency', got groups="
            f"{groups!r}. Leave them out."
        )
    if groups is None:
        return np.array(["all"]), np.zeros(len(frame), dtype=np.int64)
    if isinstance(groups, str) and groups != "frequency":
        raise ValueError(
            f"{caller}: groups must be one a sequence, one a token, a function of the "
            f"word, or 'frequency'; got {groups!r}."
        )
    if isinstance(groups, str) or callable(groups) or _is_by_token(groups):
        return _by_token(groups, frame, n_sequences, frequencies, caller)
    names, members = np.unique(_check_groups(groups, n_sequences), return_inverse=True)
    return names, members[rows]


def _is(groups, name):
    return isinstance(groups, str) and groups == name


def _is_by_token(groups):
    if isinstance(groups, TokenSequences):
        return True
    rows = groups if isinstance(groups, list | tuple) else np.asarray(groups)
    return len(rows) > 0 and isinstance(next(iter(rows)), list | tuple | np.ndarray)


def _by_token(groups, frame, n_sequences, frequencies, caller):
    if "token" not in frame:
        raise ValueError(
            f"{caller}: the weights are those of whole sequences, which have no words "
            "to group. Give each sequence a group."
        )
    types, codes = np.unique(frame["token"].to_numpy(dtype=object), return_inverse=True)
    if isinstance(groups, str):
        counts = np.bincount(codes, minlength=len(types))
        if frequencies is not None:
            counts = np.array([int(frequencies.get(word, 0)) for word in types])
        names, members = magnitudes(counts)
        return names, members[codes]
    if callable(groups):
        names, members = np.unique(_named(groups, types, caller), return_inverse=True)
        return names, members[codes]
    lengths = np.bincount(frame["sequence"].to_numpy(), minlength=n_sequences)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = TokenSequences(types, codes, offsets)
    tags = read_tags(groups, tokens, caller=caller, name="groups")
    names, members = np.unique(tags.types[tags.codes], return_inverse=True)
    return names, members


def magnitudes(counts):
    """Return powers of ten that counts lie between, and which of them each does.

    Parameters
    ----------
    counts : ndarray of int, shape (n,)

    Returns
    -------
    names : ndarray of str, shape (n_groups,)
        Ascending, those that occur.
    members : ndarray of int, shape (n,)

    Examples
    --------
    >>> names, members = magnitudes(np.array([3, 120, 0, 10]))
    >>> names.tolist(), members.tolist()
    (['0', '1 to 9', '10 to 99', '100 to 999'], [1, 3, 0, 2])
    """
    digits = np.array(
        [len(str(count)) if count > 0 else 0 for count in counts.tolist()]
    )
    found, members = np.unique(digits, return_inverse=True)
    names = [
        f"{10 ** (n - 1):,} to {10**n - 1:,}" if n else "0" for n in found.tolist()
    ]
    return np.array(names, dtype=object), members


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


def _named(function, types, caller):
    named = [function(word) for word in types]
    gaps = [word for word, name in zip(types, named, strict=True) if _is_gap(name)]
    if gaps:
        raise ValueError(
            f"{caller}: groups gave no group for {len(gaps)} words, the first is "
            f"{gaps[0]!r}. Return a name for every word, such as 'other'."
        )
    return np.array(named)


def _is_gap(group):
    # What is missing equals nothing, itself included.
    return group is None or group != group


def _check_groups(groups, n):
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise ValueError(
            f"groups must name a group for each of the {n} sequences of X, "
            f"got an array of shape {groups.shape}."
        )
    gaps = np.array([_is_gap(group) for group in groups.tolist()], dtype=bool)
    if gaps.any():
        raise ValueError(
            f"groups has {int(gaps.sum())} missing entries, the first at row "
            f"{int(gaps.argmax())}. Name a group for every sequence."
        )
    return groups


def source_means(estimator, X, groups, frequencies, caller):
    """Return what `SourceWeightsDisplay` takes, for one estimator."""
    estimator, X = find_attention_step(estimator, X, caller)
    frame = estimator.attention_weights(X)
    names, members = token_groups(groups, frame, len(X), frequencies, caller)
    sources, values = weight_columns(frame)
    known = values.any(axis=1)
    weights, counts = mean_by_group(values[known], members[known], len(names))
    return {
        "weights": weights,
        "sources": sources,
        "groups": names,
        "counts": counts,
        "n_unknown": int((~known).sum()),
    }


def stacked_means(means, caller):
    """Return what `SourceWeightsDisplay` takes, for several estimators."""
    groups = means[0]["groups"]
    if not all(np.array_equal(other["groups"], groups) for other in means):
        raise ValueError(
            f"{caller}: the estimators split X into different words, so that the "
            "groups are not the same. Show each by itself, with from_estimator."
        )
    sources = list(dict.fromkeys(name for one in means for name in one["sources"]))
    weights = np.full((len(means), len(groups), len(sources)), np.nan)
    for panel, one in zip(weights, means, strict=True):
        panel[:, [sources.index(name) for name in one["sources"]]] = one["weights"]
    return {
        "weights": weights,
        "sources": sources,
        "groups": groups,
        "counts": np.stack([one["counts"] for one in means]),
        "n_unknown": max(one["n_unknown"] for one in means),
    }


_FREQUENCY = "occurrences of the word"


class SourceWeightsDisplay:
    """Mean attention that each source gets, by class or any other grouping.

    Shows what `DynamicMetaEmbedding`, `DynamicMetaClassifier` and their siblings have
    learned about their sources: for the texts of each class, for rare and frequent
    words, for parts of speech, or any other groups of texts or words. Make one with
    `from_estimator`, or with `from_estimators` for several beside each other, such as
    DME and CDME; the constructor takes what these have computed.

    Parameters
    ----------
    weights : ndarray of shape (n_groups, n_sources) or (n_panels, n_groups, n_sources)
        Mean weights; of several estimators a panel each, NaN where one lacks a source.
    sources : list of str, length n_sources
        Names of the sources.
    groups : ndarray of shape (n_groups,)
        Names of the groups.
    counts : ndarray of int, shape (n_groups,) or (n_panels, n_groups)
        Number of tokens that each mean is taken over.
    n_unknown : int, default=0
        Number of tokens left out because no source knows them, of several estimators
        the largest.
    estimators : list of str, length n_panels, default=None
        Names of several estimators.
    group_label : str, default=None
        What the groups are, written beside them.

    Attributes
    ----------
    ax_ : matplotlib Axes
        What `plot` drew on; of several panels the first.
    axes_ : ndarray of matplotlib Axes, shape (n_panels,)
    figure_ : matplotlib Figure
    bars_ : list of list of matplotlib BarContainer
        A list a panel: the bars of each source, one a group.
    legend_ : matplotlib Legend

    See Also
    --------
    TokenWeightsDisplay : The weights of single texts, word by word.
    DynamicMetaEmbedding.attention_weights : The weights token by token, as a table.

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

    def __init__(
        self,
        weights,
        *,
        sources,
        groups,
        counts,
        n_unknown=0,
        estimators=None,
        group_label=None,
    ):
        self.weights = weights
        self.sources = sources
        self.groups = groups
        self.counts = counts
        self.n_unknown = n_unknown
        self.estimators = estimators
        self.group_label = group_label

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        *,
        groups=None,
        frequencies=None,
        group_label=None,
        ax=None,
        bar_kw=None,
    ):
        """Average an estimator's attention weights over groups, and plot them.

        Words that no source knows have no weights and are left out, counted in
        `n_unknown`. X may be other data than those of training.

        Parameters
        ----------
        estimator : fitted estimator
            With `attention_weights`, or a Pipeline with such a step, a search or a
            ColumnTransformer, as `sk_metaembed.inspection.attention_weights` takes it.
        X : what the estimator takes
            Sequences whose tokens are averaged over.
        groups : array-like, list of lists, callable or "frequency", default=None
            An entry a sequence, such as its class; or an entry a token, as lists of
            str or TokenSequences, such as parts of speech; or a function from a word
            to its group; or "frequency", by which words stand together whose number
            of occurrences lies between the same powers of ten. None makes one group
            of all.
        frequencies : mapping of str to int, default=None
            Occurrences of words, with ``groups="frequency"``: 0 for words that are
            not in it. None counts those in X.
        group_label : str, default=None
            What the groups are, written beside them.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a figure.
        bar_kw : dict, default=None
            Passed on to ``Axes.barh``.

        Returns
        -------
        SourceWeightsDisplay
            Groups stand in sorted order, frequencies in ascending order.

        Raises
        ------
        TypeError
            If there is nothing with `attention_weights`.
        ValueError
            If several branches have it, `groups` has another length than X, or gaps.
        """
        means = source_means(estimator, X, groups, frequencies, cls.__name__)
        display = cls(**means, group_label=_label(group_label, groups))
        return display.plot(ax, bar_kw=bar_kw)

    @classmethod
    def from_estimators(
        cls,
        estimators,
        X,
        *,
        groups=None,
        frequencies=None,
        group_label=None,
        ax=None,
        **plot_kw,
    ):
        """Show several estimators beside each other, over the same groups.

        Panels share one scale. A source that one of them lacks has no bar there; its
        even share is that of the sources it has.

        Parameters
        ----------
        estimators : mapping of str to estimator
            By the names that stand above the panels, such as "DME" and "CDME"; each as
            in `from_estimator`. They may have different sources.
        X : what the estimators take
            Sequences whose tokens are averaged over.
        groups : array-like, list of lists, callable or "frequency", default=None
            As in `from_estimator`.
        frequencies : mapping of str to int, default=None
            As in `from_estimator`.
        group_label : str, default=None
            What the groups are, written beside them.
        ax : matplotlib Axes or array-like of them, default=None
            Where to draw, as for `plot`.
        **plot_kw
            Passed on to `plot`.

        Returns
        -------
        SourceWeightsDisplay
            With a panel an estimator.

        Raises
        ------
        TypeError
            If `estimators` is no mapping, or one has no `attention_weights`.
        ValueError
            If there are none, or they split X into different words.
        """
        caller = cls.__name__
        if not isinstance(estimators, Mapping):
            raise TypeError(
                f"{caller}.from_estimators takes a dict of fitted estimators by name, "
                f"got {type(estimators).__name__}."
            )
        if not estimators:
            raise ValueError(f"{caller}: there are no estimators to show.")
        means = [
            source_means(estimator, X, groups, frequencies, caller)
            for estimator in estimators.values()
        ]
        label = _label(group_label, groups)
        display = cls(
            **stacked_means(means, caller),
            estimators=list(estimators),
            group_label=label,
        )
        return display.plot(ax, **plot_kw)

    def plot(self, ax=None, *, n_cols=3, bar_kw=None):
        """Draw one bar a group and source.

        Numbers stand at the bars, and the dashed line of the even share where weights
        sum to 1. A group without known words has its name and no bars.

        Parameters
        ----------
        ax : matplotlib Axes or array-like of them, default=None
            Where to draw: an axes an estimator, or a single one, in whose place stands
            a grid of panels. None makes a figure.
        n_cols : int, default=3
            Panels in a row, at most.
        bar_kw : dict, default=None
            Passed on to ``Axes.barh``.

        Returns
        -------
        SourceWeightsDisplay
            With `ax_`, `axes_`, `figure_`, `bars_` and `legend_` set.
        """
        panels = self._panels()
        n_groups, n_sources = panels[0].shape
        height = 1.0 + n_groups * (0.19 * n_sources + 0.16)
        height = max(height, 0.8 + 0.085 * len(self.group_label or ""))
        size = (6.4 if len(panels) == 1 else 3.6), height
        self.axes_ = panel_axes(ax, len(panels), n_cols, size, type(self).__name__)
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        largest = np.nanmax(np.nan_to_num(panels), initial=0.0)
        given = self.sources, self.groups, largest, bar_kw or {}
        self.bars_ = [
            draw_bars(panel, weights, *given)
            for panel, weights in zip(self.axes_, panels, strict=True)
        ]
        one_grid = ax is None or hasattr(ax, "get_subplotspec")
        for number, panel in enumerate(self.axes_):
            if self.estimators is not None:
                panel.set_title(self.estimators[number], parse_math=False)
            if one_grid and number % n_cols:
                panel.tick_params(labelleft=False)
            elif self.group_label is not None:
                panel.set_ylabel(self.group_label)
        last = self.axes_[min(n_cols, len(panels)) - 1]
        self.legend_ = bars_legend(last, self.bars_[0], self.sources)
        return self

    def _panels(self):
        weights = np.asarray(self.weights)
        return weights if weights.ndim == 3 else weights[None]

    def frame(self):
        """Return the means as a table.

        Means over few tokens say little, and ``n_tokens`` tells over how many;
        matplotlib is not needed.

        Returns
        -------
        pandas.DataFrame
            One row a group: ``estimator`` if there are several, ``group``, a column a
            source, and ``n_tokens``.
        """
        import pandas as pd

        panels = self._panels()
        columns = {}
        if self.estimators is not None:
            columns["estimator"] = np.repeat(
                np.array(self.estimators, dtype=object), len(self.groups)
            )
        columns["group"] = np.tile(self.groups, len(panels))
        flat = panels.reshape(-1, len(self.sources))
        columns |= dict(zip(self.sources, flat.T, strict=True))
        return pd.DataFrame({**columns, "n_tokens": np.ravel(self.counts)})


def _label(asked, groups):
    by_frequency = isinstance(groups, str) and groups == "frequency"
    return _FREQUENCY if asked is None and by_frequency else asked
