"""Weights of rows: what is taken, and what is said of anything else."""

import numpy as np
import pytest

from sk_metaembed._core._sample_weights import check_sample_weight


@pytest.mark.parametrize(
    ("weights", "expected"), [(None, [1, 1]), (2, [2, 2]), ([1, 0], [1, 0])]
)
def test_weights(weights, expected):
    result = check_sample_weight(weights, [0, 0])
    assert result.tolist() == expected
    assert result.dtype == np.float64


def test_the_weights_are_a_copy():
    weights = np.ones(2)
    check_sample_weight(weights, [0, 0])[0] = 5
    assert weights.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1], r"a number for each of the 2 rows of X, got shape \(1,\)"),
        ([[1, 1]], r"got shape \(1, 2\)"),
        ([1, "a"], "a number per row, got .1, 'a'."),
        ([1, np.nan], "finite numbers of 0 or more, got nan at row 1"),
        (np.ma.array([1, 2], mask=[0, 1]), "finite numbers of 0 or more, got nan at r"),
        ([1, -2.5], "finite numbers of 0 or more, got -2.5 at row 1"),
        ([0, 0], "at least one non-zero number"),
        ([1, 1.7e308], r"sums to 1.7e\+308, .* at row 1. Divide the weights by"),
        (1.7e308, r"sums to inf, more than float32 holds; .* 1.7e\+308 at row 0"),
    ],
)
def test_invalid_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        check_sample_weight(weights, [0, 0])
