"""How well senses are apart, and where a plane shows them: arrays in, arrays out."""

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_samples

from ._plane import distances_of, projected

# What differs by less than this, relative to the longest vector, is rounding.
_ROUNDING = 1e-6


def merged(vectors):
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


def silhouettes(vectors, senses, metric, whose):
    """Return how much nearer each vector is to its own sense than to the next one.

    Parameters
    ----------
    vectors : ndarray of float64, shape (n, dim)
    senses : ndarray of shape (n,), or None
    metric : str or callable
        As for scipy's ``pdist``.
    whose : str
        Begins the error messages.

    Returns
    -------
    ndarray of shape (n,) or None
        Within [-1, 1]. 0 for the only one of its sense, and where nothing is apart.
        None unless there are two senses, and one of them occurs twice.
    """
    if senses is None or not 2 <= len(np.unique(senses)) < len(senses):
        return None
    distances = distances_of(vectors, metric, whose)
    if metric == "cosine":
        distances[distances < _ROUNDING**2] = 0  # equal directions
    return silhouette_samples(distances, senses, metric="precomputed")


def on_plane(vectors, projector, metric, whose):
    """Return where vectors are on a plane, and what shares of the variance it shows.

    Parameters
    ----------
    vectors : ndarray of float64, shape (n, dim)
    projector : estimator with `fit_transform`, or None
        None takes as many principal components as there are, two at most.
    metric : str or callable
        What a projector of distances gets.
    whose : str
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
        distances = distances_of(vectors, metric, whose) if precomputed else None
        positions = projected(own, vectors, distances, whose)
        shares = getattr(own, "explained_variance_ratio_", None)
    return positions[first[members.ravel()]], shares


def check_number_of(what, given, labels, whose):
    """Say which occurrences there are, unless each is given one thing."""
    if given is None or len(given) == len(labels):
        return
    shown = ", ".join(map(repr, labels[:10]))
    shown += ", ..." * (len(labels) > 10)
    raise ValueError(
        f"{whose}: there are {len(given)} {what} for {len(labels)} occurrences: "
        f"{shown}. Give each one, in this order."
    )


def checked_senses(senses, labels, whose):
    """Return senses as an array that sorts, or say what is missing."""
    if senses is None:
        return None
    check_number_of("senses", senses, labels, whose)
    senses = list(senses)
    # What is missing equals nothing, itself included.
    gaps = [i for i, sense in enumerate(senses) if sense is None or sense != sense]
    if gaps:
        raise ValueError(
            f"{whose}: the sense of {labels[gaps[0]]!r} is missing, and of {len(gaps)} "
            "in all. Name a sense for every occurrence."
        )
    if len({type(sense) for sense in senses}) > 1:
        senses = [str(sense) for sense in senses]
    return np.asarray(senses)


def told_silhouette(values, senses):
    """Return the mean silhouette in words, or why there is none."""
    if values is not None:
        return f"silhouette {round(float(np.mean(values)), 2) + 0.0:.2f}"
    one = len(np.unique(senses)) == 1
    return f"no silhouette: {'one sense' if one else 'no sense occurs twice'}"
