"""The modes of Pooling: functions that each write one vector per sequence.

Each function writes to ``out[:, column : column + dim]``, which is zero before.
Sequences without vectors stay zero. A mode consists of one or more parts, each of the
dimension of the block; "dct", for example, has one part per coefficient.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from ._bags import run_kernel


def write_sum(bags, out, column):
    """Write sum_k w_k v_k."""
    _write_weighted_sum(bags, np.ones_like(bags.divisors), out, column)


def write_mean(bags, out, column):
    """Write sum_k w_k v_k over the divisor of the sequence."""
    _write_weighted_sum(bags, bags.divisors, out, column)


def _write_weighted_sum(bags, divisors, out, column):
    run_kernel("sum_rows", bags, (bags.weights, divisors), out, column)


def write_max(bags, out, column):
    """Write the maximum of each dimension."""
    run_kernel("extreme_rows", bags, (1,), out, column)


def write_min(bags, out, column):
    """Write the minimum of each dimension."""
    run_kernel("extreme_rows", bags, (-1,), out, column)


def write_first(bags, out, column):
    """Write the first vector."""
    _write_row(bags, bags.offsets[:-1], out, column)


def write_last(bags, out, column):
    """Write the last vector."""
    _write_row(bags, bags.offsets[1:] - 1, out, column)


def _write_row(bags, positions, out, column):
    filled = np.flatnonzero(bags.lengths)
    columns = slice(column, column + bags.values.shape[1])
    out[filled, columns] = bags.values[bags.rows[positions[filled]]]


# The seventh power of the largest float32, 3.4e38, is a float64; its eighth overflows.
LARGEST_POWER = 7


def write_power_mean(bags, out, column, *, power):
    """Write a power mean, for a power from 1 to 7 or +-infinity (maximum, minimum).

    With m the weighted mean of ``x**power``, the result is ``sign(m) * |m|**(1 /
    power)``, which is real for a negative mean of an odd power.
    """
    if power == math.inf:
        write_max(bags, out, column)
    elif power == -math.inf:
        write_min(bags, out, column)
    elif power == 1:
        write_mean(bags, out, column)
    else:
        arguments = bags.weights, bags.divisors, int(power)
        run_kernel("power_mean_rows", bags, arguments, out, column)


def dct_weights(offsets, coefficient, n_coefficients):
    """Return the factor of each token's vector in a cosine coefficient, (n_tokens,).

    For a sequence of N vectors, padded to M = max(N, n_coefficients), the orthonormal
    DCT-II has ``c_k = sqrt(g / M) * sum_n v_n cos(pi (2n + 1) k / 2M)``, g = 1 for k =
    0 and 2 otherwise. It grows with the root of the length; ``c_k * sqrt(M) / N`` does
    not, and is the mean for k = 0.
    """
    lengths = np.diff(offsets)
    step = np.pi * coefficient / np.maximum(lengths, n_coefficients)
    angle = np.arange(0.5, offsets[-1])  # modified in place: one entry per token
    angle -= np.repeat(offsets[:-1], lengths)
    angle *= np.repeat(step, lengths)
    np.cos(angle, out=angle)
    return angle if coefficient == 0 else np.multiply(angle, np.sqrt(2.0), out=angle)


def write_coefficient(bags, out, column, *, coefficient, n_coefficients):
    """Write a cosine coefficient over the length, see `dct_weights`; unweighted."""
    weights = None  # all 1 for coefficient 0, the mean
    if coefficient:
        weights = dct_weights(bags.offsets, coefficient, n_coefficients)
    lengths = np.maximum(bags.lengths, 1).astype(np.float64)
    run_kernel("sum_rows", bags, (weights, lengths), out, column)


def write_window_max(bags, out, column, *, window_size):
    """Write the maximum of each dimension over the means of all windows; unweighted.

    A sequence shorter than `window_size` is one window.
    """
    run_kernel("window_max_rows", bags, (window_size,), out, column)


_WRITERS = {
    "mean": write_mean,
    "max": write_max,
    "min": write_min,
    "sum": write_sum,
    "first": write_first,
    "last": write_last,
}
MODES = (*_WRITERS, "power-means", "dct", "hierarchical")
WEIGHTED = ("mean", "sum", "power-means")


class Part(NamedTuple):
    """A part of the output of a block: its label, and the function that writes it."""

    label: str
    write: object


def mode_parts(mode, *, powers, n_coefficients, window_size):
    """Return the list of Parts of a mode."""
    if mode == "power-means":
        return [
            Part(f"power{power:g}", partial(write_power_mean, power=power))
            for power in powers
        ]
    if mode == "dct":
        write = partial(write_coefficient, n_coefficients=n_coefficients)
        return [
            Part(f"dct{k}", partial(write, coefficient=k))
            for k in range(n_coefficients)
        ]
    if mode == "hierarchical":
        return [Part(mode, partial(write_window_max, window_size=window_size))]
    return [Part(mode, _WRITERS[mode])]


def part_factors(part, bags):
    """Return the factor of each token's vector in a Part, (n_tokens,).

    None if the part is not a weighted sum of the vectors. Explanations need the
    factors; the functions that write parts do not return them.
    """
    write, options = part.write, {}
    if isinstance(write, partial):
        write, options = write.func, write.keywords
    if write is write_power_mean and options["power"] == 1:
        write = write_mean
    if write is write_coefficient:
        weights = dct_weights(bags.offsets, **options)
        return weights / np.repeat(bags.lengths, bags.lengths)
    ends = {write_first: bags.offsets[:-1], write_last: bags.offsets[1:] - 1}
    if write in ends:
        factors = np.zeros(len(bags.rows))
        factors[ends[write][bags.lengths > 0]] = 1
        return factors
    if write not in (write_mean, write_sum):
        return None
    factors = np.ones(len(bags.rows)) if bags.weights is None else bags.weights
    is_mean = write is write_mean
    return factors / np.repeat(bags.divisors, bags.lengths) if is_mean else factors
