"""SimilarityDisplay: cosine similarities between tokens, as a heat map."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.metrics.pairwise import cosine_similarity

from .._pipelines import lookup_vectors
from ._display import BaseDisplay, readable_on
from ._token_selection import (
    check_count,
    check_vectors,
    embed_until_last,
    refuse_unknown,
    select_vectors,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from .._core._typing import WordEmbedding
    from ..sequences import EmbeddedSequences

_MAX_ROWS_WITH_VALUES = 12  # more do not fit into the cells
_MAX_LABELS = 50  # more do not fit next to the rows
_MAX_SLANTED_LABELS = 30


@dataclass(eq=False, repr=False)
class SimilarityDisplay(BaseDisplay):
    """Pairwise cosine similarities between tokens, as a heat map.

    Shows which words an embedding considers similar: words under a static source, or
    the same words in different contexts under a contextual one. Create a display with
    `from_embedded`, `from_estimator`, `from_words` or `from_vectors`; the constructor
    takes precomputed similarities.

    Parameters
    ----------
    values : ndarray of shape (n, n)
        Similarities within [-1, 1].
    labels : list of str, length n
        Labels of rows and columns.
    title : str, default=None
        Title of the heat map.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the heat map.
    figure_ : matplotlib Figure
    im_ : matplotlib AxesImage
    text_ : ndarray of matplotlib Text, shape (n, n), or None
        The values in the cells.

    See Also
    --------
    sk_metaembed.metrics.word_similarity_score : Compares cosines with human ratings.

    Notes
    -----
    The color scale always ranges from -1 to 1, so that heat maps of different blocks,
    contexts and models can be compared. To draw several side by side, pass each an `ax`
    and ``colorbar=False``, and draw one color bar for all with
    ``figure.colorbar(display.im_, ax=axes)``. Cosines of contextual vectors often lie
    in a narrow, high range: compare values within one block, not across blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed.inspection import SimilarityDisplay
    >>> vectors = {"king": [3.0, 4.0], "queen": [4.0, 3.0], "apple": [0.0, -1.0]}
    >>> display = SimilarityDisplay.from_words(vectors, ["king", "queen", "apple"])
    >>> display.frame().round(2)
           king  queen  apple
    king   1.00   0.96   -0.8
    queen  0.96   1.00   -0.6
    apple -0.80  -0.60    1.0

    Tokens in the texts that a source has embedded:

    >>> from sk_metaembed import FunctionEmbedding
    >>> letters = FunctionEmbedding(
    ...     lambda words: [[word.count("a"), word.count("e")] for word in words]
    ... )
    >>> embedded = letters.fit_transform(["tea a", "a be"])
    >>> tokens = [(0, "a"), (1, "a")]
    >>> SimilarityDisplay.from_embedded(embedded, tokens=tokens).labels
    ['a (0, 1)', 'a (1, 0)']
    """

    values: NDArray[np.float64]
    _: KW_ONLY
    labels: Sequence[str]
    title: str | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, **options: Any) -> Self:
        """Embed sequences with a fitted estimator and compare their tokens.

        Whole texts are embedded, so that a contextual source embeds each word in its
        context. To compare words without context, use `from_words`.

        Parameters
        ----------
        estimator : fitted estimator
            A source, a union or a meta-embedder; or a Pipeline with such steps, or a
            search (its ``best_estimator_`` is used). The last EmbeddedSequences are
            shown: steps after them, such as `Pooling` and a classifier, are ignored.
        X : input of the estimator
            Such as texts, token lists or TokenSequences.
        **options
            Passed to `from_embedded`, such as `block` and `tokens`.

        Returns
        -------
        SimilarityDisplay
            Plotted.

        Raises
        ------
        TypeError
            If no step returns EmbeddedSequences.
        ValueError
            If a branch of a ColumnTransformer or FeatureUnion may do; the message says
            how to pass it.
        """
        hint = " Pass a dict of vectors, a WordVectors or KeyedVectors to from_words."
        embedded = embed_until_last(estimator, X, hint)
        return cls.from_embedded(embedded, **options)

    @classmethod
    def from_embedded(
        cls,
        embedded: EmbeddedSequences,
        *,
        block: str | None = None,
        tokens: Sequence[tuple[int, int | str] | str | int] | None = None,
        labels: Sequence[object] | None = None,
        **options: Any,
    ) -> Self:
        """Compare tokens of embedded sequences.

        Use it to draw several pictures from one embedding step, or to compare
        occurrences of one word in different contexts.

        Parameters
        ----------
        embedded : EmbeddedSequences
            With the vectors to compare.
        block : str, default=None
            Name of the block to show. None takes the only one.
        tokens : sequence of tuple, str or int, default=None
            The tokens to compare, in this order: (sequence, position), counted from 0;
            (sequence, word), if the word occurs once in the sequence; or a word, if it
            occurs once in all sequences or the block has one vector per word. If the
            block has one vector per sequence, numbers of sequences. None takes all.
        labels : sequence of str, default=None
            Labels of the tokens. None takes the words, with (sequence, position) if a
            word is repeated.
        **options
            Passed to `from_vectors`. The default title is the block's name.

        Returns
        -------
        SimilarityDisplay
            Plotted.

        Raises
        ------
        ValueError
            If a token does not exist, has no vector, or is ambiguous.
        """
        values, words, name = select_vectors(embedded, block, tokens)
        labels = words if labels is None else labels
        return cls.from_vectors(values, labels, **{"title": name} | options)

    @classmethod
    def from_words(
        cls,
        embedding: WordEmbedding,
        words: Iterable[str],
        *,
        labels: Sequence[object] | None = None,
        **options: Any,
    ) -> Self:
        """Compare words under an embedding of any kind.

        A contextual source embeds each word alone.

        Parameters
        ----------
        embedding : fitted estimator, WordVectors, KeyedVectors or mapping
            With one vector per word.
        words : sequence of str
            The words to compare, in this order.
        labels : sequence of str, default=None
            Labels of the words. None takes the words.
        **options
            Passed to `from_vectors`.

        Returns
        -------
        SimilarityDisplay
            Plotted.

        Raises
        ------
        ValueError
            If a word has no vector, or there are several blocks.
        """
        words = list(words)
        check_count(len(words))
        values, known = lookup_vectors(embedding, words)
        refuse_unknown(known, words)
        return cls.from_vectors(values, words if labels is None else labels, **options)

    @classmethod
    def from_vectors(
        cls,
        vectors: ArrayLike,
        labels: Sequence[object] | None = None,
        *,
        title: str | None = None,
        ax: Any = None,
        **plot_kw: Any,
    ) -> Self:
        """Compare the rows of an array by direction.

        Parameters
        ----------
        vectors : array-like of shape (n, dim)
            Finite and nonzero, at most 1000.
        labels : sequence of str, length n, default=None
            Labels of the rows. None numbers them.
        title : str, default=None
            Title of the heat map.
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a figure.
        **plot_kw
            Passed to `plot`.

        Returns
        -------
        SimilarityDisplay
            Plotted.

        Raises
        ------
        ValueError
            If a vector is zero or not finite, or shapes do not match.
        """
        values, names = check_vectors(vectors, labels)
        cosines = cosine_similarity(values).clip(-1, 1)
        display = cls(cosines, labels=names, title=title)
        return display.plot(ax, **plot_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        include_values: bool | None = None,
        colorbar: bool = True,
    ) -> Self:
        """Draw the heat map.

        The artists are stored as attributes and can be changed afterwards.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a figure.
        include_values : bool, default=None
            Whether to write the values into the cells. None writes those of up to 12
            tokens.
        colorbar : bool, default=True
            Whether to draw a color bar.

        Returns
        -------
        SimilarityDisplay
            With `ax_`, `figure_`, `im_` and `text_` set.
        """
        n = len(self.labels)
        side = float(np.clip(0.55 * n, 1.6, 8.0))
        margin = 0.09 * max(map(len, self.labels))
        ax = self._make_axes(ax, (side + margin + 1.3, side + 0.8 * margin + 0.5))
        if self.title is not None:
            ax.set_title(self.title, parse_math=False)
        # The lightness of this map is monotonic, so that it is readable in gray, and it
        # looks the same with red-green color blindness.
        self.im_ = ax.imshow(self.values, cmap="cividis", vmin=-1, vmax=1)
        if colorbar:
            ax.figure.colorbar(self.im_, ax=ax, label="cosine similarity")
        step = -(-n // _MAX_LABELS)
        places, shown = range(0, n, step), self.labels[::step]
        style = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        style = style if n <= _MAX_SLANTED_LABELS else {"rotation": 90}
        ax.set_xticks(places, shown, parse_math=False, **style)
        ax.set_yticks(places, shown, parse_math=False)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        if include_values is None:
            include_values = n <= _MAX_ROWS_WITH_VALUES
        self.text_ = self._write_values(ax) if include_values else None
        return self

    def _write_values(self, ax):
        texts = np.empty(self.values.shape, dtype=object)
        for (i, j), value in np.ndenumerate(self.values):
            color = readable_on(self.im_.cmap(self.im_.norm(value)))
            style = {"color": color, "ha": "center", "va": "center"}
            texts[i, j] = ax.text(j, i, f"{value:.2f}", **style)
        return texts

    def frame(self) -> pd.DataFrame:
        """Return the values as a square table, without drawing.

        Returns
        -------
        pandas.DataFrame
            One row and one column per label.
        """
        import pandas as pd

        labels = list(self.labels)
        return pd.DataFrame(self.values, index=labels, columns=labels)
