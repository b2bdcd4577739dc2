"""Features of words, their characters and their order, for linear models in a stack."""

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.base import BaseEstimator, TransformerMixin

from .._core._arrays import pair_features
from ..sequences import SequencePairs
from ..sequences._api import (
    canonical_words,
    folds_case,
    learn_ngrams,
    learn_positions,
    ngram_weights,
    position_weights,
    without_case,
    word_counts,
)

_MAX_WORDS = 2
_MAX_LENGTH = 5  # of n-grams of a small alphabet
_GAPS = 2, 3, 4  # distances of pairs
_MAX_FEATURES = 20_000  # of each number of words, and of positions
_CHARACTERS = (2, 4)
# Of a small alphabet. Texts of so few different words are shorter.
_MAX_TYPES = 1000
_LEAST_COUNT = 8  # occurrences per type
_ROWS_PER_ODD_ROW = 50


class _NgramFeatures(TransformerMixin, BaseEstimator):
    """Rows of unit length, CSR float32 (n_rows, n_features).

    A subclass has `_learn` and `_weights`, which return the rows of a TokenSequences.
    The case of words of texts is ignored, that of other tokens is not. For
    SequencePairs it returns the features of pairs, and their cosine.
    """

    def fit(self, X, y=None):
        """Learn the n-grams of X and their document frequencies."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X, y=None):
        """Learn the n-grams of X, and return the features of X."""
        tokens = X.sequences if isinstance(X, SequencePairs) else X
        self.folds_case_ = folds_case(tokens)
        return _of_rows(X, self._learn(self._words(tokens.compact())))

    def transform(self, X):
        """Return the features, CSR float32 (n_rows, n_features)."""
        tokens = X.sequences if isinstance(X, SequencePairs) else X
        return _of_rows(X, self._weights(self._words(tokens)))

    def _words(self, tokens):
        return without_case(tokens) if self.folds_case_ else tokens


class WordFeatures(_NgramFeatures):
    """TF-IDF of words and pairs of adjacent words."""

    def _learn(self, tokens):
        self.ngrams_ = self._ngrams(tokens)
        return self._weights(tokens)

    def _ngrams(self, tokens):
        return learn_ngrams(tokens, _MAX_WORDS, _MAX_FEATURES)

    def _weights(self, tokens):
        return ngram_weights(tokens, self.ngrams_)


class NgramFeatures(WordFeatures):
    """TF-IDF of n-grams of three words or more, and of pairs with words between."""

    def _ngrams(self, tokens):
        sizes = _MAX_LENGTH, _MAX_FEATURES
        kinds = {"min_length": _MAX_WORDS + 1, "gaps": _GAPS}
        ngrams = learn_ngrams(tokens, *sizes, min_count=2, **kinds)
        if not len(ngrams.idf):  # a model needs a feature
            ngrams = learn_ngrams(tokens, *sizes, **kinds)
        return ngrams


class PositionFeatures(_NgramFeatures):
    """Words by their position from the start, and from the end if lengths differ."""

    def _learn(self, tokens):
        self.positions_ = learn_positions(tokens, _MAX_FEATURES)
        return self._weights(tokens)

    def _weights(self, tokens):
        return position_weights(tokens, self.positions_)


class CharacterFeatures(_NgramFeatures):
    """TF-IDF of character n-grams within words, padded with a space on each side.

    N-grams are computed once per distinct word, not once per occurrence.
    """

    def _learn(self, tokens):
        from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

        words = canonical_words(tokens.types)
        has_ngrams = any(map(str.strip, words))
        self.vectorizer_ = CountVectorizer(
            analyzer="char_wb",
            ngram_range=_CHARACTERS,
            lowercase=False,
            # White space alone has no n-grams: a column of zeros.
            vocabulary=None if has_ngrams else [" "],
            dtype=np.float32,
        )
        counts = word_counts(tokens) @ self.vectorizer_.fit_transform(words)
        self.tfidf_ = TfidfTransformer(sublinear_tf=True).fit(counts)
        return csr_array(self.tfidf_.transform(counts))

    def _weights(self, tokens):
        if not tokens.n_types:
            shape = len(tokens), len(self.vectorizer_.vocabulary_)
            return csr_array(shape, dtype=np.float32)
        words = canonical_words(tokens.types)
        counts = word_counts(tokens) @ self.vectorizer_.transform(words)
        return csr_array(self.tfidf_.transform(counts))


def token_features(tokens):
    """Return the names of the features of tokens that may distinguish sequences.

    Characters are features if tokens have several, order if the alphabet is small.
    """
    used = tokens.types[tokens.type_counts() > 0]
    longest, is_small = tokens.lengths.max(initial=0), _is_alphabet_small(tokens)
    is_feature = {
        "words": len(used) > 0,
        "chars": any(len(word) > 1 for word in used),
        "ngrams": is_small and longest > _MAX_WORDS,
        "positions": is_small and longest > 1,
    }
    return [name for name, is_one in is_feature.items() if is_one]


def _is_alphabet_small(tokens):
    """Return whether few different tokens occur often, apart from a few odd rows.

    Those are the rows with the most types that no other row has, and the longest.
    """
    rows = tokens.segment_ids()
    first, last = np.full((2, tokens.n_types), -1)
    first[tokens.codes[::-1]] = rows[::-1]
    last[tokens.codes] = rows
    is_used = first >= 0
    n_own = np.bincount(first[is_used & (first == last)], minlength=len(tokens))
    n_odd = len(tokens) // _ROWS_PER_ODD_ROW
    n_types = is_used.sum() - np.sort(n_own)[len(tokens) - n_odd :].sum()
    n_tokens = np.sort(tokens.lengths)[: len(tokens) - n_odd].sum()
    return n_types <= _MAX_TYPES and n_tokens >= _LEAST_COUNT * n_types


def _of_rows(X, weights):
    """Return the features of X from the features of its sequences."""
    if not isinstance(X, SequencePairs):
        return weights
    u, v = weights[: len(X)], weights[len(X) :]
    cosines = csr_array(u.multiply(v).sum(axis=1)[:, None])
    return hstack([pair_features(u, v), cosines], format="csr")
