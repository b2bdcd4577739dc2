"""Ragged arrays: rows of different lengths, one after the other, and their offsets."""

import numpy as np

_CHUNK = 1 << 16  # bytes gathered at once


def span_index(offsets, rows):
    """Return the positions of some rows of a ragged array, and their new offsets."""
    lengths = np.diff(offsets)[rows]
    new_offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    shift = np.repeat(offsets[:-1][rows] - new_offsets[:-1], lengths)
    return np.arange(new_offsets[-1]) + shift, new_offsets


def gather_spans(buffer, starts, ends, separator):
    """Return the bytes of spans, each followed by a separator, and their offsets."""
    offsets = np.concatenate([[0], np.cumsum(ends - starts + 1)])
    gathered = np.empty(offsets[-1], dtype=buffer.dtype)
    # In chunks, because the position of each byte takes 8 bytes.
    marks = np.searchsorted(offsets, np.arange(0, offsets[-1], _CHUNK))
    bounds = np.unique([*marks, len(starts)]).tolist()
    for first, last in zip(bounds[:-1], bounds[1:], strict=True):
        begin, end = offsets[first], offsets[last]
        sizes = np.diff(offsets[first : last + 1])
        positions = np.repeat(starts[first:last] - offsets[first:last], sizes)
        positions += np.arange(begin, end)
        buffer.take(positions, out=gathered[begin:end], mode="clip")
    gathered[offsets[1:] - 1] = separator
    return gathered, offsets
