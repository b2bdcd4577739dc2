"""Fits that leave the estimator unchanged if they fail."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])


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
