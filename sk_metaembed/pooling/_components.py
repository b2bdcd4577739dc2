"""The directions that most rows of a matrix share."""

import numpy as np
from scipy.linalg import eigh

from ..sequences._rows import chunks


def top_components(X, n_components, mean=None):
    """Return the first right singular vectors of a matrix, and its singular values.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    n_components : int
        At most the smaller side of X.
    mean : ndarray of shape (n_features,), default=None
        Subtracted from the rows first; None leaves them where they are.

    Returns
    -------
    components : ndarray of float64, shape (n_components, n_features)
        Orthonormal rows, the entry of largest magnitude positive. A row is zero
        where the matrix has a lower rank.
    singular_values : ndarray of float64, shape (n_components,)
        Descending.

    Notes
    -----
    They are read off the eigenvectors of the smaller of ``X.T X`` and ``X X.T``,
    which costs less than a full SVD and no second copy of X where X is tall.
    """
    n_samples, n_features = X.shape
    if n_features <= n_samples:
        vectors, squares = _leading(_gram(X, mean), n_components)
        components = vectors.T
    else:
        shifted = _shifted(X, mean)
        vectors, squares = _leading(shifted @ shifted.T, n_components)
        components = vectors.T @ shifted
    return _normalised(components, squares), np.sqrt(squares)


def remove_components(rows, components, weights):
    """Return the rows less their weighted projections on the components.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows, n_features)
    components : ndarray of shape (n_components, n_features)
    weights : ndarray of shape (n_components,)

    Returns
    -------
    ndarray of float64, shape (n_rows, n_features)
    """
    # A matrix product would round by a row's place among the others.
    shares = np.einsum("ij,kj->ik", rows, components) * weights
    removed = rows.copy()
    for k, component in enumerate(components):
        removed -= shares[:, k, None] * component
    return removed


def _gram(X, mean):
    gram = np.zeros((X.shape[1], X.shape[1]))
    for rows in chunks(len(X)):
        part = _shifted(X[rows], mean)
        gram += part.T @ part
    return gram


def _shifted(X, mean):
    X = X.astype(np.float64)
    return X if mean is None else X - mean


def _leading(gram, n_components):
    size = len(gram)
    squares, vectors = eigh(gram, subset_by_index=(size - n_components, size - 1))
    squares = np.maximum(squares[::-1], 0.0)
    # What rounding leaves of an eigenvalue of zero.
    squares[squares <= size * np.finfo(float).eps * squares[0]] = 0.0
    return vectors[:, ::-1], squares


def _normalised(components, squares):
    components = components * (squares > 0)[:, None]
    norms = np.linalg.norm(components, axis=1, keepdims=True)
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return components * signs[:, None] / np.where(norms > 0, norms, 1.0)
