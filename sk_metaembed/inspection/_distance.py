"""DistanceDisplay: distances between tokens, as a graph or a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import clone

from ._display import set_limits
from ._heat_map import draw_heat_map, format_value, heat_map_size, write_values
from ._mds import mds_plane, pairwise_distances, project, stress
from ._pairwise import PairwiseDisplay, check_vectors
from ._style import bar_style

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray


# Near pairs are black and thick, distant ones gray and thin: no color is needed.
_DARK, _LIGHT = 0.0, 0.78
_THICK, _THIN = 3.0, 0.7
_MAX_NUMBERS = 15  # on lines; more would hide each other


def nearest_pairs(distances, n_neighbors):
    """Return each point with its nearest ones, (n, n) -> (n_pairs, 2), nearest first.

    None joins all pairs of up to six points, and each of more with its two nearest.
    """
    n = len(distances)
    if n_neighbors is None:
        n_neighbors = n - 1 if n <= 6 else 2
    others = distances.astype(np.float64)
    np.fill_diagonal(others, np.inf)
    nearest = np.argsort(others, axis=1, kind="stable")[:, : min(n_neighbors, n - 1)]
    pairs = {tuple(sorted((i, int(j)))) for i in range(n) for j in nearest[i]}
    pairs = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return pairs[np.argsort(distances[tuple(pairs.T)], kind="stable")]


def draw_lines(ax, positions, pairs, distances, line_kw):
    """Join pairs (n_pairs, 2) of points by lines, darker and thicker if near."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap

    # The shades cover the range of all distances, not only of those drawn.
    others = distances[~np.eye(len(distances), dtype=bool)]
    low, high = (others.min(), others.max()) if len(others) else (0.0, 1.0)
    high = max(high, low + 1e-12)
    lengths = distances[tuple(pairs.T)]
    grays = LinearSegmentedColormap.from_list("near_far", [str(_DARK), str(_LIGHT)])
    style = {
        "array": lengths,
        "cmap": grays,
        "linewidths": np.interp(lengths, [low, high], [_THICK, _THIN]),
        "zorder": 1,
    }
    lines = LineCollection(positions[pairs], **style | line_kw)
    if "clim" not in line_kw:
        lines.set_clim(low, high)
    ax.add_collection(lines)
    return lines


class DistanceDisplay(PairwiseDisplay):
    """Pairwise distances between tokens, as a graph or a heat map.

    The graph places tokens on a plane so that their distances in the picture
    approximate those under the embedding, and joins near tokens by lines labeled with
    the true distance. Create a display with `from_embedded`, `from_estimator`,
    `from_words` or `from_vectors`; the constructor takes precomputed distances.

    Parameters
    ----------
    distances : ndarray of shape (n, n)
        Symmetric, zeros on the diagonal.
    labels : list of str, length n
        Labels of the tokens.
    metric : str, default="cosine"
        Name of the distance.
    positions : ndarray of shape (n, 2), default=None
        Positions of the tokens in the graph. None computes them by multidimensional
        scaling.
    title : str, default=None
        Title of the picture.

    Attributes
    ----------
    positions : ndarray of shape (n, 2)
        Positions of the tokens in the graph.
    stress : float
        Share of the distances that the plane of the graph does not preserve; 0 if all
        are preserved.
    ax_ : matplotlib Axes
        Axes with the picture.
    figure_ : matplotlib Figure
    lines_ : matplotlib LineCollection
        The graph's lines.
    points_ : matplotlib PathCollection
        The graph's dots.
    labels_ : list of matplotlib Annotation, length n
        The graph's labels.
    im_ : matplotlib AxesImage
        The heat map.
    text_ : list or ndarray of matplotlib Text, or None
        The numbers on lines or in cells.

    See Also
    --------
    SimilarityDisplay : Similarities as a heat map.

    Notes
    -----
    The plane is computed by metric multidimensional scaling, initialized with the
    classical solution, so that the picture is deterministic. Axes and directions have
    no meaning. The stress of the picture is ``sqrt(sum (d - s p)**2 / sum d**2)`` over
    the pairs, where d are the distances, p those in the picture and s the scale that
    fits best. Below 0.1, the positions are accurate; above 0.3, rely on the numbers
    instead.

    Each label is above its point, so labels of near points can overlap: draw on larger
    axes, or show the heat map.

    References
    ----------
    J. B. Kruskal: Multidimensional scaling by optimizing goodness of fit to a nonmetric
    hypothesis. Psychometrika 29, 1964.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed.inspection import DistanceDisplay
    >>> vectors = {"king": [3.0, 4.0], "queen": [4.0, 3.0], "apple": [0.0, -1.0]}
    >>> display = DistanceDisplay.from_words(vectors, ["king", "queen", "apple"])
    >>> display.frame().round(2)
           king  queen  apple
    king   0.00   0.04    1.8
    queen  0.04   0.00    1.6
    apple  1.80   1.60    0.0
    >>> display = display.plot(kind="matrix")

    Rows of any array, under another metric:

    >>> points, labels = [[0, 0], [3, 0], [0, 4]], ["a", "b", "c"]
    >>> display = DistanceDisplay.from_vectors(points, labels, metric="euclidean")
    >>> [text.get_text() for text in display.text_]
    ['3.00', '4.00', '5.00']
    """

    def __init__(
        self,
        distances: NDArray[np.float64],
        *,
        labels: Sequence[str],
        metric: str = "cosine",
        positions: NDArray[np.float64] | None = None,
        title: str | None = None,
    ) -> None:
        self.distances = distances
        self.labels = labels
        self.metric = metric
        self.positions = positions
        self.title = title

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The distances, under the name that all displays of pairs share."""
        return self.distances

    @property
    def stress(self) -> float:
        """Kruskal's stress: share of the distances that the plane does not preserve.

        The graph shows it below the axes. If it is large, use the heat map.
        """
        return stress(self.distances, self._get_positions())

    @classmethod
    def from_vectors(
        cls,
        vectors: ArrayLike,
        labels: Sequence[object] | None = None,
        *,
        metric: str | Callable[..., float] = "cosine",
        projector: Any = None,
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
        projector : estimator with `fit_transform`, default=None
            Computes the positions in the graph, such as scikit-learn's PCA or TSNE with
            two components. A projector with ``metric="precomputed"`` gets the
            distances. None uses multidimensional scaling.
        title : str, default=None
            Title of the picture.
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
            If a vector is not finite, or zero with the cosine metric, if a distance is
            negative or not finite, or if the projector does not return a plane.
        """
        values, names = check_vectors(
            vectors, labels, need_direction=metric == "cosine"
        )
        distances = pairwise_distances(values, metric)
        positions = None
        if projector is not None:
            positions = project(clone(projector), values, distances)
        display = cls(
            distances,
            labels=names,
            metric=metric if isinstance(metric, str) else metric.__name__,
            positions=positions,
            title=title,
        )
        return display.plot(ax, **plot_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        kind: Literal["graph", "matrix"] = "graph",
        n_neighbors: int | None = None,
        include_values: bool | None = None,
        values_format: str | None = None,
        colorbar: bool = True,
        im_kw: Mapping[str, Any] | None = None,
        line_kw: Mapping[str, Any] | None = None,
        scatter_kw: Mapping[str, Any] | None = None,
        text_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the graph or the heat map.

        The graph suits up to a few dozen tokens, the heat map more. The artists are
        stored as attributes and can be changed afterwards.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a figure.
        kind : {"graph", "matrix"}, default="graph"
            The graph, or the heat map of all distances.
        n_neighbors : int, default=None
            Number of nearest tokens that each token of the graph is joined with. None
            joins all pairs of up to six tokens, and otherwise each token with its two
            nearest.
        include_values : bool, default=None
            Whether to write distances. None writes them into cells if they fit at a
            readable size, and onto up to 15 lines of a graph.
        values_format : str, default=None
            Format of the numbers, such as ``".1f"``. None writes two decimals.
        colorbar : bool, default=True
            Whether to draw a color bar.
        im_kw : dict, default=None
            Passed to ``Axes.imshow`` for the heat map.
        line_kw : dict, default=None
            Passed to matplotlib's LineCollection for the graph's lines.
        scatter_kw : dict, default=None
            Passed to ``Axes.scatter`` for the graph's dots.
        text_kw : dict, default=None
            Passed to ``Axes.text`` for the numbers.

        Returns
        -------
        DistanceDisplay
            With `ax_`, `figure_`, `text_`, and `lines_`, `points_`, `labels_` or `im_`
            set.
        """
        n = len(self.labels)
        sizes = {"graph": _graph_size(n), "matrix": heat_map_size(self.labels)}
        if kind not in sizes:
            raise ValueError(f"kind must be 'graph' or 'matrix'; got {kind!r}.")
        if not (n_neighbors is None or n_neighbors >= 0):
            raise ValueError(f"n_neighbors must be 0 or more; got {n_neighbors}.")
        ax = self._make_axes(ax, sizes[kind])
        if self.title is not None:
            ax.set_title(self.title, parse_math=False)
        scale = f"{self.metric} distance" if colorbar else None
        options: dict[str, Any] = {"include_values": include_values}
        options |= {"values_format": values_format, "text_kw": dict(text_kw or {})}
        if kind == "matrix":
            self._draw_matrix(ax, scale, options, dict(im_kw or {}))
        else:
            pairs = nearest_pairs(self.distances, n_neighbors)
            style = dict(line_kw or {}), dict(scatter_kw or {})
            self._draw_graph(ax, scale, pairs, *style)
            self._write_graph(ax, pairs, **options)
        return self

    def _draw_matrix(self, ax, scale, options, im_kw):
        # Near tokens are light, as similar ones are in the heat map of similarities.
        style = {"cmap": "cividis_r", "vmin": 0} | im_kw
        values, labels = self.distances, self.labels
        self.im_ = draw_heat_map(ax, values, labels, colorbar=scale, im_kw=style)
        self.text_ = write_values(ax, self.im_, values, **options)

    def _draw_graph(self, ax, scale, pairs, line_kw, scatter_kw):
        positions = self._get_positions()
        self.lines_ = draw_lines(ax, positions, pairs, self.distances, line_kw)
        style = {"s": 36, "zorder": 2, "linewidth": 0.6, "edgecolor": "black"}
        style |= {"color": bar_style(0)["color"]} | scatter_kw
        self.points_ = ax.scatter(*positions.T, **style)
        ax.set(xticks=[], yticks=[], xlabel=f"two dimensions, stress {self.stress:.2f}")
        if scale is not None and len(pairs):
            ax.figure.colorbar(self.lines_, ax=ax, label=scale)
        ax.figure.canvas.figure.draw_without_rendering()
        set_limits(ax, positions)

    def _write_graph(self, ax, pairs, include_values, values_format, text_kw):
        positions = self._get_positions()
        style = {"textcoords": "offset points", "ha": "center", "va": "bottom"}
        style |= {"zorder": 4, "parse_math": False}
        self.labels_ = [
            ax.annotate(label, position, (0, 5), **style)
            for label, position in zip(self.labels, positions, strict=True)
        ]
        if include_values is None:
            include_values = len(pairs) <= _MAX_NUMBERS
        self.text_ = [] if include_values else None
        back = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        style = {"ha": "center", "va": "center", "fontsize": "x-small"}
        style |= {"zorder": 3, "bbox": back} | text_kw
        for pair in pairs if include_values else ():
            number = format_value(self.distances[*pair], self.distances, values_format)
            middle = positions[pair].mean(axis=0)
            self.text_.append(ax.text(*middle, number, **style))

    def _get_positions(self):
        """Return the positions of the tokens (n, 2), computed on first use."""
        if self.positions is None:
            self.positions = mds_plane(self.distances)
        return self.positions


def _graph_size(n):
    factor = np.clip(np.sqrt(n / 16), 1, 2)
    return 7.2 * factor, 5.4 * factor
