"""DistanceDisplay: distances between tokens, as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from ._pairwise import PairwiseDisplay, check_vectors, distance_matrix

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike


class DistanceDisplay(PairwiseDisplay):
    """Pairwise distances between tokens, as a heat map.

    Create a display with `from_embedded`, `from_estimator`, `from_words` or
    `from_vectors`; the constructor takes precomputed distances.

    Parameters
    ----------
    values : ndarray of shape (n, n)
        Symmetric, zeros on the diagonal.
    labels : list of str, length n
        Labels of rows and columns.
    metric : str, default="cosine"
        Name of the distance.
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
    SimilarityDisplay : Cosine similarities.
    SenseProjectionDisplay : Occurrences of a word on a plane.

    Examples
    --------
    >>> from sk_metaembed.inspection import DistanceDisplay
    >>> vectors = {"king": [3.0, 4.0], "queen": [4.0, 3.0], "apple": [0.0, -1.0]}
    >>> display = DistanceDisplay.from_words(vectors, ["king", "queen", "apple"])
    >>> display.frame().round(2)
           king  queen  apple
    king   0.00   0.04    1.8
    queen  0.04   0.00    1.6
    apple  1.80   1.60    0.0

    Rows of any array, under another metric:

    >>> points, labels = [[0, 0], [3, 0], [0, 4]], ["a", "b", "c"]
    >>> display = DistanceDisplay.from_vectors(points, labels, metric="euclidean")
    >>> display.values[0].tolist()
    [0.0, 3.0, 4.0]
    """

    _kind = "distance"
    # Near tokens are light, as similar ones are in the heat map of similarities.
    _image: ClassVar = {"cmap": "cividis_r", "vmin": 0}

    @classmethod
    def from_vectors(
        cls,
        vectors: ArrayLike,
        labels: Sequence[object] | None = None,
        *,
        metric: str | Callable[..., float] = "cosine",
        title: str | None = None,
        ax: Any = None,
        **plot_kw: Any,
    ) -> Self:
        """Compare the rows of an array.

        Parameters
        ----------
        vectors : array-like of shape (n, dim)
            Finite, at most 1000; nonzero if the metric is cosine.
        labels : sequence of str, length n, default=None
            Labels of the rows. None numbers them.
        metric : str or callable, default="cosine"
            As for scipy's ``pdist``; cosine is 1 minus the cosine similarity.
        title : str, default=None
            Title of the heat map.
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a figure.
        **plot_kw
            Passed to `plot`.

        Returns
        -------
        DistanceDisplay
            Plotted.

        Raises
        ------
        ValueError
            If a vector is not finite, or zero with the cosine metric, or if a distance
            is negative or not finite.
        """
        values, names = check_vectors(
            vectors, labels, need_direction=metric == "cosine"
        )
        distances = distance_matrix(values, metric)
        name = metric if isinstance(metric, str) else metric.__name__
        display = cls(distances, labels=names, metric=name, title=title)
        return display.plot(ax, **plot_kw)
