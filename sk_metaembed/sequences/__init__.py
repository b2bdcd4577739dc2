"""What flows between steps: token sequences, their vectors, and tokenising."""

from ._embedded import Block, EmbeddedSequences
from ._tokenizer import Tokenizer
from ._tokens import TokenSequences
from ._validation import check_texts, check_tokens

__all__ = [
    "Block",
    "EmbeddedSequences",
    "TokenSequences",
    "Tokenizer",
    "check_texts",
    "check_tokens",
]
