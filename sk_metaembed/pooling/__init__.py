"""Pooling: from embedded sequences to one row of numbers per sequence."""

from .._core._public_module import set_public_module
from ._common_component import CommonComponentRemoval
from ._modes import (
    Part,
    write_coefficient,
    write_first,
    write_last,
    write_max,
    write_mean,
    write_min,
    write_power_mean,
    write_sum,
    write_window_max,
)
from ._pooling import Pooling
from ._quantizer import EmbeddingQuantizer

__all__ = [
    "CommonComponentRemoval",
    "EmbeddingQuantizer",
    "Pooling",
]

set_public_module(
    globals(),
    Part,
    write_coefficient,
    write_window_max,
    write_power_mean,
    write_first,
    write_last,
    write_max,
    write_mean,
    write_min,
    write_sum,
)
