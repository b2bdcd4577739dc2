"""Pooling: embedded sequences to one row of numbers each."""

from ._common_component import CommonComponentRemoval
from ._pooling import Pooling
from ._random_encoder import RandomEncoderPooling

__all__ = ["CommonComponentRemoval", "Pooling", "RandomEncoderPooling"]
