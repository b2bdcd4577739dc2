"""The modes of Pooling by name, and the parts that each writes.

Sum, mean, extremes and ends of each sequence's vectors.

Each function writes into ``out[:, at:at + dim]``, which holds zeros: what has nothing
to pool is left as it is.

Power means of each sequence's vectors.

Cosine coefficients of each sequence's vectors.

The maximum over windows' means.
"""

import math
from functools import partial
from typing import NamedTuple

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


def dct_weights(offsets, coefficient, n_coefficients):
    """Return what each token's vector is multiplied by in one cosine coefficient.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_sequences + 1,)
    coefficient : int
        From 0 to ``n_coefficients - 1``.
    n_coefficients : int
        Shorter sequences are padded with zeros to this length.

    Returns
    -------
    ndarray of float64, shape (n_tokens,)

    Notes
    -----
    Of a sequence of N vectors, padded to M = max(N, n_coefficients), the orthonormal
    DCT-II has ``c_k = sqrt(g / M) * sum_n v_n cos(pi (2n + 1) k / 2M)``, g = 1 for
    k = 0 and 2 otherwise. It grows with the root of the length;
    ``c_k * sqrt(M) / N`` does not, and is the mean for k = 0.
    """
    lengths = np.diff(offsets)
    step = np.pi * coefficient / np.maximum(lengths, n_coefficients)
    angle = np.arange(0.5, offsets[-1])  # in place from here: one entry a token
    angle -= np.repeat(offsets[:-1], lengths)
    angle *= np.repeat(step, lengths)
    np.cos(angle, out=angle)
    return angle if coefficient == 0 else np.multiply(angle, np.sqrt(2.0), out=angle)


def write_coefficient(bags, out, at, *, coefficient, n_coefficients):
    """Write one cosine coefficient, its length divided out.

    Parameters
    ----------
    bags : Bags
        Its weights are not used.
    out : ndarray of float32, shape (n_sequences, n_columns)
        Written to from column `at` on.
    at : int
    coefficient, n_coefficients : int
        See `dct_weights`.
    """
    weights = None  # all are 1 for the mean
    if coefficient:
        weights = dct_weights(bags.offsets, coefficient, n_coefficients)
    lengths = np.maximum(bags.lengths, 1).astype(np.float64)
    run_kernel("sum_rows", bags, (weights, lengths), out, at)


def write_window_max(bags, out, at, *, window_size):
    """Write the largest value of each dimension among the means of all windows.

    A window begins at every token that has ``window_size - 1`` tokens behind it, so
    the last one ends with the sequence. A shorter sequence is a single window.

    Parameters
    ----------
    bags : Bags
        Its weights are not used.
    out : ndarray of float32, shape (n_sequences, n_columns)
        Written to from column `at` on.
    at : int
    window_size : int
    """
    run_kernel("window_max_rows", bags, (window_size,), out, at)


_PLAIN = {
    "mean": write_mean,
    "max": write_max,
    "min": write_min,
    "sum": write_sum,
    "first": write_first,
    "last": write_last,
}
MODES = (*_PLAIN, "power-means", "dct", "hierarchical")
WEIGHTED = ("mean", "sum", "power-means")


class Part(NamedTuple):
    """One vector of the block's dimension: its label, and what writes it."""

    label: str
    write: object


def mode_parts(mode, *, powers, n_coefficients, window_size):
    """Return the parts that one mode writes, in order.

    Parameters
    ----------
    mode : str
        One of `MODES`.
    powers : sequence of float
    n_coefficients, window_size : int

    Returns
    -------
    list of Part
    """
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
    return [Part(mode, _PLAIN[mode])]
