"""A compiled loop: the weighted sum of each sequence's rows of a table.

Imported inside functions only, because numba is slow to load. It runs over the
sequences ``first`` to ``last``, reads ``values[rows[k]]`` for k in
``offsets[i]:offsets[i + 1]``, and writes row i of ``out`` from ``column`` on. Sums are
float64 and in the order of the sequence, so that a sequence gives the same bits alone
and in any batch.
"""

import numba
import numpy as np
from numba.extending import overload

from ._numba import cached_njit, prefetch

_AHEAD = 8  # number of rows that are requested ahead
_CACHED = 1 << 21  # bytes of a table; smaller ones need no requests
_HALF_TO_SINGLE = np.float32(2.0**112)


@cached_njit
def _decode(bits, decoded):
    """Write float16 numbers, given by their bits, as float32; numba has no float16.

    The bits of exponent and fraction move to their float32 positions; what remains is
    the difference of the two exponent biases, a power of two.
    """
    words = decoded.view(np.int32)
    for j in range(len(bits)):
        half = np.int32(bits[j])
        words[j] = ((half & 0x7FFF) << 13) | ((half & 0x8000) << 16)
    for j in range(len(bits)):
        decoded[j] *= _HALF_TO_SINGLE


def row_of(values, i, scratch):
    """Return a row as float32: itself, or decoded into `scratch`."""
    raise NotImplementedError("for compiled code only")


@overload(row_of)
def _compiled_row_of(values, i, scratch):
    if values.dtype == numba.uint16:

        def decoded(values, i, scratch):
            _decode(values[i], scratch)
            return scratch

        return decoded
    return lambda values, i, scratch: values[i]


@cached_njit
def _request(values, rows, k, n, end):
    """Begin to load the rows k to k + n into the processor's cache, up to `end`."""
    width = values.shape[1] * values.itemsize
    for each in range(k, min(k + n, end)):
        row = values[rows[each]]
        for offset in range(0, width, 64):
            prefetch(row, offset)


@cached_njit
def sum_rows(values, rows, offsets, weights, divisors, first, last, out, column):
    """Write the weighted sum of each sequence's rows over its divisor.

    Four rows at a time: the total is loaded and stored once per four rows. Later rows
    are requested meanwhile, across the ends of sequences.
    """
    dim = values.shape[1]
    # Requests cost time where the caches hold the table.
    stop = offsets[last] if values.size * values.itemsize > _CACHED else 0
    total = np.empty(dim)
    scratch = np.empty((4, dim), np.float32)
    for i in range(first, last):
        total[:] = 0
        k = offsets[i]
        end = offsets[i + 1]
        while k < end:
            n = 4 if k + 4 <= end else 1
            _request(values, rows, k + _AHEAD, n, stop)
            a = row_of(values, rows[k], scratch[0])
            if n == 1:
                wa = 1.0 if weights is None else weights[k]
                for j in range(dim):
                    total[j] += wa * a[j]
                k += 1
                continue
            b = row_of(values, rows[k + 1], scratch[1])
            c = row_of(values, rows[k + 2], scratch[2])
            d = row_of(values, rows[k + 3], scratch[3])
            if weights is None:
                for j in range(dim):
                    pair = np.float64(a[j]) + np.float64(b[j])
                    total[j] += pair + (np.float64(c[j]) + np.float64(d[j]))
            else:
                wa = weights[k]
                wb = weights[k + 1]
                wc = weights[k + 2]
                wd = weights[k + 3]
                for j in range(dim):
                    total[j] += (wa * a[j] + wb * b[j]) + (wc * c[j] + wd * d[j])
            k += 4
        divisor = divisors[i]  # outside the loop, which checks it for zero
        for j in range(dim):
            out[i, column + j] = total[j] / divisor
