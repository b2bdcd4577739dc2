"""Words as rows of character ids: their bytes between two marks."""

import numpy as np

SENTENCE_BEGIN, SENTENCE_END, WORD_BEGIN, WORD_END, PADDING = range(256, 261)


def character_ids(words, max_characters=50):
    """Return the ids of words' characters, and how many there are before padding.

    Parameters
    ----------
    words : sequence of str
        Longer ones are cut to ``max_characters - 2`` bytes of UTF-8, as in training.
        What UTF-8 cannot spell, a lone half of a surrogate pair, is left out.
    max_characters : int, default=50

    Returns
    -------
    ids : ndarray of int64, shape (n_words, max_characters)
    lengths : ndarray of int64, shape (n_words,)
        Two marks included.

    Examples
    --------
    >>> ids, lengths = character_ids(["a", "né"], max_characters=6)
    >>> ids.tolist(), lengths.tolist()
    ([[258, 97, 259, 260, 260, 260], [258, 110, 195, 169, 259, 260]], [3, 5])
    """
    spelled = [word.encode("utf-8", "ignore")[: max_characters - 2] for word in words]
    sizes = np.fromiter(map(len, spelled), np.int64, count=len(spelled))
    characters = np.frombuffer(b"".join(spelled), dtype=np.uint8)
    ids = np.full((len(spelled), max_characters), PADDING, dtype=np.int64)
    ids[:, 0] = WORD_BEGIN
    inside = np.arange(max_characters - 1) < sizes[:, None]
    ids[:, 1:][inside] = characters
    ids[np.arange(len(ids)), sizes + 1] = WORD_END
    return ids, sizes + 2


def n_cut(words, max_characters=50):
    """Return how many words are longer than `character_ids` reads.

    >>> n_cut(["a" * 48, "a" * 49, "é" * 25])
    2
    """
    return sum(len(w.encode("utf-8", "ignore")) > max_characters - 2 for w in words)


def mark_ids(max_characters=50):
    """Return the ids of the sentence's begin and end, which are words by themselves.

    Parameters
    ----------
    max_characters : int, default=50

    Returns
    -------
    ids, lengths : ndarray of int64
        As `character_ids` gives them, of two rows.
    """
    ids, lengths = character_ids("aa", max_characters)
    ids[:, 1] = SENTENCE_BEGIN, SENTENCE_END
    return ids, lengths
