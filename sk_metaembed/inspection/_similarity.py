"""SimilarityDisplay: cosine similarities between tokens, as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.metrics.pairwise import cosine_similarity

from ._pairwise import PairwiseDisplay, check_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


class SimilarityDisplay(PairwiseDisplay):
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
    metric : str, default="cosine"
        Name of the similarity.
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
    DistanceDisplay : Distances under any metric.

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

    _kind = "similarity"
    # The lightness of this map is monotonic, so that it is readable in gray, and it
    # looks the same with red-green color blindness.
    _image: ClassVar = {"cmap": "cividis", "vmin": -1, "vmax": 1}

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
        cosines = cosine_similarity(values).clip(-1, 1)
        display = cls(cosines, labels=names, title=title)
        return display.plot(ax, **plot_kw)
