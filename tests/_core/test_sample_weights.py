"""Weights of rows that are not accepted, and what the error says."""

import numpy as np
import pandas as pd
import pytest

from sk_metaembed import TableRegressor

FRAME = pd.DataFrame({"x": [1.0, 2.0]})


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
        TableRegressor(["linear"]).fit(FRAME, [0.0, 1.0], sample_weight=weights)
