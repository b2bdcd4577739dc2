"""Shared parts of estimators: parameters, failing fits, and tasks of callbacks."""

from __future__ import annotations

from contextlib import contextmanager
from functools import wraps
from numbers import Integral, Real
from typing import Any, Self

from ._sklearn import BaseComposition, Method, _fit_context


def is_integer(value):
    """Return whether value is an integer, and not True or False."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value):
    """Return whether value is a real number, and not True or False."""
    return isinstance(value, Real) and not isinstance(value, bool)


class NamedEstimatorsMixin(BaseComposition):
    """Get and set the parameters of named estimators, as a Pipeline does.

    A subclass sets `_named_estimators`, the attribute with (name, estimator) pairs.
    """

    _named_estimators: str

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, and the parameters of the named estimators.

        Parameters
        ----------
        deep : bool, default=True
            Include the named estimators and their parameters, as ``name__parameter``.

        Returns
        -------
        dict
            Values by name.
        """
        return self._get_params(self._named_estimators, deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this or named estimators, or replace the latter.

        An estimator that is replaced keeps its name and position. Fitted estimators do
        not change before the next fit.

        Parameters
        ----------
        **params : dict
            By the names that `get_params` returns, such as ``name__parameter``.

        Returns
        -------
        estimator instance
            The estimator itself.
        """
        return self._set_params(self._named_estimators, **params)


def fit_context(fit: Method) -> Method:
    """Decorate a `fit`: validate the parameters, and restore attributes if it fails.

    Ctrl-C counts as a failure. After a failed refit, the estimator has its earlier fit;
    after a failed first fit, it is unfitted. The attributes must be replaced, not
    changed in place.
    """

    @_fit_context(prefer_skip_nested_validation=False)
    @wraps(fit)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return wrapper


@contextmanager
def fit_task(estimator, X, y, n_parts):
    """Report a fit of `n_parts` parts; yield the context of the parts.

    `estimator` has scikit-learn's `CallbackSupportMixin`. X and y are the training
    data, for callbacks that compute scores.
    """
    task = {"estimator": estimator, "X": X, "y": y}
    context = estimator._init_callback_context(max_subtasks=n_parts)
    context.call_on_fit_task_begin(**task)
    yield context
    context.call_on_fit_task_end(**task, reconstruction_attributes=dict)


def part_tasks(estimator, context, names, results):
    """Yield the results of named parts, each reported as a task of `context`."""
    results = iter(results)
    for name in names:
        part = context.subcontext(task_name=name)
        part.call_on_fit_task_begin(estimator=estimator)
        yield next(results)
        part.call_on_fit_task_end(estimator=estimator)
    next(results, None)  # at its end, an iterator closes threads and progress bars
