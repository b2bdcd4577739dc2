"""Decorators of estimators' methods that keep the methods' types."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from sklearn.utils import metaestimators

from . import _sklearn

Method = TypeVar("Method", bound=Callable[..., Any])


# Of scikit-learn, which does not annotate them: type checkers would treat the decorated
# methods as Any.
fit_context: Callable[..., Callable[[Method], Method]] = _sklearn.fit_context
available_if: Callable[..., Callable[[Method], Method]] = metaestimators.available_if
with_callbacks: Callable[[Method], Method] = _sklearn.with_callbacks


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
