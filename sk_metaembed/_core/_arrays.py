"""Arithmetic on rows of vectors that sources, combiners and pooling share.

Every row's result is the same alone and among others: sums run along the row only.
In `row_product` it is the same up to rounding, for a BLAS does the sums.

What a model is told of two vectors: themselves, their difference, their product.
"""

import numpy as np
from scipy import sparse

_CHUNK = 2048  # rows that stay in a processor's cache between two passes
_TILE = 256  # rows of one matrix product


def chunks(n_rows):
    """Yield slices that cover rows a bounded number at a time."""
    for start in range(0, n_rows, _CHUNK):
        yield slice(start, start + _CHUNK)


def row_norms(values):
    """Return the Euclidean norm of every row, as float64 of shape (n_rows,).

    Squares of huge and tiny float32 leave its range; those rows are summed in float64.
    """
    norms = np.empty(len(values))
    for rows in chunks(len(values)):
        part = values[rows].astype(np.float32, copy=False)
        with np.errstate(over="ignore", under="ignore"):
            squares = np.einsum("ij,ij->i", part, part).astype(np.float64)
        strange = ~((squares > 1e-30) & (squares < 1e30))
        wide = part[strange].astype(np.float64)
        squares[strange] = np.einsum("ij,ij->i", wide, wide)
        norms[rows] = np.sqrt(squares)
    return norms


def inverse_norms(values):
    """Return the factor that makes each row's length one, 0 for rows of zeros."""
    norms = row_norms(values)
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def normalize_rows(values):
    """Return the rows scaled to length one, float32; zero rows stay zero.

    Parameters
    ----------
    values : ndarray of shape (n_rows, dim)

    Returns
    -------
    ndarray of float32, shape (n_rows, dim)
    """
    unit = np.empty(values.shape, dtype=np.float32)
    scales = inverse_norms(values)
    for rows in chunks(len(values)):
        np.multiply(
            values[rows], scales[rows, None], out=unit[rows], casting="same_kind"
        )
    return unit


def row_product(values, matrix):
    """Return ``values @ matrix``, each row nearly the same alone and among others.

    A BLAS chooses its kernel by the shape of its operands, so a row multiplied alone
    is rounded differently from the same row among others. Products of one fixed number
    of rows, the last padded with zeros, use one kernel. Some kernels also round a row
    by its place among the others, so that the last bits can still differ.

    Parameters
    ----------
    values : ndarray of shape (n_rows, dim)
    matrix : ndarray of float32, shape (dim, n_components)

    Returns
    -------
    ndarray of float32, shape (n_rows, n_components)
    """
    matrix = np.ascontiguousarray(matrix, dtype=np.float32)
    product = np.empty((len(values), matrix.shape[1]), dtype=np.float32)
    tile = np.zeros((_TILE, len(matrix)), dtype=np.float32)
    for start in range(0, len(values), _TILE):
        part = values[start : start + _TILE]
        tile[: len(part)] = part
        tile[len(part) :] = 0
        product[start : start + _TILE] = (tile @ matrix)[: len(part)]
    return product


PAIR_FEATURES = ("u", "v", "absdiff", "product")

_DENSE = {
    "u": lambda u, v: u,
    "v": lambda u, v: v,
    "absdiff": lambda u, v: np.abs(u - v),
    "product": np.multiply,
}
_SPARSE = _DENSE | {
    "absdiff": lambda u, v: abs(u - v),
    "product": lambda u, v: u.multiply(v),
}


def pair_features(u, v, features=PAIR_FEATURES):
    """Return features of pairs of vectors, side by side.

    Parameters
    ----------
    u, v : ndarray or sparse matrix of shape (n_pairs, dim)
        The vectors of the first and of the second sides.
    features : sequence of {"u", "v", "absdiff", "product"}
        The vectors, the absolute value of their difference, their product entry by
        entry.

    Returns
    -------
    ndarray or sparse CSR matrix of shape (n_pairs, len(features) * dim)
    """
    if sparse.issparse(u):
        return sparse.hstack([_SPARSE[name](u, v) for name in features], format="csr")
    return np.concatenate([_DENSE[name](u, v) for name in features], axis=1)
