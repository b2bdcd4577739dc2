"""Original texts as ELMo reads them, and the tokens that its words belong to."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..sequences import Tokenizer
from ._written import WrittenText, overlapping, written_sentences


def words_of(sentences):
    """Return the words that ELMo reads, and of texts where they are.

    Parameters
    ----------
    sentences : list of WrittenText or of sequence of str

    Returns
    -------
    words : list of sequence of str
    spans : list of ndarray of int, shape (n_words, 2), or None
        None for sentences that are words already.
    """
    if not any(isinstance(sentence, WrittenText) for sentence in sentences):
        return sentences, [None] * len(sentences)
    found = _split(sentences)
    spans = found.spans()
    pairs = pairwise(found.offsets.tolist())
    return found.to_list(), [spans[start:stop] for start, stop in pairs]


def _split(sentences):
    # ELMo was trained on text with case and with punctuation as words.
    splitter = Tokenizer(lowercase=False, punctuation=True)
    return splitter.transform([sentence.text for sentence in sentences])


def read_texts(tokens, *, words, whole, together=True):
    """Return distinct texts that have words, and the sequences where each stands.

    Parameters
    ----------
    tokens, words, whole, together
        As for `written_sentences`.

    Returns
    -------
    places : list of list of int
    sentences : list of WrittenText
    """
    places, sentences = written_sentences(
        tokens, words=words, whole=whole, together=together
    )
    kept = np.flatnonzero(_split(sentences).lengths)
    return [places[i] for i in kept], [sentences[i] for i in kept]


def mean_of_words(values, sentence, spans):
    """Return a vector per token: the mean of the words that overlap it.

    Parameters
    ----------
    values : ndarray of shape (n_words, dim)
    sentence : WrittenText
    spans : ndarray of int, shape (n_words, 2)
        Of the words.

    Returns
    -------
    values : ndarray of float32, shape (n_tokens, dim)
    known : ndarray of bool, shape (n_tokens,)
    """
    at, tokens = overlapping(sentence.spans, spans)
    counts = np.bincount(tokens, minlength=len(sentence.spans))
    sums = np.zeros((len(counts), values.shape[1]), np.float32)
    np.add.at(sums, tokens, values[at])
    return sums / np.maximum(counts, 1)[:, None].astype(np.float32), counts > 0


class SpelledTokens(NamedTuple):
    """Tokens as the words that the original texts have in their places."""

    words: np.ndarray  # distinct, of all texts
    groups: list  # tuples of words that make up a token together
    rows: np.ndarray  # of each token, in words and groups behind them; -1 for none


def spelled_tokens(tokens):
    """Return the `SpelledTokens` of a TokenSequences that knows its texts."""
    places, sentences = written_sentences(tokens, words=True, whole=False)
    found = _split(sentences)
    spans, groups = found.spans(), {}
    rows = np.full(tokens.n_tokens, -1, dtype=np.int64)
    for where, sentence, (start, stop) in zip(
        places, sentences, pairwise(found.offsets.tolist()), strict=True
    ):
        at, of = overlapping(sentence.spans, spans[start:stop])
        codes = found.codes[start:stop][at]
        counts = np.bincount(of, minlength=len(sentence.spans))
        own = np.full(len(counts), -1)
        own[of] = codes
        for token in np.flatnonzero(counts > 1):
            group = tuple(codes[of == token].tolist())
            own[token] = found.n_types + groups.setdefault(group, len(groups))
        for i in where:
            rows[tokens.offsets[i] : tokens.offsets[i + 1]] = own
    return SpelledTokens(found.types, list(groups), rows)
