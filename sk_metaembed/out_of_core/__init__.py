"""Apply fitted pipelines to more data than memory holds."""

from ._transform_in_batches import transform_in_batches

__all__ = ["transform_in_batches"]
