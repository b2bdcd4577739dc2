"""Sample weights: checks, products, and which steps of a pipeline receive them."""

import numpy as np
from sklearn import config_context
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import has_fit_parameter

from ._errors import short_repr


def check_sample_weight(sample_weight, X, name="sample_weight"):
    """Return weights, one per row of X, or raise a ValueError that names the row.

    None gives each row the weight 1. scikit-learn's function of this name does not say
    what to do, and old versions accept weights that are all zero.
    """
    n_rows = len(X)
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weights = np.ma.array(sample_weight, dtype=np.float64, copy=True)
        weights = weights.filled(np.nan)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must have a number per row, got {short_repr(sample_weight)}."
        ) from None
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.shape != (n_rows,):
        raise ValueError(
            f"{name} must have a number for each of the {n_rows} rows of X, got shape "
            f"{weights.shape}."
        )
    is_valid = np.isfinite(weights) & (weights >= 0)
    if not is_valid.all():
        row = int(is_valid.argmin())
        raise ValueError(
            f"{name} must be finite numbers of 0 or more, got {weights[row]} at row "
            f"{row}."
        )
    if not weights.any():
        if name != "sample_weight":
            raise ValueError(f"{name} is 0 for all rows.")
        raise ValueError("Sample weights must contain at least one non-zero number.")
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total > np.finfo(np.float32).max:  # some models compute in float32
        row = int(weights.argmax())
        raise ValueError(
            f"{name} sums to {total:.2g}, more than float32 holds; the largest "
            f"is {weights[row]:.2g} at row {row}. Divide the weights by their maximum."
        )
    return weights


def relative_weights(factors):
    """Return the products of arrays of weights, divided by a power of 2.

    The largest product is 0.5 to 1, so products fit in float32 even if factors do not.
    """
    product, exponents = 1.0, 0
    for factor in factors:
        mantissas, own = np.frexp(factor)
        product, carried = np.frexp(product * mantissas)
        exponents = exponents + own + carried
    largest = np.max(exponents, where=product > 0, initial=-(2**30))
    return np.ldexp(product, exponents - largest)


def fit_model(model, X, y, sample_weight=None, groups=None):
    """Fit a model and return it; weights and groups go to the steps that take them.

    This works with and without metadata routing. Raises a ValueError if the last step
    does not take weights.
    """
    params = {}
    if sample_weight is not None:
        last = model
        while hasattr(last, "steps") and not has_fit_parameter(last, "sample_weight"):
            last = last.steps[-1][1]
        if not has_fit_parameter(last, "sample_weight"):
            raise ValueError(
                "sample_weight or class_weight was passed, but "
                f"{type(last).__name__} does not support it. Leave out this estimator, "
                "or the weights."
            )
        params = dict.fromkeys(_names(model, "sample_weight"), sample_weight)
    if groups is not None:
        params |= dict.fromkeys(_names(model, "groups"), groups)
    with config_context(enable_metadata_routing=False):
        return model.fit(X, y, **params)


def with_class_weights(class_weight, y, sample_weight):
    """Return sample weights times class weights, or None if both are None.

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


def _names(model, parameter, prefix=""):
    """Return the names under which fit passes a parameter to steps that take it."""
    if has_fit_parameter(model, parameter):
        return [f"{prefix}{parameter}"]
    return [
        full
        for name, step in getattr(model, "steps", [])
        for full in _names(step, parameter, f"{prefix}{name}__")
    ]
