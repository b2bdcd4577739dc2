"""SenseProjectionDisplay: a word's occurrences on a plane, layer by layer."""

from collections.abc import Mapping

import numpy as np

from ._occurrences_display import OccurrencesDisplay
from ._pairs import check_vectors
from ._panels import (
    axis_labels,
    draw_points,
    lay_out,
    legend_beside,
    panel_axes,
    told_spots,
)
from ._senses import checked_senses, merged, on_plane, silhouettes, told_silhouette

_PANEL, _ALONE = (3.6, 3.3), (6.8, 4.8)  # inches
_MOST_LABELLED = 20  # occurrences; of more, nobody reads labels in a panel


class SenseProjectionDisplay(OccurrencesDisplay):
    """Occurrences of a word in context on a plane, one panel a layer or source.

    Shows whether an embedding tells the senses of a word apart, and in which layer:
    occurrences are coloured by sense, labelled by the words beside them, and the panel
    says how well senses are apart. Make one with `from_embedded`, `from_estimator` or
    `from_vectors`; the constructor takes what these compute.

    Parameters
    ----------
    positions : ndarray of shape (n_blocks, n, 2)
        Where each block's panel puts the occurrences.
    blocks : list of str, length n_blocks
        What the panels are called.
    labels : list of str, length n
        What the occurrences are called.
    senses : ndarray of shape (n,), default=None
        Sense of each occurrence. None makes no difference between them.
    silhouettes : ndarray of shape (n_blocks, n), default=None
        How much nearer each occurrence is to its own sense than to the next one. None
        if that is undefined.
    shares : ndarray of shape (n_blocks, 2), default=None
        Share of the variance along each axis. None if the projector does not tell.
    projector : str, default="PCA"
        Name of what made the planes.

    Attributes
    ----------
    silhouette_scores : dict of float
        Mean silhouette of the occurrences by block, empty if it is undefined.
    axes_ : ndarray of matplotlib Axes, shape (n_blocks,)
        The panels.
    figure_ : matplotlib Figure
    points_ : list of list of matplotlib PathCollection
        For each panel the points of each sense.
    labels_ : list of list of matplotlib Annotation
        For each panel the labels, one for all occurrences at one spot, and None for
        those that found no room. Empty lists if none were to be written.
    legend_ : matplotlib Legend or None
        Beside the panels.

    See Also
    --------
    SimilarityDisplay : Each occurrence against each other, in one block.
    DistanceDisplay : Occurrences of any words on a plane that keeps distances.

    Notes
    -----
    The silhouette of an occurrence is ``(b - a) / max(a, b)``: `a` its mean distance
    to the others of its sense, `b` that to the occurrences of the nearest other sense.
    It is taken in the block's own space, not on the plane, and is 1 where senses are
    far apart, 0 where they mix, below 0 where an occurrence is nearer to another sense.
    It is undefined with one sense, or if no sense occurs twice.

    A static block gives all occurrences of a word one vector: one spot, and no
    silhouette but 0. Where occurrences of several senses share a spot, the larger
    marker is the one below. Each panel has its own axes and its own scale: distances
    in different panels cannot be compared, silhouettes can.

    References
    ----------
    P. J. Rousseeuw: Silhouettes: a graphical aid to the interpretation and validation
    of cluster analysis. Journal of Computational and Applied Mathematics 20, 1987.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed.inspection import SenseProjectionDisplay
    >>> layers = {
    ...     "static": np.ones((4, 3)),
    ...     "layer 1": [[0, 1, 0], [0, 2, 1], [3, 0, 1], [2, 0, 0]],
    ... }
    >>> display = SenseProjectionDisplay.from_vectors(
    ...     layers,
    ...     ["river bank", "steep bank", "bank loan", "bank note"],
    ...     senses=["shore", "shore", "money", "money"],
    ... )
    >>> {block: round(s, 2) for block, s in display.silhouette_scores.items()}
    {'static': 0.0, 'layer 1': 0.92}
    >>> display.frame().round(2).tail(2)
         block      label  sense     x     y  silhouette
    6  layer 1  bank loan  money  1.90  0.52        0.94
    7  layer 1  bank note  money  1.02 -0.58        0.95
    """

    def __init__(
        self,
        positions,
        *,
        blocks,
        labels,
        senses=None,
        silhouettes=None,
        shares=None,
        projector="PCA",
    ):
        self.positions = positions
        self.blocks = blocks
        self.labels = labels
        self.senses = senses
        self.silhouettes = silhouettes
        self.shares = shares
        self.projector = projector

    @property
    def silhouette_scores(self):
        """Mean silhouette of the occurrences by block, empty if it is undefined.

        The larger, the better a layer or source tells the senses apart. They compare
        across blocks, which distances on the planes do not.

        See Also
        --------
        frame : The silhouette of each occurrence.
        plot : Writes them above the panels.

        Examples
        --------
        >>> import numpy as np
        >>> from sk_metaembed.inspection import SenseProjectionDisplay
        >>> display = SenseProjectionDisplay(
        ...     np.array([[[0.0, 1], [2, 0]]]), blocks=["layer 1"],
        ...     labels=["river bank", "bank loan"], silhouettes=np.array([[0.5, 0.7]]),
        ... )
        >>> display.silhouette_scores
        {'layer 1': 0.6}
        """
        if self.silhouettes is None:
            return {}
        means = np.mean(self.silhouettes, axis=1).tolist()
        return dict(zip(self.blocks, means, strict=True))

    @classmethod
    def from_vectors(
        cls,
        vectors,
        labels=None,
        *,
        senses=None,
        metric="cosine",
        projector=None,
        ax=None,
        **plot_kw,
    ):
        """Show the rows of arrays.

        For vectors from anywhere. The planes are found block by block, each by itself;
        the silhouettes are those of the vectors, not of the planes.

        Parameters
        ----------
        vectors : mapping of array-like of shape (n, dim), or one array-like
            The occurrences' vectors by the name of the layer or source, in all the
            same occurrences; `dim` may differ. Finite, 1000 rows at most.
        labels : sequence of str, length n, default=None
            What to call the occurrences. None numbers them.
        senses : sequence of length n, default=None
            The sense of each occurrence.
        metric : str or callable, default="cosine"
            Distance of the silhouettes, as for scipy's ``pdist``.
        projector : estimator with `fit_transform`, default=None
            Puts the vectors of each panel on a plane, such as scikit-learn's PCA or
            TSNE with two components; cloned for each. None takes PCA.
        ax : matplotlib Axes or array-like of them, default=None
            Where to draw, as for `plot`.
        **plot_kw
            Passed on to `plot`.

        Returns
        -------
        SenseProjectionDisplay
            Plotted.

        Raises
        ------
        ValueError
            If a vector is not finite, or zero under the cosine, if shapes do not fit,
            or the projector gives no plane.

        See Also
        --------
        from_embedded : Finds a word's occurrences in embedded sequences.

        Examples
        --------
        >>> from sk_metaembed.inspection import SenseProjectionDisplay
        >>> vectors = [[0, 1], [0, 2], [3, 0], [2, 0]]
        >>> display = SenseProjectionDisplay.from_vectors(vectors, senses=[0, 0, 1, 1])
        >>> display.silhouettes
        array([[1., 1., 1., 1.]])
        """
        whose = cls.__name__
        vectors = vectors if isinstance(vectors, Mapping) else {"": vectors}
        if not vectors:
            raise ValueError(f"{whose} needs at least one block of vectors, got none.")
        needed = senses is not None and metric == "cosine"
        parts = []
        for values in vectors.values():
            values, labels = check_vectors(values, labels, whose, need_direction=needed)
            parts.append(merged(values))
        senses = checked_senses(senses, labels, whose)
        planes = [on_plane(values, projector, metric, whose) for values in parts]
        positions, shares = zip(*planes, strict=True)
        told = [silhouettes(values, senses, metric, whose) for values in parts]
        display = cls(
            np.stack(positions),
            blocks=list(vectors),
            labels=labels,
            senses=senses,
            silhouettes=_stacked(told),
            shares=_stacked(shares),
            projector="PCA" if projector is None else type(projector).__name__,
        )
        return display.plot(ax, **plot_kw)

    def plot(
        self,
        ax=None,
        *,
        include_labels=None,
        n_cols=4,
        legend=True,
        scatter_kw=None,
        text_kw=None,
    ):
        """Draw one panel a block.

        Occurrences of one sense at one spot share a marker, and the panel's title says
        at how many spots all are. Labels keep out of each other's way.

        Parameters
        ----------
        ax : matplotlib Axes or array-like of them, default=None
            Where to draw: an axes a panel, or a single one, in whose place stands a
            grid of panels. None makes a figure.
        include_labels : bool, default=None
            Whether to write labels. None writes those of up to 20 occurrences. One
            that finds no room near its marker is left out.
        n_cols : int, default=4
            Panels in a row, at most.
        legend : bool, default=True
            Whether to say which marker is which sense.
        scatter_kw : dict, default=None
            Passed on to ``Axes.scatter``.
        text_kw : dict, default=None
            Passed on to ``Axes.annotate`` for the labels.

        Returns
        -------
        SenseProjectionDisplay
            With `axes_`, `figure_`, `points_`, `labels_` and `legend_` set.

        See Also
        --------
        frame : The places as a table.

        Examples
        --------
        >>> import numpy as np
        >>> from sk_metaembed.inspection import SenseProjectionDisplay
        >>> display = SenseProjectionDisplay(
        ...     np.array([[[0.0, 1], [2, 0]]]), blocks=["layer 1"],
        ...     labels=["river bank", "bank loan"], silhouettes=np.array([[0.5, 0.7]]),
        ... )
        >>> [label.get_text() for label in display.plot().labels_[0]]
        ['river bank', 'bank loan']
        """
        senses = [""] * len(self.labels) if self.senses is None else self.senses
        names, groups = np.unique(senses, return_inverse=True)
        whose = type(self).__name__
        if n_cols < 1:
            raise ValueError(f"{whose}: n_cols must be 1 or more, got {n_cols}.")
        size = _ALONE if len(self.blocks) == 1 else _PANEL
        self.axes_ = panel_axes(ax, len(self.blocks), n_cols, size, whose)
        self.figure_ = self.axes_[0].figure
        self.points_ = []
        for number, panel in enumerate(self.axes_):
            style = {"fontsize": "medium", "parse_math": False}
            panel.set_title(self._title(number), **style)
            xlabel, ylabel = axis_labels(self.projector, self.shares, number)
            panel.set(xticks=[], yticks=[], xlabel=xlabel, ylabel=ylabel)
            positions, style = self.positions[number], scatter_kw or {}
            self.points_.append(draw_points(panel, positions, groups, names, style))
        self.legend_ = None
        if legend and self.senses is not None:
            self.legend_ = legend_beside(self.axes_[:n_cols], ax is None)
        if include_labels is None:
            include_labels = len(self.labels) <= _MOST_LABELLED
        shown = self.labels if include_labels else []
        self.labels_ = lay_out(self.axes_, self.positions, groups, shown, text_kw)
        return self

    def _title(self, number):
        """Return the block's name, how far senses are apart, and what coincides."""
        lines = [self.blocks[number], told_spots(self.positions[number])]
        if self.senses is not None:
            own = None if self.silhouettes is None else self.silhouettes[number]
            lines.insert(1, told_silhouette(own, self.senses))
        return "\n".join(filter(None, lines))

    def frame(self):
        """Return the occurrences as a table.

        To find the occurrences that are nearer to another sense than to their own, by a
        silhouette below 0; matplotlib is not needed.

        Returns
        -------
        pandas.DataFrame
            One row a block and occurrence: ``block``, ``label``, ``sense`` if senses
            were given, ``x``, ``y``, and ``silhouette`` if it is defined.

        See Also
        --------
        silhouette_scores : The means by block.

        Examples
        --------
        >>> import numpy as np
        >>> from sk_metaembed.inspection import SenseProjectionDisplay
        >>> display = SenseProjectionDisplay(
        ...     np.array([[[0.0, 1], [2, 0]]]), blocks=["layer 1"],
        ...     labels=["river bank", "bank loan"], silhouettes=np.array([[0.5, 0.7]]),
        ... )
        >>> display.frame()[["label", "x", "y", "silhouette"]]
                label    x    y  silhouette
        0  river bank  0.0  1.0         0.5
        1   bank loan  2.0  0.0         0.7
        """
        import pandas as pd

        n_blocks, n = len(self.blocks), len(self.labels)
        columns = {
            "block": np.repeat(np.array(self.blocks, dtype=object), n),
            "label": list(self.labels) * n_blocks,
        }
        if self.senses is not None:
            columns["sense"] = np.tile(self.senses, n_blocks)
        columns["x"], columns["y"] = np.reshape(self.positions, (-1, 2)).T
        if self.silhouettes is not None:
            columns["silhouette"] = np.ravel(self.silhouettes)
        return pd.DataFrame(columns)


def _stacked(parts):
    """Return rows as one array, or None if one of them is not there."""
    return None if any(part is None for part in parts) else np.stack(parts)
