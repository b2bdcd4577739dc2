"""Names that other subpackages may use, in addition to the public ones."""

from ._block import LEVELS, block_of_table
from ._equal_rows import equal_rows, find_copies
from ._html import display_word
from ._mixins import (
    MISSING_CONSTRAINT,
    TaggerMixin,
    block_dims,
    check_embedded,
    dimension_names,
    explained_token_errors,
)
from ._ngrams import (
    Ngrams,
    characters_of,
    distinct_word_counts,
    folds_case,
    learn_ngrams,
    learn_positions,
    ngram_counts,
    ngram_numbers,
    ngram_weights,
    position_weights,
    unit_rows,
    without_case,
    word_counts,
)
from ._sequence_pairs import read_pairs, tokens_of
from ._split import canonical_words, look_up
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
from ._token_sequences import token_columns, tokens_from_unchecked
from ._validation import (
    check_cells,
    count_missing,
    distinct_cells,
    read_columns,
    read_rows,
    refuse_other_rows,
    rows_of_cells,
)
