"""SenseProjectionDisplay: occurrences of a word on a plane, layer by layer."""

from collections.abc import Mapping

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_samples

from ._mds import pairwise_distances, project
from ._pairwise import check_vectors
from ._panels import (
    axis_labels,
    coincidence_text,
    draw_points,
    outside_legend,
    panel_axes,
    place_labels,
)
from ._token_selection import (
    check_embedded,
    check_number,
    embed_until_last,
    refuse_unknown,
    unique_labels,
)

_LONGEST = 15  # characters of a neighbour in a label
_PANEL, _ALONE = (3.6, 3.3), (6.8, 4.8)  # inches
_MOST_LABELLED = 20  # occurrences; more labels than that are unreadable in a panel
# Smaller differences, relative to the longest vector, are rounding.
_ROUNDING = 1e-6


def find_occurrences(tokens, words, caller):
    """Return where a word, some words, or those that a function takes, stand.

    Parameters
    ----------
    tokens : TokenSequences
    words : str, collection of str, or callable
        A callable is given each distinct word once.
    caller : str
        Begins the error messages.

    Returns
    -------
    ndarray of int64, shape (n,)
        Rows of ``tokens.codes``, in the order of the text.
    """
    occurring = tokens.types[np.unique(tokens.codes)].tolist()
    if callable(words):
        chosen = {word for word in occurring if words(word)}
        if not chosen:
            name = getattr(words, "__name__", repr(words))
            raise ValueError(
                f"{caller}: {name} takes none of the {len(occurring)} distinct words "
                f"of the {len(tokens)} sequences."
            )
    else:
        chosen = _check_words(words, occurring, len(tokens), caller)
    code = np.flatnonzero([word in chosen for word in tokens.types])
    return np.flatnonzero(np.isin(tokens.codes, code))


def _check_words(words, occurring, n_sequences, caller):
    words = [words] if isinstance(words, str) else list(words)
    strange = [word for word in words if not isinstance(word, str)]
    if strange or not words:
        came = f"{strange[0]!r} among them" if strange else "none"
        raise TypeError(
            f"{caller}: words must be a str, several of them, or a function that takes "
            f"a str and tells whether it is meant; got {came}."
        )
    missing = [word for word in dict.fromkeys(words) if word not in set(occurring)]
    if missing:
        folded = {word.casefold() for word in missing}
        alike = [word for word in occurring if word.casefold() in folded]
        hint = f" There is {', '.join(map(repr, alike))}." if alike else ""
        raise ValueError(
            f"{caller}: {', '.join(map(repr, missing))} does not occur in the "
            f"{n_sequences} sequences.{hint} Words are compared letter by letter; a "
            "function can choose among those that are there."
        )
    return set(words)


def context_labels(tokens, places):
    """Return each occurrence with the words beside it, and its place if that is twice.

    Parameters
    ----------
    tokens : TokenSequences
    places : ndarray of int, shape (n,)

    Returns
    -------
    list of str, length n
    """
    ends = tokens.offsets[np.searchsorted(tokens.offsets, places, side="right")]
    starts = tokens.offsets[np.searchsorted(tokens.offsets, places, side="right") - 1]
    labels = []
    for place, start, end in zip(places, starts, ends, strict=True):
        around = np.arange(max(place - 1, start), min(place + 2, end))
        words = tokens.types[tokens.codes[around]]
        short = [
            word if at == place or len(word) <= _LONGEST else word[: _LONGEST - 1] + "…"
            for word, at in zip(words, around, strict=True)
        ]
        labels.append(" ".join(short))
    return unique_labels(tokens, places, labels)


def occurrence_vectors(embedded, names, places, labels, caller):
    """Return the vectors that each block gives to occurrences.

    Parameters
    ----------
    embedded : EmbeddedSequences
    names : sequence of str or None
        Of the blocks. None takes all.
    places : ndarray of int, shape (n,)
        Rows of ``embedded.tokens.codes``.
    labels : list of str, length n
        What the occurrences are called in error messages.
    caller : str
        Begins the error messages.

    Returns
    -------
    dict of ndarray of shape (n, dim)
        By the block's name.
    """
    check_number(len(places), caller)
    if isinstance(names, str):
        names = [names]
    vectors = {}
    for name in embedded.names if names is None else names:
        block, rows = embedded.block(name), places
        if block.level == "type":
            rows = embedded.tokens.codes[places]
        elif block.level == "sequence":
            rows = embedded.tokens.segment_ids()[places]
        refuse_unknown(block.known[rows], labels, f"{caller}, block {name!r}")
        vectors[name] = block.take(rows).values
    return vectors


def merge_near_duplicates(vectors):
    """Return vectors of which those that are equal but for rounding are equal.

    Parameters
    ----------
    vectors : ndarray of float64, shape (n, dim)

    Returns
    -------
    ndarray of float64, shape (n, dim)
        Each is the first of those that it cannot be told from.
    """
    scale = abs(vectors).max(initial=0.0) or 1.0
    scaled = vectors / scale  # squares of huge and tiny numbers leave the range
    longest = np.linalg.norm(scaled, axis=1).max()
    same = squareform(pdist(scaled)) <= _ROUNDING * longest
    members = connected_components(same, directed=False)[1]
    first = np.unique(members, return_index=True)[1]
    return vectors[first[members]]


def silhouettes(vectors, senses, metric, caller):
    """Return how much nearer each vector is to its own sense than to the next one.

    Parameters
    ----------
    vectors : ndarray of float64, shape (n, dim)
    senses : ndarray of shape (n,), or None
    metric : str or callable
        As for scipy's ``pdist``.
    caller : str
        Begins the error messages.

    Returns
    -------
    ndarray of shape (n,) or None
        Within [-1, 1]. 0 for the only one of its sense, and where nothing is apart.
        None unless there are two senses, and one of them occurs twice.
    """
    if senses is None or not 2 <= len(np.unique(senses)) < len(senses):
        return None
    distances = pairwise_distances(vectors, metric, caller)
    if metric == "cosine":
        distances[distances < _ROUNDING**2] = 0  # equal directions
    return silhouette_samples(distances, senses, metric="precomputed")


def project_to_plane(vectors, projector, metric, caller):
    """Return where vectors are on a plane, and what shares of the variance it shows.

    Parameters
    ----------
    vectors : ndarray of float64, shape (n, dim)
    projector : estimator with `fit_transform`, or None
        None takes as many principal components as there are, two at most.
    metric : str or callable
        What a projector of distances gets.
    caller : str
        Begins the error messages.

    Returns
    -------
    positions : ndarray of float64, shape (n, 2)
        Zeros if all vectors are equal. Equal vectors have one place.
    shares : ndarray of shape (2,) or None
        None if the projector does not tell them.
    """
    distinct, first, members = np.unique(
        vectors, axis=0, return_index=True, return_inverse=True
    )
    n, dim = vectors.shape
    if len(distinct) == 1:
        return np.zeros((n, 2)), np.zeros(2)
    if projector is None:
        pca = PCA(min(2, n, dim), svd_solver="full")
        positions, shares = np.zeros((n, 2)), np.zeros(2)
        positions[:, : pca.n_components] = pca.fit_transform(vectors)
        shares[: pca.n_components] = pca.explained_variance_ratio_
    else:
        own = clone(projector)
        precomputed = getattr(own, "metric", None) == "precomputed"
        distances = pairwise_distances(vectors, metric, caller) if precomputed else None
        positions = project(own, vectors, distances, caller)
        shares = getattr(own, "explained_variance_ratio_", None)
    return positions[first[members.ravel()]], shares


def check_one_each(what, given, labels, caller):
    """Say which occurrences there are, unless each is given one thing."""
    if given is None or len(given) == len(labels):
        return
    shown = ", ".join(map(repr, labels[:10]))
    shown += ", ..." * (len(labels) > 10)
    raise ValueError(
        f"{caller}: there are {len(given)} {what} for {len(labels)} occurrences: "
        f"{shown}. Give each one, in this order."
    )


def as_senses(senses, labels, caller):
    """Return senses as an array that sorts, or say what is missing."""
    if senses is None:
        return None
    check_one_each("senses", senses, labels, caller)
    senses = list(senses)
    # What is missing equals nothing, itself included.
    gaps = [i for i, sense in enumerate(senses) if sense is None or sense != sense]
    if gaps:
        raise ValueError(
            f"{caller}: the sense of {labels[gaps[0]]!r} is missing, and of "
            f"{len(gaps)} in all. Name a sense for every occurrence."
        )
    if len({type(sense) for sense in senses}) > 1:
        senses = [str(sense) for sense in senses]
    return np.asarray(senses)


def silhouette_text(values, senses):
    """Return the mean silhouette in words, or why there is none."""
    if values is not None:
        return f"silhouette {round(float(np.mean(values)), 2) + 0.0:.2f}"
    one = len(np.unique(senses)) == 1
    return f"no silhouette: {'one sense' if one else 'no sense occurs twice'}"


class SenseProjectionDisplay:
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
        """
        if self.silhouettes is None:
            return {}
        means = np.mean(self.silhouettes, axis=1).tolist()
        return dict(zip(self.blocks, means, strict=True))

    @classmethod
    def from_estimator(cls, estimator, X, words, **options):
        """Embed sequences with a fitted estimator, and show a word's occurrences.

        Whole texts are embedded, so that a contextual source sees what stands beside
        the word. For several words in turn embed once and take `from_embedded`.

        Parameters
        ----------
        estimator : fitted estimator
            A source, a union, a meta-embedder; or a Pipeline with such steps, a search
            (its ``best_estimator_`` is taken), or a ColumnTransformer or FeatureUnion
            with one such branch. Shown is the last EmbeddedSequences on the way: steps
            after it, such as `Pooling` and a classifier, are ignored.
        X : what the estimator takes
            Such as texts, token lists or TokenSequences. If the estimator takes a
            table, the texts alone are enough.
        words : str, collection of str, or callable
            As for `from_embedded`.
        **options
            Passed on to `from_embedded`.

        Returns
        -------
        SenseProjectionDisplay
            Plotted.

        Raises
        ------
        TypeError
            If there are no EmbeddedSequences.
        ValueError
            If several branches give some; the message says how to pass one of them.
        """
        embedded = embed_until_last(estimator, X, cls.__name__)
        return cls.from_embedded(embedded, words, **options)

    @classmethod
    def from_embedded(
        cls, embedded, words, *, senses=None, blocks=None, labels=None, **options
    ):
        """Show the occurrences of a word in embedded sequences.

        Senses are given by hand, in the order of the text: call it without them first,
        and read the occurrences off `labels`.

        Parameters
        ----------
        embedded : EmbeddedSequences
            With one block or more.
        words : str, collection of str, or callable
            The word, letter by letter; or several, such as its inflections, each of
            which must occur; or a function that takes a word and tells whether it is
            meant. All their occurrences are taken, 1000 at most, in the order of the
            text, several of one sequence too.
        senses : sequence of length n, default=None
            The sense of each occurrence.
        blocks : sequence of str, default=None
            The blocks to show, in this order. None takes all.
        labels : sequence of str, length n, default=None
            What to call the occurrences. None takes each with the words beside it, and
            adds (sequence, position) where these are there more than once.
        **options
            Passed on to `from_vectors`.

        Returns
        -------
        SenseProjectionDisplay
            Plotted.

        Raises
        ------
        ValueError
            If a word does not occur or a source does not know it, or senses and
            occurrences differ in number.
        """
        caller = cls.__name__
        check_embedded(embedded, caller)
        places = find_occurrences(embedded.tokens, words, caller)
        shown = context_labels(embedded.tokens, places)
        vectors = occurrence_vectors(embedded, blocks, places, shown, caller)
        check_one_each("senses", senses, shown, caller)
        check_one_each("labels", labels, shown, caller)
        labels = shown if labels is None else labels
        return cls.from_vectors(vectors, labels, senses=senses, **options)

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
        """
        caller = cls.__name__
        vectors = vectors if isinstance(vectors, Mapping) else {"": vectors}
        if not vectors:
            raise ValueError(f"{caller} needs at least one block of vectors, got none.")
        needed = senses is not None and metric == "cosine"
        parts = []
        for values in vectors.values():
            values, labels = check_vectors(
                values, labels, caller, need_direction=needed
            )
            parts.append(merge_near_duplicates(values))
        senses = as_senses(senses, labels, caller)
        planes = [
            project_to_plane(values, projector, metric, caller) for values in parts
        ]
        positions, shares = zip(*planes, strict=True)
        told = [silhouettes(values, senses, metric, caller) for values in parts]
        display = cls(
            np.stack(positions),
            blocks=list(vectors),
            labels=labels,
            senses=senses,
            silhouettes=_stack(told),
            shares=_stack(shares),
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
        """
        senses = [""] * len(self.labels) if self.senses is None else self.senses
        names, groups = np.unique(senses, return_inverse=True)
        caller = type(self).__name__
        if n_cols < 1:
            raise ValueError(f"{caller}: n_cols must be 1 or more, got {n_cols}.")
        size = _ALONE if len(self.blocks) == 1 else _PANEL
        self.axes_ = panel_axes(ax, len(self.blocks), n_cols, size, caller)
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
            self.legend_ = outside_legend(self.axes_[:n_cols], ax is None)
        if include_labels is None:
            include_labels = len(self.labels) <= _MOST_LABELLED
        shown = self.labels if include_labels else []
        self.labels_ = place_labels(self.axes_, self.positions, groups, shown, text_kw)
        return self

    def _title(self, number):
        """Return the block's name, how far senses are apart, and what coincides."""
        lines = [self.blocks[number], coincidence_text(self.positions[number])]
        if self.senses is not None:
            own = None if self.silhouettes is None else self.silhouettes[number]
            lines.insert(1, silhouette_text(own, self.senses))
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


def _stack(parts):
    """Return rows as one array, or None if one of them is not there."""
    return None if any(part is None for part in parts) else np.stack(parts)
