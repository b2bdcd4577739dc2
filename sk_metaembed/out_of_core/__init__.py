"""Apply fitted pipelines to more data than memory holds."""

from .._core._public_module import set_public_module
from ._transform_in_batches import transform_in_batches

__all__ = ["transform_in_batches"]

set_public_module(globals())
