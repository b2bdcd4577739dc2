"""Index the containers by an int, a slice, a mask or an index array."""

import numbers

import numpy as np


def row_index(key, n_rows):
    """Return the row number, or the array of row numbers, of an index.

    scikit-learn indexes by ``X[key, ...]``, as any array allows.
    """
    if isinstance(key, numbers.Integral) and not isinstance(key, bool):
        return range(n_rows)[key]
    rows = np.arange(n_rows)[key]
    if rows.ndim > 1:
        raise IndexError(
            f"Sequences have one axis, but the index {key!r} gives {rows.ndim}. Use an "
            "int, a slice, a mask or an array of row numbers."
        )
    return rows if rows.ndim else int(rows)


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
