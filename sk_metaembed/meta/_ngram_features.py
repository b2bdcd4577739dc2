"""Compute features of words, characters and word order for linear models in a stack."""

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
_MAX_LENGTH = 5  # tokens of an n-gram of a small alphabet
_GAPS = 2, 3, 4  # distances between the tokens of pairs
_MAX_FEATURES = 20_000  # for each length of n-grams, and for positions
_CHARACTERS = (2, 4)
# A small alphabet has at most this many types. Texts with so few types are shorter.
_MAX_TYPES = 1000
_LEAST_COUNT = 8  # occurrences per type


class _NgramFeatures(TransformerMixin, BaseEstimator):
    """Base class of features of tokens, CSR float32 rows of unit length.

    A subclass has ``_weights(tokens, learns)``, which returns the rows of a
    TokenSequences; if `learns`, it learns the features first. Case is ignored in words
    of texts, but not in other tokens. For SequencePairs, the rows have the features of
    pairs and a cosine.
    """

    def fit(self, X, y=None):
        """Learn the n-grams of X and their document frequencies."""
        self.rows(X, learns=True)
        return self

    def transform(self, X):
        """Return the features, CSR float32 (n_rows, n_features)."""
        rows = self.rows(X)
        return rows.multiply_out() if isinstance(rows, Product) else rows

    def rows(self, X, *, learns=False):
        """Return the features, a matrix or a `Product`; `learns` is for fit."""
        tokens = X.sequences if isinstance(X, SequencePairs) else X
        if learns:
            self.folds_case_ = folds_case(tokens)
            tokens = tokens.compact()
        if self.folds_case_:
            tokens = without_case(tokens)
        rows = self._weights(tokens, learns)
        if not isinstance(X, SequencePairs):
            return rows
        if isinstance(rows, Product):
            rows = unit_rows(rows.multiply_out())  # the cosine needs unit rows
        u, v = rows[: len(X)], rows[len(X) :]
        cosines = csr_array(u.multiply(v).sum(axis=1)[:, None])
        return hstack([pair_features(u, v), cosines], format="csr")


class WordFeatures(_NgramFeatures):
    """Compute the TF-IDF of words and pairs of adjacent words."""

    def _weights(self, tokens, learns):
        if learns:
            self.ngrams_ = learn_ngrams(tokens, _MAX_WORDS, _MAX_FEATURES)
        return ngram_weights(tokens, self.ngrams_)


class NgramFeatures(_NgramFeatures):
    """Compute the TF-IDF of n-grams of three or more tokens, and of gapped pairs."""

    def _weights(self, tokens, learns):
        if learns:
            sizes = tokens, _MAX_LENGTH, _MAX_FEATURES
            kinds = {"min_length": _MAX_WORDS + 1, "gaps": _GAPS}
            self.ngrams_ = learn_ngrams(*sizes, min_count=2, **kinds)
            if not len(self.ngrams_.idf):  # a model needs a feature
                self.ngrams_ = learn_ngrams(*sizes, **kinds)
        return ngram_weights(tokens, self.ngrams_)


class PositionFeatures(_NgramFeatures):
    """Count tokens by position from the start, and from the end if lengths differ."""

    def _weights(self, tokens, learns):
        if learns:
            self.positions_ = learn_positions(tokens, _MAX_FEATURES)
        return position_weights(tokens, self.positions_)


class CharacterFeatures(_NgramFeatures):
    """Weight n-grams of the characters of words, which begin and end with a space.

    The rows are products of the words of each sequence, 1 + ln c for c occurrences, and
    the weighted n-grams of each word. They have unit length if no two words of a
    sequence share an n-gram.
    """

    def _weights(self, tokens, learns):
        characters, owners = characters_of(canonical_words(tokens.types))
        if learns:
            least, most = _CHARACTERS
            self.ngrams_ = learn_ngrams(characters, most, min_length=least)
        counts = ngram_counts(characters, self.ngrams_)
        if len(owners) != tokens.n_types or (owners != np.arange(len(owners))).any():
            # Some words contain white space, and so have several parts or none.
            entries = np.ones(len(owners), np.float32), (owners, np.arange(len(owners)))
            counts = csr_array(entries, shape=(tokens.n_types, len(owners))) @ counts
        words = distinct_word_counts(tokens)
        words.data = 1 + np.log(words.data)
        if learns:
            self.ngrams_ = self.ngrams_._replace(idf=_character_weights(words, counts))
        counts.data *= self.ngrams_.idf[counts.indices]
        lengths = np.sqrt(squared(words) @ squared(counts).sum(axis=1))
        lengths[lengths == 0] = 1
        words.data /= np.repeat(lengths, np.diff(words.indptr)).astype(np.float32)
        return Product(words, counts)


def _character_weights(words, counts):
    """Return the weight of each n-gram in words, (n_ngrams,).

    The weight is the inverse document frequency, as if words occurred independently,
    times (1 + ln m) / m for m occurrences per sequence with the n-gram.
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


def token_features(tokens):
    """Return the names of the features of tokens that may distinguish sequences.

    Characters are features if tokens have several characters, and the order if the
    alphabet is small.
    """
    used = tokens.types[tokens.type_counts() > 0]
    longest, is_small = tokens.lengths.max(initial=0), _is_alphabet_small(tokens)
    are_used = {
        "words": len(used) > 0,
        "chars": any(len(word) > 1 for word in used),
        "ngrams": is_small and longest > _MAX_WORDS,
        "positions": is_small and longest > 1,
    }
    return [name for name, is_used in are_used.items() if is_used]


def _is_alphabet_small(tokens):
    """Return whether few different tokens occur often, apart from a few odd rows.

    Odd rows have the most types that no other row has, or are the longest.
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
