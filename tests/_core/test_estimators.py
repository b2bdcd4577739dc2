"""Parameter checks of all estimators, beyond scikit-learn's constraints."""

from inspect import getsource

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import InvalidParameterError

import sk_metaembed
from sk_metaembed import (
    CommonComponentRemoval,
    DynamicMetaClassifier,
    Pooling,
    Tokenizer,
)
from sk_metaembed.metrics import coverage_report
from sk_metaembed.sequences import SequencesInputMixin

PUBLIC = [getattr(sk_metaembed, name) for name in sk_metaembed.__all__]
ESTIMATORS = [c for c in PUBLIC if isinstance(c, type) and issubclass(c, BaseEstimator)]


def test_every_estimator_checks_parameters_with_the_mixin():
    own = SequencesInputMixin._validate_params
    mixin = next(c for c in SequencesInputMixin.mro() if vars(c).get(own.__name__))
    methods = {cls._validate_params for cls in ESTIMATORS} - {own}
    assert all("super()._validate_params()" in getsource(each) for each in methods)
    assert all(
        cls.mro().index(mixin) < cls.mro().index(BaseEstimator) for cls in ESTIMATORS
    )


def step_with(constraints, value):
    class Step(SequencesInputMixin, BaseEstimator):
        _parameter_constraints = {"given": constraints}

        def __init__(self, given=None):
            self.given = given

    return Step(value)


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
    step = step_with([str], list(range(100_000)))
    with pytest.raises(InvalidParameterError, match="an instance of 'list'") as caught:
        step._validate_params()
    assert len(str(caught.value)) < 300
    short = step_with([str], [1, 2])
    with pytest.raises(InvalidParameterError, match=r"Got \[1, 2\] instead"):
        short._validate_params()
