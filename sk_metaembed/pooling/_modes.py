"""The modes of Pooling by name, and the parts that each writes."""

from functools import partial
from typing import NamedTuple

from ._dct import write_coefficient
from ._hierarchical import write_window_max
from ._power_means import write_power_mean
from ._reduce import (
    write_first,
    write_last,
    write_max,
    write_mean,
    write_min,
    write_sum,
)

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
