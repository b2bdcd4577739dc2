"""SimilarityDisplay: cosine similarities between tokens, as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from ._heat_map import draw_heat_map, heat_map_size, write_values
from ._pairwise import PairwiseDisplay, check_vectors, cosine_matrix

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

# The lightness of this map is monotonic, so that it is readable in gray, and it looks
# the same with red-green color blindness.
_IMAGE = {"cmap": "cividis", "vmin": -1, "vmax": 1}


class SimilarityDisplay(PairwiseDisplay):
    """Pairwise cosine similarities between tokens, as a heat map.

    Shows which words an embedding considers similar: words under a static source, or
    the same words in different contexts under a contextual one. Create a display with
    `from_embedded`, `from_estimator`, `from_words` or `from_vectors`; the constructor
    takes precomputed similarities.

    Parameters
    ----------
    similarities : ndarray of shape (n, n)
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
        The values in the cells, None if they do not fit.

    See Also
    --------
    DistanceDisplay : Distances, as a graph or a heat map.

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

    def __init__(
        self,
        similarities: NDArray[np.float64],
        *,
        labels: Sequence[str],
        title: str | None = None,
    ) -> None:
        self.similarities = similarities
        self.labels = labels
        self.title = title

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The similarities, under the name that all displays of pairs share."""
        return self.similarities

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
        values, names = check_vectors(vectors, labels, need_direction=True)
        display = cls(cosine_matrix(values), labels=names, title=title)
        return display.plot(ax, **plot_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        include_values: bool | None = None,
        values_format: str | None = None,
        colorbar: bool = True,
        im_kw: Mapping[str, Any] | None = None,
        text_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the heat map.

        The artists are stored as attributes and can be changed afterwards.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a figure.
        include_values : bool, default=None
            Whether to write the values into the cells. None writes them if they fit at
            a readable size.
        values_format : str, default=None
            Format of the values, such as ``".1f"``. None writes two decimals.
        colorbar : bool, default=True
            Whether to draw a color bar.
        im_kw : dict, default=None
            Passed to ``Axes.imshow``: ``cmap``, ``vmin`` and ``vmax`` among others.
        text_kw : dict, default=None
            Passed to ``Axes.text`` for the values.

        Returns
        -------
        SimilarityDisplay
            With `ax_`, `figure_`, `im_` and `text_` set.
        """
        ax = self._make_axes(ax, heat_map_size(self.labels))
        if self.title is not None:
            ax.set_title(self.title, parse_math=False)
        self.im_ = draw_heat_map(
            ax,
            self.similarities,
            self.labels,
            colorbar="cosine similarity" if colorbar else None,
            im_kw=_IMAGE | dict(im_kw or {}),
        )
        self.text_ = write_values(
            ax,
            self.im_,
            self.similarities,
            include_values=include_values,
            values_format=values_format,
            text_kw=dict(text_kw or {}),
        )
        return self
