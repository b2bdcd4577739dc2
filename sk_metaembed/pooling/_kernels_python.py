"""The kernels of `_kernels_numba` in NumPy, for inputs too small to load numba.

Each takes the same arguments and adds in the same order, in float64, so both give the
same bits. Rows of `out` without a vector stay zero.
"""

import numpy as np


def _bags(values, rows, offsets, first, last):
    """Yield (index, span of tokens, rows) of each sequence that has a vector."""
    values = np.asarray(values)  # a memory map is slow to index
    bounds = offsets[first : last + 1].tolist()
    for i, (begin, end) in enumerate(zip(bounds, bounds[1:], strict=False), first):
        if begin < end:
            yield i, slice(begin, end), values[rows[begin:end]]


def _total(terms):
    """Return the sum of rows, added one by one."""
    # Not `sum`, which goes pairwise through a single column; 0.0 as -0.0 + 0.0 is.
    return np.add.accumulate(terms, axis=0)[-1] + 0.0


def sum_rows(values, rows, offsets, weights, divisors, first, last, out, column):
    """Write the weighted sum of each sequence's rows over its divisor."""
    dim = values.shape[1]
    for i, span, bag in _bags(values, rows, offsets, first, last):
        terms = bag.astype(np.float64)
        if weights is not None:
            terms *= weights[span, None]
        n_fours = len(terms) // 4
        if n_fours:
            fours = terms[: 4 * n_fours].reshape(n_fours, 2, 2, dim)
            pairs = fours[:, :, 0] + fours[:, :, 1]
            fours = pairs[:, 0] + pairs[:, 1]
            terms = np.concatenate((fours, terms[4 * n_fours :]))
        out[i, column : column + dim] = _total(terms) / divisors[i]


def power_mean_rows(
    values, rows, offsets, weights, divisors, power, first, last, out, column
):
    """Write the signed root of the weighted mean of powers of each sequence."""
    dim = values.shape[1]
    for i, span, bag in _bags(values, rows, offsets, first, last):
        terms = np.ones(bag.shape)
        if weights is not None:
            terms *= weights[span, None]
        for _ in range(power):
            terms *= bag
        mean = _total(terms) / divisors[i]
        out[i, column : column + dim] = np.copysign(np.abs(mean) ** (1.0 / power), mean)


def max_rows(values, rows, offsets, first, last, out, column):
    """Write the maximum of each sequence."""
    dim = values.shape[1]
    for i, _, bag in _bags(values, rows, offsets, first, last):
        out[i, column : column + dim] = bag.max(axis=0)


def min_rows(values, rows, offsets, first, last, out, column):
    """Write the minimum of each sequence."""
    dim = values.shape[1]
    for i, _, bag in _bags(values, rows, offsets, first, last):
        out[i, column : column + dim] = bag.min(axis=0)


def window_max_rows(values, rows, offsets, size, first, last, out, column):
    """Write the maximum over the means of each sequence's windows."""
    dim = values.shape[1]
    for i, _, bag in _bags(values, rows, offsets, first, last):
        width = min(size, len(bag))
        n_windows = len(bag) - width + 1
        totals = np.zeros((n_windows, dim))
        for k in range(width):
            totals += bag[k : k + n_windows]
        out[i, column : column + dim] = totals.max(axis=0) / width
