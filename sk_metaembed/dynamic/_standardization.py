"""Mean and spread of each dimension of a source."""

import numpy as np

_ROWS_PER_PART = 4096


def standardization(block, rows, weights=None):
    """Return mean and inverse standard deviation of some rows of a block.

    Arrays of float32, shape (dim,). The inverse is 0 for dimensions that vary by
    rounding at most: nothing is learned about them, so they must not tell new rows
    apart.
    """
    total = square = 0.0
    # Two passes would read the rows of a memory-mapped block twice.
    shift = block._at(rows[:1]).astype(np.float64)
    weights = np.ones(len(rows)) if weights is None else weights
    for start in range(0, len(rows), _ROWS_PER_PART):
        part = slice(start, start + _ROWS_PER_PART)
        values, own = block._at(rows[part]) - shift, weights[part]
        total, square = total + own @ values, square + own @ np.square(values)
    if len(rows) == 0:
        return np.zeros((2, block.dim), np.float32)
    mean = total / weights.sum()
    variance = np.maximum(square / weights.sum() - np.square(mean), 0)
    mean, std = mean + shift[0], np.sqrt(variance)
    # Rounding of float32 at their own size, or of a projection beyond its rank.
    least = max(1e-12 * std.max(initial=0.0), 1e-30)
    std[std <= (1e-6 * abs(mean)).clip(least)] = np.inf
    return np.stack([mean, 1 / std]).astype(np.float32)
