"""NeighborsDisplay: which words are near, under each source and their combination.

Nearest neighbours of words, under several embeddings.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .._core._arrays import chunks, normalize_rows
from ..sequences import TokenSequences
from ..sequences._find_step import find_embedded
from ..sequences._word_lookup import lookup_vectors, word_rows
from ._panels import panel_axes


class Nearest(NamedTuple):
    """Neighbours of words under one embedding, nearest first."""

    neighbors: np.ndarray  # (n_words, n_neighbors) of str, None where there are fewer
    cosines: np.ndarray  # (n_words, n_neighbors), NaN there


def nearest(values, known, queries, vocabulary, n_neighbors):
    """Return the nearest words of each query, itself left out.

    Parameters
    ----------
    values : ndarray of shape (n_vocabulary, dim)
    known : ndarray of bool, shape (n_vocabulary,)
        Words that are not known are neighbours of none, and have none.
    queries : ndarray of int, shape (n_words,)
        Rows of the words that are asked for.
    vocabulary : list of str, length n_vocabulary
    n_neighbors : int

    Returns
    -------
    Nearest
        Of words that are equally near the earlier ones.
    """
    unit = normalize_rows(np.asarray(values))
    cosines = np.empty((len(queries), len(unit)), dtype=np.float32)
    for rows in chunks(len(unit)):
        cosines[:, rows] = unit[queries] @ unit[rows].T
    lacks = ~(known & unit.any(axis=1))
    cosines[:, lacks] = np.nan
    cosines[lacks[queries]] = np.nan
    cosines[np.arange(len(queries)), queries] = np.nan
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :n_neighbors]
    found = np.clip(np.take_along_axis(cosines, order, axis=1), -1, 1)
    words = np.array(vocabulary, dtype=object)[order]
    return Nearest(np.where(np.isnan(found), None, words), found.astype(np.float64))


def embeddings_within(estimator, words, caller):
    """Return the word vectors that a fitted estimator and its steps give.

    Parameters
    ----------
    estimator : fitted estimator
        As `find_embedded` takes it.
    words : list of str
        Each is read as a text of its own.
    caller : str
        Begins the error message.

    Returns
    -------
    dict of str to (ndarray of shape (n_words, dim), ndarray of bool)
        By the blocks' names: all blocks of the first step that gives several, and
        those of the last step that gives any.
    """
    given = TokenSequences.from_lists([word] for word in words)
    found = find_embedded(estimator, given, caller)
    if not found:
        raise TypeError(
            f"{caller}: {type(estimator).__name__} gives no EmbeddedSequences for "
            "words. Pass a fitted source, union or Pipeline with one, or vectors by "
            "from_embeddings."
        )
    first = next((each for each in found if len(each.blocks) > 1), found[0])
    shown = [first] if first is found[-1] else [first, found[-1]]
    return {
        _free_name(block.name, shown, each): word_rows(each, block)
        for each in shown
        for block in each.blocks
    }


def _free_name(name, shown, each):
    """Return a block's name, told apart from a source of the same name."""
    is_taken = each is not shown[0] and name in shown[0].names
    return f"{name} (combined)" if is_taken else name


def embeddings_named(embeddings, words, caller):
    """Return the word vectors of several embeddings by name.

    Parameters
    ----------
    embeddings : mapping of str to embedding
        As `lookup_vectors` takes them.
    words : list of str
    caller : str
        Begins the error messages.

    Returns
    -------
    dict of str to (ndarray of shape (n_words, dim), ndarray of bool)
    """
    return {
        str(name): lookup_vectors(embedding, words, caller=caller)
        for name, embedding in embeddings.items()
    }


def asked_words(words, vocabulary, caller):
    """Return the words, all words there are to choose from, and where the former stand.

    Parameters
    ----------
    words : str or sequence of str
    vocabulary : sequence of str or TokenSequences
    caller : str
        Begins the error messages.

    Returns
    -------
    words : list of str
    vocabulary : list of str
        Each once; words that it lacks are added.
    rows : ndarray of int, shape (n_words,)
    """
    words = [words] if isinstance(words, str) else list(dict.fromkeys(words))
    if not words:
        raise ValueError(f"{caller}: there is no word to show.")
    if isinstance(vocabulary, str):
        raise TypeError(
            f"{caller}: vocabulary must hold the words to choose from, got a single "
            "str."
        )
    if isinstance(vocabulary, TokenSequences):
        vocabulary = vocabulary.types
    vocabulary = list(dict.fromkeys([*vocabulary, *words]))
    strange = [word for word in vocabulary if not isinstance(word, str)]
    if strange:
        raise TypeError(
            f"{caller}: words must be str, got {strange[0]!r} of type "
            f"{type(strange[0]).__name__}."
        )
    places = {word: place for place, word in enumerate(vocabulary)}
    return words, vocabulary, np.array([places[word] for word in words])


_MOST_WORDS = 24  # panels
_LONGEST = 18  # characters of a neighbour
_COLUMN, _ROW, _WIDEST = 1.75, 0.27, 11.0  # inches


class NeighborsDisplay:
    """Nearest neighbours of words under several embeddings, side by side.

    Shows what a word means to each source, and what becomes of it when they are
    combined. A panel a word, a column an embedding, the nearest on top with its cosine
    similarity; neighbours that several embeddings share are bold, and lines join
    them from column to column. Make one with `from_estimator` or `from_embeddings`;
    the constructor takes what these compute.

    Parameters
    ----------
    neighbors : ndarray of object, shape (n_words, n_embeddings, n_neighbors)
        Words, nearest first; None where there are fewer.
    cosines : ndarray of shape (n_words, n_embeddings, n_neighbors)
        Their cosine similarities.
    words : list of str, length n_words
        The words whose neighbours these are.
    embeddings : list of str, length n_embeddings
        Names.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The first panel that `plot` drew.
    axes_ : ndarray of matplotlib Axes, shape (n_words,)
    figure_ : matplotlib Figure
    text_ : list of list of matplotlib Text
        A list a panel, column by column from above.
    links_ : list of list of matplotlib Line2D
        A list a panel: the lines between shared neighbours.

    See Also
    --------
    SimilarityDisplay : Chosen words, each with each.

    Notes
    -----
    Neighbours are found among the words of a vocabulary that is given, such as the
    most frequent ones: rare words are near to anything, and tell little. Cosines of
    different embeddings are on different scales; compare ranks. A contextual source
    sees each word alone.

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
    """

    def __init__(self, neighbors, cosines, *, words, embeddings):
        self.neighbors = neighbors
        self.cosines = cosines
        self.words = words
        self.embeddings = embeddings

    @classmethod
    def from_estimator(cls, estimator, words, *, vocabulary, n_neighbors=8, **options):
        """Show neighbours under the sources of a fitted estimator, and what follows.

        Steps behind the last one that gives blocks, such as `Pooling` and a classifier,
        play no part. The whole vocabulary is embedded, word by word.

        Parameters
        ----------
        estimator : fitted estimator
            A source, a union, a meta-embedder; or a Pipeline with such steps, a search
            (its ``best_estimator_`` is taken), or a ColumnTransformer or FeatureUnion
            with one such branch. Shown are all blocks of the first step that gives
            several, such as a union, and those of the last step that gives any, such
            as a meta-embedder.
        words : str or sequence of str
            Up to 24.
        vocabulary : sequence of str or TokenSequences
            The words to choose from.
        n_neighbors : int, default=8
            For each word.
        **options
            Passed on to `plot`.

        Returns
        -------
        NeighborsDisplay
            Plotted.

        Raises
        ------
        TypeError
            If no step gives EmbeddedSequences, or words are no str.
        ValueError
            If there are no words, or too many, or several such branches.
        """
        caller = cls.__name__
        words, vocabulary, rows = asked_words(words, vocabulary, caller)
        found = embeddings_within(estimator, vocabulary, caller)
        return cls._from_found(found, words, vocabulary, rows, n_neighbors, options)

    @classmethod
    def from_embeddings(
        cls, embeddings, words, *, vocabulary, n_neighbors=8, **options
    ):
        """Show neighbours under embeddings of any kind.

        They need have nothing in common but words, and a word that one of them does not
        know stays without neighbours there.

        Parameters
        ----------
        embeddings : mapping of str to embedding
            By the names that stand above the columns. Each a fitted estimator with one
            block, a `WordVectors`, gensim's KeyedVectors or a mapping from words to
            vectors.
        words : str or sequence of str
            Up to 24.
        vocabulary : sequence of str or TokenSequences
            The words to choose from; those that an embedding does not know are left
            out there.
        n_neighbors : int, default=8
            For each word.
        **options
            Passed on to `plot`.

        Returns
        -------
        NeighborsDisplay
            Plotted.

        Raises
        ------
        TypeError
            If `embeddings` is no mapping, an embedding is none, or words are no str.
        ValueError
            If there are no words, or too many.
        """
        caller = cls.__name__
        if not isinstance(embeddings, Mapping) or not embeddings:
            raise TypeError(
                f"{caller}.from_embeddings takes a dict of embeddings by name, got "
                f"{embeddings!r:.60}."
            )
        words, vocabulary, rows = asked_words(words, vocabulary, caller)
        found = embeddings_named(embeddings, vocabulary, caller)
        return cls._from_found(found, words, vocabulary, rows, n_neighbors, options)

    @classmethod
    def _from_found(cls, found, words, vocabulary, rows, n_neighbors, options):
        if not n_neighbors >= 1:
            raise ValueError(
                f"{cls.__name__}: n_neighbors must be 1 or more, got {n_neighbors}."
            )
        if len(words) > _MOST_WORDS:
            raise ValueError(
                f"{cls.__name__} shows up to {_MOST_WORDS} words, got {len(words)}. "
                "Choose some."
            )
        near = [
            nearest(values, known, rows, vocabulary, n_neighbors)
            for values, known in found.values()
        ]
        display = cls(
            np.stack([each.neighbors for each in near], axis=1),
            np.stack([each.cosines for each in near], axis=1),
            words=words,
            embeddings=list(found),
        )
        return display.plot(**options)

    def plot(self, ax=None, *, n_cols=None, text_kw=None, line_kw=None):
        """Write a panel a word.

        Neighbours under several embeddings are bold and joined, those under one stand
        by themselves. Words become smaller until columns do not touch.

        Parameters
        ----------
        ax : matplotlib Axes or array-like of them, default=None
            Where to draw: an axes a word, or a single one, in whose place stands a
            grid of panels. None makes a figure.
        n_cols : int, default=None
            Panels in a row, at most. None takes as many as a figure of 11 inches holds.
        text_kw : dict, default=None
            Passed on to ``Axes.text`` for the neighbours.
        line_kw : dict, default=None
            Passed on to ``Axes.plot`` for the lines that join shared ones.

        Returns
        -------
        NeighborsDisplay
            With `ax_`, `axes_`, `figure_`, `text_` and `links_` set.
        """
        n_words, n_embeddings, n_neighbors = np.shape(self.neighbors)
        size = 0.6 + _COLUMN * n_embeddings, 0.9 + _ROW * n_neighbors
        n_cols = max(1, int(_WIDEST / size[0])) if n_cols is None else n_cols
        caller = type(self).__name__
        self.axes_ = panel_axes(ax, n_words, n_cols, size, caller)
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self.text_, self.links_ = [], []
        for number, panel in enumerate(self.axes_):
            self._frame_panel(panel, number, n_neighbors)
        self.figure_.canvas.figure.draw_without_rendering()
        for number, panel in enumerate(self.axes_):
            self.text_.append(self._write(panel, number, text_kw or {}))
        for number, panel in enumerate(self.axes_):
            self.links_.append(self._link(panel, number, line_kw or {}))
        return self

    def _frame_panel(self, ax, number, n_neighbors):
        ax.set(xlim=(-0.5, len(self.embeddings) - 0.5), ylim=(n_neighbors + 0.5, 0.5))
        ax.set_title(f"near “{self.words[number]}”", parse_math=False)
        ax.xaxis.tick_top()
        names = [_cut(name) for name in self.embeddings]
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
                note = {"style": "italic", "ha": "center", "va": "center"}
                texts.append(ax.text(column, 1, "not known", fontsize="small", **note))
            for rank, (word, cosine) in enumerate(zip(near, cosines, strict=True), 1):
                if word is None:
                    continue
                style = {"ha": "center", "va": "center", "fontsize": "small"}
                style |= {"parse_math": False, "zorder": 3}
                if shared[word] > 1:
                    style["weight"] = "bold"
                told = f"{_cut(word)}  {cosine:.2f}".replace(" 0.", " .")
                texts.append(ax.text(column, rank, told, **style | text_kw))
        _make_fit(ax, texts)
        return texts

    def _link(self, ax, number, line_kw):
        """Join shared neighbours in columns that stand beside each other."""
        to_data = ax.transData.inverted()
        ends = {}
        for text in self.text_[number]:
            x, y = text.get_position()
            box = text.get_window_extent().padded(3)
            left, right = to_data.transform([(box.x0, box.y0), (box.x1, box.y1)])[:, 0]
            ends[round(x), round(y)] = left, right
        lines = []
        style = {"color": "black", "linewidth": 0.8, "zorder": 2} | line_kw
        near = self.neighbors[number]
        for column in range(len(near) - 1):
            for rank, word in enumerate(near[column], 1):
                there = np.flatnonzero(near[column + 1] == word)
                if word is None or not len(there):
                    continue
                other = int(there[0]) + 1
                x = ends[column, rank][1], ends[column + 1, other][0]
                lines += ax.plot(x, (rank, other), **style)
        return lines

    def _counts(self, number):
        """Count under how many embeddings each word is a neighbour."""
        return Counter(
            word for near in self.neighbors[number] for word in near if word is not None
        )

    def frame(self):
        """Return the neighbours as a table.

        To count how far embeddings agree, over more words than a picture holds;
        matplotlib is not needed.

        Returns
        -------
        pandas.DataFrame
            One row a neighbour: ``word``, ``embedding``, ``rank`` from 1,
            ``neighbor``, ``cosine``, and ``n_embeddings``, the number of embeddings
            under which it is among the neighbours.
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


def _cut(word):
    return word if len(word) <= _LONGEST else word[: _LONGEST - 1] + "…"


def _make_fit(ax, texts):
    """Make texts smaller until each leaves room between two columns."""
    if not texts:
        return
    (left, low), (right, high) = ax.transData.transform([(0, 1), (1, 2)])
    boxes = [text.get_window_extent() for text in texts]
    scale = 0.86 * (right - left) / max(box.width for box in boxes)
    scale = min(scale, 0.95 * abs(high - low) / max(box.height for box in boxes), 1.0)
    for text in texts:
        text.set_fontsize(scale * text.get_fontsize())
