"""Which sequences are longer than a model takes at once."""

import numpy as np

from ._sentence_rows import distinct_sentences
from ._word_windows import n_cut

_REMEMBERED = 100_000
_WIDEST = 11  # bytes that NFKC makes of one, at most


def pieces_beyond(tokens, aligner, limit, read=distinct_sentences):
    """Return how many pieces of each sequence are beyond the first window.

    Sequences that cannot be long, for they have few bytes, are not split into pieces;
    of others the number is remembered.

    Parameters
    ----------
    tokens : TokenSequences
    aligner : Aligner
        Its `remembered` is filled.
    limit : int or None
        Largest number of pieces a window.
    read : callable, default=distinct_sentences
        From tokens to distinct sentences and their places. What reads texts has to
        give whole texts.

    Returns
    -------
    ndarray of int, shape (n_sequences,)
    """
    beyond = np.zeros(len(tokens), dtype=np.int64)
    if limit is None:
        return beyond
    most = _most_of_words(tokens)
    if tokens.texts is not None:
        most = np.maximum(most, [_most_pieces(text) for text in tokens.texts])
    candidates = np.flatnonzero(most + aligner.overhead > limit)
    places, sentences = read(tokens[candidates])
    known = aligner.remembered
    if len(known) > _REMEMBERED:
        known.clear()
    new = [s for s in sentences if (hash(s), limit) not in known]
    for sentence, pieces in zip(new, aligner.encode(new), strict=True):
        known[hash(sentence), limit] = n_cut(pieces, aligner.frame, limit)
    for where, sentence in zip(places, sentences, strict=True):
        beyond[candidates[where]] = known[hash(sentence), limit]
    return beyond


def _most_of_words(tokens):
    """Return how many pieces the words of each sequence can have."""
    sizes = [_most_pieces(word) for word in tokens.types.tolist()]
    sums = np.r_[0, np.cumsum(np.array(sizes, dtype=np.int64)[tokens.codes])]
    return sums[tokens.offsets[1:]] - sums[tokens.offsets[:-1]]


def _most_pieces(word):
    """Return how many pieces a word can have, a space before it included."""
    if word.isascii():
        return len(word) + 1
    return _WIDEST * len(word.encode("utf-8", "replace")) + 1
