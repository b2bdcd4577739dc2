"""Arithmetic on rows of vectors that sources, combiners and pooling share.

Every row's result is the same alone and among others: sums run along the row only.
"""

import numpy as np

_CHUNK = 2048  # rows that stay in a processor's cache between two passes


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


def unit_scales(values):
    """Return the factor that makes each row's length one, 0 for rows of zeros."""
    norms = row_norms(values)
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def unit_rows(values):
    """Return the rows scaled to length one, float32; zero rows stay zero.

    Parameters
    ----------
    values : ndarray of shape (n_rows, dim)

    Returns
    -------
    ndarray of float32, shape (n_rows, dim)
    """
    unit = np.empty(values.shape, dtype=np.float32)
    scales = unit_scales(values)
    for rows in chunks(len(values)):
        np.multiply(
            values[rows], scales[rows, None], out=unit[rows], casting="same_kind"
        )
    return unit
