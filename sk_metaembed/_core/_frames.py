"""Rows and columns of data frames, arrays and Series: values, names, missing values."""

import decimal

import numpy as np

from ._messages import short_repr

_MISSING = "NAType", "NaTType", "MaskedConstant"
_SCALARS = float, np.number, np.datetime64, np.timedelta64, decimal.Decimal


def is_missing(value):
    """Return whether a value is None, NaN, ``pd.NA``, ``pd.NaT`` or ``np.ma.masked``.

    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    if value is None or type(value).__name__ in _MISSING:
        return True
    # NaN, of any type of number, differs from itself.
    return isinstance(value, _SCALARS) and bool(value != value)


def is_lazy(X):
    """Return whether X is a LazyFrame of polars, which has no data yet."""
    return type(X).__name__ == "LazyFrame"


def as_list(values):
    """Return an array, Series or iterable as a list."""
    if hasattr(values, "to_list"):
        return values.to_list()
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def read_frame(X):
    """Return the columns of a DataFrame, Arrow table or 2-D array, as lists."""
    n_columns = range(X.shape[1])
    if hasattr(X, "iloc"):
        return [X.iloc[:, j].tolist() for j in n_columns]
    if hasattr(X, "to_series"):
        return [X.to_series(j).to_list() for j in n_columns]
    if hasattr(X, "column"):
        return [X.column(j).to_pylist() for j in n_columns]
    X = X if np.ma.isMaskedArray(X) else np.asarray(X)
    return [X[:, j].tolist() for j in n_columns]


def pandas_index(X):
    """Return the index of a pandas Series or DataFrame, None of anything else."""
    # Lists and tuples have an `index` too: a method.
    return X.index if hasattr(X, "iloc") else None


def column_names(X):
    """Return the names of a DataFrame's columns if all of them are str, else None."""
    if is_lazy(X) or not hasattr(X, "columns"):
        return None
    names = list(getattr(X, "column_names", X.columns))
    return names if all(isinstance(name, str) for name in names) else None


def record_names(step, X):
    """Set a step's `feature_names_in_` to the column names of X, if it has any."""
    step.__dict__.pop("feature_names_in_", None)
    names = column_names(X)
    if names is not None:
        step.feature_names_in_ = np.array(names, dtype=object)


def check_same_names(step, X):
    """Raise a ValueError if the columns of X have other names than in `fit`."""
    expected, received = getattr(step, "feature_names_in_", None), column_names(X)
    if expected is None or received is None:
        return
    expected = list(expected)
    if received != expected:
        raise ValueError(
            "The feature names should match those that were passed during fit: "
            f"the columns {expected}, in this order; got {received}. Select them: "
            f"X[{expected}]."
        )


def unique_names(names):
    """Return names as an array, with underscores after those that others have.

    >>> unique_names(["a", "b", "a"]).tolist()
    ['a', 'b', 'a_']
    """
    unique = {}
    for name in names:
        while name in unique:
            name += "_"
        unique[name] = None
    return np.array([*unique], dtype=object)


def check_names(names):
    """Raise a ValueError unless there are column names, without duplicates."""
    names = list(names)
    if not names or len(set(names)) < len(names):
        raise ValueError(
            "at least one column is needed, with distinct names; got "
            f"{short_repr(names)}. Rename columns that have the same name."
        )
