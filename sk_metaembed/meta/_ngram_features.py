"""Features of words, their characters and their order, for linear models in a stack."""

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.base import BaseEstimator, TransformerMixin

from .._core._arrays import n_odd_rows, pair_features
from .._linear._solver import Product, squared
from ..sequences import SequencePairs
from ..sequences._api import (
    canonical_words,
    characters_of,
    distinct_word_counts,
    folds_case,
    learn_ngrams,
    learn_positions,
    ngram_counts,
    ngram_weights,
    position_weights,
    unit_rows,
    without_case,
)

_MAX_WORDS = 2
_MAX_LENGTH = 5  # of n-grams of a small alphabet
_GAPS = 2, 3, 4  # distances of pairs
_MAX_FEATURES = 20_000  # of each number of words, and of positions
_CHARACTERS = (2, 4)
# A small alphabet has no more types. Texts with so few distinct words are shorter.
_MAX_TYPES = 1000
_LEAST_COUNT = 8  # occurrences per type


class _NgramFeatures(TransformerMixin, BaseEstimator):
    """Rows of unit length, CSR float32 (n_rows, n_features).

    A subclass has `_learn` and `_weights`, which return the rows of a TokenSequences.
    Case is ignored in words of texts, but not in other tokens. For SequencePairs,
    the result has the features of pairs and their cosine.
    """

    def fit(self, X, y=None):
        """Learn the n-grams of X and their document frequencies."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X, y=None):
        """Learn the n-grams of X, and return the features of X."""
        return _multiplied_out(self.fit_rows(X))

    def fit_rows(self, X):
        """Learn the n-grams of X, and return its rows as a matrix or an operator."""
        tokens = X.sequences if isinstance(X, SequencePairs) else X
        self.folds_case_ = folds_case(tokens)
        return _features_of(X, self._learn(self._words(tokens.compact())))

    def transform(self, X):
        """Return the features, CSR float32 (n_rows, n_features)."""
        return _multiplied_out(self.rows(X))

    def rows(self, X):
        """Return the features as a matrix or an operator."""
        tokens = X.sequences if isinstance(X, SequencePairs) else X
        return _features_of(X, self._weights(self._words(tokens)))

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
    """N-grams of the characters of words, padded with a space on each side.

    The rows are products of the words of each sequence, 1 + ln c for c occurrences, and
    the weighted n-grams of each word. They have unit length if no two words of a
    sequence share an n-gram.
    """

    def _learn(self, tokens):
        least, most = _CHARACTERS
        characters, owners = characters_of(canonical_words(tokens.types))
        self.ngrams_ = learn_ngrams(characters, most, min_length=least)
        words, counts = _word_weights(tokens), self._counts(tokens, characters, owners)
        self.ngrams_ = self.ngrams_._replace(idf=_character_weights(words, counts))
        return self._product(words, counts)

    def _weights(self, tokens):
        parts = characters_of(canonical_words(tokens.types))
        return self._product(_word_weights(tokens), self._counts(tokens, *parts))

    def _counts(self, tokens, characters, owners):
        """Return the n-grams of each word, CSR (n_types, n_ngrams)."""
        counts = ngram_counts(characters, self.ngrams_)
        return _sum_by_owner(counts, owners, tokens.n_types)

    def _product(self, words, counts):
        """Return the rows, with the n-grams weighted and the rows divided by length."""
        counts.data *= self.ngrams_.idf[counts.indices]
        lengths = np.sqrt(squared(words) @ squared(counts).sum(axis=1))
        lengths[lengths == 0] = 1
        words.data /= np.repeat(lengths, np.diff(words.indptr)).astype(np.float32)
        return Product(words, counts)


def _word_weights(tokens):
    """Return 1 + ln c for c occurrences of a word, CSR (n_sequences, n_types)."""
    words = distinct_word_counts(tokens)
    words.data = 1 + np.log(words.data)
    return words


def _character_weights(words, counts):
    """Return the weight of each n-gram in words, (n_ngrams,).

    It is the inverse document frequency, as if words occurred independently of each
    other, times (1 + ln m) / m for m occurrences per sequence that contains it.
    """
    n = max(words.shape[0], 1)
    shares = np.bincount(words.indices, minlength=words.shape[1]) / n
    absent = np.log1p(-np.minimum(shares, 1 - 1e-12))
    parts = np.ones(counts.nnz), counts.indices, counts.indptr
    frequencies = -n * np.expm1(csr_array(parts, shape=counts.shape).T @ absent)
    means = counts.T @ words.sum(axis=0) / np.maximum(frequencies, 1e-9)
    means = np.maximum(means, 1)
    idf = 1 + np.log((1 + n) / (1 + frequencies))
    return (idf * (1 + np.log(means)) / means).astype(np.float32)


def _sum_by_owner(counts, owners, n_owners):
    """Return the sums of rows by their owner, CSR (n_owners, n_features)."""
    if len(owners) == n_owners and (owners == np.arange(n_owners)).all():
        return counts
    ones = np.ones(len(owners), np.float32)
    places = owners, np.arange(len(owners))
    return csr_array((ones, places), shape=(n_owners, len(owners))) @ counts


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

    Odd are the rows with the most types that no other row has, and the longest rows.
    """
    rows = tokens.segment_ids()
    first, last = np.full((2, tokens.n_types), -1)
    first[tokens.codes[::-1]] = rows[::-1]
    last[tokens.codes] = rows
    is_used = first >= 0
    n_own = np.bincount(first[is_used & (first == last)], minlength=len(tokens))
    n_odd = n_odd_rows(len(tokens))
    n_types = is_used.sum() - np.sort(n_own)[len(tokens) - n_odd :].sum()
    n_tokens = np.sort(tokens.lengths)[: len(tokens) - n_odd].sum()
    return n_types <= _MAX_TYPES and n_tokens >= _LEAST_COUNT * n_types


def _features_of(X, weights):
    """Return the features of X from the features of its sequences."""
    if not isinstance(X, SequencePairs):
        return weights
    if isinstance(weights, Product):
        weights = unit_rows(weights.multiply_out())  # for the cosine
    u, v = weights[: len(X)], weights[len(X) :]
    cosines = csr_array(u.multiply(v).sum(axis=1)[:, None])
    return hstack([pair_features(u, v), cosines], format="csr")


def _multiplied_out(rows):
    return rows.multiply_out() if isinstance(rows, Product) else rows
