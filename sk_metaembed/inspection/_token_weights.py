"""TokenWeightsDisplay: which source each word of a text leans on."""

from pathlib import Path

import numpy as np

from ..sequences import TokenSequences
from ._attention import (
    dominant_source,
    find_attention_step,
    is_of_pairs,
    weight_columns,
)
from ._style import make_axes, point_style, without_math
from ._token_rendering import Texts, draw_texts, page, shown_words, words_html

_MOST = 1000  # words; more cannot be read, and take long to draw


class TokenWeightsDisplay:
    """The words of some texts, shaded by the source that each leans on.

    Shows what the attention of `DynamicMetaEmbedding`, `DynamicMetaClassifier` and
    their siblings does to single words: the shade and the symbol tell the source with
    the most weight, the depth of the shade and the number how much it has. Make one
    with `from_estimator`; the constructor takes what it has computed. Draw it with
    matplotlib, or show it in a notebook or a page as HTML.

    Parameters
    ----------
    tokens : TokenSequences
        The texts.
    weights : ndarray of shape (n_tokens, n_sources)
        Of 0 or more; zeros for words that no source knows.
    sources : list of str, length n_sources
        Names of the sources.
    labels : list of str, length n_sequences, default=None
        Stand above the texts, such as their classes. None numbers several texts.

    Attributes
    ----------
    ax_ : matplotlib Axes
        What `plot` drew on.
    figure_ : matplotlib Figure
    words_ : list of matplotlib Text, length n_tokens
    notes_ : list of matplotlib Text, length n_tokens
        What stands below the words: the weight, "even", or "?" where no source knows
        the word.
    boxes_ : list of matplotlib Rectangle, length n_tokens
    legend_ : matplotlib Legend

    See Also
    --------
    SourceWeightsDisplay : Mean weights over many texts, by groups.

    Notes
    -----
    A word leans on the source with the largest share of its weights, by
    ``(share - 1 / n) / (1 - 1 / n)`` with n sources: 0 for an even share, 1 for all.
    Where several have the most, as under ``attention="uniform"``, it leans on none.

    The HTML is one piece: no script, nothing from the network, all text escaped. It
    tells sources by symbol, colour and words, and has a table of all weights; its
    boxes bring their own colours, so that it reads on dark and on light pages.

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
       sequence  position token leans_on  word2vec  glove
    0         0         0   the     None       0.5    0.5
    1         0         1  goal    glove       0.2    0.8
    >>> display.to_html().count("<p")
    1
    """

    def __init__(self, tokens, weights, *, sources, labels=None):
        self.tokens = tokens
        self.weights = weights
        self.sources = sources
        self.labels = labels

    @classmethod
    def from_estimator(
        cls, estimator, X, *, labels=None, plot=True, ax=None, **plot_kw
    ):
        """Compute an estimator's attention weights for some texts, and draw them.

        For a look at a few texts, such as those that a classifier gets wrong; means
        over many are those of `SourceWeightsDisplay`.

        Parameters
        ----------
        estimator : fitted estimator
            With `attention_weights`, or a Pipeline with such a step, a search or a
            ColumnTransformer, as `sk_metaembed.inspection.attention_weights` takes it.
        X : what the estimator takes
            The texts, 1000 words at most. Of pairs, each side is a text.
        labels : sequence of length n_sequences, default=None
            Stand above the texts, such as their classes. None numbers several texts.
        plot : bool, default=True
            Whether to draw with matplotlib; the HTML does not need it.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a figure.
        **plot_kw
            Passed on to `plot`.

        Returns
        -------
        TokenWeightsDisplay
            Plotted, if `plot` says so.

        Raises
        ------
        TypeError
            If there is nothing with `attention_weights`.
        ValueError
            If several branches have it, there are no words or too many, the weights are
            those of whole texts, or `labels` has another length than X.
        """
        caller = cls.__name__
        estimator, X = find_attention_step(estimator, X, caller)
        n_texts = len(X)
        if labels is not None and len(labels) != n_texts:
            raise ValueError(
                f"{caller}: there are {len(labels)} labels for {n_texts} texts. Give "
                "each text one."
            )
        labels = None if labels is None else [str(label) for label in labels]
        frame = estimator.attention_weights(X)
        if is_of_pairs(frame):
            frame, n_texts, labels = _side_by_side(frame, n_texts, labels)
        tokens = _tokens_of(frame, n_texts, caller)
        sources, weights = weight_columns(frame)
        display = cls(tokens, weights, sources=sources, labels=labels)
        return display.plot(ax, **plot_kw) if plot else display

    def plot(self, ax=None, *, legend=True, text_kw=None):
        """Write the texts.

        Below each word stands the weight of the source that it leans on, so that it
        reads without colour as well. In a notebook the HTML needs no matplotlib, and
        its text can be copied.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw: words become smaller until they fit, and what finds no room
            at half the size is left out and counted. None makes a figure that is as
            high as the texts need.
        legend : bool, default=True
            Whether to say above the texts which symbol is which source.
        text_kw : dict, default=None
            Passed on to ``Axes.text`` for the words.

        Returns
        -------
        TokenWeightsDisplay
            With `ax_`, `figure_`, `words_`, `notes_`, `boxes_` and `legend_` set.
        """
        grows = ax is None
        ax = make_axes(ax, (7.2, 2.0), type(self).__name__)
        texts = self._texts()
        self.legend_ = self._write_legend(ax, texts) if legend else None
        self.words_, self.notes_, self.boxes_ = draw_texts(
            ax, texts, grows=grows, text_kw=text_kw or {}
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _texts(self):
        n_texts = len(self.tokens)
        labels = self.labels
        if labels is None:
            numbers = [f"text {i}" for i in range(n_texts)]
            labels = numbers if n_texts > 1 else [None] * n_texts
        weights = np.asarray(self.weights, dtype=np.float64)
        offsets, words = self.tokens.offsets, shown_words(self.tokens)
        return Texts(words, offsets, labels, *dominant_source(weights), weights)

    def _write_legend(self, ax, texts):
        from matplotlib.lines import Line2D

        handles = []
        for number in range(len(self.sources)):
            style = point_style(number)
            style = {"markerfacecolor": style["color"], "marker": style["marker"]}
            line = {"linestyle": "", "markeredgecolor": "black", "markersize": 7}
            handles.append(Line2D([], [], **style, **line))
        names = list(self.sources)
        if not texts.weights.any(axis=1).all():
            handles.append(Line2D([], [], linestyle="", marker="$?$", color="black"))
            names.append("no source knows it")
        return _legend_above(ax, handles, names)

    def frame(self):
        """Return the weights as a table.

        To look for words that lean on one source, over more than a picture shows at a
        glance; matplotlib is not needed.

        Returns
        -------
        pandas.DataFrame
            One row a token: ``sequence``, ``position``, ``token``, ``leans_on`` (None
            where it leans on none), and a column a source.
        """
        import pandas as pd

        tokens, rows = self.tokens, self.tokens.segment_ids()
        weights = np.asarray(self.weights)
        names = np.array([*self.sources, None], dtype=object)
        columns = {
            "sequence": rows,
            "position": np.arange(tokens.n_tokens) - tokens.offsets[:-1][rows],
            "token": tokens.types[tokens.codes],
            "leans_on": pd.Series(names[dominant_source(weights)[0]], dtype=object),
        }
        return pd.DataFrame(
            {**columns, **dict(zip(self.sources, weights.T, strict=True))}
        )

    def to_html(self, path=None):
        """Return the texts as a page of HTML, or write it.

        The page is one file, without scripts and with all weights in a table; it can be
        sent and needs no network. Text is escaped.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write, in UTF-8.

        Returns
        -------
        str or None
            The page, None if it was written.
        """
        html = page(self._repr_html_(), "Which source each word leans on")
        if path is None:
            return html
        Path(path).write_text(html, encoding="utf-8")
        return None

    def _repr_html_(self):
        return words_html(self._texts(), list(self.sources))


def _legend_above(ax, handles, names):
    """Write a legend above axes, in as many lines as it needs to be no wider."""
    style = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "borderaxespad": 0.3}
    style |= {"frameon": False, "columnspacing": 1.2, "handletextpad": 0.3}
    for n_cols in range(len(names), 0, -1):
        legend = without_math(ax.legend(handles, names, ncols=n_cols, **style))
        # Measured outside the layout, which would make the axes as narrow as it can.
        legend.set_in_layout(False)
        ax.figure.canvas.figure.draw_without_rendering()
        if legend.get_window_extent().width <= ax.bbox.width:
            break
    legend.set_in_layout(True)
    return legend


def _side_by_side(frame, n_pairs, labels):
    """Return a table of pairs as one of twice as many texts, and their labels."""
    rows = 2 * frame["sequence"].to_numpy() + (frame["side"] == "second").to_numpy()
    labels = [f"pair {i}" for i in range(n_pairs)] if labels is None else labels
    labels = [f"{label}, {side}" for label in labels for side in ("first", "second")]
    return frame.assign(sequence=rows), 2 * n_pairs, labels


def _tokens_of(frame, n_texts, caller):
    """Return the words of a table of weights, or say that they are too many."""
    if "token" not in frame:
        raise ValueError(
            f"{caller}: the weights are those of whole texts, not of words. Show them "
            "with SourceWeightsDisplay."
        )
    if not 1 <= len(frame) <= _MOST:
        raise ValueError(
            f"{caller} shows between 1 and {_MOST} words, got {len(frame)}. Choose "
            "some texts: X[:3]."
        )
    types, codes = np.unique(frame["token"].to_numpy(dtype=object), return_inverse=True)
    lengths = np.bincount(frame["sequence"].to_numpy(), minlength=n_texts)
    return TokenSequences(types, codes, np.concatenate([[0], np.cumsum(lengths)]))
