"""DistanceDisplay: how far tokens are from each other, as a graph or a heat map."""

import numpy as np
from sklearn.base import clone

from ._heat_map import (
    draw_heat_map,
    format_value,
    heat_map_size,
    write_values,
)
from ._label_placement import (
    Room,
    draw_lines,
    fit_limits,
    label_lines,
    label_points,
    nearest_pairs,
)
from ._mds import (
    mds_plane,
    pairwise_distances,
    project,
    stress,
)
from ._pairwise import PairsDisplay, check_vectors
from ._style import bar_style, make_axes


class DistanceDisplay(PairsDisplay):
    """Distance of each token from each other, as a graph or as a heat map.

    The graph puts tokens on a plane so that what is far apart under the embedding is
    far apart in the picture, as well as two dimensions allow, and joins near ones by
    lines that bear the true distance. Make one with `from_embedded`, `from_estimator`,
    `from_words` or `from_vectors`; the constructor takes what these compute.

    Parameters
    ----------
    distances : ndarray of shape (n, n)
        Symmetric, zeros on the diagonal.
    labels : list of str, length n
        What the tokens are called.
    metric : str, default="cosine"
        Name of the distance.
    positions : ndarray of shape (n, 2), default=None
        Where the graph puts the tokens. None finds places that keep the distances.
    title : str, default=None
        Stands above the picture.

    Attributes
    ----------
    positions : ndarray of shape (n, 2)
        Where the graph puts the tokens.
    stress : float
        Share of the distances that the graph's plane loses, 0 for none.
    ax_ : matplotlib Axes
        What `plot` drew on.
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
        The numbers on lines or in cells that had room.

    See Also
    --------
    SimilarityDisplay : Similarities as a heat map.

    Notes
    -----
    The plane is metric multidimensional scaling, begun at the classical solution: no
    random start, the same picture each time. Axes have no meaning, and nor has the
    direction; the picture's stress,
    ``sqrt(sum (d - s p)**2 / sum d**2)`` over the pairs, with d the distances, p those
    in the picture and s the scale that suits them best, tells how much is lost: below
    .1 little, above .3 trust the numbers more than the places.

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
    """

    def __init__(
        self, distances, *, labels, metric="cosine", positions=None, title=None
    ):
        self.distances = distances
        self.labels = labels
        self.metric = metric
        self.positions = positions
        self.title = title

    @property
    def matrix(self):
        """The distances, by the name that all displays of pairs share.

        `frame` and the heat map show it, whatever kind of numbers a display compares.
        """
        return self.distances

    @property
    def stress(self):
        """Share of the distances that the graph's plane loses, 0 for none.

        Kruskal's, see Notes of the class. The graph bears it below; where it is large,
        the heat map shows what the graph cannot.
        """
        return stress(self.distances, self._placed())

    @classmethod
    def from_vectors(
        cls,
        vectors,
        labels=None,
        *,
        metric="cosine",
        projector=None,
        title=None,
        ax=None,
        **plot_kw,
    ):
        """Compare the rows of an array.

        For vectors from anywhere, such as rows of a model's own weights. The number of
        distances grows with the square of that of vectors.

        Parameters
        ----------
        vectors : array-like of shape (n, dim)
            Finite, 1000 at most; none of them zero if the metric is cosine.
        labels : sequence of str, length n, default=None
            What to call them. None numbers them.
        metric : str or callable, default="cosine"
            As for scipy's ``pdist``; cosine is 1 minus the cosine similarity.
        projector : estimator with `fit_transform`, default=None
            Puts the vectors on a plane, such as scikit-learn's PCA or TSNE with two
            components. One whose own ``metric`` is "precomputed" gets the distances.
            None keeps the distances by multidimensional scaling.
        title : str, default=None
            Stands above the picture.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a figure.
        **plot_kw
            Passed on to `plot`.

        Returns
        -------
        DistanceDisplay
            Plotted.

        Raises
        ------
        ValueError
            If a vector is not finite, or zero under the cosine, if the metric gives
            no distances, or the projector no plane.
        """
        vectors, labels = check_vectors(
            vectors, labels, cls.__name__, need_direction=metric == "cosine"
        )
        distances = pairwise_distances(vectors, metric, cls.__name__)
        places = None
        if projector is not None:
            places = project(clone(projector), vectors, distances, cls.__name__)
        display = cls(
            distances,
            labels=labels,
            metric=getattr(metric, "__name__", metric),
            positions=places,
            title=title,
        )
        return display.plot(ax, **plot_kw)

    def plot(
        self,
        ax=None,
        *,
        kind="graph",
        n_neighbors=None,
        include_values=None,
        values_format=None,
        colorbar=True,
        im_kw=None,
        line_kw=None,
        scatter_kw=None,
        text_kw=None,
    ):
        """Draw the graph, or the heat map.

        The graph is for up to a few dozen tokens; more are read off the heat map. What
        is drawn can be changed afterwards by the attributes that this sets.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None makes a figure.
        kind : {"graph", "matrix"}, default="graph"
            The graph, or the heat map of all distances.
        n_neighbors : int, default=None
            The graph joins each token with that many nearest ones. None joins all of
            up to six tokens, and each of more with its two nearest.
        include_values : bool, default=None
            Whether to write distances. None writes those that have room; so does True
            in a graph, where others would cover each other.
        values_format : str, default=None
            How to write them, such as ``".1f"``. None takes two decimals.
        colorbar : bool, default=True
            Whether to draw the scale beside the picture.
        im_kw : dict, default=None
            Passed on to ``Axes.imshow`` for the heat map.
        line_kw : dict, default=None
            Passed on to matplotlib's LineCollection for the graph's lines.
        scatter_kw : dict, default=None
            Passed on to ``Axes.scatter`` for the graph's dots.
        text_kw : dict, default=None
            Passed on to ``Axes.text`` for the numbers.

        Returns
        -------
        DistanceDisplay
            With `ax_`, `figure_`, and `lines_`, `points_`, `labels_` or `im_`, and
            `text_` set.
        """
        n = len(self.labels)
        kinds = {"graph": _graph_size(n), "matrix": heat_map_size(self.labels)}
        if kind not in kinds:
            raise ValueError(f"kind must be 'graph' or 'matrix', got {kind!r}.")
        if not (n_neighbors is None or n_neighbors >= 0):
            raise ValueError(f"n_neighbors must be 0 or more, got {n_neighbors}.")
        ax = make_axes(ax, kinds[kind], type(self).__name__)
        if self.title is not None:
            ax.set_title(self.title, parse_math=False)
        scale = f"{self.metric} distance" if colorbar else None
        written = {"asked": include_values, "values_format": values_format}
        written["text_kw"] = text_kw or {}
        if kind == "matrix":
            self._draw_matrix(ax, scale, written, im_kw or {})
        else:
            pairs = nearest_pairs(self.distances, n_neighbors)
            self._draw_graph(ax, scale, pairs, line_kw or {}, scatter_kw or {})
            self._write_graph(ax, pairs, **written)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_matrix(self, ax, scale, written, im_kw):
        # Near is light, as alike is in the heat map of similarities.
        style = {"cmap": "cividis_r", "vmin": 0} | im_kw
        values, labels = self.distances, self.labels
        self.im_ = draw_heat_map(ax, values, labels, colorbar=scale, im_kw=style)
        self.text_ = write_values(ax, self.im_, values, **written)

    def _draw_graph(self, ax, scale, pairs, line_kw, scatter_kw):
        places = self._placed()
        self.lines_ = draw_lines(ax, places, pairs, self.distances, line_kw)
        style = {"s": 36, "zorder": 2, "linewidth": 0.6, "edgecolor": "black"}
        style |= {"color": bar_style(0)["color"]} | scatter_kw
        self.points_ = ax.scatter(*places.T, **style)
        ax.set(xticks=[], yticks=[], xlabel=f"two dimensions, stress {self.stress:.2f}")
        if scale is not None and len(pairs):
            ax.figure.colorbar(self.lines_, ax=ax, label=scale)
        fit_limits(ax, places)

    def _write_graph(self, ax, pairs, asked, values_format, text_kw):
        room = Room(ax, self._placed(), pairs)
        lengths = self.distances[tuple(pairs.T)]
        shown = [format_value(d, self.distances, values_format) for d in lengths]
        numbered = list(zip(pairs, shown, strict=True)) if asked is not False else []
        # Beside a short line there is room only as long as no label is there.
        short = [pair for pair in numbered if room.is_short(pair[0])]
        long = [pair for pair in numbered if not room.is_short(pair[0])]
        texts = label_lines(room, short, text_kw)
        self.labels_ = label_points(room, self.labels)
        texts += label_lines(room, long, text_kw)
        self.text_ = texts if asked is not False else None

    def _placed(self):
        """Return where the tokens are put, found once."""
        if self.positions is None:
            self.positions = mds_plane(self.distances)
        return self.positions


def _graph_size(n):
    factor = np.clip(np.sqrt(n / 16), 1, 2)
    return 7.2 * factor, 5.4 * factor
