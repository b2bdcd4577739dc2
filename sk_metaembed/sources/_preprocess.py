"""What is done to a source's vectors before they are combined.

Arrays in, arrays out: statistics are learned from the frequent words of a source's
own vocabulary, and applied to the vectors of any words.
"""

from typing import NamedTuple

import numpy as np

from ..sequences._rows import chunks, unit_rows

PREPROCESSINGS = (None, "unit", "centre", "unit-centre-unit", "all-but-the-top")
FREQUENT = 100_000  # rows, in order of frequency, that statistics are learned from


class Preprocessing(NamedTuple):
    """A way to change vectors, with what it learned.

    Parameters
    ----------
    kind : {None, "unit", "centre", "unit-centre-unit", "all-but-the-top"}
    mean : ndarray of float32, shape (dim,), or None
        Of the vocabulary, or of its unit vectors for "unit-centre-unit".
    directions : ndarray of float32, shape (n_removed, dim), or None
        Orthonormal directions that "all-but-the-top" projects out.
    """

    kind: str | None = None
    mean: np.ndarray | None = None
    directions: np.ndarray | None = None

    def apply(self, values, out=None):
        """Return changed vectors, of the same shape and dtype.

        Parameters
        ----------
        values : ndarray of shape (n_rows, dim)
        out : ndarray of shape (n_rows, dim), default=None
            Where to write them, perhaps `values` itself. None makes a new array.

        Returns
        -------
        ndarray of shape (n_rows, dim)
        """
        changed = np.empty(values.shape, values.dtype) if out is None else out
        for rows in chunks(len(values)):
            changed[rows] = self._change(values[rows])
        return changed

    def _change(self, rows):
        if self.kind == "unit-centre-unit":
            return unit_rows(unit_rows(rows) - self.mean)
        if self.kind == "unit":
            return unit_rows(rows)
        if self.kind is None:
            return rows
        rows = rows.astype(np.float32, copy=False) - self.mean
        for direction in () if self.directions is None else self.directions:
            # A matrix product would round by a row's place among the others.
            rows -= np.einsum("ij,j->i", rows, direction)[:, None] * direction
        return rows


def fit_preprocessing(kind, vocabulary):
    """Learn what a preprocessing needs from a vocabulary's vectors.

    Parameters
    ----------
    kind : {None, "unit", "centre", "unit-centre-unit", "all-but-the-top"}
    vocabulary : ndarray of shape (n_words, dim)
        The most frequent words first; only the first 100,000 are read.

    Returns
    -------
    Preprocessing
    """
    if kind in (None, "unit"):
        return Preprocessing(kind)
    vocabulary = vocabulary[:FREQUENT]
    if kind == "unit-centre-unit":
        return Preprocessing(kind, row_mean(vocabulary, unit_rows))
    mean = row_mean(vocabulary)
    if kind == "centre":
        return Preprocessing(kind, mean)
    dim = vocabulary.shape[1]
    n_removed = min(max(1, dim // 100), dim - 1)
    return Preprocessing(kind, mean, top_directions(vocabulary, mean, n_removed))


def row_mean(values, change=np.asarray):
    """Return the mean of the changed rows, float32; zeros where there is no row."""
    total = np.zeros(values.shape[1])
    for rows in chunks(len(values)):
        total += change(values[rows]).sum(axis=0, dtype=np.float64)
    return (total / max(len(values), 1)).astype(np.float32)


def top_directions(values, mean, n_directions):
    """Return the first principal directions, float32 of shape (n_directions, dim)."""
    dim = values.shape[1]
    scatter = np.zeros((dim, dim))
    for rows in chunks(len(values)):
        centred = values[rows].astype(np.float32, copy=False) - mean
        scatter += centred.T @ centred
    _, vectors = np.linalg.eigh(scatter)
    return vectors[:, dim - n_directions :].T.astype(np.float32)
