"""`check_estimator`: valid steps pass, and each planted fault is caught."""

import numpy as np
import pytest
from sklearn.preprocessing import MaxAbsScaler

import sk_metaembed as sk
from sk_metaembed.utils.estimator_checks import check_estimator

from . import sample_steps as valid
from . import test_planted_faults as planted
from .checks import suite


@pytest.mark.parametrize(
    "estimator",
    [
        *(valid.Source(), valid.Doubled(), valid.Mean(), valid.Predictor()),
        *(sk.Tokenizer(), sk.Tokenizer(missing="empty"), sk.LSAEmbedding(3)),
        *(sk.SVDMetaEmbedding(3), sk.Pooling(("mean", "max"))),
    ],
    ids=repr,
)
def test_valid_steps_pass(estimator):
    check_estimator(estimator)


@pytest.mark.parametrize(
    ("faulty", "message"),
    [
        (planted.BatchMean(), "row 0, .*, is the same alone"),
        (planted.NaNOfNothing(), "finite"),
        (planted.OneOfNothing(), "zeros"),
        (valid.Wide(), "float32"),
        (planted.FewNames(), "names each column"),
        (planted.Nameless(), "names 'EmbeddedSequences'"),
        (planted.Greedy(), "generator"),
        (planted.Unsorted(), "equal seed"),
        (planted.GlobalState(), "global random state"),
        (planted.Overwriting(), "parameters"),
        (planted.Remembering(), "second fit"),
        (planted.Dropping(), "keeps the tokens"),
        (planted.Centered(), "unknown words"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_planted_fault_is_caught(faulty, message):
    with pytest.raises(AssertionError, match=message):
        check_estimator(faulty)


def test_other_input_is_refused():
    with pytest.raises(TypeError, match=r"Pass an instance, Source\(...\)"):
        check_estimator(valid.Source)
    with pytest.raises(TypeError, match="check_estimator of scikit-learn"):
        check_estimator(MaxAbsScaler())


class OtherKernel(valid.Mean):
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


def _compare_rows(estimator, name):
    if name == "check_estimator":
        check_estimator(estimator)
    else:
        valid.checks_of(estimator)[name].values[1](estimator)


@pytest.mark.parametrize(
    "name",
    [
        *("check_estimator", "check_row_alone"),
        "feed_words-check_methods_subset_invariance",
    ],
)
def test_rounding_errors_at_the_scale_of_the_data_pass(name):
    _compare_rows(OtherKernel(), name)
    with pytest.raises(AssertionError):
        _compare_rows(BatchDependent(), name)


def test_expected_failures_of_the_suite_must_exist():
    with pytest.raises(ValueError, match="check_nothing_of_the_kind"):
        suite.parametrize_with_checks(
            [valid.Wide()],
            expected_failed_checks=lambda _: {"check_nothing_of_the_kind": "why"},
        )
