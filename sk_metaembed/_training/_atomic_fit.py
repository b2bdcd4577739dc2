"""Fits that are whole or have not been: Ctrl-C leaves nothing half learned."""

from functools import wraps


def whole_or_nothing(fit):
    """Have a method that fits leave the estimator as it was if it does not end.

    What was fitted before can be used on, and what was not is plainly unfitted.

    Parameters
    ----------
    fit : callable
        A method that sets attributes, and changes none that are there in place.

    Returns
    -------
    callable
        With the same signature and docstring.
    """

    @wraps(fit)
    def whole(self, *args, **kwargs):
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return whole
