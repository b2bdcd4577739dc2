"""ELMo's bidirectional language model: files, characters, network, training."""

from ._language_model import ElmoLanguageModel

__all__ = ["ElmoLanguageModel"]
