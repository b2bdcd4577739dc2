"""Attention weights of a pipeline, and TokenWeightsDisplay: texts shaded by them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._core._arrays import offsets_of
from .._core._errors import NamedErrorsMixin
from .._pipelines import find_step
from ..sequences import TokenSequences
from ..sequences._api import display_word, token_columns
from ._display import (
    SYMBOLS,
    ShadedTexts,
    html_fragment,
    html_table,
    paragraph,
    shaded,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray


# Weights that differ by less are a tie.
_TIE_TOLERANCE = 1e-6


def find_attention_step(estimator, X):
    """Return the fitted step that has attention weights, and that step's input."""
    step, X = find_step(estimator, X, lambda step: hasattr(step, "attention_weights"))
    if step is None:
        raise TypeError(
            f"requires an estimator with attention_weights, such as "
            "DynamicMetaEmbedding, or a Pipeline or search with such a step; got "
            f"{type(estimator).__name__}."
        )
    return step, X


def weight_columns(frame):
    """Return names and weights (n_rows, n_sources) of the sources in a table.

    A row of zeros is a token without a vector in any source.
    """
    others = ["sequence", "position", "token", *["side"] * has_pairs(frame)]
    sources = [name for name in frame.columns if name not in others]
    return sources, np.asarray(frame[sources], dtype=np.float64)


def has_pairs(frame):
    """Return whether a table of attention weights is about pairs and has two sides."""
    # In other tables a source may have the name "side".
    return "side" in frame and set(frame["side"]) <= {"first", "second"}


def dominant_source(weights):
    """Return the source with the largest weight per row, and its strength in [0, 1].

    The strength is 0 if all sources have equal weights, and 1 if one source has all the
    weight. The source is -1, and the strength 0, on ties and in rows of zeros.

    >>> dominant_source(np.array([[0.75, 0.25], [0.5, 0.5], [0.0, 0.0]]))
    (array([ 0, -1, -1]), array([0.5, 0. , 0. ]))
    """
    total = weights.sum(axis=1, keepdims=True)
    shares = np.divide(weights, total, out=np.zeros(weights.shape), where=total > 0)
    largest = shares.max(axis=1)
    is_tie = (shares >= largest[:, None] - _TIE_TOLERANCE).sum(axis=1) > 1
    source = np.where(is_tie | (largest == 0), -1, shares.argmax(axis=1))
    even = 1 / weights.shape[1]
    strength = (largest - even) / (1 - even) if even < 1 else largest
    return source, np.where(source < 0, 0.0, strength)


_MAX_WORDS = 1000  # more words are unreadable


@dataclass(eq=False, repr=False)
class TokenWeightsDisplay(ShadedTexts, NamedErrorsMixin):
    """Words of some texts, shaded by their dominant source.

    Shows the attention of `DynamicMetaEmbedding`, `DynamicMetaClassifier` and the other
    ``Dynamic*`` estimators for single words: color and symbol stand for the source
    with the largest weight, the depth of the shade and the number for the weight
    itself. In a notebook, the display shows the texts; `to_html` writes them to a file.
    Create a display with `from_estimator`; the constructor takes precomputed weights.

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

    See Also
    --------
    SourceWeightsDisplay : Mean weights over many texts, by group.

    Notes
    -----
    The dominant source of a word has the largest share of its weights. The depth of the
    shade is ``(share - 1 / n) / (1 - 1 / n)`` with n sources: 0 for equal shares, 1 for
    the whole weight. On ties, as with ``attention="uniform"``, there is no dominant
    source. If the estimator has a weight per dimension, as by default, the weight of a
    source is its mean over the dimensions.

    The HTML contains neither scripts nor external resources, and all text is escaped. A
    table below the texts contains all weights.

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
    >>> "<bdi>goal</bdi> <small>▲ 0.80</small>" in display.to_html()
    True

    The weights of a fitted estimator:

    >>> from sk_metaembed import TrainableCharacters, DynamicMetaClassifier
    >>> dme = DynamicMetaClassifier(
    ...     trainable=[("a", TrainableCharacters()), ("b", TrainableCharacters())],
    ...     encoder="mean", max_epochs=1, early_stopping=False,
    ... ).fit(["good", "bad"], [1, 0])
    >>> display = TokenWeightsDisplay.from_estimator(dme, ["good day"])
    >>> display.sources, display.weights.shape
    (['a', 'b'], (2, 2))
    """

    _title = "Dominant source of each word"

    tokens: TokenSequences
    weights: NDArray[np.floating[Any]]
    _: KW_ONLY
    sources: Sequence[str]
    labels: Sequence[str] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        labels: Sequence[object] | None = None,
    ) -> Self:
        """Compute an estimator's attention weights for some texts.

        Use it for a few texts, such as misclassified ones; `SourceWeightsDisplay` shows
        means over many texts.

        Parameters
        ----------
        estimator : fitted estimator
            With `attention_weights`, or a Pipeline with such a step, or a search (its
            ``best_estimator_`` is used); these may be nested. If a Pipeline has several
            such steps, the first is used.
        X : input of the estimator
            The texts, at most 1000 words. Each side of a pair is a text.
        labels : sequence of length n_sequences, default=None
            Headings of the texts, such as their classes. None numbers several texts.

        Returns
        -------
        TokenWeightsDisplay
            The display; a notebook shows its texts.

        Raises
        ------
        TypeError
            If no step has `attention_weights`.
        ValueError
            If there are no words or too many, there is one weight per text, `labels`
            has another length than X, or the step may be in a branch of a
            ColumnTransformer or FeatureUnion; the message says how to pass the branch.
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
        return cls(tokens, weights, sources=sources, labels=headings)

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

    def _repr_html_(self):
        sources, weights = list(self.sources), np.asarray(self.weights)
        legend = [
            shaded(name, i, 1.0, note=_symbol(i)) for i, name in enumerate(sources)
        ]
        note = "deeper shade: larger share; number: weight; ?: no source knows the word"
        parts = [f"<p>{' '.join(legend)}\n<small>{note}</small></p>"]
        n_texts, offsets = len(self.tokens), self.tokens.offsets
        labels = self.labels
        if labels is None:
            labels = [f"text {i}" for i in range(n_texts)] if n_texts > 1 else [None]
        words = [display_word(word) for word in self.tokens.types[self.tokens.codes]]
        styles = zip(*dominant_source(weights), strict=True)
        rows = zip(words, styles, weights.tolist(), strict=True)
        marked = [_marked(word, *style, row, sources) for word, style, row in rows]
        for label, start, end in zip(labels, offsets[:-1], offsets[1:], strict=True):
            parts.append(paragraph(label, " ".join(marked[start:end])))
        columns = {"word": words, **dict(zip(sources, weights.T, strict=True))}
        parts.append(html_table(columns, "All weights as a table"))
        return html_fragment(parts)


def _marked(word, number, strength, weights, sources):
    """Return a word as HTML with its largest weight, "even" or "?"."""
    note = "even" if any(weights) else "?"
    if number >= 0:
        note = f"{_symbol(number)} {weights[number]:.2f}"
    pairs = zip(sources, weights, strict=True)
    title = ", ".join(f"{name} {weight:.2f}" for name, weight in pairs)
    return shaded(word, number, strength, title=title, note=note)


def _split_pairs(frame, n_pairs, labels):
    """Return a table of pairs as a table of twice as many texts, and their labels."""
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
    return TokenSequences(types, codes, offsets_of(lengths))


def _symbol(number):
    return SYMBOLS[number % len(SYMBOLS)]
