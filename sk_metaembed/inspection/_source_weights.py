"""SourceWeightsDisplay: which source a trained mixture leans on."""

from collections.abc import Mapping

import numpy as np

from ._panels import panel_axes
from ._source_bars import bars_legend, draw_bars
from ._source_means import source_means, stacked_means

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

        See Also
        --------
        from_estimators : Several estimators beside each other.
        TokenWeightsDisplay.from_estimator : Single texts, word by word.

        Examples
        --------
        >>> from sk_metaembed import CharEmbedding, DynamicMetaClassifier
        >>> from sk_metaembed.inspection import SourceWeightsDisplay
        >>> dme = DynamicMetaClassifier(
        ...     trainable=[("a", CharEmbedding()), ("b", CharEmbedding())],
        ...     encoder="mean", max_epochs=1, early_stopping=False,
        ... ).fit(["good", "bad"], [1, 0])
        >>> display = SourceWeightsDisplay.from_estimator(
        ...     dme, ["good day", "bad"], groups=["pos", "neg"]
        ... )
        >>> display.frame()[["group", "n_tokens"]].values.tolist()
        [['neg', 1], ['pos', 2]]
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

        See Also
        --------
        from_estimator : One estimator alone.

        Examples
        --------
        >>> from sk_metaembed import CharEmbedding, DynamicMetaClassifier
        >>> from sk_metaembed.inspection import SourceWeightsDisplay
        >>> dme = DynamicMetaClassifier(
        ...     trainable=[("a", CharEmbedding()), ("b", CharEmbedding())],
        ...     encoder="mean", max_epochs=1, early_stopping=False,
        ... ).fit(["good", "bad"], [1, 0])
        >>> pair = {"DME": dme, "again": dme}
        >>> SourceWeightsDisplay.from_estimators(pair, ["good"]).frame()["estimator"]
        0      DME
        1    again
        Name: estimator, dtype: ...
        """
        whose = cls.__name__
        if not isinstance(estimators, Mapping):
            raise TypeError(
                f"{whose}.from_estimators takes a dict of fitted estimators by name, "
                f"got {type(estimators).__name__}."
            )
        if not estimators:
            raise ValueError(f"{whose}: there are no estimators to show.")
        means = [
            source_means(estimator, X, groups, frequencies, whose)
            for estimator in estimators.values()
        ]
        label = _label(group_label, groups)
        display = cls(
            **stacked_means(means, whose),
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

        See Also
        --------
        frame : The means as a table.

        Examples
        --------
        >>> import numpy as np
        >>> from sk_metaembed.inspection import SourceWeightsDisplay
        >>> display = SourceWeightsDisplay(
        ...     np.array([[0.7, 0.3], [0.4, 0.6]]), sources=["word2vec", "glove"],
        ...     groups=np.array(["sports", "tech"]), counts=np.array([120, 80]),
        ... )
        >>> [float(bar.get_width()) for bar in display.plot().bars_[0][0]]
        [0.7, 0.4]
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

        See Also
        --------
        plot : Draws the means.
        DynamicMetaEmbedding.attention_weights : The weights they are means of.

        Examples
        --------
        >>> import numpy as np
        >>> from sk_metaembed.inspection import SourceWeightsDisplay
        >>> display = SourceWeightsDisplay(
        ...     np.array([[0.7, 0.3], [0.4, 0.6]]), sources=["word2vec", "glove"],
        ...     groups=np.array(["sports", "tech"]), counts=np.array([120, 80]),
        ... )
        >>> display.frame()
            group  word2vec  glove  n_tokens
        0  sports       0.7    0.3       120
        1    tech       0.4    0.6        80
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
