"""SourceWeightsDisplay: mean attention weights of sources by group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from ..sequences import TokenSequences
from ..sequences._api import read_tags
from ._attention import find_attention_step, weight_columns
from ._display import BaseDisplay, draw_bars, draw_legend

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from .._core._typing import Tags

    Groups: TypeAlias = ArrayLike | Tags | Callable[[str], object] | None

# Drawn below the bars and the numbers.
_EVEN_SHARE = {
    "label": "even share",
    "color": "black",
    "linestyle": "--",
    "linewidth": 1,
    "zorder": 0.5,
}


def _draw_panel(ax, weights, sources, groups, largest, bar_kw):
    """Draw one estimator's bars and return one BarContainer per source.

    `largest` is the largest weight of any panel, for a common scale.
    """
    has_words = np.nansum(weights, axis=1) > 0
    numbers = [
        [f"{w:.2f}" if known and not np.isnan(w) else "" for w in row]
        for row, known in zip(weights, has_words, strict=True)
    ]
    notes = ["" if known else "\n(no known words)" for known in has_words]
    names = [f"{name}{note}" for name, note in zip(groups, notes, strict=True)]
    containers = draw_bars(ax, weights, numbers, sources, names, bar_kw)
    has_source = ~np.isnan(weights).all(axis=0)
    if np.allclose(np.nansum(weights[has_words], axis=1), 1, atol=1e-3):
        ax.axvline(1 / has_source.sum(), **_EVEN_SHARE)
        largest = max(largest, 1 / has_source.sum())
    ax.set_xlim(0, 1.12 * largest if largest > 0 else 1)
    ax.set_xlabel("mean attention weight\nover words and dimensions")
    return containers


def _read_groups(groups, frame, n_sequences):
    """Return the group of each row of a table of weights as a Categorical (n_rows,).

    `groups` is as for `SourceWeightsDisplay.from_estimator`.
    """
    import pandas as pd

    rows = frame["sequence"].to_numpy()
    if groups is None:
        return pd.Categorical(np.full(len(frame), "all"), categories=["all"])
    if _is_per_token(groups):
        if "token" not in frame:
            raise ValueError(
                "the estimator has one weight per sequence and source, so that "
                "words cannot be grouped. Pass one group per sequence."
            )
        types, codes = np.unique(frame["token"].to_numpy(object), return_inverse=True)
        if callable(groups):
            members = pd.Categorical([groups(word) for word in types])[codes]
        else:
            lengths = np.bincount(rows, minlength=n_sequences)
            offsets = np.concatenate([[0], np.cumsum(lengths)])
            tokens = TokenSequences(types, codes, offsets)
            tags = read_tags(groups, tokens, name="groups")
            members = pd.Categorical(tags.types[tags.codes])
    else:
        groups = np.asarray(groups)
        if groups.shape != (n_sequences,):
            raise ValueError(
                f"groups must have an entry for each of the {n_sequences} sequences of "
                f"X, or be a function of the word; got an array of shape "
                f"{groups.shape}."
            )
        members = pd.Categorical(groups)[rows]
    missing = pd.isna(members)
    if missing.any():
        first = frame.iloc[int(missing.argmax())]
        word = f"{first['token']!r} in " if "token" in frame else ""
        raise ValueError(
            f"groups has no group for {missing.sum()} of {len(frame)} weights, the "
            f"first is that of {word}sequence {first['sequence']}. Pass a group for "
            "each, such as 'other'."
        )
    return members


def _is_per_token(groups):
    if callable(groups) or isinstance(groups, TokenSequences):
        return True
    rows = groups if isinstance(groups, list | tuple) else np.atleast_1d(groups)
    return len(rows) > 0 and isinstance(next(iter(rows)), list | tuple | np.ndarray)


def _mean_weights(estimator, X, groups):
    """Return the parameters of `SourceWeightsDisplay` for one estimator."""
    import pandas as pd

    step, X = find_attention_step(estimator, X)
    frame = step.attention_weights(X)
    sources, values = weight_columns(frame)
    known = values.any(axis=1)
    table = pd.DataFrame(np.where(known[:, None], values, np.nan))
    by_group = table.groupby(_read_groups(groups, frame, len(X)), observed=False)
    means = by_group.mean().fillna(0.0)  # groups without known words
    return {
        "weights": means.to_numpy(),
        "sources": sources,
        "groups": np.asarray(means.index),
        "counts": by_group[0].count().to_numpy(),
        "n_unknown": int((~known).sum()),
    }


def _stack_means(means):
    """Return the parameters of `SourceWeightsDisplay` for several estimators."""
    groups = means[0]["groups"]
    if not all(np.array_equal(other["groups"], groups) for other in means):
        raise ValueError(
            "the estimators split X into different words, so that their "
            "groups differ. Show each one separately with from_estimator."
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


@dataclass(eq=False, repr=False)
class SourceWeightsDisplay(BaseDisplay):
    """Mean attention weight of each source, by class or any other grouping.

    Shows what `DynamicMetaEmbedding`, `DynamicMetaClassifier` and the other
    ``Dynamic*`` estimators have learned about their sources: for the texts of each
    class, for rare and frequent words, for parts of speech, or any other groups of
    texts or words. Create a display with `from_estimator`, or with `from_estimators`
    for several side by side, such as DME and CDME; the constructor takes precomputed
    means.

    Parameters
    ----------
    weights : ndarray of shape (n_groups, n_sources) or (n_panels, n_groups, n_sources)
        Mean weights. With several estimators, one panel each, NaN for missing sources.
    sources : list of str, length n_sources
        Names of the sources.
    groups : ndarray of shape (n_groups,)
        Names of the groups.
    counts : ndarray of int, shape (n_groups,) or (n_panels, n_groups)
        Number of tokens in each mean.
    n_unknown : int, default=0
        Number of tokens left out because they have no vector in any source; the maximum
        over several estimators.
    estimators : list of str, length n_panels, default=None
        Names of several estimators.
    group_label : str, default=None
        Axis label of the groups.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The first panel.
    axes_ : ndarray of matplotlib Axes, shape (n_panels,)
    figure_ : matplotlib Figure
    bars_ : list of list of matplotlib BarContainer
        One list per panel: the bars of each source, one per group.
    legend_ : matplotlib Legend

    See Also
    --------
    TokenWeightsDisplay : The weights of single texts, word by word.
    DynamicMetaEmbedding.attention_weights : The weights token by token, as a table.

    Notes
    -----
    A mean weight shows how much a source contributes to the mixed vectors, not how much
    it improves the result: similar sources can replace each other. With the softmax
    gate, weights sum to 1, and a dashed line marks equal weights. By default, the
    estimators have a weight per dimension. The weights shown are then means over the
    dimensions too, and can be equal even if the dimensions prefer different sources.

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

    The weights of a fitted estimator, by class:

    >>> from sk_metaembed import TrainableCharacters, DynamicMetaClassifier
    >>> dme = DynamicMetaClassifier(
    ...     trainable=[("a", TrainableCharacters()), ("b", TrainableCharacters())],
    ...     encoder="mean", max_epochs=1, early_stopping=False,
    ... ).fit(["good", "bad"], [1, 0])
    >>> display = SourceWeightsDisplay.from_estimator(
    ...     dme, ["good day", "bad"], groups=["pos", "neg"]
    ... )
    >>> display.frame()[["group", "n_tokens"]].values.tolist()
    [['neg', 1], ['pos', 2]]
    """

    weights: NDArray[np.float64]
    _: KW_ONLY
    sources: Sequence[str]
    groups: NDArray[Any]
    counts: NDArray[np.int64]
    n_unknown: int = 0
    estimators: Sequence[str] | None = None
    group_label: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        groups: Groups = None,
        group_label: str | None = None,
        ax: Any = None,
        bar_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Average an estimator's attention weights by group and plot them.

        Tokens without a vector in any source are left out and counted in `n_unknown`.

        Parameters
        ----------
        estimator : fitted estimator
            With `attention_weights`, or a Pipeline, search or ColumnTransformer with
            such a step, as for `sk_metaembed.inspection.attention_weights`.
        X : input of the estimator
            Sequences with the tokens to average over.
        groups : array-like, list of lists or callable, default=None
            One entry per sequence, such as its class; one entry per token, as lists of
            str or TokenSequences, such as parts of speech; or a function from a word to
            its group, such as its frequency. None makes one group.
        group_label : str, default=None
            Axis label of the groups.
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a figure.
        bar_kw : dict, default=None
            Passed to ``Axes.barh``.

        Returns
        -------
        SourceWeightsDisplay
            With sorted groups.

        Raises
        ------
        TypeError
            If no step has `attention_weights`.
        ValueError
            If several branches have it, `groups` has another length than X, or a group
            is missing.
        """
        means = _mean_weights(estimator, X, groups)
        return cls(**means, group_label=group_label).plot(ax, bar_kw=bar_kw)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        *,
        groups: Groups = None,
        group_label: str | None = None,
        ax: Any = None,
        **plot_kw: Any,
    ) -> Self:
        """Show several estimators side by side, over the same groups.

        Panels share one scale. If an estimator does not have a source, its panel has no
        bar for it, and equal weights are over the sources of that panel.

        Parameters
        ----------
        estimators : mapping of str to estimator
            Estimators by name, the titles of the panels, such as "DME" and "CDME"; each
            as for `from_estimator`. They may have different sources.
        X : input of the estimators
            Sequences with the tokens to average over.
        groups : array-like, list of lists or callable, default=None
            As for `from_estimator`.
        group_label : str, default=None
            Axis label of the groups.
        ax : matplotlib Axes or array-like of them, default=None
            As for `plot`.
        **plot_kw
            Passed to `plot`.

        Returns
        -------
        SourceWeightsDisplay
            With one panel per estimator.

        Raises
        ------
        TypeError
            If `estimators` is not a mapping, or one has no `attention_weights`.
        ValueError
            If there are none, or they split X into different words.
        """
        if not isinstance(estimators, Mapping):
            raise TypeError(
                f"from_estimators requires a dict of fitted estimators by "
                f"name; got {type(estimators).__name__}."
            )
        if not estimators:
            raise ValueError("requires at least one estimator; got none.")
        means = [_mean_weights(each, X, groups) for each in estimators.values()]
        display = cls(
            **_stack_means(means), estimators=list(estimators), group_label=group_label
        )
        return display.plot(ax, **plot_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        n_cols: int = 3,
        bar_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw one bar per group and source.

        A dashed line marks the even share if weights sum to 1. A group without known
        words has no bars.

        Parameters
        ----------
        ax : matplotlib Axes or array-like of them, default=None
            One axes per estimator, or a single one, which is replaced by a grid of
            panels. None creates a figure.
        n_cols : int, default=3
            Maximum number of panels in a row.
        bar_kw : dict, default=None
            Passed to ``Axes.barh``.

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
        self._make_panels(ax, len(panels), n_cols, size)
        largest = np.nanmax(np.nan_to_num(panels), initial=0.0)
        options = self.sources, self.groups, largest, dict(bar_kw or {})
        self.bars_ = [
            _draw_panel(panel, weights, *options)
            for panel, weights in zip(self.axes_, panels, strict=True)
        ]
        for number, panel in enumerate(self.axes_):
            if self.estimators is not None:
                panel.set_title(self.estimators[number], parse_math=False)
            if ax is None and number % n_cols:
                panel.tick_params(labelleft=False)
            elif self.group_label is not None:
                panel.set_ylabel(self.group_label)
        last = self.axes_[min(n_cols, len(panels)) - 1]
        even = [line for line in last.lines if line.get_label() == _EVEN_SHARE["label"]]
        handles = [*self.bars_[0], *even]
        names = [*self.sources, *(line.get_label() for line in even)]
        self.legend_ = draw_legend(last, handles, names, handleheight=1.2)
        return self

    def _panels(self):
        weights = np.asarray(self.weights)
        return weights if weights.ndim == 3 else weights[None]

    def frame(self) -> pd.DataFrame:
        """Return the means as a table, without drawing.

        Returns
        -------
        pandas.DataFrame
            One row per group: ``estimator`` if there are several, ``group``, one column
            per source, and ``n_tokens``, the number of tokens in the mean.
        """
        import pandas as pd

        panels = self._panels()
        columns: dict[str, Any] = {}
        if self.estimators is not None:
            columns["estimator"] = np.repeat(
                np.array(self.estimators, dtype=object), len(self.groups)
            )
        columns["group"] = np.tile(self.groups, len(panels))
        flat = panels.reshape(-1, len(self.sources))
        columns |= dict(zip(self.sources, flat.T, strict=True))
        return pd.DataFrame({**columns, "n_tokens": np.ravel(self.counts)})
