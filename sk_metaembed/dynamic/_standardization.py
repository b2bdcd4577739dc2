"""Mean and spread of each dimension of a source."""

import numpy as np

from .._core._arrays import length_limit, row_norms, vary_by_rounding, warn_of_long

_ROWS_PER_PART = 4096


def standardization(block, rows, weights=None):
    """Return mean and inverse standard deviation of some rows of a block.

    Arrays of float32, shape (dim,). The inverse is 0 for dimensions that vary by
    rounding at most: nothing is learned about them, so they must not distinguish new
    rows. Vectors far longer than 99% of all do not count, because the others would
    become equal; without weights, a warning names the first one.
    """
    if len(rows) == 0:
        return np.zeros((2, block.dim), np.float32)
    # Two passes over all rows would read a memory-mapped block twice.
    sample = block._at(rows[:: len(rows) // _ROWS_PER_PART + 1])
    norms = row_norms(sample)
    limit = length_limit(norms)
    shift = sample[norms <= limit][0].astype(np.float64)
    counted = np.ones(len(rows)) if weights is None else weights.astype(np.float64)
    total = square = 0.0
    for start in range(0, len(rows), _ROWS_PER_PART):
        part = slice(start, start + _ROWS_PER_PART)
        values, own = block._at(rows[part]), counted[part]
        own[row_norms(values) > limit] = 0
        values = values - shift
        total, square = total + own @ values, square + own @ np.square(values)
    if weights is None and not counted.all():
        warn_of_long(block.name, rows[counted == 0])
    mean = total / counted.sum()
    variance = np.maximum(square / counted.sum() - np.square(mean), 0)
    mean, std = mean + shift, np.sqrt(variance)
    std[vary_by_rounding(mean, std)] = np.inf
    return np.stack([mean, 1 / std]).astype(np.float32)
