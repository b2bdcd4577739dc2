"""The loop of `_row_sums_numba` in NumPy, for inputs too small to load numba.

It takes the same arguments and adds in the same order, in float64, so that both give
the same bits. Rows of `out` without a vector stay zero.
"""

import numpy as np


def bags_of(values, rows, offsets, first, last):
    """Yield (index, span of tokens, rows) of each sequence that has a vector."""
    values = np.asarray(values)  # a memory map is slow to index
    bounds = offsets[first : last + 1].tolist()
    for i, (begin, end) in enumerate(zip(bounds, bounds[1:], strict=False), first):
        if begin < end:
            yield i, slice(begin, end), values[rows[begin:end]]


def total_of(terms):
    """Return the sum of rows, added one by one."""
    # np.sum adds a single column pairwise, which rounds differently. The compiled loop
    # starts at 0.0, so a sum of -0.0 is 0.0.
    return np.add.accumulate(terms, axis=0)[-1] + 0.0


def sum_rows(values, rows, offsets, weights, divisors, first, last, out, column):
    """Write the weighted sum of each sequence's rows over its divisor."""
    dim = values.shape[1]
    for i, span, bag in bags_of(values, rows, offsets, first, last):
        terms = bag.astype(np.float64)
        if weights is not None:
            terms *= weights[span, None]
        n_fours = len(terms) // 4
        if n_fours:
            fours = terms[: 4 * n_fours].reshape(n_fours, 2, 2, dim)
            pairs = fours[:, :, 0] + fours[:, :, 1]
            fours = pairs[:, 0] + pairs[:, 1]
            terms = np.concatenate((fours, terms[4 * n_fours :]))
        out[i, column : column + dim] = total_of(terms) / divisors[i]
