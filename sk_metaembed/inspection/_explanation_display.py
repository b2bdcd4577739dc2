"""ExplanationDisplay: contributions to predictions, drawn with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from ._display import (
    BaseDisplay,
    draw_bars,
    draw_legend,
    draw_wide_legend,
    marker_handles,
)
from ._explain import explain
from ._explanation import AGAINST, FOR, PARTS, value_name, word_style
from ._token_rendering import Texts, display_words, draw_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from .._core._typing import SupportsPredict
    from ._explanation import Explanation

_MAX_WORDS = 1000  # more are slow to draw and unreadable


class ExplanationDisplay(BaseDisplay):
    """Contributions of words or sources to predictions.

    Draws the words of texts, shaded by their contribution to the prediction, or one bar
    per text and source. Create a display with `from_estimator`; the constructor takes
    the result of `explain`.

    Parameters
    ----------
    explanation : Explanation
        The contributions, of at most 1000 words.
    labels : list of str, length n_texts, default=None
        Headings of the texts. None writes the target, the value and the base.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the texts or bars.
    figure_ : matplotlib Figure
    words_ : list of matplotlib Text, length n_tokens
        With ``part="words"``, as are `notes_` and `boxes_`.
    notes_ : list of matplotlib Text, length n_tokens
        The contribution, below each word.
    boxes_ : list of matplotlib Rectangle, length n_tokens
    bars_ : list of matplotlib BarContainer
        One per source or column, with ``part="sources"`` or ``part="columns"``.
    legend_ : matplotlib Legend

    See Also
    --------
    explain : Computes the contributions; its Notes define them.
    TokenWeightsDisplay : The source that a network attends to, word by word.

    Notes
    -----
    Blue and a circle mean a contribution to the target, vermilion and a triangle a
    contribution against it. The depth of a shade is the contribution as a share of the
    largest contribution in all texts.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sk_metaembed import FunctionEmbedding, Pooling, Tokenizer
    >>> from sk_metaembed.inspection import ExplanationDisplay
    >>> vectors = {"good": [1, 0], "bad": [-1, 0], "film": [0, 1]}
    >>> def look_up(words):
    ...     return [vectors.get(word) for word in words]
    >>> pipe = make_pipeline(
    ...     Tokenizer(), FunctionEmbedding(look_up), Pooling(), LogisticRegression()
    ... )
    >>> _ = pipe.fit(["good film", "bad film", "good", "bad"], [1, 0, 1, 0])
    >>> display = ExplanationDisplay.from_estimator(pipe, ["A bad, bad film"])
    >>> [note.get_text().strip() for note in display.notes_]
    ['0', '+0.31', '+0.31', '0']
    """

    def __init__(
        self, explanation: Explanation, *, labels: Sequence[str] | None = None
    ) -> None:
        self.explanation = explanation
        self.labels = labels

    @classmethod
    def from_estimator(
        cls,
        estimator: SupportsPredict,
        X: Any,
        *,
        target: Any = None,
        column: Any = None,
        background: Any = None,
        method: Literal["auto", "exact", "occlusion"] = "auto",
        labels: Sequence[object] | None = None,
        ax: Any = None,
        **plot_kw: Any,
    ) -> Self:
        """Explain predictions and draw the contributions.

        Parameters
        ----------
        estimator : fitted classifier or regressor
            As for `explain`, as are the next five parameters.
        X : list of str, TokenSequences, or data frame
            The texts, at most 1000 words.
        target : class label, default=None
            The class to explain.
        column : str or int, default=None
            The column of texts in a frame.
        background : texts or frame, like X, default=None
            Rows whose mean prediction is the base value.
        method : {"auto", "exact", "occlusion"}, default="auto"
            How to compute contributions.
        labels : sequence of length n_texts, default=None
            Headings of the texts. None writes the target, the value and the base.
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a figure.
        **plot_kw
            Passed to `plot`.

        Returns
        -------
        ExplanationDisplay
            Plotted.

        Raises
        ------
        ValueError
            If there are no words or too many, or `labels` has another length than X;
            see also `explain`.
        """
        if labels is not None and len(labels) != len(X):
            raise ValueError(
                f"got {len(labels)} labels for {len(X)} texts. Pass one label per text."
            )
        explanation = explain(
            estimator,
            X,
            target=target,
            column=column,
            background=background,
            method=method,
        )
        headings = None if labels is None else [str(label) for label in labels]
        return cls(explanation, labels=headings).plot(ax, **plot_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        part: Literal["words", "sources", "columns"] = "words",
        legend: bool = True,
        text_kw: Mapping[str, Any] | None = None,
        bar_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the contributions of words, sources or columns.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on: the font shrinks until the words fit. None creates a figure
            as high as the texts.
        part : {"words", "sources", "columns"}, default="words"
            The contributions to draw: words as shaded texts, the others as bars.
        legend : bool, default=True
            Whether to draw a legend.
        text_kw : dict, default=None
            Passed to ``Axes.text`` for the words.
        bar_kw : dict, default=None
            Passed to ``Axes.barh``.

        Returns
        -------
        ExplanationDisplay
            With `ax_`, `figure_`, `legend_` and the attributes of the part set.
        """
        if part not in PARTS:
            raise ValueError(f"part must be one of {PARTS}, got {part!r}.")
        if part == "words":
            texts = self._texts()
            grows = ax is None
            ax = self._make_axes(ax, (7.2, 2.0))
            self.legend_ = self._write_legend(ax) if legend else None
            self.words_, self.notes_, self.boxes_ = draw_texts(
                ax, texts, grows=grows, text_kw=dict(text_kw or {})
            )
        else:
            effects = getattr(self.explanation, part)
            if not effects:
                raise ValueError(f"the explanation has no {part}.")
            height = 1.0 + len(self.explanation.values) * (0.19 * len(effects) + 0.16)
            ax = self._make_axes(ax, (7.2, height))
            self._draw_bars(ax, effects, dict(bar_kw or {}))
            self.legend_ = None
            if legend:
                names = [str(name) for name in effects]
                self.legend_ = draw_legend(ax, self.bars_, names, handleheight=1.2)
        return self

    def frame(self) -> pd.DataFrame:
        """Return the contributions of words as a table, without drawing.

        Returns
        -------
        pandas.DataFrame
            As described in `Explanation.to_frame`.
        """
        return self.explanation.to_frame()

    def _headings(self):
        labels = self.labels
        return self.explanation.headings() if labels is None else list(labels)

    def _texts(self):
        tokens, effects = self.explanation.tokens, self.explanation.words
        if not 1 <= len(effects) <= _MAX_WORDS:
            raise ValueError(
                f"shows between 1 and {_MAX_WORDS} words; got "
                f"{len(effects)}. Pass a part of the texts, such as X[:3]."
            )
        largest = np.abs(effects).max()
        styles = [word_style(effect, largest) for effect in effects.tolist()]
        source, strength = map(np.array, zip(*styles, strict=True))
        notes = [f"    {x:+.2f}" if x else "0" for x in effects.tolist()]
        words, labels = display_words(tokens), self._headings()
        weights = effects[:, None]
        return Texts(words, tokens.offsets, labels, source, strength, weights, notes)

    def _write_legend(self, ax):
        handles = marker_handles(max(FOR, AGAINST) + 1)
        handles = [handles[FOR], handles[AGAINST]]
        return draw_wide_legend(ax, handles, ["for the target", "against it"])

    def _draw_bars(self, ax, effects, bar_kw):
        values = np.stack(list(effects.values()), axis=1)
        numbers = [[f"{value:+.2f}" for value in row] for row in values]
        names, headings = list(effects), self._headings()
        self.bars_ = draw_bars(ax, values, numbers, names, headings, bar_kw)
        ax.axvline(0, color="black", linewidth=0.8)
        low, high = min(0.0, values.min()), max(0.0, values.max())
        room = 0.3 * (high - low) or 1.0  # for the numbers
        ax.set_xlim(low - room * (low < 0), high + room)
        ax.set_xlabel(f"contribution to the {value_name(self.explanation)}")
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
