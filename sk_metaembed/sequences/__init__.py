"""Data containers of all steps: token sequences and their vectors; tokenization."""

from .._core._public_module import set_public_module
from ._block import Block
from ._embedded_sequences import EmbeddedSequences
from ._mixins import (
    EmbeddedInputMixin,
    SequencesInputMixin,
    SequencesOutputMixin,
    TaggerMixin,
)
from ._ngrams import Ngrams, Positions
from ._sequence_pairs import SequencePairs
from ._split import prepare_texts
from ._tags import convert_tags
from ._text_spans import locate_in_order, locate_matches, locate_words
from ._token_sequences import RowInfo, TokenSequences
from ._tokenizer import Tokenizer
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

# Pickles of TokenSequences contain these (how the texts were split), and fitted
# estimators the n-grams.
set_public_module(
    globals(),
    Ngrams,
    Positions,
    RowInfo,
    prepare_texts,
    locate_in_order,
    locate_matches,
    locate_words,
)
