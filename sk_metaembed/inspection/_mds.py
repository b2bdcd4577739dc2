"""Distances between vectors, and planes that preserve them: arrays in, arrays out."""

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import smacof
from sklearn.utils.extmath import svd_flip

from ._pairwise import cosine_matrix


def pairwise_distances(vectors, metric):
    """Return the distances between rows, (n, dim) -> (n, n) in float64."""
    if metric == "cosine":
        return 1 - cosine_matrix(vectors)
    distances = squareform(pdist(vectors, metric=metric))
    if not np.isfinite(distances).all() or (distances < 0).any():
        raise ValueError(
            f"with metric={metric!r} some distances between these vectors "
            "are negative or not finite. Choose another metric, such as 'euclidean'."
        )
    return distances


def mds_plane(distances):
    """Return positions whose distances approximate the given ones, (n, n) -> (n, 2)."""
    n = len(distances)
    if n < 3 or not distances.any():
        # One coordinate is exact, and all zeros cannot be scaled.
        return np.stack([distances[0], np.zeros(n)], axis=1)
    scale = distances.max()
    distances = distances / scale
    start = classical_plane(distances)
    plane, _ = smacof(distances, init=start, n_init=1, max_iter=1000, eps=1e-6)
    return plane * scale


def classical_plane(distances):
    """Return the classical solution of multidimensional scaling, (n, n) -> (n, 2).

    As scikit-learn's ClassicalMDS, but the second coordinate is 0 if the distances
    leave no second axis: for collinear points, or if the triangle inequality does not
    hold, which the cosine distance allows.
    """
    squares = distances**2
    centered = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(-(centered + squares.mean()) / 2)
    axes, _ = svd_flip(vectors[:, :-3:-1], None)
    return np.sqrt(np.maximum(values[:-3:-1], 0)) * axes


def stress(distances, positions):
    """Return Kruskal's stress, in [0, 1], of positions (n, 2) at their best scale."""
    true, drawn = squareform(distances, checks=False), pdist(positions)
    total, square = (true**2).sum(), (drawn**2).sum()
    if not (total and square):
        return float(total > 0)
    residuals = true - (true @ drawn / square) * drawn
    return float(np.sqrt((residuals**2).sum() / total))


def project(projector, vectors, distances):
    """Return the positions (n, 2) of vectors (n, dim) from an unfitted projector."""
    names = "metric", "dissimilarity"  # MDS of scikit-learn, and before 1.8
    is_precomputed = any(getattr(projector, n, None) == "precomputed" for n in names)
    inputs = distances if is_precomputed else vectors
    positions = np.asarray(projector.fit_transform(inputs))
    if positions.shape != (len(vectors), 2) or not np.isfinite(positions).all():
        raise ValueError(
            f"{type(projector).__name__}.fit_transform must return finite "
            f"positions of shape ({len(vectors)}, 2); got shape {positions.shape}. "
            "Set its n_components to 2."
        )
    return positions
