"""SourceWeightsDisplay: mean attention weights of sources by group.

Groups are those of sequences, of tags, of a function of the word, or of frequencies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np

from ..sequences import TokenSequences
from ..sequences._row_errors import is_missing
from ..sequences._tags import read_tags
from ._attention import find_attention_step, weight_columns
from ._display import BaseDisplay, draw_bars, draw_legend

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from .._core._typing import Tags

    Groups: TypeAlias = (
        ArrayLike | Tags | Callable[[str], object] | Literal["frequency"] | None
    )

_FREQUENCY_LABEL = "occurrences of the word"
# The line is behind the bars and the numbers.
_EVEN_SHARE = {
    "label": "even share",
    "color": "black",
    "linestyle": "--",
    "linewidth": 1,
    "zorder": 0.5,
}


def draw_panel(ax, weights, sources, groups, largest, bar_kw):
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


def token_groups(groups, frame, n_sequences, frequencies):
    """Return sorted names of groups (n_groups,) and the group of each row (n_rows,).

    `groups` is as for `SourceWeightsDisplay.from_estimator`; rows are those of a table
    of weights.
    """
    rows = frame["sequence"].to_numpy()
    if frequencies is not None and not _is_frequency(groups):
        raise ValueError(
            f"frequencies requires groups='frequency'; got groups={groups!r}."
        )
    if groups is None:
        return np.array(["all"]), np.zeros(len(frame), dtype=np.int64)
    if isinstance(groups, str) and groups != "frequency":
        raise ValueError(
            f"groups must be one per sequence, one per token, a function of "
            f"the word, or 'frequency'; got {groups!r}."
        )
    if isinstance(groups, str) or callable(groups) or _has_entry_per_token(groups):
        return _groups_of_tokens(groups, frame, n_sequences, frequencies)
    names, members = np.unique(_check_groups(groups, n_sequences), return_inverse=True)
    return names, members[rows]


def _is_frequency(groups):
    return isinstance(groups, str) and groups == "frequency"


def _has_entry_per_token(groups):
    if isinstance(groups, TokenSequences):
        return True
    rows = groups if isinstance(groups, list | tuple) else np.asarray(groups)
    return len(rows) > 0 and isinstance(next(iter(rows)), list | tuple | np.ndarray)


def _groups_of_tokens(groups, frame, n_sequences, frequencies):
    if "token" not in frame:
        raise ValueError(
            "the estimator has one weight per sequence and source, so that "
            "words cannot be grouped. Pass one group per sequence."
        )
    types, codes = np.unique(frame["token"].to_numpy(dtype=object), return_inverse=True)
    if isinstance(groups, str):
        counts = np.bincount(codes, minlength=len(types))
        if frequencies is not None:
            counts = np.array([int(frequencies.get(word, 0)) for word in types])
        names, members = powers_of_ten(counts)
        return names, members[codes]
    if callable(groups):
        names, members = np.unique(_apply(groups, types), return_inverse=True)
        return names, members[codes]
    lengths = np.bincount(frame["sequence"].to_numpy(), minlength=n_sequences)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = TokenSequences(types, codes, offsets)
    tags = read_tags(groups, tokens, caller="SourceWeightsDisplay", name="groups")
    names, members = np.unique(tags.types[tags.codes], return_inverse=True)
    return names, members


def powers_of_ten(counts):
    """Return the powers of ten that counts lie between, and the range of each count.

    >>> names, members = powers_of_ten(np.array([3, 120, 0, 10]))
    >>> names.tolist(), members.tolist()
    (['0', '1 to 9', '10 to 99', '100 to 999'], [1, 3, 0, 2])
    """
    digits = np.array(
        [len(str(count)) if count > 0 else 0 for count in counts.tolist()]
    )
    distinct, members = np.unique(digits, return_inverse=True)
    names = [
        f"{10 ** (n - 1):,} to {10**n - 1:,}" if n else "0" for n in distinct.tolist()
    ]
    return np.array(names, dtype=object), members


def mean_by_group(values, members, n_groups):
    """Return means (n_groups, d) and counts (n_groups,) of rows (n_rows, d) by group.

    Groups without rows have a mean of zero.
    """
    counts = np.bincount(members, minlength=n_groups)
    sums = [np.bincount(members, weights=v, minlength=n_groups) for v in values.T]
    return np.stack(sums, axis=1) / np.maximum(counts, 1)[:, None], counts


def _apply(function, types):
    names = [function(word) for word in types]
    missing = [
        word for word, name in zip(types, names, strict=True) if is_missing(name)
    ]
    if missing:
        raise ValueError(
            f"groups returned no group for {len(missing)} words, the first "
            f"is {missing[0]!r}. Return a name for every word, such as 'other'."
        )
    return np.array(names)


def _check_groups(groups, n):
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise ValueError(
            f"groups must have an entry for each of the {n} sequences of X; got an "
            f"array of shape {groups.shape}."
        )
    missing = np.array([is_missing(group) for group in groups.tolist()], dtype=bool)
    if missing.any():
        raise ValueError(
            f"groups has {int(missing.sum())} missing entries, the first at row "
            f"{int(missing.argmax())}. Pass a group for every sequence."
        )
    return groups


def mean_weights(estimator, X, groups, frequencies):
    """Return the parameters of `SourceWeightsDisplay` for one estimator."""
    step, X = find_attention_step(estimator, X)
    frame = step.attention_weights(X)
    names, members = token_groups(groups, frame, len(X), frequencies)
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


def stack_means(means):
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
    gate weights sum to 1, and a dashed line marks equal weights. By default the
    estimators have a weight per dimension. The weights shown are then also means over
    the dimensions, and can be equal although different dimensions prefer different
    sources.

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

    >>> from sk_metaembed import CharEmbedding, DynamicMetaClassifier
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

    def __init__(
        self,
        weights: NDArray[np.float64],
        *,
        sources: Sequence[str],
        groups: NDArray[Any],
        counts: NDArray[np.int64],
        n_unknown: int = 0,
        estimators: Sequence[str] | None = None,
        group_label: str | None = None,
    ) -> None:
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
        estimator: Any,
        X: Any,
        *,
        groups: Groups = None,
        frequencies: Mapping[str, int] | None = None,
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
        groups : array-like, list of lists, callable or "frequency", default=None
            One entry per sequence, such as its class; one entry per token, as lists of
            str or TokenSequences, such as parts of speech; a function from a word to
            its group; or "frequency", which groups words by their number of occurrences
            between powers of ten. None makes one group.
        frequencies : mapping of str to int, default=None
            Occurrences of words for ``groups="frequency"``, 0 for words that are not in
            it. None counts those in X.
        group_label : str, default=None
            Axis label of the groups.
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a figure.
        bar_kw : dict, default=None
            Passed to ``Axes.barh``.

        Returns
        -------
        SourceWeightsDisplay
            With sorted groups, frequencies in ascending order.

        Raises
        ------
        TypeError
            If no step has `attention_weights`.
        ValueError
            If several branches have it, `groups` has another length than X, or a group
            is missing.
        """
        means = mean_weights(estimator, X, groups, frequencies)
        display = cls(**means, group_label=_group_label(group_label, groups))
        return display.plot(ax, bar_kw=bar_kw)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        *,
        groups: Groups = None,
        frequencies: Mapping[str, int] | None = None,
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
        groups : array-like, list of lists, callable or "frequency", default=None
            As for `from_estimator`.
        frequencies : mapping of str to int, default=None
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
        means = [
            mean_weights(estimator, X, groups, frequencies)
            for estimator in estimators.values()
        ]
        label = _group_label(group_label, groups)
        display = cls(
            **stack_means(means),
            estimators=list(estimators),
            group_label=label,
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
            draw_panel(panel, weights, *options)
            for panel, weights in zip(self.axes_, panels, strict=True)
        ]
        is_grid = ax is None or hasattr(ax, "get_subplotspec")
        for number, panel in enumerate(self.axes_):
            if self.estimators is not None:
                panel.set_title(self.estimators[number], parse_math=False)
            if is_grid and number % n_cols:
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


def _group_label(label, groups):
    return _FREQUENCY_LABEL if label is None and _is_frequency(groups) else label
