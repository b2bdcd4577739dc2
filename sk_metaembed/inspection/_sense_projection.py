"""SenseProjectionDisplay: occurrences of a word on a plane, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist, squareform
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_samples
from sklearn.metrics.pairwise import cosine_distances

from .._core._frames import is_missing
from .._core._messages import plural
from ._display import BaseDisplay, draw_legend
from ._style import point_style
from ._token_selection import (
    check_from_embedded,
    check_vectors,
    context_labels,
    embed_until_last,
    find_occurrences,
    occurrence_vectors,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from ..sequences import EmbeddedSequences

_PANEL_SIZE, _SINGLE_SIZE = (3.6, 3.3), (6.8, 4.8)  # inches
_MAX_LABELLED = 20  # occurrences; more labels are unreadable in a panel
# Smaller differences, relative to the longest vector, are rounding errors.
_ROUNDING = 1e-6
_LEGEND_ROWS = 12  # per column


def _merge_near_duplicates(vectors):
    """Replace each vector (n, dim) by the first that equals it up to rounding."""
    scaled = vectors / (abs(vectors).max(initial=0.0) or 1.0)  # squares overflow
    longest = np.linalg.norm(scaled, axis=1).max()
    same = squareform(pdist(scaled)) <= _ROUNDING * longest
    members = connected_components(same, directed=False)[1]
    first = np.unique(members, return_index=True)[1]
    return vectors[first[members]]


def _silhouettes(vectors, senses):
    """Return the silhouettes of vectors, (n, dim) -> (n,).

    They are 0 for a sense with one occurrence and where all distances are 0.
    """
    distances = cosine_distances(vectors)
    distances[distances < _ROUNDING**2] = 0  # equal directions
    return silhouette_samples(distances, senses, metric="precomputed")


def _project(vectors):
    """Return positions, (n, dim) -> (n, 2), and shares of the variance (2,).

    Equal vectors have equal positions.
    """
    n, dim = vectors.shape
    distinct, first, members = np.unique(
        vectors, axis=0, return_index=True, return_inverse=True
    )
    positions, shares = np.zeros((n, 2)), np.zeros(2)
    if len(distinct) > 1:
        pca = PCA(min(2, n, dim), svd_solver="full")
        positions[:, : pca.n_components] = pca.fit_transform(vectors)
        shares[: pca.n_components] = pca.explained_variance_ratio_
    return positions[first[members.ravel()]], shares


def _check_senses(senses, labels):
    """Return senses as a sortable array (n,); none may be missing."""
    if senses is None:
        return None
    senses = list(senses)
    if len(senses) != len(labels):
        listed = ", ".join(map(repr, labels[:10])) + ", ..." * (len(labels) > 10)
        raise ValueError(
            f"got {len(senses)} senses for {len(labels)} occurrences: {listed}. Pass "
            "a sense for each, in this order."
        )
    missing = [i for i, sense in enumerate(senses) if is_missing(sense)]
    if missing:
        raise ValueError(
            f"{len(missing)} senses are missing, the first is the sense of "
            f"{labels[missing[0]]!r}. Pass a sense for every occurrence."
        )
    if len({type(sense) for sense in senses}) > 1:
        senses = [str(sense) for sense in senses]
    return np.asarray(senses)


def _write_labels(ax, positions, labels, style):
    """Write one label above each position, and return the Annotations."""
    _, first, counts = np.unique(
        positions, axis=0, return_index=True, return_counts=True
    )
    style = {"textcoords": "offset points", "ha": "center", "parse_math": False} | style
    texts = []
    for i, count in sorted(zip(first.tolist(), counts.tolist(), strict=True)):
        more = f" and {count - 1} more" if count > 1 else ""
        texts.append(ax.annotate(labels[i] + more, positions[i], (0, 6), **style))
    return texts


@dataclass(eq=False, repr=False)
class SenseProjectionDisplay(BaseDisplay):
    """Projection of a word's occurrences to a plane, one panel per layer or source.

    Shows whether an embedding separates the senses of a word, and in which layer:
    occurrences are colored by sense and labeled by their adjacent words, and the
    title of each panel contains the mean silhouette. Create a display with
    `from_embedded`, `from_estimator` or `from_vectors`; the constructor takes
    precomputed positions.

    Parameters
    ----------
    positions : ndarray of shape (n_blocks, n, 2)
        Positions of the occurrences in each block's panel.
    blocks : list of str, length n_blocks
        Titles of the panels.
    labels : list of str, length n
        Labels of the occurrences.
    senses : ndarray of shape (n,), default=None
        Sense of each occurrence. None draws all in one color.
    silhouettes : ndarray of shape (n_blocks, n), default=None
        Silhouette of each occurrence. None if undefined.
    shares : ndarray of shape (n_blocks, 2)
        Share of the variance along each principal axis.

    Attributes
    ----------
    silhouette_scores : dict of str to float
        Mean silhouette of the occurrences by block, empty if undefined.
    axes_ : ndarray of matplotlib Axes, shape (n_blocks,)
        The panels.
    figure_ : matplotlib Figure
    points_ : list of list of matplotlib PathCollection
        For each panel the points of each sense.
    labels_ : list of list of matplotlib Annotation
        For each panel one label per position, of the first occurrence there.
        Empty lists without labels.
    legend_ : matplotlib Legend or None
        To the right of the panels.

    See Also
    --------
    SimilarityDisplay : Similarity of each pair of occurrences, in one block.

    Notes
    -----
    The silhouette of an occurrence is ``(b - a) / max(a, b)``, where `a` is its mean
    distance to the other occurrences of its sense and `b` that to the occurrences of
    the nearest other sense. It is computed in the block's own space, not on the plane.
    It is 1 if senses are far apart, 0 if they overlap, and negative if an occurrence is
    nearer to another sense. It is undefined with one sense, or if no sense occurs
    twice.

    A static block has one vector per word, so that all occurrences of a word have one
    position and a silhouette of 0. Where occurrences of several senses coincide, only
    the last sense is visible; the title contains the number of positions. Each panel
    has its own axes and scale: distances in different panels are not comparable,
    silhouettes are.

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

    Occurrences in texts that a source has embedded:

    >>> from sk_metaembed import FunctionEmbedding
    >>> words = FunctionEmbedding(lambda words: [[len(word), 1] for word in words])
    >>> embedded = words.fit_transform(["river bank", "bank loan"])
    >>> SenseProjectionDisplay.from_embedded(embedded, "bank").labels
    ['river bank', 'bank loan']
    """

    positions: NDArray[np.float64]
    _: KW_ONLY
    blocks: Sequence[str]
    labels: Sequence[str]
    senses: ArrayLike | None = None
    silhouettes: NDArray[np.float64] | None = None
    shares: NDArray[np.float64]

    @property
    def silhouette_scores(self) -> dict[str, float]:
        """Mean silhouette of the occurrences by block, empty if undefined.

        Larger values mean that a layer or source separates the senses better.
        """
        if self.silhouettes is None:
            return {}
        means = np.mean(self.silhouettes, axis=1).tolist()
        return dict(zip(self.blocks, means, strict=True))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        words: str | Collection[str] | Callable[[str], bool],
        **options: Any,
    ) -> Self:
        """Embed sequences with a fitted estimator and show a word's occurrences.

        Whole texts are embedded, so that a contextual source embeds each word in its
        context. To show several words, embed the texts once and use `from_embedded`.

        Parameters
        ----------
        estimator : fitted estimator
            A source, a union or a meta-embedder; or a Pipeline with such steps, a
            search (its ``best_estimator_`` is used), or a ColumnTransformer or
            FeatureUnion with one such branch. The last EmbeddedSequences are shown:
            steps after them, such as `Pooling` and a classifier, are ignored.
        X : input of the estimator
            Texts, token lists or TokenSequences, for example. If the estimator takes a
            table, the texts alone are enough.
        words : str, collection of str, or callable
            As for `from_embedded`.
        **options
            Passed to `from_embedded`.

        Returns
        -------
        SenseProjectionDisplay
            Plotted.

        Raises
        ------
        TypeError
            If no step returns EmbeddedSequences.
        ValueError
            If several branches do; the message says how to pass one of them.
        """
        embedded = embed_until_last(estimator, X)
        return cls.from_embedded(embedded, words, **options)

    @classmethod
    def from_embedded(
        cls,
        embedded: EmbeddedSequences,
        words: str | Collection[str] | Callable[[str], bool],
        *,
        senses: Sequence[object] | None = None,
        blocks: Sequence[str] | None = None,
        labels: Sequence[object] | None = None,
        **options: Any,
    ) -> Self:
        """Show the occurrences of a word in embedded sequences.

        To annotate senses, call it without them first and read the occurrences from
        `labels`: they are in the order of the text.

        Parameters
        ----------
        embedded : EmbeddedSequences
            With one block or more.
        words : str, collection of str, or callable
            The word, matched exactly; several words, such as its inflections, each of
            which must occur; or a function that returns for each word whether to
            include it. All occurrences are shown, at most 1000.
        senses : sequence of length n, default=None
            The sense of each occurrence.
        blocks : sequence of str, default=None
            The blocks to show, in this order. None shows all.
        labels : sequence of str, length n, default=None
            Labels of the occurrences. None takes each with its adjacent words, and
            (sequence, position) if these are repeated.
        **options
            Passed to `from_vectors`.

        Returns
        -------
        SenseProjectionDisplay
            Plotted.

        Raises
        ------
        ValueError
            If a word does not occur or has no vector, or the number of senses is not
            that of the occurrences.
        """
        check_from_embedded(embedded)
        rows = find_occurrences(embedded.tokens, words)
        contexts = context_labels(embedded.tokens, rows)
        vectors = occurrence_vectors(embedded, blocks, rows, contexts)
        labels = contexts if labels is None else labels
        return cls.from_vectors(vectors, labels, senses=senses, **options)

    @classmethod
    def from_vectors(
        cls,
        vectors: Mapping[str, ArrayLike] | ArrayLike,
        labels: Sequence[object] | None = None,
        *,
        senses: Sequence[object] | None = None,
        ax: Any = None,
        **plot_kw: Any,
    ) -> Self:
        """Show the rows of arrays.

        The plane of each block is spanned by two principal components; silhouettes are
        computed from the cosine distances of the vectors, not from the plane.

        Parameters
        ----------
        vectors : mapping of array-like of shape (n, dim), or one array-like
            Vectors of the occurrences by name of the layer or source, in the same
            order; `dim` may differ. Finite, at most 1000 rows.
        labels : sequence of str, length n, default=None
            Labels of the occurrences. None numbers them.
        senses : sequence of length n, default=None
            The sense of each occurrence.
        ax : matplotlib Axes or array-like of them, default=None
            As for `plot`.
        **plot_kw
            Passed to `plot`.

        Returns
        -------
        SenseProjectionDisplay
            Plotted.

        Raises
        ------
        ValueError
            If a vector is not finite, or zero while there are senses, or if shapes do
            not match.
        """
        blocks = vectors if isinstance(vectors, Mapping) else {"": vectors}
        if not blocks:
            raise ValueError("requires at least one block; got none.")
        need_direction = senses is not None
        names: Any = labels
        parts = []
        for block in blocks.values():
            values, names = check_vectors(block, names, need_direction=need_direction)
            parts.append(_merge_near_duplicates(values))
        groups = _check_senses(senses, names)
        planes = [_project(values) for values in parts]
        positions, shares = zip(*planes, strict=True)
        scores = None
        if groups is not None and 2 <= len(np.unique(groups)) < len(groups):
            scores = np.stack([_silhouettes(values, groups) for values in parts])
        display = cls(
            np.stack(positions),
            blocks=list(blocks),
            labels=names,
            senses=groups,
            silhouettes=scores,
            shares=np.stack(shares),
        )
        return display.plot(ax, **plot_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        include_labels: bool | None = None,
        n_cols: int = 4,
        legend: bool = True,
        scatter_kw: Mapping[str, Any] | None = None,
        text_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw one panel per block.

        Labels are above the points and may overlap where points are near each other.

        Parameters
        ----------
        ax : matplotlib Axes or array-like of them, default=None
            One axes per panel. None creates a figure.
        include_labels : bool, default=None
            Whether to write labels. None writes them for up to 20 occurrences.
        n_cols : int, default=4
            Maximum number of panels in a row.
        legend : bool, default=True
            Whether to draw a legend of the senses.
        scatter_kw : dict, default=None
            Passed to ``Axes.scatter``.
        text_kw : dict, default=None
            Passed to ``Axes.annotate`` for the labels.

        Returns
        -------
        SenseProjectionDisplay
            With `axes_`, `figure_`, `points_`, `labels_` and `legend_` set.
        """
        senses = [""] * len(self.labels) if self.senses is None else self.senses
        names, groups = np.unique(np.asarray(senses), return_inverse=True)
        size = _SINGLE_SIZE if len(self.blocks) == 1 else _PANEL_SIZE
        self._make_panels(ax, len(self.blocks), n_cols, size)
        if include_labels is None:
            include_labels = len(self.labels) <= _MAX_LABELLED
        text_style = {"fontsize": "small", **(text_kw or {})}
        self.points_, self.labels_, self.legend_ = [], [], None
        for number, panel in enumerate(self.axes_):
            panel.set_title(self._title(number), fontsize="medium", parse_math=False)
            xlabel, ylabel = (
                f"PCA {axis}: {share:.0%} of the variance"
                for axis, share in enumerate(self.shares[number], start=1)
            )
            panel.set(xticks=[], yticks=[], xlabel=xlabel, ylabel=ylabel)
            panel.set_aspect("equal", adjustable="datalim")
            panel.margins(0.2)  # for labels
            positions, labels = self.positions[number], []
            points = []
            for group, name in enumerate(names):
                style = {"label": str(name), **point_style(group), **(scatter_kw or {})}
                points.append(panel.scatter(*positions[groups == group].T, **style))
            if include_labels:
                labels = _write_labels(panel, positions, self.labels, text_style)
            self.points_.append(points)
            self.labels_.append(labels)
        if legend and self.senses is not None:
            last = self.axes_[:n_cols][-1]
            handles, shown = last.get_legend_handles_labels()
            n_columns = -(-len(shown) // _LEGEND_ROWS)
            self.legend_ = draw_legend(last, handles, shown, ncols=n_columns)
        return self

    def _title(self, number):
        """Return the block's name, the mean silhouette, and the number of positions."""
        lines = [self.blocks[number]]
        if self.silhouettes is not None:
            mean = float(np.mean(self.silhouettes[number]))
            lines.append(f"silhouette {round(mean, 2) + 0.0:.2f}")
        n, n_spots = len(self.labels), len(np.unique(self.positions[number], axis=0))
        if n_spots < n:
            lines.append(f"{n} occurrences at {plural(n_spots, 'position')}")
        return "\n".join(filter(None, lines))

    def frame(self) -> pd.DataFrame:
        """Return the occurrences as a table, without drawing.

        A negative silhouette marks an occurrence nearer to another sense than to its
        own.

        Returns
        -------
        pandas.DataFrame
            One row per block and occurrence: ``block``, ``label``, ``sense`` if senses
            were given, ``x``, ``y``, and ``silhouette`` if it is defined.
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
