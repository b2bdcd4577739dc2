"""What other rooms may use of this one, in addition to its public names."""

from ._block import LEVELS, Block
from ._columns import distinct_cells, read_columns, refuse_other_rows, rows_of_cells
from ._html import display_word
from ._late import LateBlock, LateRows
from ._mixins import (
    MISSING_CONSTRAINT,
    block_dims,
    check_embedded,
    explained_token_errors,
)
from ._ngrams import Ngrams, learn_ngrams, ngram_weights, word_counts
from ._sequence_pairs import read_pairs, tokens_of
from ._split import canonical, canonical_words, prepare_texts
from ._tags import (
    SCHEMES,
    allowed_transitions,
    check_scheme,
    decode_tags,
    encode_tags,
    read_tags,
    tag_classes,
    tags_to_spans,
)
from ._token_sequences import TokenSequences, token_columns
from ._validation import check_cells, count_missing, fill_missing, read_rows

__all__ = [
    "LEVELS",
    "MISSING_CONSTRAINT",
    "SCHEMES",
    "LateBlock",
    "LateRows",
    "Ngrams",
    "adopt_block",
    "allowed_transitions",
    "block_dims",
    "block_of_table",
    "canonical",
    "canonical_words",
    "check_cells",
    "check_embedded",
    "check_scheme",
    "count_missing",
    "decode_tags",
    "display_word",
    "distinct_cells",
    "encode_tags",
    "explained_token_errors",
    "fill_missing",
    "learn_ngrams",
    "ngram_weights",
    "prepare_texts",
    "read_columns",
    "read_pairs",
    "read_rows",
    "read_tags",
    "refuse_other_rows",
    "rows_of_cells",
    "tag_classes",
    "tags_to_spans",
    "token_columns",
    "tokens_of",
    "trusted_tokens",
    "word_counts",
]

# Constructors for arrays that a source has made itself, and gives up: the first checks
# them, the others do not.
adopt_block = Block._adopt
block_of_table = Block._of_table
trusted_tokens = TokenSequences._trusted
