"""Ragged arrays: rows of different lengths, one after the other, and their offsets."""

import numpy as np

_CHUNK = 1 << 16  # bytes gathered at once


def offsets_of(lengths):
    """Return where each row of a ragged array begins, and the end of the last."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def span_index(offsets, rows):
    """Return the positions of some rows of a ragged array, and their new offsets."""
    lengths = np.diff(offsets)[rows]
    return ranges(offsets[:-1][rows], lengths), offsets_of(lengths)


def ranges(starts, lengths):
    """Return the integers of ranges, one range after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    offsets = offsets_of(lengths)
    return np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)


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
