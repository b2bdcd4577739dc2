"""The private names of scikit-learn that this package uses, for all its versions.

Nothing else imports a private name of scikit-learn, so that a new version of it changes
one module. Other rooms may import its names.
"""
# ruff: noqa: F401

from numbers import Integral, Real

import numpy as np
from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    Options,
    StrOptions,
    make_constraint,
    validate_parameter_constraints,
)
from sklearn.utils._set_output import (
    _auto_wrap_is_configured as auto_wrap_is_configured,
)
from sklearn.utils._set_output import _get_output_config as get_output_config
from sklearn.utils._user_interface import _print_elapsed_time as print_elapsed_time
from sklearn.utils.metaestimators import _BaseComposition as BaseComposition

from ._messages import short_repr

try:
    from sklearn.utils._repr_html.estimator import _VisualBlock as VisualBlock
except ModuleNotFoundError:  # before 1.7
    from sklearn.utils._estimator_html_repr import _VisualBlock as VisualBlock
try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ModuleNotFoundError:  # before 1.9

    class NoContext:
        """The context of a fit without callbacks: reports nothing, and never stops."""

        def subcontext(self, **_):
            """Return the context of a subtask."""
            return self

        def call_on_fit_task_begin(self, **_):
            """Do nothing."""

        def call_on_fit_task_end(self, **_):
            """Return that no callback requested to stop."""
            return False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Support for no callbacks: scikit-learn has them from 1.9 on."""

        def _init_callback_context(self, **_):
            return NoContext()

    def with_callbacks(method):
        """Return the method."""
        return method


# Constraints of parameters that are numbers.
COUNT = Interval(Integral, 1, None, closed="left")
NATURAL = Interval(Integral, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
NONNEGATIVE = Interval(Real, 0, None, closed="left")
SHARE = Interval(Real, 0, 1, closed="left")


def check_sample_weight(sample_weight, X, name="sample_weight"):
    """Return weights, one per row of X, or raise a ValueError that names the row.

    None gives each row the weight 1. As scikit-learn's function of this name, whose
    messages do not say what to do, and whose old versions accept zeros only.
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
    if total > np.finfo(np.float32).max:  # in which some models compute
        row = int(weights.argmax())
        raise ValueError(
            f"{name} sums to {total:.2g}, more than float32 holds; the largest "
            f"is {weights[row]:.2g} at row {row}. Divide the weights by their maximum."
        )
    return weights


def parameter_of_pairs(model):
    """Return the parameter by which decision values are of pairs of classes, or None.

    With three classes there are three pairs too, so the shape does not tell.
    """
    model = getattr(model, "best_estimator_", model)  # of a search
    params = model.get_params() if hasattr(model, "get_params") else {}
    name = "decision_function_shape"
    of_pairs = (k for k, v in params.items() if k.endswith(name) and v == "ovo")
    return next(of_pairs, None)


def boosted_trees(model):
    """Return the trees and the first value of a fitted HistGradientBoosting*.

    The trees are a list per iteration, with a tree per column of the sum.
    """
    return model._predictors, model._baseline_prediction
