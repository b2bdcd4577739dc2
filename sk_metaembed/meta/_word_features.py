"""WordFeatures: sparse TF-IDF features of words, for a linear model in a stack."""

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin

from .._core._arrays import pair_features
from ..sequences import SequencePairs
from ..sequences._ngrams import learn_ngrams, ngram_weights

_MAX_NGRAM = 2
_MAX_FEATURES = 20_000  # of each length


class WordFeatures(TransformerMixin, BaseEstimator):
    """TF-IDF of words and pairs of adjacent words, as a sparse matrix.

    Reads a TokenSequences, or SequencePairs of one, of which it returns the features of
    pairs. Not public: `TfidfVectorizer` is the same for texts.
    """

    def fit(self, X, y=None):
        """Learn the words of X and their document frequencies."""
        tokens = X.sequences if isinstance(X, SequencePairs) else X
        self.ngrams_ = learn_ngrams(tokens, _MAX_NGRAM, _MAX_FEATURES)
        return self

    def transform(self, X):
        """Return the features, CSR float32 (n_rows, n_features)."""
        if not len(self.ngrams_.idf):  # no words in the training rows of a fold
            return csr_array((len(X), 1), dtype=np.float32)
        if not isinstance(X, SequencePairs):
            return ngram_weights(X, self.ngrams_)
        weights = ngram_weights(X.sequences, self.ngrams_)
        return pair_features(weights[: len(X)], weights[len(X) :])
