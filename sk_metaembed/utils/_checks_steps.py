"""The smallest steps around a checked one, so that each species makes a pipeline."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..sequences import EmbeddedSequences, check_tokens
from ..sequences._estimator import SequencesInputMixin, SequencesOutputMixin
from ._checks_data import (
    embedded,
    input_kind,
    is_predictor,
    seeded,
    unpaired,
    wants_columns,
)


class _WordTable(
    SequencesOutputMixin, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Give every word of the checks its fixed vectors."""

    def fit(self, X, y=None):
        self.dim_ = embedded([]).dim
        return self

    def transform(self, X):
        check_is_fitted(self)
        tokens = check_tokens(X, whose="_WordTable")
        return embedded(tokens.to_list(), index=tokens.index)

    def get_feature_names_out(self, input_features=None):
        check_is_fitted(self)
        return np.array([f"table{i}" for i in range(self.dim_)], dtype=object)


class _AsArray(SequencesInputMixin, TransformerMixin, BaseEstimator):
    """Turn whatever a step hands on into one row of numbers a sequence."""

    def fit(self, X, y=None):
        self.n_features_out_ = self._values(X).shape[1]
        return self

    def transform(self, X):
        check_is_fitted(self)
        return self._values(X)

    def get_feature_names_out(self, input_features=None):
        check_is_fitted(self)
        names = [f"value{i}" for i in range(self.n_features_out_)]
        return np.array(names, dtype=object)

    def _values(self, X):
        if unpaired(X) is not X:
            sides = self._values(unpaired(X))
            return np.concatenate(np.split(sides, 2), axis=1)
        if hasattr(X, "offsets"):  # a TokenSequences
            X = embedded(X.to_list())
        if not isinstance(X, EmbeddedSequences):
            return np.asarray(X)
        means = [rows.sum(axis=0) / max(len(rows), 1) for rows in X.to_list()]
        return np.array(means).reshape(len(X), X.dim)


def text_pipeline(estimator, *, classify=False, memory=None):
    """Return a pipeline from texts through the estimator.

    A transformer's ends in an array, or with ``classify=True`` in a classifier, or a
    regressor where there are several numbers a row.
    """
    steps = [("step", seeded(estimator))]
    if input_kind(estimator) == "embedded":
        steps.insert(0, ("table", _WordTable()))
    if not is_predictor(estimator):
        steps.append(("array", _AsArray()))
        if classify:
            several = wants_columns(estimator)
            last = LinearRegression() if several else LogisticRegression()
            steps.append(("classify", last))
    return Pipeline(steps, memory=memory)
