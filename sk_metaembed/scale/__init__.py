"""Apply and train pipelines on more data than memory holds."""

from .._core._public_module import set_public_module
from ._text_stream import TextStream
from ._transform import StreamResult, transform_in_batches

__all__ = ["StreamResult", "TextStream", "transform_in_batches"]

set_public_module(globals())
