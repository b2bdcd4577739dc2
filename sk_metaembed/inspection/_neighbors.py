"""NeighborsDisplay: nearest neighbors of words under several embeddings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from .._core._arrays import chunks, normalize_rows
from .._core._messages import short_repr
from ..sequences import TokenSequences
from ..sequences._pipeline_steps import find_embedded
from ..sequences._word_lookup import lookup_vectors, word_rows
from ._display import BaseDisplay
from ._style import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from .._core._typing import WordEmbedding

_MAX_WORDS = 24  # panels
_MAX_LENGTH = 18  # characters of a neighbor
_COLUMN_WIDTH, _ROW_HEIGHT, _MAX_WIDTH = 1.75, 0.27, 11.0  # inches


class Nearest(NamedTuple):
    """Neighbors of words under one embedding, nearest first."""

    neighbors: np.ndarray  # (n_words, n_neighbors) of str, None where there are fewer
    cosines: np.ndarray  # (n_words, n_neighbors), NaN there


def nearest(values, known, queries, vocabulary, n_neighbors):
    """Return the nearest words of `queries` (rows of `values`), themselves excluded.

    Words that are not known have no neighbors and are not neighbors. Ties go to the
    earlier word of the vocabulary.
    """
    unit = normalize_rows(np.asarray(values))
    cosines = np.empty((len(queries), len(unit)), dtype=np.float32)
    for rows in chunks(len(unit)):
        cosines[:, rows] = unit[queries] @ unit[rows].T
    unknown = ~(known & unit.any(axis=1))
    cosines[:, unknown] = np.nan
    cosines[unknown[queries]] = np.nan
    cosines[np.arange(len(queries)), queries] = np.nan
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :n_neighbors]
    highest = np.clip(np.take_along_axis(cosines, order, axis=1), -1, 1)
    words = np.array(vocabulary, dtype=object)[order]
    return Nearest(np.where(np.isnan(highest), None, words), highest.astype(np.float64))


def vectors_by_block(estimator, words):
    """Return vectors (n_words, dim) and known words (n_words,) by block.

    The blocks are those of the first step with several and of the last step with any.
    """
    tokens = TokenSequences.from_lists([word] for word in words)
    outputs = find_embedded(estimator, tokens)
    if not outputs:
        raise TypeError(
            f"{type(estimator).__name__} returns no EmbeddedSequences for "
            "words. Pass a fitted source, union or Pipeline with one, or pass vectors "
            "to from_embeddings."
        )
    first = next((each for each in outputs if len(each.blocks) > 1), outputs[0])
    selected = [first] if first is outputs[-1] else [first, outputs[-1]]
    return {
        _unique_name(block.name, selected, each): word_rows(each, block)
        for each in selected
        for block in each.blocks
    }


def _unique_name(name, selected, each):
    """Return a block's name, with a suffix if a source has the same name."""
    is_taken = each is not selected[0] and name in selected[0].names
    return f"{name} (combined)" if is_taken else name


def vectors_by_name(embeddings, words):
    """Return vectors (n_words, dim) and known words (n_words,) by embedding."""
    return {
        str(name): lookup_vectors(embedding, words)
        for name, embedding in embeddings.items()
    }


def check_words(words, vocabulary):
    """Return words, the vocabulary with them added, and their rows in it (n_words,)."""
    words = [words] if isinstance(words, str) else list(dict.fromkeys(words))
    if not words:
        raise ValueError("words must contain at least one word; got none.")
    if isinstance(vocabulary, str):
        raise TypeError("vocabulary must be a sequence of words; got a single str.")
    if isinstance(vocabulary, TokenSequences):
        vocabulary = vocabulary.types
    vocabulary = list(dict.fromkeys([*vocabulary, *words]))
    invalid = [word for word in vocabulary if not isinstance(word, str)]
    if invalid:
        raise TypeError(
            f"words must be str; got {invalid[0]!r} of type "
            f"{type(invalid[0]).__name__}."
        )
    rows = {word: row for row, word in enumerate(vocabulary)}
    return words, vocabulary, np.array([rows[word] for word in words])


class NeighborsDisplay(BaseDisplay):
    """Nearest neighbors of words under several embeddings, side by side.

    Shows what a word means to each source and to their combination: one panel per word,
    one column per embedding, the nearest neighbor on top with its cosine similarity.
    Neighbors shared by several embeddings are bold and joined by lines. Create a
    display with `from_estimator` or `from_embeddings`; the constructor takes
    precomputed neighbors.

    Parameters
    ----------
    neighbors : ndarray of object, shape (n_words, n_embeddings, n_neighbors)
        Words, nearest first; None where there are fewer.
    cosines : ndarray of shape (n_words, n_embeddings, n_neighbors)
        Their cosine similarities.
    words : list of str, length n_words
        The words with these neighbors.
    embeddings : list of str, length n_embeddings
        Names of the embeddings.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The first panel.
    axes_ : ndarray of matplotlib Axes, shape (n_words,)
    figure_ : matplotlib Figure
    text_ : list of list of matplotlib Text
        One list per panel, column by column from top to bottom.
    links_ : list of list of matplotlib Line2D
        One list per panel: the lines between shared neighbors.

    See Also
    --------
    SimilarityDisplay : Similarity of each pair of some words.

    Notes
    -----
    Neighbors are searched in a given vocabulary, such as the most frequent words: rare
    words are near to many others by chance. Cosines of different embeddings are on
    different scales; compare ranks. A contextual source sees each word alone.

    Examples
    --------
    >>> from sk_metaembed.inspection import NeighborsDisplay
    >>> glove = {"king": [3, 4], "queen": [4, 4], "apple": [0, -1], "pear": [1, -2]}
    >>> own = {"king": [1, 0], "queen": [4, 3], "apple": [1, -1]}
    >>> display = NeighborsDisplay.from_embeddings(
    ...     {"glove": glove, "own": own}, ["king"], vocabulary=glove, n_neighbors=2
    ... )
    >>> display.frame().round(2)
       word embedding  rank neighbor  cosine  n_embeddings
    0  king     glove     1    queen    0.99             2
    1  king     glove     2     pear   -0.45             1
    2  king       own     1    queen    0.80             2
    3  king       own     2    apple    0.71             1

    The sources of a fitted estimator:

    >>> from sk_metaembed import FunctionEmbedding
    >>> words = ["tea", "eat", "be"]
    >>> letters = FunctionEmbedding(
    ...     lambda words: [[word.count("a"), word.count("e")] for word in words]
    ... ).fit(words)
    >>> display = NeighborsDisplay.from_estimator(letters, "tea", vocabulary=words)
    >>> display.neighbors.ravel().tolist()[:2]
    ['eat', 'be']
    """

    def __init__(
        self,
        neighbors: NDArray[np.object_],
        cosines: NDArray[np.float64],
        *,
        words: Sequence[str],
        embeddings: Sequence[str],
    ) -> None:
        self.neighbors = neighbors
        self.cosines = cosines
        self.words = words
        self.embeddings = embeddings

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        words: str | Sequence[str],
        *,
        vocabulary: Sequence[str] | TokenSequences,
        n_neighbors: int = 8,
        **options: Any,
    ) -> Self:
        """Show neighbors under an estimator's sources and their combination.

        The whole vocabulary is embedded, word by word. Steps after the last one that
        returns blocks, such as `Pooling` and a classifier, are ignored.

        Parameters
        ----------
        estimator : fitted estimator
            A source, a union or a meta-embedder; or a Pipeline with such steps, a
            search (its ``best_estimator_`` is used), or a ColumnTransformer or
            FeatureUnion with one such branch. The columns are the blocks of the first
            step with several, such as a union, and of the last step with any, such as a
            meta-embedder.
        words : str or sequence of str
            At most 24.
        vocabulary : sequence of str or TokenSequences
            The words to search.
        n_neighbors : int, default=8
            Number of neighbors per word.
        **options
            Passed to `plot`.

        Returns
        -------
        NeighborsDisplay
            Plotted.

        Raises
        ------
        TypeError
            If no step returns EmbeddedSequences, or a word is not a str.
        ValueError
            If there are no words, too many words, or several such branches.
        """
        checked = check_words(words, vocabulary)
        vectors = vectors_by_block(estimator, checked[1])
        return cls._from_vectors(vectors, checked, n_neighbors, options)

    @classmethod
    def from_embeddings(
        cls,
        embeddings: Mapping[str, WordEmbedding],
        words: str | Sequence[str],
        *,
        vocabulary: Sequence[str] | TokenSequences,
        n_neighbors: int = 8,
        **options: Any,
    ) -> Self:
        """Show neighbors under embeddings of any kind.

        A word without a vector in one of the embeddings has no neighbors there.

        Parameters
        ----------
        embeddings : mapping of str to embedding
            Embeddings by name, the titles of the columns. Each is a fitted estimator
            with one block, a `WordVectors`, gensim's KeyedVectors or a mapping from
            words to vectors.
        words : str or sequence of str
            At most 24.
        vocabulary : sequence of str or TokenSequences
            The words to search. Words without a vector in an embedding are left out
            there.
        n_neighbors : int, default=8
            Number of neighbors per word.
        **options
            Passed to `plot`.

        Returns
        -------
        NeighborsDisplay
            Plotted.

        Raises
        ------
        TypeError
            If `embeddings` is not a mapping of embeddings, or a word is not a str.
        ValueError
            If there are no words, or too many.
        """
        if not isinstance(embeddings, Mapping) or not embeddings:
            raise TypeError(
                f"from_embeddings requires a dict of embeddings by name; got "
                f"{short_repr(embeddings)}."
            )
        checked = check_words(words, vocabulary)
        vectors = vectors_by_name(embeddings, checked[1])
        return cls._from_vectors(vectors, checked, n_neighbors, options)

    @classmethod
    def _from_vectors(cls, vectors, checked, n_neighbors, options):
        words, vocabulary, rows = checked
        if not n_neighbors >= 1:
            raise ValueError(f"n_neighbors must be 1 or more; got {n_neighbors}.")
        if len(words) > _MAX_WORDS:
            raise ValueError(
                f"shows at most {_MAX_WORDS} words; got {len(words)}. Pass fewer words."
            )
        results = [
            nearest(values, known, rows, vocabulary, n_neighbors)
            for values, known in vectors.values()
        ]
        display = cls(
            np.stack([each.neighbors for each in results], axis=1),
            np.stack([each.cosines for each in results], axis=1),
            words=words,
            embeddings=list(vectors),
        )
        return display.plot(**options)

    def plot(
        self,
        ax: Any = None,
        *,
        n_cols: int | None = None,
        text_kw: Mapping[str, Any] | None = None,
        line_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Write one panel per word.

        Neighbors under several embeddings are bold and joined by lines. The font
        shrinks until columns do not touch.

        Parameters
        ----------
        ax : matplotlib Axes or array-like of them, default=None
            One axes per word, or a single one, which is replaced by a grid of panels.
            None creates a figure.
        n_cols : int, default=None
            Maximum number of panels in a row. None takes as many as fit into a figure
            11 inches wide.
        text_kw : dict, default=None
            Passed to ``Axes.text`` for the neighbors.
        line_kw : dict, default=None
            Passed to ``Axes.plot`` for the lines between shared neighbors.

        Returns
        -------
        NeighborsDisplay
            With `ax_`, `axes_`, `figure_`, `text_` and `links_` set.
        """
        n_words, n_embeddings, n_neighbors = np.shape(self.neighbors)
        size = 0.6 + _COLUMN_WIDTH * n_embeddings, 0.9 + _ROW_HEIGHT * n_neighbors
        n_cols = max(1, int(_MAX_WIDTH / size[0])) if n_cols is None else n_cols
        self._make_panels(ax, n_words, n_cols, size)
        self.text_, self.links_ = [], []
        for number, panel in enumerate(self.axes_):
            self._frame_panel(panel, number, n_neighbors)
        self.figure_.canvas.figure.draw_without_rendering()
        for number, panel in enumerate(self.axes_):
            self.text_.append(self._write(panel, number, dict(text_kw or {})))
        for number, panel in enumerate(self.axes_):
            self.links_.append(self._link(panel, number, dict(line_kw or {})))
        return self

    def _frame_panel(self, ax, number, n_neighbors):
        ax.set(xlim=(-0.5, len(self.embeddings) - 0.5), ylim=(n_neighbors + 0.5, 0.5))
        ax.set_title(f"near “{self.words[number]}”", parse_math=False)
        ax.xaxis.tick_top()
        names = [shorten(name, _MAX_LENGTH) for name in self.embeddings]
        ax.set_xticks(range(len(names)), names, parse_math=False)
        ax.set_yticks(range(1, n_neighbors + 1))
        ax.set_ylabel("rank")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)

    def _write(self, ax, number, text_kw):
        shared, texts = self._counts(number), []
        for column, (near, cosines) in enumerate(
            zip(self.neighbors[number], self.cosines[number], strict=True)
        ):
            if near[0] is None:
                style = {"style": "italic", "ha": "center", "va": "center"}
                texts.append(ax.text(column, 1, "not known", fontsize="small", **style))
            for rank, (word, cosine) in enumerate(zip(near, cosines, strict=True), 1):
                if word is None:
                    continue
                style = {"ha": "center", "va": "center", "fontsize": "small"}
                style |= {"parse_math": False, "zorder": 3}
                if shared[word] > 1:
                    style["weight"] = "bold"
                cosine_text = f"  {cosine:.2f}".replace(" 0.", " .")
                text = shorten(word, _MAX_LENGTH) + cosine_text
                texts.append(ax.text(column, rank, text, **style | text_kw))
        _make_fit(ax, texts)
        return texts

    def _link(self, ax, number, line_kw):
        """Join shared neighbors in adjacent columns."""
        to_data = ax.transData.inverted()
        ends = {}
        for text in self.text_[number]:
            x, y = text.get_position()
            box = text.get_window_extent().padded(3)
            left, right = to_data.transform([(box.x0, box.y0), (box.x1, box.y1)])[:, 0]
            ends[round(x), round(y)] = left, right
        lines = []
        style = {"color": "black", "linewidth": 0.8, "zorder": 2} | line_kw
        neighbors = self.neighbors[number]
        for column in range(len(neighbors) - 1):
            for rank, word in enumerate(neighbors[column], 1):
                matches = np.flatnonzero(neighbors[column + 1] == word)
                if word is None or not len(matches):
                    continue
                other = int(matches[0]) + 1
                x = ends[column, rank][1], ends[column + 1, other][0]
                lines += ax.plot(x, (rank, other), **style)
        return lines

    def _counts(self, number):
        """Return the number of embeddings under which each word is a neighbor."""
        return Counter(
            word for near in self.neighbors[number] for word in near if word is not None
        )

    def frame(self) -> pd.DataFrame:
        """Return the neighbors as a table, without drawing.

        Returns
        -------
        pandas.DataFrame
            One row per neighbor: ``word``, ``embedding``, ``rank`` from 1,
            ``neighbor``, ``cosine``, and ``n_embeddings``, the number of embeddings
            with this neighbor.
        """
        import pandas as pd

        rows = []
        for number, word in enumerate(self.words):
            shared = self._counts(number)
            for column, name in enumerate(self.embeddings):
                pairs = zip(
                    self.neighbors[number, column],
                    self.cosines[number, column],
                    strict=True,
                )
                rows += [
                    (word, name, rank, near, cosine, shared[near])
                    for rank, (near, cosine) in enumerate(pairs, 1)
                    if near is not None
                ]
        names = ["word", "embedding", "rank", "neighbor", "cosine", "n_embeddings"]
        return pd.DataFrame(rows, columns=names)


def _make_fit(ax, texts):
    """Shrink texts until none is wider than a column or higher than a row."""
    if not texts:
        return
    (left, low), (right, high) = ax.transData.transform([(0, 1), (1, 2)])
    boxes = [text.get_window_extent() for text in texts]
    scale = 0.86 * (right - left) / max(box.width for box in boxes)
    scale = min(scale, 0.95 * abs(high - low) / max(box.height for box in boxes), 1.0)
    for text in texts:
        text.set_fontsize(scale * text.get_fontsize())
