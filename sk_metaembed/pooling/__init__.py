"""Pooling: embedded sequences to one row of numbers each."""

from ._pooling import Pooling

__all__ = ["Pooling"]
