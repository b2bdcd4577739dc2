"""What makes a fit one fit, though several processes run it.

Imports no torch: the estimators' classes need it.
"""

import functools
from numbers import Number

from sklearn.utils import check_random_state


def together(fit):
    """Return a method that ends in all processes if it ends in one.

    Parameters
    ----------
    fit : function
        A method of an estimator with the parameter `device`.

    Returns
    -------
    function
    """

    @functools.wraps(fit)
    def wrapper(estimator, *args, **kwargs):
        if estimator.device != "accelerate":
            return fit(estimator, *args, **kwargs)
        from ._distributed import PartedError, processes_of

        processes = processes_of(estimator)
        with _callbacks_of_main(estimator, processes):
            try:
                fit(estimator, *args, **kwargs)
            except PartedError:
                raise
            except BaseException as error:
                _tell(processes, error)
                raise
            processes.check()
        return estimator

    return wrapper


def _tell(processes, error):
    from ._distributed import PartedError

    try:
        processes.check(error)
    except PartedError as lost:
        error.add_note(str(lost))


class _callbacks_of_main:
    """Keeps scikit-learn's callbacks, such as progress bars, to the main process."""

    def __init__(self, estimator, processes):
        self.estimator, self.is_main = estimator, processes.is_main

    def __enter__(self):
        self.kept = None
        if not self.is_main:
            self.kept = self.estimator.__dict__.pop("_skl_callbacks", None)

    def __exit__(self, *error):
        if self.kept is not None:
            self.estimator._skl_callbacks = self.kept


def shared_random_state(estimator):
    """Return the RandomState of an estimator, in the same state in all processes.

    Parameters
    ----------
    estimator : one of the Dynamic* estimators

    Returns
    -------
    numpy RandomState
    """
    random_state = check_random_state(estimator.random_state)
    if estimator.device == "accelerate":
        from ._distributed import processes_of

        random_state.set_state(processes_of(estimator).told(random_state.get_state()))
    return random_state


def settings(estimator):
    """Return the parameters that must be the same in all processes, by name."""
    return {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if isinstance(value, Number | str | tuple | None)
        and name not in ("random_state", "verbose")
    }
