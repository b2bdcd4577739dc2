"""Pool embedded sequences into one row of numbers per sequence."""

from ._common_component import CommonComponentRemoval
from ._pooling import Pooling

__all__ = [
    "CommonComponentRemoval",
    "Pooling",
]
