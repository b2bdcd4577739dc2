"""Split original texts as ELMo does, and align its words with tokens."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...sequences import Tokenizer, TokenSequences
from .._base import used_types
from .._sentences import OriginalText, distinct_texts, overlapping


def split_at_spaces(texts):
    """Return texts split at whitespace, as ELMo reads them."""
    return TokenSequences.from_lists([text.split() for text in texts])


class TextSplitter:
    """Split original texts into the words that ELMo reads.

    The distinct texts of the latest split are remembered, so the steps of one transform
    split each text once.
    """

    def __init__(self):
        self._rows, self._words = {}, None

    def __call__(self, sentences):
        """Return the words of a list of OriginalText, as a TokenSequences."""
        texts = [sentence.text for sentence in sentences]
        if not texts or any(text not in self._rows for text in texts):
            distinct = list(dict.fromkeys(texts))
            # ELMo was trained on cased text with punctuation marks as words.
            tokenizer = Tokenizer(lowercase=False, punctuation=True)
            self._words = tokenizer.transform(distinct)
            self._rows = {text: row for row, text in enumerate(distinct)}
        return used_types(self._words[[self._rows[text] for text in texts]])

    def words_and_spans(self, sentences):
        """Return the list of words of each sentence, and their spans (n_words, 2).

        Sentences that are token lists are returned as they are, with spans of None.
        """
        if not any(isinstance(sentence, OriginalText) for sentence in sentences):
            return sentences, [None] * len(sentences)
        words = self(sentences)
        spans, pairs = words.spans(), pairwise(words.offsets.tolist())
        return words.to_list(), [spans[start:stop] for start, stop in pairs]


def texts_with_words(tokens, split):
    """Return the `distinct_texts` in which `split` finds words, with their groups."""
    groups, sentences = distinct_texts(tokens, per_token=True, per_text=False)
    nonempty = np.flatnonzero(split(sentences).lengths)
    return [groups[i] for i in nonempty], [sentences[i] for i in nonempty]


def mean_of_words(values, sentence, spans):
    """Return the mean of the words that overlap each token, and which tokens have any.

    `values` (n_words, dim) and `spans` (n_words, 2) belong to the words.
    """
    at, tokens = overlapping(sentence.spans, spans)
    counts = np.bincount(tokens, minlength=len(sentence.spans))
    sums = np.zeros((len(counts), values.shape[1]), np.float32)
    np.add.at(sums, tokens, values[at])
    return sums / np.maximum(counts, 1)[:, None].astype(np.float32), counts > 0


class AlignedWords(NamedTuple):
    """The words that ELMo reads instead of tokens."""

    words: np.ndarray  # (n_words,) distinct words of all texts
    groups: list  # tuples of words that overlap the same token
    rows: np.ndarray  # (n_tokens,) index into words followed by groups, -1 for none


def align_words(tokens, split):
    """Return the `AlignedWords` of tokens, or their types if there are no texts."""
    if tokens.texts is None:
        return AlignedWords(tokens.types, [], tokens.codes)
    equal, sentences = distinct_texts(tokens, per_token=True, per_text=False)
    words = split(sentences)
    spans, groups = words.spans(), {}
    rows = np.full(tokens.n_tokens, -1, dtype=np.int64)
    for sequences, sentence, (start, stop) in zip(
        equal, sentences, pairwise(words.offsets.tolist()), strict=True
    ):
        at, of = overlapping(sentence.spans, spans[start:stop])
        codes = words.codes[start:stop][at]
        counts = np.bincount(of, minlength=len(sentence.spans))
        own = np.full(len(counts), -1)
        own[of] = codes
        for token in np.flatnonzero(counts > 1):
            group = tuple(codes[of == token].tolist())
            own[token] = words.n_types + groups.setdefault(group, len(groups))
        for i in sequences:
            rows[tokens.offsets[i] : tokens.offsets[i + 1]] = own
    return AlignedWords(words.types, list(groups), rows)
