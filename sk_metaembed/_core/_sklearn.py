"""The private names of scikit-learn that this package uses, for all versions.

Nothing else imports a private name of scikit-learn, so that a new version of it changes
one module.
"""
# ruff: noqa: F401

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, TypeVar

from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    InvalidParameterError,
    Options,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils._param_validation import Interval as _Interval
from sklearn.utils._set_output import (
    _auto_wrap_is_configured as auto_wrap_is_configured,
)
from sklearn.utils._set_output import _get_output_config as get_output_config
from sklearn.utils._user_interface import _print_elapsed_time as print_elapsed_time
from sklearn.utils.metaestimators import _BaseComposition as BaseComposition
from sklearn.utils.metaestimators import available_if as _available_if

try:
    from sklearn.utils._repr_html.estimator import _VisualBlock as VisualBlock
except ModuleNotFoundError:  # before 1.7
    from sklearn.utils._estimator_html_repr import _VisualBlock as VisualBlock
try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
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

    def _with_callbacks(method):
        """Return the method."""
        return method


Method = TypeVar("Method", bound=Callable[..., Any])
# scikit-learn does not annotate these decorators: type checkers would treat the
# decorated methods as Any.
available_if: Callable[..., Callable[[Method], Method]] = _available_if
with_callbacks: Callable[[Method], Method] = _with_callbacks


class Interval(_Interval):
    """An interval of numbers, without True and False.

    To Python a bool is an int: ``max_iter=True``, often a parameter mistaken for
    another, would train for one iteration.
    """

    def is_satisfied_by(self, val):
        """Return whether a value is a number in the interval."""
        return not isinstance(val, bool) and super().is_satisfied_by(val)


COUNT = Interval(Integral, 1, None, closed="left")
NATURAL = Interval(Integral, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
NONNEGATIVE = Interval(Real, 0, None, closed="left")
SHARE = Interval(Real, 0, 1, closed="left")


def parameter_of_pairs(model):
    """Return the parameter that asks for decision values of pairs of classes, or None.

    The shape does not show whether values are of pairs: three classes have three.
    """
    model = getattr(model, "best_estimator_", model)  # if the estimator is a search
    params = model.get_params() if hasattr(model, "get_params") else {}
    name = "decision_function_shape"
    of_pairs = (k for k, v in params.items() if k.endswith(name) and v == "ovo")
    return next(of_pairs, None)
