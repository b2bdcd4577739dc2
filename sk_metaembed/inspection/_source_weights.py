"""SourceWeightsDisplay: mean attention weights of sources by group."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from ._display import BaseDisplay, draw_bars, draw_legend
from ._token_weights import find_attention_step, weight_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    Groups: TypeAlias = ArrayLike | Callable[[str], object] | None

# The line is drawn below the bars and the numbers.
_EVEN_SHARE = {"color": "black", "linestyle": "--", "linewidth": 1, "zorder": 0.5}


def _read_groups(groups, frame, n_sequences):
    """Return the group of each row of a table of weights as a Categorical (n_rows,).

    `groups` is as for `SourceWeightsDisplay.from_estimator`.
    """
    import pandas as pd

    rows = frame["sequence"].to_numpy()
    if groups is None:
        return pd.Categorical(np.full(len(frame), "all"), categories=["all"])
    if callable(groups):
        if "token" not in frame:
            raise ValueError(
                "the estimator has one weight per sequence and source, so that "
                "words cannot be grouped. Pass one group per sequence."
            )
        types, codes = np.unique(frame["token"].to_numpy(object), return_inverse=True)
        members = pd.Categorical([groups(word) for word in types])[codes]
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
            f"first for {word}sequence {first['sequence']}. Pass a group for each, "
            "such as 'other'."
        )
    return members


@dataclass(eq=False, repr=False)
class SourceWeightsDisplay(BaseDisplay):
    """Mean attention weight of each source, by class or any other grouping.

    Shows what `DynamicMetaEmbedding`, `DynamicMetaClassifier` and the other
    ``Dynamic*`` estimators have learned about their sources: for the texts of each
    class, for rare and frequent words, for parts of speech, or any other groups of
    texts or words. Create a display with `from_estimator`; the constructor takes
    precomputed means.

    Parameters
    ----------
    weights : ndarray of shape (n_groups, n_sources)
        Mean weights.
    sources : list of str, length n_sources
        Names of the sources.
    groups : ndarray of shape (n_groups,)
        Names of the groups.
    counts : ndarray of int, shape (n_groups,)
        Number of tokens in each mean.
    n_unknown : int, default=0
        Number of tokens left out because they have no vector in any source.
    group_label : str, default=None
        Axis label of the groups.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : list of matplotlib BarContainer
        The bars of each source, one per group.
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
            With `attention_weights`, or a Pipeline or search with such a step, as for
            `TokenWeightsDisplay`.
        X : input of the estimator
            Sequences with the tokens to average over.
        groups : array-like or callable, default=None
            One entry per sequence, such as its class, or a function from a word to its
            group, such as its frequency. None makes one group.
        group_label : str, default=None
            Axis label of the groups.
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a figure.
        bar_kw : dict, default=None
            Passed to ``Axes.barh``.

        Returns
        -------
        SourceWeightsDisplay
            The display, with sorted groups.

        Raises
        ------
        TypeError
            If no step has `attention_weights`.
        ValueError
            If `groups` has another length than X, or a group is missing.
        """
        import pandas as pd

        step, X = find_attention_step(estimator, X)
        frame = step.attention_weights(X)
        sources, values = weight_columns(frame)
        known = values.any(axis=1)
        table = pd.DataFrame(np.where(known[:, None], values, np.nan))
        by_group = table.groupby(_read_groups(groups, frame, len(X)), observed=False)
        means = by_group.mean().fillna(0.0)  # groups without known words
        display = cls(
            means.to_numpy(),
            sources=sources,
            groups=np.asarray(means.index),
            counts=by_group[0].count().to_numpy(),
            n_unknown=int((~known).sum()),
            group_label=group_label,
        )
        return display.plot(ax, bar_kw=bar_kw)

    def plot(self, ax: Any = None, *, bar_kw: Mapping[str, Any] | None = None) -> Self:
        """Draw one bar per group and source.

        A dashed line marks the even share if weights sum to 1. A group without known
        words has no bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a figure.
        bar_kw : dict, default=None
            Passed to ``Axes.barh``.

        Returns
        -------
        SourceWeightsDisplay
            With `ax_`, `figure_`, `bars_` and `legend_` set.
        """
        weights = np.asarray(self.weights)
        n_groups, n_sources = weights.shape
        height = 1.0 + n_groups * (0.19 * n_sources + 0.16)
        height = max(height, 0.8 + 0.085 * len(self.group_label or ""))
        ax = self._make_axes(ax, (6.4, height))
        known = [bool(row.any()) for row in weights]
        pairs = zip(known, self.groups, strict=True)
        groups = [f"{g}" if k else f"{g}\n(no known words)" for k, g in pairs]
        rows = zip(weights, known, strict=True)
        numbers = [[f"{w:.2f}" if k else "" for w in row] for row, k in rows]
        options = numbers, self.sources, groups, dict(bar_kw or {})
        self.bars_ = draw_bars(ax, weights, *options)
        handles, names = [*self.bars_], [*self.sources]
        largest = weights.max(initial=0.0)
        if np.allclose(weights[known].sum(axis=1), 1, atol=1e-3):
            largest = max(largest, 1 / n_sources)
            names.append("even share")
            handles.append(ax.axvline(1 / n_sources, label=names[-1], **_EVEN_SHARE))
        ax.set_xlim(0, 1.12 * largest if largest > 0 else 1)
        ax.set_xlabel("mean attention weight\nover words and dimensions")
        if self.group_label is not None:
            ax.set_ylabel(self.group_label)
        self.legend_ = draw_legend(ax, handles, names, handleheight=1.2)
        return self

    def frame(self) -> pd.DataFrame:
        """Return the means as a table, without drawing.

        Returns
        -------
        pandas.DataFrame
            One row per group: ``group``, one column per source, and ``n_tokens``, the
            number of tokens in the mean.
        """
        import pandas as pd

        columns: dict[str, Any] = {"group": self.groups}
        columns |= dict(zip(self.sources, np.transpose(self.weights), strict=True))
        return pd.DataFrame({**columns, "n_tokens": self.counts})
