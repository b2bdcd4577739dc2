"""Tokenizer: texts to token sequences."""

import re

from sklearn.base import BaseEstimator, TransformerMixin

from ._estimator import SequencesOutputMixin
from ._tokens import TokenSequences
from ._validation import check_tokens


class Tokenizer(
    SequencesOutputMixin, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Placeholder to be replaced within the hour."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return check_tokens(X, whose="Tokenizer", split=self._split)

    def _split(self, texts):
        return TokenSequences.from_lists(re.findall(r"\w+", t.lower()) for t in texts)
