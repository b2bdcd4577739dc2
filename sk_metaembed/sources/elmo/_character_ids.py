"""Words as rows of character ids: their UTF-8 bytes between two marks."""

import warnings

import numpy as np

from ..._core._errors import short_repr
from ...sequences._api import canonical_words
from .._base import is_first

# Rows before the words in a table of words: the begin and end of a sentence.
N_MARKS = 2
SENTENCE_BEGIN, SENTENCE_END, WORD_BEGIN, WORD_END, PADDING = range(256, 261)


def character_ids(words, max_characters=50):
    """Return (ids, lengths) of words: (n_words, max_characters) and (n_words,).

    Words in NFC are cut to ``max_characters - 2`` bytes, as in training; lengths
    include both marks. Characters that UTF-8 cannot encode (lone surrogates) are
    dropped.

    >>> ids, lengths = character_ids(["a", "né"], max_characters=6)
    >>> ids.tolist(), lengths.tolist()
    ([[258, 97, 259, 260, 260, 260], [258, 110, 195, 169, 259, 260]], [3, 5])
    """
    encoded = [encoded[: max_characters - 2] for encoded in _encoded(words)]
    sizes = np.fromiter(map(len, encoded), np.int64, count=len(encoded))
    characters = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    ids = np.full((len(encoded), max_characters), PADDING, dtype=np.int64)
    ids[:, 0] = WORD_BEGIN
    inside = np.arange(max_characters - 1) < sizes[:, None]
    ids[:, 1:][inside] = characters
    ids[np.arange(len(ids)), sizes + 1] = WORD_END
    return ids, sizes + 2


def count_truncated(source, words, max_characters, remedy):
    """Return how many words are longer than `character_ids` reads.

    Issues a warning, once per source and limit.
    """
    limit = max_characters - 2
    encoded = zip(words, _encoded(words), strict=True)
    truncated = [word for word, characters in encoded if len(characters) > limit]
    if truncated and is_first((source, limit)):
        warnings.warn(
            f"{source}: words are read up to {limit} bytes of UTF-8, and the rest of "
            f"longer words such as {short_repr(truncated[0])} is ignored. {remedy}, if "
            "it matters.",
            stacklevel=2,
        )
    return len(truncated)


def _encoded(words):
    return [word.encode("utf-8", "ignore") for word in canonical_words(words)]


def mark_ids(max_characters=50):
    """Return (ids, lengths) of the two boundary marks, which ELMo reads as words."""
    ids, lengths = character_ids("aa", max_characters)
    ids[:, 1] = SENTENCE_BEGIN, SENTENCE_END
    return ids, lengths
