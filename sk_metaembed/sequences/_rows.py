"""Arithmetic on rows of vectors that sources, combiners and pooling share."""

import numpy as np

_CHUNK = 16_384


def row_norms(values):
    """Return the Euclidean norm of every row, as float64 of shape (n_rows,).

    Squares are summed in float64, so that no finite float32 overflows or vanishes.
    """
    norms = np.empty(len(values))
    for start in range(0, len(values), _CHUNK):
        chunk = values[start : start + _CHUNK].astype(np.float64)
        norms[start : start + _CHUNK] = np.sqrt(np.einsum("ij,ij->i", chunk, chunk))
    return norms


def unit_rows(values):
    """Return the rows scaled to length one, float32; zero rows stay zero.

    Parameters
    ----------
    values : ndarray of shape (n_rows, dim)

    Returns
    -------
    ndarray of float32, shape (n_rows, dim)
    """
    norms = row_norms(values)
    norms[norms == 0] = 1.0
    unit = np.empty(values.shape, dtype=np.float32)
    for start in range(0, len(values), _CHUNK):
        rows = slice(start, start + _CHUNK)
        np.divide(values[rows], norms[rows, None], out=unit[rows], casting="same_kind")
    return unit
