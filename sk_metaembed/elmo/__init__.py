"""ELMo's bidirectional language model: files, characters, network."""

__all__ = []
