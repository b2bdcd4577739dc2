"""Rows to fit, comparison of estimators, and functions that test files may name."""

import os

import numpy as np
from sklearn.base import BaseEstimator

from sk_metaembed.utils.estimator_checks import WORDS

from ..test_estimators import in_context, sentence, spelling

NAMES = ["builtins.str.split"]
NAMES += [f"{f.__module__}.{f.__name__}" for f in (in_context, sentence, spelling)]

_RNG = np.random.default_rng(0)
ROWS = [_RNG.choice(WORDS, n_words).tolist() for n_words in [*range(7)] * 3]


class Holder(BaseEstimator):
    """Holds any value as a parameter."""

    def __init__(self, value=None):
        self.value = value


def plain(value):
    """Return a parameter as a value that can be compared by ==."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        return type(value), params(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, list | tuple):
        return type(value), [plain(part) for part in value]
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return value.dtype, value.tolist()
    if isinstance(value, float):
        return repr(value)
    return repr(value) if type(value).__module__.startswith("sklearn") else value


def params(estimator):
    """Return all parameters, including the parameters of parts."""
    deep = estimator.get_params(deep=True)
    return {name: plain(value) for name, value in deep.items()}
