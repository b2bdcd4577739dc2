"""Decorators of estimators' methods that keep the methods' types.

scikit-learn's own decorators have no annotations: type checkers would treat the
decorated methods as Any.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from sklearn.utils import metaestimators

from . import _sklearn

Method = TypeVar("Method", bound=Callable[..., Any])


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Method], Method]:
    """Return scikit-learn's decorator of `fit`, which validates the parameters."""
    return _sklearn._fit_context(
        prefer_skip_nested_validation=prefer_skip_nested_validation
    )


def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Return scikit-learn's decorator of methods that exist on some instances only."""
    return metaestimators.available_if(check)


def with_callbacks(method: Method) -> Method:
    """Return scikit-learn's decorator of methods that run callbacks."""
    return _sklearn.with_callbacks(method)


def rollback_on_error(fit: Method) -> Method:
    """Decorate a `fit` that restores the estimator's attributes on any exception.

    Ctrl-C counts. After a failed refit the estimator is as fitted before; after a
    failed first fit it is unfitted. The attributes must be replaced, not changed in
    place.
    """

    @wraps(fit)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return wrapper  # type: ignore[return-value]
