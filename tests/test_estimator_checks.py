"""The check suite itself: sound steps pass it, and each planted fault is caught."""

import unittest
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.exceptions import EstimatorCheckFailedWarning, SkipTestWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted, check_random_state

from sk_metaembed.sequences import Block, EmbeddedSequences, check_tokens
from sk_metaembed.sequences._estimator import (
    EmbeddedInputMixin,
    SequencesInputMixin,
    SequencesOutputMixin,
)
from sk_metaembed.utils.estimator_checks import (
    WORDS,
    check_estimator,
    parametrize_with_checks,
)


class Source(
    SequencesOutputMixin, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Random vectors for the words of the training fold."""

    _parameter_constraints = {"dim": "no_validation", "random_state": "no_validation"}

    def __init__(self, dim=3, random_state=None):
        self.dim = dim
        self.random_state = random_state

    def fit(self, X, y=None):
        self._learn(check_tokens(X, whose="Source"))
        return self

    def fit_transform(self, X, y=None):
        tokens = check_tokens(X, whose="Source")
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
        tokens = check_tokens(X, whose="Source")
        nothing = np.zeros(self.dim)
        values = [self.table_.get(word, nothing) for word in tokens.types]
        values = np.array(values).reshape(-1, self.dim)
        known = values.any(axis=1)
        return EmbeddedSequences(tokens, [Block("source", values, "type", known)])

    def get_feature_names_out(self, input_features=None):
        check_is_fitted(self)
        return np.array([f"source{i}" for i in range(self.dim)], dtype=object)


def embedded_only(X, whose, dims=None):
    if not isinstance(X, EmbeddedSequences):
        raise TypeError(f"{whose} takes EmbeddedSequences, got {type(X).__name__}.")
    came = {block.name: block.dim for block in X.blocks}
    if dims is not None and came != dims:
        raise ValueError(f"{whose} was fitted on blocks {dims}, got {came}.")
    return X


class Doubled(
    EmbeddedInputMixin,
    SequencesOutputMixin,
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,
):
    """Every block twice as long."""

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
    """The mean of a row's vectors."""

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
    """LogisticRegression on means, which brings its own checks of y."""

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


@parametrize_with_checks([Source(), Doubled(), Mean(), Predictor()])
def test_sound_steps_pass(estimator, check):
    check(estimator)


def checks_of(estimator, **options):
    """Return the checks of an estimator by the names that stand in test ids."""
    params = parametrize_with_checks([estimator], **options).args[1]
    return {p.id.partition("-")[2]: p for p in params}


@pytest.mark.parametrize("estimator", [Source(), Doubled(), Mean(), Predictor()])
def test_scikit_learns_suite_is_collected(estimator):
    names = checks_of(estimator)
    fed = [name for name in names if name.startswith("feed_words-")]
    assert len(fed) > 30
    assert len(names) - len(fed) > 25
    for name in ("check_dict_unchanged", "check_methods_subset_invariance"):
        assert f"feed_words-{name}" in names


class BatchMean(Mean):
    """Subtracts the mean of the batch."""

    def transform(self, X):
        values = super().transform(X)
        return values - values.mean(axis=0) if len(values) else values


class PaddedMean(Mean):
    """Divides by the longest row of the batch, as unmasked padding does."""

    def transform(self, X):
        array = embedded_only(X, "PaddedMean").to_padded()[0]
        return array.sum(axis=1) / max(array.shape[1], 1)


class NaNOfNothing(Mean):
    """Divides by zero on an empty row."""

    def _pool(self, row):
        with np.errstate(invalid="ignore"):
            return row.sum(axis=0) / np.float32(len(row))


class OneOfNothing(Mean):
    """Gives ones for an empty row."""

    def _pool(self, row):
        return super()._pool(row) if len(row) else np.ones(self.dim_)


class Wide(Mean):
    """Gives wide numbers."""

    dtype = np.float64


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


class Stringly(Source):
    """Reads numbers as words."""

    def fit(self, X, y=None):
        return super().fit([[str(t) for t in row] for row in X])


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


class Unchecked(Source):
    """Does not check that it was fitted."""

    def transform(self, X):
        if not hasattr(self, "table_"):
            self._learn(check_tokens(X))
        return super().transform(X)


class Dropping(Source):
    """Drops unknown tokens, and so moves rows against tokens."""

    def transform(self, X):
        check_is_fitted(self)
        rows = check_tokens(X, whose="Dropping").to_list()
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


class HalfPrecise(Doubled):
    """Rounds in float16."""

    def _values(self, block):
        return super()._values(block).round(7 if block.values.itemsize == 4 else 0)


class Careless(Mean):
    """Does not look at the blocks that come."""

    def transform(self, X):
        check_is_fitted(self)
        return Mean().fit(X).transform(X)


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


@pytest.mark.parametrize(
    ("faulty", "check"),
    [
        (BatchMean(), "check_row_alone"),
        (BatchMean(), "check_subset"),
        (BatchMean(), "feed_words-check_methods_subset_invariance"),
        (PaddedMean(), "check_row_alone"),
        (NaNOfNothing(), "check_awkward_rows"),
        (OneOfNothing(), "check_nothing_gives_zeros"),
        (Wide(), "check_output_kind"),
        (FewNames(), "check_feature_names"),
        (FewNames(), "check_set_output_pandas"),
        (Nameless(), "check_refuses_unembedded"),
        (Greedy(), "check_containers"),
        (Stringly(), "check_refuses_bad_rows"),
        (Unsorted(), "check_determinism"),
        (Unsorted(), "feed_words-check_fit_idempotent"),
        (GlobalState(), "check_global_random_state"),
        (Overwriting(), "check_params_left_alone"),
        (Remembering(), "check_refit"),
        (Counting(), "check_state_left_alone"),
        (Counting(), "feed_words-check_dict_unchanged"),
        (Unpickled(), "check_copies_of_fitted"),
        (Unchecked(), "check_unfitted"),
        (Dropping(), "check_output_kind"),
        (Wrapping(), "check_set_output_pandas"),
        (ByLevel(), "check_levels"),
        (TwoSources(), "check_one_source"),
        (HalfPrecise(), "check_half_precision"),
        (Careless(), "check_other_blocks"),
        (Lenient(), "check_bad_targets"),
        (Recoding(), "check_label_kinds"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_planted_fault_is_caught(faulty, check):
    estimator, run = checks_of(faulty)[check].values
    try:
        run(estimator)
    except unittest.SkipTest:
        raise
    except Exception:
        return
    pytest.fail(f"{check} let the fault pass.")


def test_an_estimator_for_numbers_gets_scikit_learns_suite():
    results = check_estimator(PCA(), on_skip=None)
    assert len(results) > 40
    assert not any(r["check_name"].startswith("feed_words") for r in results)


def test_classes_are_refused():
    with pytest.raises(TypeError, match=r"pass Source\(...\)"):
        check_estimator(Source)
    with pytest.raises(TypeError, match="instances"):
        parametrize_with_checks([Source])


def test_first_failure_is_raised_or_warned_about():
    with pytest.raises(AssertionError):
        check_estimator(Wide(), on_skip=None)
    with pytest.warns(EstimatorCheckFailedWarning, match="check_output_kind"):
        check_estimator(Wide(), on_skip=None, on_fail="warn")


def test_expected_failures_are_marked_and_must_exist():
    expected = {"check_output_kind": "float64 on purpose"}
    results = check_estimator(Wide(), expected_failed_checks=expected, on_skip=None)
    status = {r["check_name"]: r["status"] for r in results}
    assert status["check_output_kind"] == "xfail"

    checks = checks_of(Wide(), expected_failed_checks=lambda _: expected)
    assert [name for name, p in checks.items() if p.marks] == ["check_output_kind"]
    with pytest.raises(ValueError, match="check_nothing_of_the_kind"):
        check_estimator(
            Wide(), expected_failed_checks={"check_nothing_of_the_kind": "why"}
        )


def test_missing_packages_skip_with_a_reason(monkeypatch):
    from sk_metaembed.utils import _checks_data

    def missing(module):
        raise ImportError(module)

    monkeypatch.setattr(_checks_data, "import_module", missing)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(Mean())
    skipped = {r["check_name"]: r for r in results if r["status"] == "skipped"}
    assert "check_set_output_polars" in skipped
    exception = skipped["check_set_output_polars"]["exception"]
    assert isinstance(exception, unittest.SkipTest)
    assert "polars is not installed" in str(exception)


def test_words_are_tokens_as_they_stand():
    assert check_tokens([" ".join(WORDS)]).to_list() == [list(WORDS)]
