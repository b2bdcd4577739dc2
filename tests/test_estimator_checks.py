"""Tests of the check suite itself: valid steps pass, and its reports are correct."""

import unittest

import numpy as np
import pytest
from sklearn.preprocessing import MaxAbsScaler

from sk_metaembed import PairEncoder, Tokenizer
from sk_metaembed.utils.estimator_checks import check_estimator, parametrize_with_checks

from .sample_steps import Doubled, Mean, Predictor, Source, Tagger, Wide, checks_of

VALID = [Source(), Doubled(), Mean(), Predictor(), Tagger()]


@pytest.mark.parametrize("estimator", VALID)
def test_valid_steps_pass(estimator):
    results = check_estimator(estimator)
    names = {result["check_name"] for result in results}
    fed = {name for name in names if name.startswith("feed_words-")}
    assert len(fed) > 20
    assert len(names - fed) > 10
    for name in ("check_dict_unchanged", "check_methods_subset_invariance"):
        assert f"feed_words-{name}" in names


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (Tokenizer(missing="empty"), "check_refuses_bad_rows"),
        (Tokenizer(missing="empty"), "check_missing_rows"),
        (PairEncoder(Tokenizer(), missing="empty"), "check_refuses_bad_sides"),
        (PairEncoder(Tokenizer(), missing="empty"), "check_missing_rows"),
    ],
)
def test_steps_that_accept_missing_rows_pass(estimator, name):
    estimator, check = checks_of(estimator)[name].values
    check(estimator)


def test_estimator_for_numbers_runs_scikit_learns_suite():
    results = check_estimator(MaxAbsScaler())
    assert len(results) > 40
    assert not any(r["check_name"].startswith("feed_words") for r in results)


class OtherKernel(Mean):
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


COMPARE_ROWS = "check_row_alone", "feed_words-check_methods_subset_invariance"


@pytest.mark.parametrize("name", COMPARE_ROWS)
def test_rounding_errors_at_the_scale_of_the_data_pass(name):
    valid, faulty = OtherKernel(), BatchDependent()
    checks_of(valid)[name].values[1](valid)
    with pytest.raises(AssertionError):
        checks_of(faulty)[name].values[1](faulty)


def test_classes_raise_an_error():
    with pytest.raises(TypeError, match=r"Pass Source\(...\)"):
        check_estimator(Source)
    with pytest.raises(TypeError, match="instances"):
        parametrize_with_checks([Source])


def test_first_failure_is_raised():
    with pytest.raises(AssertionError, match="float32"):
        check_estimator(Wide())


def test_expected_failures_are_marked_and_must_exist():
    expected = {"check_output_kind": "float64 on purpose"}
    results = check_estimator(Wide(), expected_failed_checks=expected)
    status = {r["check_name"]: r["status"] for r in results}
    assert status["check_output_kind"] == "xfail"

    checks = checks_of(Wide(), expected_failed_checks=lambda _: expected)
    assert [name for name, p in checks.items() if p.marks] == ["check_output_kind"]
    with pytest.raises(ValueError, match="check_nothing_of_the_kind"):
        check_estimator(
            Wide(), expected_failed_checks={"check_nothing_of_the_kind": "why"}
        )


def test_missing_packages_skip_with_a_reason(monkeypatch):
    monkeypatch.setattr("sk_metaembed.utils._checks_data.find_spec", lambda name: None)
    results = {r["check_name"]: r for r in check_estimator(Mean())}
    exception = results["check_set_output"]["exception"]
    assert isinstance(exception, unittest.SkipTest)
    assert "pandas and polars" in str(exception)
