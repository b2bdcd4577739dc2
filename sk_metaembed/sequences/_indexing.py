"""Index the containers by an int, a slice, a mask or an index array."""

import numbers
from collections.abc import Iterable

import numpy as np


def row_index(key, n_rows):
    """Return the row number, or the array of row numbers, of an index.

    scikit-learn indexes by ``X[key, ...]``, so a trailing Ellipsis or full slice is
    allowed.
    """
    if isinstance(key, tuple):
        key = _first_axis(key)
    if isinstance(key, numbers.Integral) and not isinstance(key, bool | np.bool_):
        return _single(int(key), n_rows)
    if isinstance(key, slice):
        return np.arange(n_rows)[key]
    return _many(np.asarray(key), n_rows)


def _first_axis(key):
    rest = key[1:]
    if not key or any(part is not Ellipsis and part != slice(None) for part in rest):
        raise IndexError(
            f"Sequences have one axis, but the index has {len(key)}: {key!r}. Use an "
            "int, a slice, a mask or an array of row numbers."
        )
    return key[0]


def _single(row, n_rows):
    if not -n_rows <= row < n_rows:
        raise IndexError(f"Row {row} is out of range for {n_rows} sequences.")
    return row % n_rows


def _many(key, n_rows):
    if key.ndim == 0 and isinstance(key.item(), Iterable) and key.dtype == object:
        key = np.asarray(list(key.item()))
    if key.ndim == 0:
        raise IndexError(
            f"Sequences are indexed by row numbers, slices or masks, got {key.item()!r}"
            f" of type {type(key.item()).__name__}."
        )
    if key.ndim != 1:
        raise IndexError(
            f"An index array must have one dimension, got shape {key.shape}."
        )
    if key.dtype == bool:
        if len(key) != n_rows:
            raise IndexError(
                f"A mask must have one entry per sequence: got {len(key)} entries "
                f"for {n_rows} sequences."
            )
        return np.flatnonzero(key)
    if len(key) == 0:
        return np.empty(0, dtype=np.int64)
    if key.dtype.kind not in "iu":
        raise IndexError(
            f"An index array must hold integers or booleans, got dtype {key.dtype}."
        )
    key = key.astype(np.int64)
    if key.min() < -n_rows or key.max() >= n_rows:
        bad = key[(key < -n_rows) | (key >= n_rows)][0]
        raise IndexError(f"Row {bad} is out of range for {n_rows} sequences.")
    return np.where(key < 0, key + n_rows, key)


def span_index(offsets, rows):
    """Return the positions of some rows of a ragged array, and their new offsets."""
    lengths = np.diff(offsets)[rows]
    new_offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    shift = np.repeat(offsets[:-1][rows] - new_offsets[:-1], lengths)
    return np.arange(new_offsets[-1]) + shift, new_offsets


def gather_spans(buffer, starts, ends, separator):
    """Return the bytes of spans, each followed by a separator, and their offsets."""
    sizes = ends - starts + 1
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    positions = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], sizes)
    last = offsets[1:] - 1
    positions[last] = 0
    gathered = buffer[positions]
    gathered[last] = separator
    return gathered, offsets
