"""Small steps for tests of the check suite: valid ones, and a faulty one."""

from itertools import pairwise

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted, check_random_state

from sk_metaembed.sequences import (
    Block,
    EmbeddedInputMixin,
    EmbeddedSequences,
    SequencesOutputMixin,
    TokenSequences,
    check_tokens,
    convert_tags,
)

from .checks.suite import parametrize_with_checks


class Source(SequencesOutputMixin, TransformerMixin, BaseEstimator):
    """Random vectors for the words of the training fold."""

    _parameter_constraints = {"dim": "no_validation", "random_state": "no_validation"}

    def __init__(self, dim=3, random_state=None):
        self.dim = dim
        self.random_state = random_state

    def fit(self, X, y=None):
        self._learn(check_tokens(X))
        return self

    def fit_transform(self, X, y=None):
        tokens = check_tokens(X)
        self._learn(tokens)
        return self.transform(tokens)

    def _learn(self, tokens):
        words = sorted(tokens.compact().types)
        rng = check_random_state(self.random_state)
        self.table_ = dict(
            zip(words, rng.normal(size=(len(words), self.dim)), strict=True)
        )

    def transform(self, X):
        check_is_fitted(self)
        tokens = check_tokens(X)
        zeros = np.zeros(self.dim)
        values = [self.table_.get(word, zeros) for word in tokens.types]
        values = np.array(values).reshape(-1, self.dim)
        known = values.any(axis=1)
        return EmbeddedSequences(tokens, [Block("source", values, "type", known)])

    def get_feature_names_out(self, input_features=None):
        check_is_fitted(self)
        return np.array([f"source{i}" for i in range(self.dim)], dtype=object)


def embedded_only(X, caller, dims=None):
    if not isinstance(X, EmbeddedSequences):
        raise TypeError(f"{caller} requires EmbeddedSequences; got {type(X).__name__}.")
    X_dims = {block.name: block.dim for block in X.blocks}
    if dims is not None and X_dims != dims:
        raise ValueError(f"{caller} was fitted on blocks {dims}; got {X_dims}.")
    return X


class Doubled(
    EmbeddedInputMixin, SequencesOutputMixin, TransformerMixin, BaseEstimator
):
    """Double all vectors."""

    _parameter_constraints = {}

    def fit(self, X, y=None):
        embedded_only(X, "Doubled")
        self.dims_ = {block.name: block.dim for block in X.blocks}
        return self

    def transform(self, X):
        check_is_fitted(self)
        blocks = [
            Block(b.name, self._values(b), b.level, b.known)
            for b in embedded_only(X, "Doubled", self.dims_).blocks
        ]
        return X.with_blocks(blocks)

    def _values(self, block):
        return 2 * block.values

    def get_feature_names_out(self, input_features=None):
        check_is_fitted(self)
        names = [f"{n}{i}" for n, dim in self.dims_.items() for i in range(dim)]
        return np.array(names, dtype=object)


class Mean(EmbeddedInputMixin, TransformerMixin, BaseEstimator):
    """Mean of the vectors of a row."""

    _parameter_constraints = {}
    dtype = np.float32

    def fit(self, X, y=None):
        self.dim_ = embedded_only(X, "Mean").dim
        self.dims_ = {block.name: block.dim for block in X.blocks}
        return self

    def transform(self, X):
        check_is_fitted(self)
        rows = embedded_only(X, "Mean", self.dims_).to_list()
        return np.array([self._pool(row) for row in rows], dtype=self.dtype).reshape(
            -1, self.dim_
        )

    def _pool(self, row):
        return row.sum(axis=0) / max(len(row), 1)

    def get_feature_names_out(self, input_features=None):
        check_is_fitted(self)
        return np.array([f"mean{i}" for i in range(self.dim_)], dtype=object)


class Predictor(EmbeddedInputMixin, ClassifierMixin, BaseEstimator):
    """LogisticRegression on means; it validates y itself."""

    _parameter_constraints = {}

    def fit(self, X, y):
        if y is None:
            raise ValueError(
                "Predictor requires y to be passed, but the target y is None."
            )
        self.mean_ = Mean().fit(X)
        self.model_ = LogisticRegression().fit(self.mean_.transform(X), y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        check_is_fitted(self)
        return self.model_.predict(self.mean_.transform(X))

    def predict_proba(self, X):
        check_is_fitted(self)
        return self.model_.predict_proba(self.mean_.transform(X))


class Tagger(EmbeddedInputMixin, BaseEstimator):
    """Tag each token by the nearest mean vector of a tag."""

    _parameter_constraints = {}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.target_tags.required = "tagger", True
        return tags

    def fit(self, X, y):
        tokens = embedded_only(X, "Tagger").tokens
        tags = self._read(y, tokens)
        if not tags.n_tokens:
            raise ValueError("Tagger needs at least one token; got 0 samples.")
        self.dims_ = {block.name: block.dim for block in X.blocks}
        flat = tags.types[tags.codes].astype(str)
        self.classes_, codes = np.unique(flat, return_inverse=True)
        values = self._values(X)
        self.means_ = np.array(
            [values[codes == i].mean(axis=0) for i in range(len(self.classes_))]
        )
        return self

    def _read(self, y, tokens):
        tags = TokenSequences.from_lists(convert_tags(y, to="IOB2"))
        if len(tags) != len(tokens):
            raise ValueError(f"y has {len(tags)} rows for {len(tokens)} sentences.")
        wrong = np.flatnonzero(tags.lengths != tokens.lengths)
        if len(wrong):
            raise ValueError(f"row {wrong[0]} of y must have one tag per token.")
        return tags

    def predict(self, X):
        check_is_fitted(self)
        embedded_only(X, "Tagger", self.dims_)
        distances = self._values(X)[:, None] - self.means_
        codes = (distances**2).sum(axis=2).argmin(axis=1)
        tags, rows = self.classes_[codes].tolist(), np.empty(len(X), dtype=object)
        for i, (start, stop) in enumerate(pairwise(X.tokens.offsets)):
            rows[i] = tags[start:stop]
        return rows

    def _values(self, X):
        return np.concatenate([np.empty((0, X.dim)), *X.to_list()])


class Wide(Mean):
    """Mean with float64 output."""

    dtype = np.float64


def checks_of(estimator, **options):
    """Return the checks of an estimator by their names in test ids."""
    params = parametrize_with_checks([estimator], **options).args[1]
    return {p.id.partition("-")[2]: p for p in params}
