"""Products of weights; weights and groups for estimators, without routing."""

import numpy as np
from sklearn import config_context
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import has_fit_parameter

from ._sklearn import check_sample_weight


def relative_weights(factors):
    """Return the products of the weights of rows, divided by a power of 2.

    The largest is 0.5 to 1, so that they fit in float32, even if factors do not.

    Parameters
    ----------
    factors : iterable of ndarray of shape (n_rows,)
    """
    product, exponents = 1.0, 0
    for factor in factors:
        mantissas, own = np.frexp(factor)
        product, carried = np.frexp(product * mantissas)
        exponents = exponents + own + carried
    largest = np.max(exponents, where=product > 0, initial=-(2**30))
    return np.ldexp(product, exponents - largest)


def fit_model(model, X, y, sample_weight=None, groups=None):
    """Fit a model, and return it; its steps receive what they take of the rest.

    Raises ValueError if its last step does not take weights. Weights and groups reach
    the steps whether or not the caller uses metadata routing.
    """
    params = weight_params(model, sample_weight) | fit_params(model, "groups", groups)
    with config_context(enable_metadata_routing=False):
        return model.fit(X, y, **params)


def with_class_weights(class_weight, y, sample_weight):
    """Return the weights of rows times those of their classes, None if both are None.

    `class_weight` is as for scikit-learn's classifiers.
    """
    if class_weight is None:
        return sample_weight
    weights = compute_sample_weight(class_weight, y)
    if sample_weight is not None:
        with np.errstate(over="ignore"):  # an infinite weight is an error
            weights = weights * sample_weight
    name = f"class_weight={class_weight!r} times sample_weight"
    return check_sample_weight(weights, y, name)


def weight_params(model, sample_weight):
    """Return the parameters of fit that pass weights to all steps that take them.

    None has none. Raises ValueError if the last step does not take weights. Pipelines
    can be nested.
    """
    if sample_weight is None:
        return {}
    last = model
    while hasattr(last, "steps") and not has_fit_parameter(last, "sample_weight"):
        last = last.steps[-1][1]
    if not has_fit_parameter(last, "sample_weight"):
        raise ValueError(
            "sample_weight or class_weight was passed, but "
            f"{type(last).__name__} does not support it. Leave out this estimator, or "
            "the weights."
        )
    return fit_params(model, "sample_weight", sample_weight)


def fit_params(model, parameter, value):
    """Return the parameters of fit that pass a value to all steps that take it."""
    return {} if value is None else dict.fromkeys(_names(model, parameter), value)


def _names(model, parameter, prefix=""):
    if has_fit_parameter(model, parameter):
        return [f"{prefix}{parameter}"]
    return [
        full
        for name, step in getattr(model, "steps", [])
        for full in _names(step, parameter, f"{prefix}{name}__")
    ]
