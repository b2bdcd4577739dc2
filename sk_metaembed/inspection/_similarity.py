"""SimilarityDisplay: how alike tokens are, as a heat map."""

from ._heat_map import draw_heat_map, heat_map_size, write_values
from ._pairwise import PairsDisplay, check_vectors, cosine_matrix
from ._style import make_axes

# Lightness rises all along this map, so that it reads without colour; who does not
# tell red from green sees the same map.
_IMAGE = {"cmap": "cividis", "vmin": -1, "vmax": 1}


class SimilarityDisplay(PairsDisplay):
    """Cosine similarity of each token with each other, as a heat map.

    Shows what an embedding holds to be alike: words under a static source, or the same
    words in different contexts under a contextual one. Make one with `from_embedded`,
    `from_estimator`, `from_words` or `from_vectors`; the constructor takes what these
    compute.

    Parameters
    ----------
    similarities : ndarray of shape (n, n)
        Similarities within [-1, 1].
    labels : list of str, length n
        What rows and columns are called.
    title : str, default=None
        Stands above the heat map.

    Attributes
    ----------
    ax_ : matplotlib Axes
        What `plot` drew on.
    figure_ : matplotlib Figure
    im_ : matplotlib AxesImage
    text_ : ndarray of matplotlib Text, shape (n, n), or None
        The values in the cells, None where there was no room for them.

    See Also
    --------
    DistanceDisplay : Distances, as a graph or as a heat map.

    Notes
    -----
    The scale is symmetric and always the same, -1 to 1, whatever the values are: heat
    maps of different blocks, contexts and models can be compared at sight. For several
    side by side pass each an `ax` and ``colorbar=False``, and draw one bar for all with
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
    """

    def __init__(self, similarities, *, labels, title=None):
        self.similarities = similarities
        self.labels = labels
        self.title = title

    @property
    def matrix(self):
        """The similarities, by the name that all displays of pairs share.

        `frame` and the heat map show it, whatever kind of numbers a display compares.
        """
        return self.similarities

    @classmethod
    def from_vectors(cls, vectors, labels=None, *, title=None, ax=None, **plot_kw):
        """Compare the rows of an array.

        For vectors from anywhere, such as rows of a model's own weights. Their lengths
        play no part, only directions do.

        Parameters
        ----------
        vectors : array-like of shape (n, dim)
            Finite, none of them zero, 1000 at most.
        labels : sequence of str, length n, default=None
            What to call them. None numbers them.
        title : str, default=None
            Stands above the heat map.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a figure.
        **plot_kw
            Passed on to `plot`.

        Returns
        -------
        SimilarityDisplay
            Plotted.

        Raises
        ------
        ValueError
            If a vector is zero or not finite, or shapes do not fit.
        """
        vectors, labels = check_vectors(
            vectors, labels, cls.__name__, need_direction=True
        )
        return cls(cosine_matrix(vectors), labels=labels, title=title).plot(
            ax, **plot_kw
        )

    def plot(
        self,
        ax=None,
        *,
        include_values=None,
        values_format=None,
        colorbar=True,
        im_kw=None,
        text_kw=None,
    ):
        """Draw the heat map.

        Values are written as large as their cells allow, and left out where they could
        not be read. What is drawn can be changed afterwards by the attributes that this
        sets.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None makes a figure.
        include_values : bool, default=None
            Whether to write the values into the cells. None writes them where there is
            room.
        values_format : str, default=None
            How to write them, such as ``".1f"``. None takes two decimals.
        colorbar : bool, default=True
            Whether to draw the scale beside the heat map.
        im_kw : dict, default=None
            Passed on to ``Axes.imshow``: ``cmap``, ``vmin`` and ``vmax`` among others.
        text_kw : dict, default=None
            Passed on to ``Axes.text`` for the values.

        Returns
        -------
        SimilarityDisplay
            With `ax_`, `figure_`, `im_` and `text_` set.
        """
        ax = make_axes(ax, heat_map_size(self.labels), type(self).__name__)
        if self.title is not None:
            ax.set_title(self.title, parse_math=False)
        self.im_ = draw_heat_map(
            ax,
            self.similarities,
            self.labels,
            colorbar="cosine similarity" if colorbar else None,
            im_kw=_IMAGE | (im_kw or {}),
        )
        self.text_ = write_values(
            ax,
            self.im_,
            self.similarities,
            asked=include_values,
            values_format=values_format,
            text_kw=text_kw or {},
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self
