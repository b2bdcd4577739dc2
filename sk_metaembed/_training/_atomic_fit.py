"""Fits that leave the estimator unchanged if they fail."""

from functools import wraps


def rollback_on_error(fit):
    """Decorate a `fit` that restores the estimator's attributes on any exception.

    Ctrl-C counts. After a failed refit the estimator is as fitted before; after a
    failed first fit it is unfitted. The attributes must be replaced, not changed in
    place.
    """

    @wraps(fit)
    def wrapper(self, *args, **kwargs):
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return wrapper
