"""The check suite catches each fault that is planted in a sound step."""

import unittest

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sk_metaembed.sequences import (
    EmbeddedSequences,
    SequencesInputMixin,
    TokenSequences,
    check_tokens,
)

from .sample_steps import (
    Doubled,
    Mean,
    Predictor,
    Source,
    Tagger,
    Wide,
    checks_of,
    embedded_only,
)


class BatchMean(Mean):
    """Subtracts the mean of the batch."""

    def transform(self, X):
        values = super().transform(X)
        return values - values.mean(axis=0) if len(values) else values


class NaNOfNothing(Mean):
    """Divides by zero on an empty row."""

    def _pool(self, row):
        with np.errstate(invalid="ignore"):
            return row.sum(axis=0) / np.float32(len(row))


class OneOfNothing(Mean):
    """Gives ones for an empty row."""

    def _pool(self, row):
        return super()._pool(row) if len(row) else np.ones(self.dim_)


class FewNames(Mean):
    """Has a name too few."""

    def get_feature_names_out(self, input_features=None):
        return super().get_feature_names_out()[1:]


class Nameless(Mean):
    """Refuses in a way that helps nobody."""

    def fit(self, X, y=None):
        if not isinstance(X, EmbeddedSequences):
            raise TypeError("Bad input.")
        return super().fit(X)


class Greedy(Source):
    """Reads a generator in fit, so that transform finds it empty."""

    fit_transform = TransformerMixin.fit_transform


class Unsorted(Source):
    """Draws vectors in an order that differs between forms, never seeded."""

    def _learn(self, tokens):
        rng = np.random.default_rng()
        self.table_ = {word: rng.normal(size=self.dim) for word in tokens.types}


class GlobalState(Source):
    """Seeds numpy's global generator."""

    def _learn(self, tokens):
        np.random.seed(0)  # noqa: NPY002
        super()._learn(tokens)


class Overwriting(Source):
    """Overwrites its own parameter."""

    def _learn(self, tokens):
        super()._learn(tokens)
        self.dim = np.int64(self.dim)


class Remembering(Source):
    """Keeps what a former fit learned."""

    def _learn(self, tokens):
        former = getattr(self, "table_", {})
        super()._learn(tokens)
        self.table_ = {**self.table_, **former}


class Counting(Source):
    """Changes itself in transform."""

    def transform(self, X):
        result = super().transform(X)
        self.calls_ = getattr(self, "calls_", 0) + 1
        return result


class Unpickled(Source):
    """Holds what cannot be pickled."""

    def _learn(self, tokens):
        super()._learn(tokens)
        self.get_ = lambda word: self.table_[word]


class Dropping(Source):
    """Drops unknown tokens, and so moves rows against tokens."""

    def transform(self, X):
        check_is_fitted(self)
        rows = check_tokens(X).to_list()
        return super().transform([[t for t in row if t != "good"] for row in rows])


class Wrapping(SequencesInputMixin, TransformerMixin, BaseEstimator):
    """Hands on a container, but did not say so: scikit-learn would wrap it."""

    _parameter_constraints = {}

    def fit(self, X, y=None):
        self.source_ = Source(random_state=0).fit(X)
        return self

    def fit_transform(self, X, y=None):
        self.source_ = Source(random_state=0)
        return self.source_.fit_transform(X)

    def transform(self, X):
        check_is_fitted(self)
        return self.source_.transform(X)

    def get_feature_names_out(self, input_features=None):
        check_is_fitted(self)
        return self.source_.get_feature_names_out()


class ByLevel(Doubled):
    """Does with token-level blocks what it does not do with type-level ones."""

    def _values(self, block):
        return block.values * (2 if block.level == "type" else 3)


class TwoSources(Doubled):
    """Takes two blocks for granted."""

    def transform(self, X):
        result = super().transform(X)
        return result.select([result.names[0], result.names[1]])


class Centered(Doubled):
    """Subtracts the mean of all rows of fit, also of those that are not known."""

    def fit(self, X, y=None):
        super().fit(X)
        self.means_ = {block.name: block.values.mean(axis=0) for block in X.blocks}
        return self

    def _values(self, block):
        return (block.values - self.means_[block.name]) * block.known[:, None]


class Lenient(Predictor):
    """Drops rows that have no label."""

    def fit(self, X, y):
        if y is None:
            return super().fit(X, y)
        y = np.asarray(y)
        has_label = np.array([label is not None and label == label for label in y])
        return super().fit(X[np.flatnonzero(has_label)], y[has_label])


class Recoding(Predictor):
    """Gives label numbers in place of labels."""

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


class Smeared(Tagger):
    """Lets neighbours in, also those of other rows."""

    def _values(self, X):
        values = super()._values(X)
        values[1:] += values[:-1].copy()
        return values


class Cut(Tagger):
    """Fills up or cuts tags that do not fit."""

    def _read(self, y, tokens):
        if y is None or len(y) != len(tokens):
            return super()._read(y, tokens)
        rows = [list(row or [])[:n] for row, n in zip(y, tokens.lengths, strict=True)]
        rows = [
            row + ["O"] * (n - len(row))
            for row, n in zip(rows, tokens.lengths, strict=True)
        ]
        return super()._read(rows, tokens)


class Listed(Tagger):
    """Predicts lists of lists, which folds cannot be put together of."""

    def predict(self, X):
        return super().predict(X).tolist()


class Skipping(Tagger):
    """Gives no tags to words without vectors."""

    def predict(self, X):
        tags = super().predict(X)
        for i, row in enumerate(X):
            tags[i] = [tag for tag, v in zip(tags[i], row, strict=True) if v.any()]
        return tags


class Certain(Tagger):
    """Gives shares that sum to anything."""

    def predict_proba(self, X):
        check_is_fitted(self)
        embedded_only(X, "Certain", self.dims_)
        return [row @ self.means_.T for row in X]


class Relabelled(Source):
    """Makes tokens of its own, which have no index."""

    def transform(self, X):
        embedded = super().transform(X)
        tokens = embedded.tokens
        tokens = TokenSequences(tokens.types, tokens.codes, tokens.offsets)
        return EmbeddedSequences(tokens, embedded.blocks)


@pytest.mark.parametrize(
    ("faulty", "check"),
    [
        (BatchMean(), "check_row_alone"),
        (BatchMean(), "feed_words-check_methods_subset_invariance"),
        (NaNOfNothing(), "check_edge_case_rows"),
        (OneOfNothing(), "check_unknown_gives_zeros"),
        (Wide(), "check_output_kind"),
        (FewNames(), "check_feature_names"),
        (FewNames(), "check_set_output"),
        (Nameless(), "check_refuses_unembedded"),
        (Greedy(), "check_containers"),
        (Unsorted(), "feed_words-check_fit_idempotent"),
        (GlobalState(), "check_global_random_state"),
        (Overwriting(), "feed_words-check_dont_overwrite_parameters"),
        (Remembering(), "check_refit"),
        (Counting(), "feed_words-check_dict_unchanged"),
        (Unpickled(), "check_copies"),
        (Dropping(), "check_output_kind"),
        (Wrapping(), "check_set_output"),
        (ByLevel(), "check_levels"),
        (TwoSources(), "check_one_source"),
        (Centered(), "check_unknown_rows"),
        (Lenient(), "check_bad_targets"),
        (Recoding(), "check_label_kinds"),
        (Smeared(), "check_row_alone"),
        (Cut(), "check_bad_tags"),
        (Listed(), "check_one_tag_per_token"),
        (Listed(), "check_tags_cross_validated"),
        (Skipping(), "check_one_tag_per_token"),
        (Certain(), "check_tag_probabilities"),
        (Relabelled(), "check_row_index"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_planted_fault_is_caught(faulty, check):
    estimator, run = checks_of(faulty)[check].values
    try:
        run(estimator)
    except (unittest.SkipTest, NameError):
        raise
    except Exception:
        return
    pytest.fail(f"{check} let the fault pass.")
