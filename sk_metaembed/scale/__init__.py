"""Apply and train pipelines on more data than memory holds, or on a cluster."""

from .._core._public_module import set_public_module
from ._dask import transform_partitions
from ._text_stream import TextStream
from ._transform import StreamResult, transform_in_batches

__all__ = ["StreamResult", "TextStream", "transform_in_batches", "transform_partitions"]

set_public_module(globals())
