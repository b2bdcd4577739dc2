"""The modes of Pooling: each writes one or more vectors per sequence.

A mode consists of parts, each of the dimension of the block; "dct", for example, has
one part per coefficient. Sequences without vectors stay zero.
"""

import math
from typing import NamedTuple

import numpy as np

from ._bags import run_kernel

# The seventh power of the largest float32, 3.4e38, is a float64; its eighth overflows.
LARGEST_POWER = 7
_PLAIN = ("mean", "max", "min", "sum", "first", "last")
MODES = (*_PLAIN, "power-means", "dct", "hierarchical")
WEIGHTED = ("mean", "sum", "power-means")


class Part(NamedTuple):
    """A part of the output of a block."""

    label: str
    kind: str  # a plain mode, "power", "dct" or "hierarchical"
    options: tuple = ()  # the power, coefficient and their number, or window size


def mode_parts(mode, powers, n_coefficients, window_size):
    """Return the list of Parts of a mode."""
    if mode == "power-means":
        # With m the weighted mean of ``x**power``, the power mean is ``sign(m) *
        # |m|**(1 / power)``, which is real for a negative mean of an odd power.
        kinds = {1: "mean", math.inf: "max", -math.inf: "min"}
        return [
            Part(f"power{power:g}", kinds[power])
            if power in kinds
            else Part(f"power{power:g}", "power", (int(power),))
            for power in powers
        ]
    if mode == "dct":
        coefficients = range(n_coefficients)
        return [Part(f"dct{k}", "dct", (k, n_coefficients)) for k in coefficients]
    if mode == "hierarchical":
        return [Part(mode, mode, (window_size,))]
    return [Part(mode, mode)]


def write_part(part, bags, out, column):
    """Write a Part to ``out[:, column : column + dim]``, which is zero before."""
    if part.kind in ("first", "last"):
        filled, ends = _ends(part, bags)
        columns = slice(column, column + bags.values.shape[1])
        out[filled, columns] = bags.values[bags.rows[ends]]
        return
    kernel, arguments = {
        "max": ("extreme_rows", (1,)),
        "min": ("extreme_rows", (-1,)),
        "hierarchical": ("window_max_rows", part.options),
        "power": ("power_mean_rows", (bags.weights, bags.divisors, *part.options)),
    }.get(part.kind, ("sum_rows", None))
    run_kernel(kernel, bags, arguments or _sum_arguments(part, bags), out, column)


def part_factors(part, bags):
    """Return the factor of each token's vector in a Part, (n_tokens,).

    None if the part is not a weighted sum of the vectors.
    """
    if part.kind in ("first", "last"):
        factors = np.zeros(len(bags.rows))
        factors[_ends(part, bags)[1]] = 1
        return factors
    if part.kind not in ("mean", "sum", "dct"):
        return None
    weights, divisors = _sum_arguments(part, bags)
    return (1.0 if weights is None else weights) / np.repeat(divisors, bags.lengths)


def _ends(part, bags):
    """Return the sequences that have vectors, and the first or last token of each."""
    filled = np.flatnonzero(bags.lengths)
    ends = bags.offsets[:-1] if part.kind == "first" else bags.offsets[1:] - 1
    return filled, ends[filled]


def _sum_arguments(part, bags):
    """Return the weight of each token, None for 1, and the divisor of each sequence."""
    if part.kind == "mean":
        return bags.weights, bags.divisors
    if part.kind == "sum":
        return bags.weights, np.ones_like(bags.divisors)
    lengths = np.maximum(bags.lengths, 1).astype(np.float64)
    coefficient = part.options[0]  # 0 is the mean
    return dct_weights(bags.offsets, *part.options) if coefficient else None, lengths


def dct_weights(offsets, coefficient, n_coefficients):
    """Return the factor of each token's vector in a cosine coefficient, (n_tokens,).

    For N vectors, padded to M = max(N, n_coefficients), the orthonormal DCT-II is ``c_k
    = sqrt(g / M) * sum_n v_n cos(pi (2n + 1) k / 2M)``, g = 1 for k = 0 and 2
    otherwise. It grows with the root of the length; ``c_k * sqrt(M) / N`` does not.
    """
    lengths = np.diff(offsets)
    step = np.pi * coefficient / np.maximum(lengths, n_coefficients)
    angle = np.arange(0.5, offsets[-1])  # modified in place: one entry per token
    angle -= np.repeat(offsets[:-1], lengths)
    angle *= np.repeat(step, lengths)
    np.cos(angle, out=angle)
    return np.multiply(angle, np.sqrt(2.0), out=angle)
