"""Compiled loops over the rows that each sequence pools.

Imported inside functions only, because numba is slow to load. Each kernel runs over the
sequences ``first`` to ``last``, reads ``values[rows[k]]`` for k in
``offsets[i]:offsets[i + 1]``, and writes row i of ``out`` from ``column`` on. Sums are
float64 and in the order of the sequence, so that a sequence gives the same bits alone,
in any batch, and for type-level and token-level blocks.
"""

import numpy as np

from .._kernels._numba import cached_njit
from .._kernels._row_sums_numba import row_of, sum_rows

__all__ = ["sum_rows"]  # one of the kernels


@cached_njit
def power_mean_rows(
    values, rows, offsets, weights, divisors, power, first, last, out, column
):
    """Write the signed root of the weighted mean of powers of each sequence."""
    dim = values.shape[1]
    total = np.empty(dim)
    term = np.empty(dim)
    scratch = np.empty(dim, np.float32)
    for i in range(first, last):
        total[:] = 0
        for k in range(offsets[i], offsets[i + 1]):
            row = row_of(values, rows[k], scratch)
            term[:] = 1.0 if weights is None else weights[k]
            for _ in range(power):
                for j in range(dim):
                    term[j] *= row[j]
            for j in range(dim):
                total[j] += term[j]
        divisor = divisors[i]
        for j in range(dim):
            mean = total[j] / divisor
            out[i, column + j] = np.copysign(np.abs(mean) ** (1.0 / power), mean)


@cached_njit
def extreme_rows(values, rows, offsets, sign, first, last, out, column):
    """Write the maximum (sign 1) or minimum (sign -1) of each sequence."""
    dim = values.shape[1]
    sign = np.float32(sign)
    best = np.empty(dim, np.float32)
    scratch = np.empty(dim, np.float32)
    for i in range(first, last):
        if offsets[i] == offsets[i + 1]:
            continue
        best[:] = -np.inf
        for k in range(offsets[i], offsets[i + 1]):
            row = row_of(values, rows[k], scratch)
            for j in range(dim):
                best[j] = max(best[j], sign * row[j])
        for j in range(dim):
            out[i, column + j] = sign * best[j]


@cached_njit
def window_max_rows(values, rows, offsets, size, first, last, out, column):
    """Write the maximum over the means of each sequence's windows."""
    dim = values.shape[1]
    best = np.empty(dim)
    total = np.empty(dim)
    scratch = np.empty(dim, np.float32)
    for i in range(first, last):
        length = offsets[i + 1] - offsets[i]
        if length == 0:
            continue
        width = min(size, length)
        best[:] = -np.inf
        for start in range(offsets[i], offsets[i + 1] - width + 1):
            total[:] = 0
            for k in range(start, start + width):
                row = row_of(values, rows[k], scratch)
                for j in range(dim):
                    total[j] += row[j]
            for j in range(dim):
                best[j] = max(best[j], total[j])
        for j in range(dim):
            out[i, column + j] = best[j] / width
