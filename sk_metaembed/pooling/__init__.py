"""Pooling: from embedded sequences to one row of numbers per sequence."""

from .._core._public_module import set_public_module
from ._common_component import CommonComponentRemoval
from ._modes import Part
from ._pooling import Pooling

__all__ = [
    "CommonComponentRemoval",
    "Pooling",
]

set_public_module(globals(), Part)  # fitted estimators contain it
