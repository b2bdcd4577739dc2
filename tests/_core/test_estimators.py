"""Checks of parameters, beyond scikit-learn's constraints, and of weights of rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils._param_validation import InvalidParameterError

import sk_metaembed
from sk_metaembed import (
    CommonComponentRemoval,
    DynamicMetaClassifier,
    Pooling,
    TableRegressor,
    Tokenizer,
)
from sk_metaembed.metrics import coverage_report


def test_true_is_refused_in_fit():
    step = CommonComponentRemoval(n_components=True)
    with pytest.raises(InvalidParameterError, match="'n_components' .* Got True"):
        step.fit(np.ones((3, 2)))


def test_true_is_refused_within_tuples_and_by_functions():
    tokens = Tokenizer().transform(["a b"])
    source = sk_metaembed.FunctionEmbedding(lambda words: [[1.0] for _ in words])
    X = source.fit_transform(tokens)
    with pytest.raises(ValueError, match="encoder_dim .* got True"):
        DynamicMetaClassifier(encoder_dim=(True,)).fit(X, [0])
    with pytest.raises(ValueError, match="powers"):
        Pooling("power-means", powers=(True,)).fit(X)
    with pytest.raises(ValueError, match="n_unknown must be an int"):
        coverage_report({}, tokens, n_unknown=True)


def test_long_values_are_cut():
    with pytest.raises(
        InvalidParameterError, match=r"0, 1, 2.*\.\.\. instead"
    ) as caught:
        Pooling(weights=list(range(100_000))).fit(None)
    assert len(str(caught.value)) < 300
    with pytest.raises(InvalidParameterError, match=r"Got \[1, 2\] instead"):
        Pooling(weights=[1, 2]).fit(None)


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
