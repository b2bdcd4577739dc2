"""Explanation: contributions of words, sources and columns to predictions."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ..sequences._html import display_word
from ._attention import blend_with_white
from ._style import point_style
from ._token_rendering import token_columns, write_page

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from .._core._typing import StrPath
    from ..sequences import TokenSequences

PARTS = ("words", "sources", "columns")
_OUTPUTS = {
    "decision_function": "decision value",
    "predict_proba": "probability",
    "predict": "prediction",
}
FOR, AGAINST = 0, 5  # point styles: a blue circle, a vermilion triangle
_MAX_TEXTS = 20

_STYLE = """
.skme-why{font-family:sans-serif;font-size:14px;line-height:1.5;max-width:60em}
.skme-why h4{margin:.9em 0 .2em;font-size:1em}
.skme-why p{margin:.3em 0;white-space:pre-wrap;overflow-wrap:anywhere}
.skme-why .w{color:#000;border-radius:3px;padding:0 1px}
.skme-why .f{border-bottom:2px solid #0072B2}
.skme-why .a{border-bottom:2px dashed #D55E00}
.skme-why table{border-collapse:collapse;margin:.4em 0}
.skme-why th,.skme-why td{padding:1px 8px;text-align:right;
border-bottom:1px solid #8888}
.skme-why th:first-child,.skme-why td:first-child{text-align:left}
"""


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Contributions of words and sources to predictions; the result of `explain`.

    In a notebook it shows the texts with colored words: words that support the target
    are blue and underlined, words against it vermilion and dashed.

    Parameters
    ----------
    tokens : TokenSequences
        The words of the texts.
    values : ndarray of shape (n_texts,)
        The values that are explained, such as decision values of the target class.
    base : ndarray of shape (n_texts,)
        The base value of each text.
    words : ndarray of shape (n_tokens,)
        The contribution of each word. If exact, ``base`` plus those of a text is its
        value, unless it has no words.
    sources : dict of str to ndarray of shape (n_texts,)
        The contribution of each source to each text; empty if there are no sources.
    columns : dict of ndarray of shape (n_texts,)
        The contribution of each column of a table; empty without a `background`.
    targets : ndarray of shape (n_texts,), or None
        The explained class of each text; None for numbers.
    output : {"decision_function", "predict_proba", "predict"}
        The method of the estimator that gives the values.
    word_method : {"exact", "occlusion"}
        How the contributions of words were computed.
    source_method : {"exact", "occlusion"} or None
        The same for sources; None if there are none.

    See Also
    --------
    explain : Computes an explanation; its Notes define contributions.
    ExplanationDisplay : Draws it with matplotlib.

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
    >>> explanation.to_frame()
       sequence  position token  contribution
    0         0         0  good          0.75
    1         0         1  film         -0.25
    >>> explanation.to_frame("sources")
       sequence target  value  base  glove
    0         0    pos   0.75  0.25    0.5
    """

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

    def to_frame(
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
            ``value``, ``base``, and one column per source or column of the table. Such
            a column replaces one of the former with the same name.
        """
        import pandas as pd

        if part not in PARTS:
            raise ValueError(f"part must be one of {PARTS}, got {part!r}.")
        if part == "words":
            return pd.DataFrame(
                token_columns(self.tokens) | {"contribution": self.words}
            )
        frame = {"sequence": np.arange(len(self.values)), "target": self.targets}
        frame |= {"value": self.values, "base": self.base}
        effects = self.sources if part == "sources" else self.columns
        return pd.DataFrame(frame | effects)

    def headings(self) -> list[str]:
        """Return a line per text: the target, the value and the base.

        Returns
        -------
        list of str
            Such as "pos: decision value 0.75, base 0.25".
        """
        targets = [None] * len(self.values) if self.targets is None else self.targets
        name = value_name(self)
        return [
            ("" if self.targets is None else f"{target}: ")
            + f"{name} {value:.3g}, base {base:.3g}"
            for target, value, base in zip(targets, self.values, self.base, strict=True)
        ]

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
        return write_page(self._repr_html_(), "Contribution of each word", path)

    def _repr_html_(self):
        n_shown = min(len(self.values), _MAX_TEXTS)
        largest = np.abs(self.words).max(initial=0) or 1.0
        spans = self.tokens.spans()
        parts = [_legend()]
        for i, heading in enumerate(self.headings()[:n_shown]):
            parts.append(f'<h4 dir="auto">{escape(heading)}</h4>')
            parts.append(f'<p dir="auto">{self._text(i, spans, largest)}</p>')
            effects = {**self.sources, **self.columns}
            parts.append(_effects({k: float(v[i]) for k, v in effects.items()}))
        if n_shown < len(self.values):
            parts.append(f"<p>… and {len(self.values) - n_shown} more texts</p>")
        n_words = self.tokens.offsets[n_shown]
        words = map(display_word, self.tokens.types[self.tokens.codes[:n_words]])
        parts.append(_table(words, self.words))
        # Notebooks would typeset text between dollar signs as formulas.
        root = '<div class="skme-why tex2jax_ignore mathjax_ignore">'
        html = f"{root}<style>{_STYLE}</style>{''.join(parts)}</div>"
        return html.encode("utf-8", "backslashreplace").decode()

    def _text(self, i, spans, largest):
        """Return a text with its words marked, or its words if it is not known."""
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


def value_name(explanation):
    """Return what the values of an explanation are, in words."""
    return _OUTPUTS[explanation.output]


def _printable(text):
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def word_style(effect, largest):
    """Return the point style and the strength of a contribution; -1 and 0 of none."""
    if effect == 0:
        return -1, 0.0
    return FOR if effect > 0 else AGAINST, abs(effect) / largest


def _word(word, effect, largest):
    style, strength = word_style(effect, largest)
    if style < 0:
        return f'<span title="0">{escape(word)}</span>'
    color = blend_with_white(point_style(style)["color"], strength)
    kind = "f" if style == FOR else "a"
    return (
        f'<span class="w {kind}" style="background:{color}" '
        f'title="{effect:+.3g}">{escape(word)}</span>'
    )


def _legend():
    kinds = [("for the target", 1.0), ("against it", -1.0)]
    words = " ".join(_word(name, effect, 1.0) for name, effect in kinds)
    return f"<p>{words} deeper shade: larger contribution</p>"


def _table(words, effects):
    """Return a table of the words and their contributions, which opens by a click."""
    rows = "".join(
        f"<tr><td><bdi>{escape(word)}</bdi></td><td>{effect:+.3g}</td></tr>"
        for word, effect in zip(words, effects.tolist(), strict=False)
    )
    return (
        "<details><summary>All contributions as a table</summary><table><thead><tr>"
        '<th scope="col">word</th><th scope="col">contribution</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></details>"
    )


def _effects(effects):
    """Return a table of the contributions of sources or columns to one text."""
    if not effects:
        return ""
    head = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in effects)
    cells = "".join(f"<td>{effect:+.3g}</td>" for effect in effects.values())
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody><tr>{cells}</tr></tbody></table>"
    )
