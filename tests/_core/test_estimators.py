"""Parameter checks of all estimators, beyond scikit-learn's constraints."""

import numpy as np
import pytest
from sklearn.utils._param_validation import InvalidParameterError

import sk_metaembed
from sk_metaembed import (
    CommonComponentRemoval,
    DynamicMetaClassifier,
    Pooling,
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
