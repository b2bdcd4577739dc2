"""Explanation: contributions of words, sources and columns to predictions."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from .._core._errors import check_choice
from ..sequences._api import display_word, token_columns
from ._display import (
    BaseDisplay,
    ShadedTexts,
    draw_bars,
    draw_legend,
    html_fragment,
    html_table,
    paragraph,
    shaded,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from numpy.typing import NDArray

    from ..sequences import TokenSequences

_OUTPUTS = {
    "decision_function": "decision value",
    "predict_proba": "probability",
    "predict": "prediction",
}
_FOR, _AGAINST = 0, 5  # point styles: blue, vermilion
_MAX_TEXTS = 20


@dataclass(eq=False, repr=False)
class Explanation(ShadedTexts, BaseDisplay):
    """Contributions of words and sources to predictions; the result of `explain`.

    In a notebook it shows the texts with colored words: words that support the target
    are blue, words against it vermilion with a dashed line; the depth of the shade is
    relative to the largest contribution. `plot` draws the contributions of sources or
    columns as bars.

    Parameters
    ----------
    tokens : TokenSequences
        The words of the texts.
    values : ndarray of shape (n_texts,)
        The values that are explained, such as decision values of the target class.
    base : ndarray of shape (n_texts,)
        The base value of each text.
    words : ndarray of shape (n_tokens,)
        The contribution of each word. If exact, the contributions and ``base`` sum to
        the value of each text that has words.
    sources : dict of str to ndarray of shape (n_texts,)
        The contribution of each source to each text; empty if there are no sources.
    columns : dict of str to ndarray of shape (n_texts,)
        The contribution of each column of a table; empty without a `background`.
    targets : ndarray of shape (n_texts,), or None
        The explained class of each text; None for numbers.
    output : {"decision_function", "predict_proba", "predict"}
        The method of the estimator that gives the values.
    word_method : {"exact", "occlusion"}
        How the contributions of words were computed.
    source_method : {"exact", "occlusion"} or None
        The same for sources; None if there are none.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the bars, set by `plot` as are the following.
    figure_ : matplotlib Figure
    bars_ : list of matplotlib BarContainer
        One per source or column.
    legend_ : matplotlib Legend

    See Also
    --------
    explain : Computes an explanation; its Notes define contributions.
    TokenWeightsDisplay : The source that a network attends to, word by word.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import TokenSequences
    >>> from sk_metaembed.inspection import Explanation
    >>> explanation = Explanation(
    ...     tokens=TokenSequences.from_lists([["good", "film"]]),
    ...     values=np.array([0.75]),
    ...     base=np.array([0.25]),
    ...     words=np.array([0.75, -0.25]),
    ...     sources={"glove": np.array([0.5])},
    ...     targets=np.array(["pos"]),
    ... )
    >>> explanation
    Explanation(1 text, 2 words, 1 source; words exact, sources exact)
    >>> explanation.frame()
       sequence  position token  contribution
    0         0         0  good          0.75
    1         0         1  film         -0.25
    >>> explanation.frame("sources")
       sequence target  value  base  glove
    0         0    pos   0.75  0.25    0.5
    """

    _title = "Contribution of each word"

    tokens: TokenSequences
    values: NDArray[np.float64]
    base: NDArray[np.float64]
    words: NDArray[np.float64]
    sources: dict[str, NDArray[np.float64]]
    columns: dict[Any, NDArray[np.float64]] = field(default_factory=dict)
    targets: NDArray[Any] | None = None
    output: Literal["decision_function", "predict_proba", "predict"] = (
        "decision_function"
    )
    word_method: Literal["exact", "occlusion"] = "exact"
    source_method: Literal["exact", "occlusion"] | None = "exact"

    def __repr__(self) -> str:
        counts = {"text": len(self.values), "word": len(self.words)}
        counts["source"] = len(self.sources)
        sizes = [f"{n} {name}{'s' * (n != 1)}" for name, n in counts.items()]
        methods = f"words {self.word_method}"
        if self.source_method is not None:
            methods += f", sources {self.source_method}"
        return f"Explanation({', '.join(sizes)}; {methods})"

    def frame(
        self, part: Literal["words", "sources", "columns"] = "words"
    ) -> pd.DataFrame:
        """Return contributions as a table; requires pandas.

        Parameters
        ----------
        part : {"words", "sources", "columns"}, default="words"
            The contributions to return.

        Returns
        -------
        pandas.DataFrame
            For words, one row per word: ``sequence``, ``position``, ``token``,
            ``contribution``. Otherwise one row per text: ``sequence``, ``target``,
            ``value``, ``base``, and one column per source or column of the table, which
            replaces another column of the same name.
        """
        import pandas as pd

        check_choice(part, ("words", "sources", "columns"), "part")
        if part == "words":
            return pd.DataFrame(
                token_columns(self.tokens) | {"contribution": self.words}
            )
        frame = {"sequence": np.arange(len(self.values)), "target": self.targets}
        frame |= {"value": self.values, "base": self.base}
        effects = self.sources if part == "sources" else self.columns
        return pd.DataFrame(frame | effects)

    def headings(self) -> list[str]:
        """Return one line per text: the target, the value and the base.

        Returns
        -------
        list of str
            Such as "pos: decision value 0.75, base 0.25".
        """
        targets = [None] * len(self.values) if self.targets is None else self.targets
        name = _OUTPUTS[self.output]
        return [
            ("" if self.targets is None else f"{target}: ")
            + f"{name} {value:.3g}, base {base:.3g}"
            for target, value, base in zip(targets, self.values, self.base, strict=True)
        ]

    def plot(
        self,
        ax: Any = None,
        *,
        part: Literal["sources", "columns"] = "sources",
        bar_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the contributions of sources or columns as bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a figure.
        part : {"sources", "columns"}, default="sources"
            The contributions to draw.
        bar_kw : dict, default=None
            Passed to ``Axes.barh``.

        Returns
        -------
        Explanation
            With `ax_`, `figure_`, `bars_` and `legend_` set.
        """
        check_choice(part, ("sources", "columns"), "part")
        effects = self.sources if part == "sources" else self.columns
        if not effects:
            raise ValueError(f"the explanation has no {part}.")
        values = np.stack(list(effects.values()), axis=1)
        height = 1.0 + len(values) * (0.19 * len(effects) + 0.16)
        ax = self._make_axes(ax, (7.2, height))
        numbers = [[f"{value:+.2f}" for value in row] for row in values]
        names, rows = [str(name) for name in effects], self.headings()
        self.bars_ = draw_bars(ax, values, numbers, names, rows, dict(bar_kw or {}))
        ax.axvline(0, color="black", linewidth=0.8)
        ax.margins(x=0.2)  # for the numbers
        ax.set_xlabel(f"contribution to the {_OUTPUTS[self.output]}")
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        self.legend_ = draw_legend(ax, self.bars_, names, handleheight=1.2)
        return self

    def _repr_html_(self):
        n_shown = min(len(self.values), _MAX_TEXTS)
        largest = np.abs(self.words).max(initial=0) or 1.0
        spans = self.tokens.spans()
        legend = [_word("for the target", 1.0, 1.0), _word("against it", -1.0, 1.0)]
        parts = [f"<p>{' '.join(legend)} deeper shade: larger contribution</p>"]
        effects = {**self.sources, **self.columns}
        for i, heading in enumerate(self.headings()[:n_shown]):
            parts.append(paragraph(heading, self._text(i, spans, largest)))
            if effects:
                own = {name: [float(each[i])] for name, each in effects.items()}
                parts.append(html_table(own))
        if n_shown < len(self.values):
            parts.append(f"<p>… and {len(self.values) - n_shown} more texts</p>")
        n_words = self.tokens.offsets[n_shown]
        words = map(display_word, self.tokens.types[self.tokens.codes[:n_words]])
        columns = {"word": [*words], "contribution": self.words[:n_words].tolist()}
        parts.append(html_table(columns, "All contributions as a table"))
        return html_fragment(parts)

    def _text(self, i, spans, largest):
        """Return a text with marked words, or only its words if it is unknown."""
        own = slice(*self.tokens.offsets[i : i + 2])
        effects = self.words[own].tolist()
        if not effects:
            return "<i>no words</i>"
        words = [display_word(word) for word in self.tokens[i]]
        places = [] if spans is None else spans[own].ravel().tolist()
        if spans is None or -1 in places or places != sorted(places):
            pairs = zip(words, effects, strict=True)
            return " ".join(_word(word, effect, largest) for word, effect in pairs)
        text, parts, last = self.tokens.texts[i], [], 0
        for effect, start, end in zip(effects, places[::2], places[1::2], strict=True):
            parts.append(escape(_printable(text[last:start])))
            parts.append(_word(_printable(text[start:end]), effect, largest))
            last = end
        return "".join(parts) + escape(_printable(text[last:]))


def _printable(text):
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def _word(word, effect, largest):
    title = f"{effect:+.3g}"
    if effect == 0:
        return shaded(word, -1, 0.0, title=title)
    if effect > 0:
        return shaded(word, _FOR, effect / largest, title=title)
    return shaded(word, _AGAINST, -effect / largest, title=title, line="dashed")
