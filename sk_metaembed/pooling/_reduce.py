"""Sum, mean, extremes and ends of each sequence's vectors.

Each function writes into ``out[:, at:at + dim]``, which holds zeros: what has nothing
to pool is left as it is.
"""

import numpy as np

from ._bags import run_kernel


def write_sum(bags, out, at):
    """Write sum_k w_k v_k."""
    _write_quotient(bags, np.ones_like(bags.divisors), out, at)


def write_mean(bags, out, at):
    """Write sum_k w_k v_k over the sequence's divisor."""
    _write_quotient(bags, bags.divisors, out, at)


def _write_quotient(bags, divisors, out, at):
    run_kernel("sum_rows", bags, (bags.weights, divisors), out, at)


def write_max(bags, out, at):
    """Write the largest value of each dimension."""
    run_kernel("max_rows", bags, (), out, at)


def write_min(bags, out, at):
    """Write the smallest value of each dimension."""
    run_kernel("min_rows", bags, (), out, at)


def write_first(bags, out, at):
    """Write the first vector."""
    _write_row(bags, bags.offsets[:-1], out, at)


def write_last(bags, out, at):
    """Write the last vector."""
    _write_row(bags, bags.offsets[1:] - 1, out, at)


def _write_row(bags, places, out, at):
    filled = np.flatnonzero(bags.lengths)
    columns = slice(at, at + bags.values.shape[1])
    out[filled, columns] = bags.values[bags.rows[places[filled]]]
