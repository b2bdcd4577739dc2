"""More than memory holds: pipelines over streams, clusters; streams to train on."""

from .._core._public_module import set_public_module
from ._dask import transform_partitions
from ._text_stream import TextStream
from ._transform import StreamResult, transform_in_batches

__all__ = ["StreamResult", "TextStream", "transform_in_batches", "transform_partitions"]

set_public_module(globals())
