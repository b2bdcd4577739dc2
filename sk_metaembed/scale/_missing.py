"""Missing rows (None, NaN, null), and whether a pipeline accepts them."""

from ..sequences._validation import _kind


def accepts_missing(estimator):
    """Return whether an estimator or a step of it has ``missing="empty"``.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    bool
        False if no step has such a parameter; other steps that accept missing rows
        are not recognized.
    """
    params = estimator.get_params() if hasattr(estimator, "get_params") else {}
    for name, value in params.items():
        if name.rpartition("__")[2] == "missing" and isinstance(value, str):
            if value == "empty":
                return True
        # FrozenEstimator does not list the parameters of the estimator in it.
        elif not isinstance(value, type) and accepts_missing(value):
            return True
    return False


def is_missing(row):
    """Return whether a row is None, NaN, ``pd.NA`` or ``pd.NaT``.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    return _kind(row) == "missing"
