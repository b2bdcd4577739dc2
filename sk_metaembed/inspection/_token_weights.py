"""TokenWeightsDisplay: the dominant source of each word of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from ..sequences import TokenSequences
from ._attention import (
    dominant_source,
    find_attention_step,
    format_weight,
    has_pairs,
    weight_columns,
)
from ._display import BaseDisplay, draw_wide_legend, marker_handles
from ._token_rendering import (
    Texts,
    display_words,
    draw_texts,
    token_columns,
    words_html,
    write_page,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from .._core._typing import StrPath

_MAX_WORDS = 1000  # more are slow to draw and unreadable


class TokenWeightsDisplay(BaseDisplay):
    """Words of some texts, shaded by their dominant source.

    Shows the attention of `DynamicMetaEmbedding`, `DynamicMetaClassifier` and the other
    ``Dynamic*`` estimators for single words: color and symbol stand for the source
    with the largest weight, the depth of the shade and the number for that weight.
    Create a display with `from_estimator`; the constructor takes precomputed weights.
    Draw it with matplotlib, or show it in a notebook or a page as HTML.

    Parameters
    ----------
    tokens : TokenSequences
        The texts.
    weights : ndarray of shape (n_tokens, n_sources)
        Nonnegative weights; zeros for words without a vector in any source.
    sources : list of str, length n_sources
        Names of the sources.
    labels : list of str, length n_sequences, default=None
        Headings of the texts, such as their classes. None numbers several texts.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the texts.
    figure_ : matplotlib Figure
    words_ : list of matplotlib Text, length n_tokens
    notes_ : list of matplotlib Text, length n_tokens
        Below each word the weight, "even", or "?" if no source has a vector for it.
    boxes_ : list of matplotlib Rectangle, length n_tokens
    legend_ : matplotlib Legend

    See Also
    --------
    SourceWeightsDisplay : Mean weights over many texts, by group.

    Notes
    -----
    The dominant source of a word has the largest share of its weights. The depth of the
    shade is ``(share - 1 / n) / (1 - 1 / n)`` with n sources: 0 for an even share, 1
    for all. On ties, as with ``attention="uniform"``, there is no dominant source. If
    the estimator has a weight per dimension, as by default, the weight of a source is
    its mean over the dimensions.

    The HTML is self-contained, without scripts or external resources, and all text is
    escaped. Sources are marked by symbol, color and words, and a table contains all
    weights. The boxes have their own colors, so that they are readable on dark and
    light pages.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import TokenSequences
    >>> from sk_metaembed.inspection import TokenWeightsDisplay
    >>> display = TokenWeightsDisplay(
    ...     TokenSequences.from_lists([["the", "goal"]]),
    ...     np.array([[0.5, 0.5], [0.2, 0.8]]),
    ...     sources=["word2vec", "glove"],
    ... )
    >>> display.frame()
       sequence  position token dominant_source  word2vec  glove
    0         0         0   the            None       0.5    0.5
    1         0         1  goal           glove       0.2    0.8
    >>> display.to_html().count("<p")
    1

    The weights of a fitted estimator, without matplotlib:

    >>> from sk_metaembed import CharEmbedding, DynamicMetaClassifier
    >>> dme = DynamicMetaClassifier(
    ...     trainable=[("a", CharEmbedding()), ("b", CharEmbedding())],
    ...     encoder="mean", max_epochs=1, early_stopping=False,
    ... ).fit(["good", "bad"], [1, 0])
    >>> display = TokenWeightsDisplay.from_estimator(dme, ["good day"], plot=False)
    >>> display.sources, display.weights.shape
    (['a', 'b'], (2, 2))
    """

    def __init__(
        self,
        tokens: TokenSequences,
        weights: NDArray[np.floating[Any]],
        *,
        sources: Sequence[str],
        labels: Sequence[str] | None = None,
    ) -> None:
        self.tokens = tokens
        self.weights = weights
        self.sources = sources
        self.labels = labels

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        labels: Sequence[object] | None = None,
        plot: bool = True,
        ax: Any = None,
        **plot_kw: Any,
    ) -> Self:
        """Compute an estimator's attention weights for some texts and draw them.

        Use it for a few texts, such as misclassified ones; `SourceWeightsDisplay` shows
        means over many texts.

        Parameters
        ----------
        estimator : fitted estimator
            With `attention_weights`, or a Pipeline, search or ColumnTransformer with
            such a step, as for `sk_metaembed.inspection.attention_weights`.
        X : input of the estimator
            The texts, at most 1000 words. Each side of a pair is a text.
        labels : sequence of length n_sequences, default=None
            Headings of the texts, such as their classes. None numbers several texts.
        plot : bool, default=True
            Whether to draw with matplotlib, which the HTML does not require.
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a figure.
        **plot_kw
            Passed to `plot`.

        Returns
        -------
        TokenWeightsDisplay
            Plotted if ``plot=True``.

        Raises
        ------
        TypeError
            If no step has `attention_weights`.
        ValueError
            If several branches have it, there are no words or too many, the weights are
            those of whole texts, or `labels` has another length than X.
        """
        step, inputs = find_attention_step(estimator, X)
        n_texts = len(inputs)
        if labels is not None and len(labels) != n_texts:
            raise ValueError(
                f"got {len(labels)} labels for {n_texts} texts. Pass one "
                "label per text."
            )
        headings = None if labels is None else [str(label) for label in labels]
        frame = step.attention_weights(inputs)
        if has_pairs(frame):
            frame, n_texts, headings = _split_pairs(frame, n_texts, headings)
        tokens = _to_tokens(frame, n_texts)
        sources, weights = weight_columns(frame)
        display = cls(tokens, weights, sources=sources, labels=headings)
        return display.plot(ax, **plot_kw) if plot else display

    def plot(
        self,
        ax: Any = None,
        *,
        legend: bool = True,
        text_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Write the texts, with the largest weight below each word.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on: the font shrinks until the words fit. Words that do not fit
            at half the size are left out and counted. None creates a figure as high as
            the texts.
        legend : bool, default=True
            Whether to draw a legend of the sources above the texts.
        text_kw : dict, default=None
            Passed to ``Axes.text`` for the words.

        Returns
        -------
        TokenWeightsDisplay
            With `ax_`, `figure_`, `words_`, `notes_`, `boxes_` and `legend_` set.
        """
        grows = ax is None
        ax = self._make_axes(ax, (7.2, 2.0))
        texts = self._texts()
        self.legend_ = self._write_legend(ax, texts) if legend else None
        self.words_, self.notes_, self.boxes_ = draw_texts(
            ax, texts, grows=grows, text_kw=dict(text_kw or {})
        )
        return self

    def _texts(self):
        n_texts = len(self.tokens)
        labels = self.labels
        if labels is None:
            numbers = [f"text {i}" for i in range(n_texts)]
            labels = numbers if n_texts > 1 else [None] * n_texts
        weights = np.asarray(self.weights, dtype=np.float64)
        source, strength = dominant_source(weights)
        offsets, words = self.tokens.offsets, display_words(self.tokens)
        notes = _notes(source, weights)
        return Texts(words, offsets, labels, source, strength, weights, notes)

    def _write_legend(self, ax, texts):
        from matplotlib.lines import Line2D

        handles = marker_handles(len(self.sources))
        names = list(self.sources)
        if not texts.weights.any(axis=1).all():
            handles.append(Line2D([], [], linestyle="", marker="$?$", color="black"))
            names.append("no source knows it")
        return draw_wide_legend(ax, handles, names)

    def frame(self) -> pd.DataFrame:
        """Return the weights as a table, without drawing.

        Returns
        -------
        pandas.DataFrame
            One row per token: ``sequence``, ``position``, ``token``,
            ``dominant_source`` (None on ties), and one column per source.
        """
        import pandas as pd

        weights = np.asarray(self.weights)
        sources, _ = dominant_source(weights)
        names = np.array([*self.sources, None], dtype=object)  # None at -1
        columns = token_columns(self.tokens)
        columns["dominant_source"] = pd.Series(names[sources], dtype=object)
        return pd.DataFrame(
            {**columns, **dict(zip(self.sources, weights.T, strict=True))}
        )

    @overload
    def to_html(self, path: None = ...) -> str: ...

    @overload
    def to_html(self, path: StrPath) -> None: ...

    def to_html(self, path: StrPath | None = None) -> str | None:
        """Return the texts as an HTML page, or write it to a file.

        The page is one file without scripts or external resources. Text is escaped.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write, in UTF-8.

        Returns
        -------
        str or None
            The page, None if `path` is given.
        """
        return write_page(self._repr_html_(), "Dominant source of each word", path)

    def _repr_html_(self):
        return words_html(self._texts(), list(self.sources))


def _notes(source, weights):
    """Return the text below each word, with space for the symbol before it."""
    return [
        f"    {format_weight(row[number])}"
        if number >= 0
        else "even"
        if row.any()
        else "?"
        for number, row in zip(source, weights, strict=True)
    ]


def _split_pairs(frame, n_pairs, labels):
    """Return a table of pairs as one of twice as many texts, and their labels."""
    rows = 2 * frame["sequence"].to_numpy() + (frame["side"] == "second").to_numpy()
    labels = [f"pair {i}" for i in range(n_pairs)] if labels is None else labels
    labels = [f"{label}, {side}" for label in labels for side in ("first", "second")]
    return frame.assign(sequence=rows), 2 * n_pairs, labels


def _to_tokens(frame, n_texts):
    """Return the words of a table of weights as TokenSequences, at most 1000."""
    if "token" not in frame:
        raise ValueError(
            "the estimator has one weight per text and source, not per "
            "word. Use SourceWeightsDisplay."
        )
    if not 1 <= len(frame) <= _MAX_WORDS:
        raise ValueError(
            f"shows between 1 and {_MAX_WORDS} words; got {len(frame)}. Pass "
            "a part of the texts, such as X[:3]."
        )
    types, codes = np.unique(frame["token"].to_numpy(dtype=object), return_inverse=True)
    lengths = np.bincount(frame["sequence"].to_numpy(), minlength=n_texts)
    return TokenSequences(types, codes, np.concatenate([[0], np.cumsum(lengths)]))
