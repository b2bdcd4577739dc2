"""What flows between steps: token sequences, their vectors, and tokenising."""

from ._block import Block
from ._embedded import EmbeddedSequences
from ._estimator import (
    EmbeddedInputMixin,
    SequencesInputMixin,
    SequencesOutputMixin,
    TaggerMixin,
)
from ._pairs import SequencePairs
from ._spans import convert_tags
from ._tokenizer import Tokenizer
from ._tokens import TokenSequences
from ._validation import check_texts, check_tokens

__all__ = [
    "Block",
    "EmbeddedInputMixin",
    "EmbeddedSequences",
    "SequencePairs",
    "SequencesInputMixin",
    "SequencesOutputMixin",
    "TaggerMixin",
    "TokenSequences",
    "Tokenizer",
    "check_texts",
    "check_tokens",
    "convert_tags",
]
