"""ELMo's bidirectional language model: files, characters, network, training."""

from .._core._public_module import set_public_module
from ._language_model import ElmoLanguageModel
from ._options import ElmoOptions

__all__ = ["ElmoLanguageModel"]

set_public_module(globals(), ElmoOptions)
