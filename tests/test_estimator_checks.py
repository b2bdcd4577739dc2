"""The check suites: valid steps pass `check_estimator`, planted faults are caught.

`check_estimator` checks steps of other authors, `checks.suite` those of this package.
"""

import re
import sys
import unittest
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.validation import check_is_fitted

import sk_metaembed as sk
from sk_metaembed.meta import BaseMetaEmbedding
from sk_metaembed.sequences import (
    EmbeddedInputMixin,
    SequencesInputMixin,
    check_tokens,
)
from sk_metaembed.sources import BaseWordEmbedding
from sk_metaembed.utils.estimator_checks import check_estimator

from .checks.suite import parametrize_with_checks

GUIDE = Path(__file__).parents[1] / "CONTRIBUTING.md"


class Source(BaseWordEmbedding):
    """Random vectors for the words of the training fold."""

    _parameter_constraints = {"dim": "no_validation", "random_state": "no_validation"}

    def __init__(self, dim=3, random_state=None):
        self.dim = dim
        self.random_state = random_state

    def _fit_vectors(self, tokens, y):
        words = sorted(tokens.compact().types)
        rng = np.random.default_rng(self.random_state)
        self.rows_ = {word: row for row, word in enumerate(words)}
        self.vectors_ = rng.normal(size=(len(words), self.dim)).astype(np.float32)

    def _table(self):
        return self.vectors_

    def _find(self, words):
        return np.array([self.rows_.get(word, -1) for word in words], dtype=np.int64)


class Doubled(BaseMetaEmbedding):
    """The double of all vectors, side by side."""

    def _combine(self, blocks):
        return np.hstack([2 * block.values for block in blocks])


class BatchMean(sk.Pooling):
    """Subtracts the mean of the batch."""

    def transform(self, X):
        values = super().transform(X)
        return values - values.mean(axis=0) if len(values) else values


class NaNOfNothing(sk.Pooling):
    """Divides by zero on an empty row."""

    def transform(self, X):
        values = super().transform(X)
        values[X.tokens.lengths == 0] = np.nan
        return values


class OneOfNothing(sk.Pooling):
    """Gives ones for an empty row."""

    def transform(self, X):
        values = super().transform(X)
        values[X.tokens.lengths == 0] = 1
        return values


class Wide(sk.Pooling):
    """Mean with float64 output."""

    def transform(self, X):
        return super().transform(X).astype(np.float64)


class FewNames(sk.Pooling):
    """Has a name too few."""

    def get_feature_names_out(self, input_features=None):
        return super().get_feature_names_out()[1:]


class Nameless(sk.Pooling):
    """Refuses in a way that helps nobody."""

    def fit(self, X, y=None):
        if not isinstance(X, sk.EmbeddedSequences):
            raise TypeError("Bad input.")
        return super().fit(X)


class Greedy(Source):
    """Reads a generator in fit, so that transform finds it empty."""

    fit_transform = TransformerMixin.fit_transform


class Unsorted(Source):
    """Draws vectors that are never seeded."""

    def _fit_vectors(self, tokens, y):
        super()._fit_vectors(tokens, y)
        self.vectors_ = np.random.default_rng().normal(size=self.vectors_.shape)


class GlobalState(Source):
    """Seeds numpy's global generator."""

    def _fit_vectors(self, tokens, y):
        np.random.seed(0)  # noqa: NPY002
        super()._fit_vectors(tokens, y)


class Overwriting(Source):
    """Overwrites its own parameter."""

    def _fit_vectors(self, tokens, y):
        super()._fit_vectors(tokens, y)
        self.dim = np.int64(self.dim)


class Remembering(Source):
    """Keeps what a former fit learned."""

    def _fit_vectors(self, tokens, y):
        if not hasattr(self, "rows_"):
            super()._fit_vectors(tokens, y)


class Counting(Source):
    """Changes itself in transform."""

    def transform(self, X):
        result = super().transform(X)
        self.calls_ = getattr(self, "calls_", 0) + 1
        return result


class Unpickled(Source):
    """Holds what cannot be pickled."""

    def _fit_vectors(self, tokens, y):
        super()._fit_vectors(tokens, y)
        self.get_ = lambda word: self.rows_[word]


class Dropping(Source):
    """Drops tokens, and so moves rows against tokens."""

    def transform(self, X):
        check_is_fitted(self)
        rows = check_tokens(X).to_list()
        return super().transform([[t for t in row if t != "good"] for row in rows])


class Relabelled(Source):
    """Makes tokens of its own, which have no index."""

    def transform(self, X):
        embedded = super().transform(X)
        tokens = embedded.tokens
        tokens = sk.TokenSequences(tokens.types, tokens.codes, tokens.offsets)
        return sk.EmbeddedSequences(tokens, embedded.blocks)


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

    def _combine(self, blocks):
        return super()._combine(blocks) * (1 if blocks[0].level == "type" else 2)


class TwoSources(Doubled):
    """Takes two blocks for granted."""

    def _combine(self, blocks):
        return np.hstack([blocks[0].values, blocks[1].values])


class Centered(Doubled):
    """Subtracts the mean of all rows of fit, also of those that are not known."""

    def fit(self, X, y=None):
        self.mean_ = np.hstack(
            [X.broadcast(b, "token").values.mean(0) for b in X.blocks]
        )
        return super().fit(X)

    def _combine(self, blocks):
        known = np.any([block.known for block in blocks], axis=0)
        return (super()._combine(blocks) - self.mean_) * known[:, None]


class Predictor(EmbeddedInputMixin, ClassifierMixin, BaseEstimator):
    """LogisticRegression on mean vectors."""

    _parameter_constraints = {}

    def fit(self, X, y):
        self.pooling_ = sk.Pooling().fit(X)
        self.model_ = LogisticRegression().fit(self.pooling_.transform(X), y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        check_is_fitted(self)
        return self.model_.predict(self.pooling_.transform(X))


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
        return np.searchsorted(self.classes_, super().predict(X))


class Smeared(sk.TokenClassifier):
    """Lets neighbours in, also those of other rows."""

    def predict(self, X):
        blocks = []
        for block in (X.broadcast(block, "token") for block in X.blocks):
            values = np.concatenate([block.values[:1], block.values[:-1]])
            blocks.append(sk.Block(block.name, block.values + values, "token"))
        return super().predict(X.with_blocks(blocks))


class Cut(sk.TokenClassifier):
    """Fills up or cuts tags that do not fit."""

    def fit(self, X, y, sample_weight=None):
        if y is not None and len(y) == len(X):
            rows = zip(y, X.tokens.lengths.tolist(), strict=True)
            y = [[*(row or []), *["O"] * n][:n] for row, n in rows]
        return super().fit(X, y)


class Listed(sk.TokenClassifier):
    """Predicts lists of lists, which folds cannot be put together of."""

    def predict(self, X):
        return super().predict(X).tolist()


class Skipping(sk.TokenClassifier):
    """Gives no tags to words without vectors."""

    def predict(self, X):
        tags = super().predict(X)
        for i, row in enumerate(X):
            tags[i] = [tag for tag, v in zip(tags[i], row, strict=True) if v.any()]
        return tags


class Certain(sk.TokenClassifier):
    """Gives shares that sum to anything."""

    def predict_proba(self, X):
        return [2 * shares for shares in super().predict_proba(X)]


class OtherKernel(sk.Pooling):
    """Mean with a small feature, where one row is rounded differently than many."""

    # Measured on an Intel Xeon with AVX-512, for values of 1e-3 among values of 1.
    difference = 8.5e-7

    def transform(self, X):
        means = super().transform(X)
        means[:, 0] *= 1e-3
        return means + np.float32(self.difference if len(means) == 1 else 0)


class BatchDependent(OtherKernel):
    """Mean where one row differs from many by more than rounding."""

    difference = 1e-3


@pytest.mark.parametrize(
    "estimator",
    [
        *(Source(), Doubled(), Predictor()),
        *(sk.Tokenizer(), sk.Tokenizer(missing="empty"), sk.LSAEmbedding(3)),
        *(sk.SVDMetaEmbedding(3), sk.Pooling(("mean", "max"))),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_valid_steps_pass(estimator):
    check_estimator(estimator)


def run_check(estimator, name, **options):
    """Run a check of the suite by its name in test ids, or `check_estimator`."""
    if name == "check_estimator":
        check_estimator(estimator)
        return
    params = parametrize_with_checks([estimator], **options).args[1]
    (param,) = (p for p in params if p.id.partition("-")[2] == name)
    param.values[1](estimator)


TAGGING = LogisticRegression(C=0.01, max_iter=1000)


@pytest.mark.parametrize(
    ("faulty", "check", "message"),
    [
        (BatchMean(), "check_row_alone", "row 0, .*, is the same alone"),
        (NaNOfNothing(), "check_edge_case_rows", "finite"),
        (OneOfNothing(), "check_unknown_gives_zeros", "zeros"),
        (Wide(), "check_output_kind", "float32"),
        (FewNames(), "check_feature_names", "names each column"),
        (FewNames(), "check_set_output", None),
        (Nameless(), "check_refuses_unembedded", "names 'EmbeddedSequences'"),
        (Greedy(), "check_containers", "generator"),
        (Unsorted(), "check_refit", "equal seed"),
        (GlobalState(), "check_global_random_state", "global random state"),
        (Overwriting(), "feed_words-check_dont_overwrite_parameters", "parameters"),
        (Remembering(), "check_refit", "second fit"),
        (Counting(), "feed_words-check_dict_unchanged", None),
        (Unpickled(), "check_copies", None),
        (Dropping(), "check_output_kind", "keeps the tokens"),
        (Wrapping(), "check_set_output", None),
        (ByLevel(), "check_levels", None),
        (TwoSources(), "check_one_source", None),
        (Centered(), "check_unknown_rows", "unknown words"),
        (Lenient(), "check_bad_targets", None),
        (Recoding(), "check_label_kinds", None),
        (Smeared(TAGGING), "check_row_alone", None),
        (Cut(TAGGING), "check_bad_tags", None),
        (Listed(TAGGING), "check_one_tag_per_token", None),
        (Listed(TAGGING), "check_tags_cross_validated", None),
        (Skipping(TAGGING), "check_one_tag_per_token", None),
        (Certain(TAGGING), "check_tag_probabilities", None),
        (Relabelled(), "check_row_index", None),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_planted_faults_are_caught(faulty, check, message):
    try:
        run_check(faulty, check)
    except (unittest.SkipTest, NameError):
        raise
    except Exception:
        pass
    else:
        pytest.fail(f"{check} let the fault pass.")
    if message:
        with pytest.raises(AssertionError, match=message):
            check_estimator(faulty)


@pytest.mark.parametrize("name", ["check_estimator", "check_row_alone"])
def test_rounding_errors_at_the_scale_of_the_data_pass(name):
    run_check(OtherKernel(), name)
    with pytest.raises(AssertionError):
        run_check(BatchDependent(), name)


def test_other_input_is_refused():
    with pytest.raises(TypeError, match=r"Pass an instance, Source\(...\)"):
        check_estimator(Source)
    with pytest.raises(TypeError, match="check_estimator of scikit-learn"):
        check_estimator(MaxAbsScaler())


def test_expected_failures_of_the_suite_must_exist():
    expected = {"check_nothing_of_the_kind": "why"}
    with pytest.raises(ValueError, match="check_nothing_of_the_kind"):
        run_check(Wide(), "", expected_failed_checks=lambda _: expected)


def test_a_source_takes_forty_lines_and_passes_the_checks(tmp_path, monkeypatch):
    """That of the walk-through in CONTRIBUTING.md."""
    text = GUIDE.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n# (\w+\.py)\n(.*?)```", text, flags=re.DOTALL)
    for name, code in blocks:
        (tmp_path / name).write_text(code, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name.removesuffix(".py"), raising=False)
    source = dict(blocks)["random_indexing.py"]
    assert len([line for line in source.splitlines() if line.strip()]) <= 40
    monkeypatch.syspath_prepend(tmp_path)
    test = import_module("test_random_indexing").test_our_source
    for value in test.pytestmark[0].args[1]:
        test(value)
