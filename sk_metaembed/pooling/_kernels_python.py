"""The kernels of `_kernels_numba` in NumPy, for inputs too small to load numba.

Each takes the same arguments and adds in the same order, in float64, so both give the
same bits. Rows of `out` without a vector stay zero.
"""

import numpy as np

from .._kernels._row_sums import bags_of, sum_rows, total_of

__all__ = ["sum_rows"]  # one of the kernels


def power_mean_rows(
    values, rows, offsets, weights, divisors, power, first, last, out, column
):
    """Write the signed root of the weighted mean of powers of each sequence."""
    dim = values.shape[1]
    for i, span, bag in bags_of(values, rows, offsets, first, last):
        terms = np.ones(bag.shape)
        if weights is not None:
            terms *= weights[span, None]
        for _ in range(power):
            terms *= bag
        mean = total_of(terms) / divisors[i]
        out[i, column : column + dim] = np.copysign(np.abs(mean) ** (1.0 / power), mean)


def extreme_rows(values, rows, offsets, sign, first, last, out, column):
    """Write the maximum (sign 1) or minimum (sign -1) of each sequence."""
    dim = values.shape[1]
    for i, _, bag in bags_of(values, rows, offsets, first, last):
        out[i, column : column + dim] = sign * (sign * bag).max(axis=0)


def window_max_rows(values, rows, offsets, size, first, last, out, column):
    """Write the maximum over the means of each sequence's windows."""
    dim = values.shape[1]
    for i, _, bag in bags_of(values, rows, offsets, first, last):
        width = min(size, len(bag))
        n_windows = len(bag) - width + 1
        totals = np.zeros((n_windows, dim))
        for k in range(width):
            totals += bag[k : k + n_windows]
        out[i, column : column + dim] = totals.max(axis=0) / width
