"""Distances between vectors, and a plane that keeps them: arrays in, arrays out."""

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import MDS
from sklearn.utils.extmath import svd_flip

from ._pairwise import cosine_matrix


def pairwise_distances(vectors, metric, caller="DistanceDisplay"):
    """Return the distance between each two rows, float64 of shape (n, n)."""
    if metric == "cosine":
        return 1 - cosine_matrix(vectors)
    distances = squareform(pdist(vectors, metric=metric))
    if not np.isfinite(distances).all() or (distances < 0).any():
        raise ValueError(
            f"{caller}: the metric {metric!r} gives distances that are negative "
            "or not finite for these vectors. Choose another, such as 'euclidean'."
        )
    return distances


def mds_plane(distances):
    """Return places on a plane whose distances come near to the given ones.

    Parameters
    ----------
    distances : ndarray of shape (n, n)

    Returns
    -------
    ndarray of shape (n, 2)
    """
    n = len(distances)
    if n < 3 or not distances.any():
        # Exact, and nothing that could be scaled.
        return np.stack([distances[0], np.zeros(n)], axis=1)
    scale = distances.max()
    mds = MDS(metric="precomputed", init="classical_mds", n_init=1, max_iter=1000)
    start = classical_plane(distances / scale)
    return mds.fit_transform(distances / scale, init=start) * scale


def classical_plane(distances):
    """Return the classical solution of multidimensional scaling, shape (n, 2).

    As scikit-learn's ClassicalMDS, and a line where distances leave no second axis: of
    points on one, or a side longer than the two others, as the cosine allows.
    """
    squares = distances**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(-(centred + squares.mean()) / 2)
    axes, _ = svd_flip(vectors[:, :-3:-1], None)
    return np.sqrt(np.maximum(values[:-3:-1], 0)) * axes


def stress(distances, positions):
    """Return Kruskal's stress of places, scaled to suit the distances best.

    Parameters
    ----------
    distances : ndarray of shape (n, n)
    positions : ndarray of shape (n, 2)

    Returns
    -------
    float
        0 where nothing is lost, 1 at most.
    """
    wanted, drawn = squareform(distances, checks=False), pdist(positions)
    total, square = (wanted**2).sum(), (drawn**2).sum()
    if not (total and square):
        return float(total > 0)
    lost = wanted - (wanted @ drawn / square) * drawn
    return float(np.sqrt((lost**2).sum() / total))


def project(projector, vectors, distances, caller):
    """Return where an unfitted projector puts vectors on a plane, shape (n, 2)."""
    given = getattr(projector, "metric", None) == "precomputed"
    places = np.asarray(projector.fit_transform(distances if given else vectors))
    if places.shape != (len(vectors), 2) or not np.isfinite(places).all():
        raise ValueError(
            f"{caller}: {type(projector).__name__} must put {len(vectors)} "
            f"vectors on a plane, shape ({len(vectors)}, 2), got shape {places.shape}. "
            "Give it two components."
        )
    return places
