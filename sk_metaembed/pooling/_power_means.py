"""Power means of each sequence's vectors."""

import math

from ._bags import run_kernel
from ._reduce import write_max, write_mean, write_min

# (3.4e38, the largest float32) ** 7 is a float64, its eighth power is not.
LARGEST_POWER = 7


def write_power_mean(bags, out, at, *, power):
    """Write one power mean; infinity is the maximum, minus infinity the minimum.

    Parameters
    ----------
    bags : Bags
    out : ndarray of float32, shape (n_sequences, n_columns)
        Written to from column `at` on.
    at : int
    power : int from 1 to 7, or inf or -inf

    Notes
    -----
    With m the weighted mean of ``x**power``, the result is
    ``sign(m) * |m|**(1 / power)``: real where the mean of an odd power is negative,
    and the ordinary root is complex.
    """
    if power == math.inf:
        write_max(bags, out, at)
    elif power == -math.inf:
        write_min(bags, out, at)
    elif power == 1:
        write_mean(bags, out, at)
    else:
        arguments = bags.weights, bags.divisors, int(power)
        run_kernel("power_mean_rows", bags, arguments, out, at)
