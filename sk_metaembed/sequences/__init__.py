"""Data containers of all steps: token sequences and their vectors; tokenization."""

from ._block import Block
from ._embedded_sequences import EmbeddedSequences
from ._mixins import EmbeddedInputMixin, SequencesInputMixin, SequencesOutputMixin
from ._sequence_pairs import SequencePairs
from ._tags import convert_tags
from ._token_sequences import TokenSequences
from ._tokenizer import Tokenizer
from ._validation import check_tokens

__all__ = [
    "Block",
    "EmbeddedInputMixin",
    "EmbeddedSequences",
    "SequencePairs",
    "SequencesInputMixin",
    "SequencesOutputMixin",
    "TokenSequences",
    "Tokenizer",
    "check_tokens",
    "convert_tags",
]
