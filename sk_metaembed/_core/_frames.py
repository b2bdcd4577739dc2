"""Rows and columns of data frames, arrays and Series: values, names, missing values."""

import decimal

import numpy as np

from ._errors import short_repr

_MISSING = "NAType", "NaTType", "MaskedConstant"
_SCALARS = float, np.number, np.datetime64, np.timedelta64, decimal.Decimal
_STORED_INDEX = "__index_level_"
_NUMPY = {"numpy"}
_FRAMES = {"pandas", "polars", "pyarrow"}
# The method that reads the rows of containers of a library, in this process.
_CONVERSIONS = {"narwhals": "to_native", "dask": "compute", "xarray": "to_numpy"}
# Methods that read the rows of other containers, by whether `_FRAMES` has the library.
_CALLS = {
    True: ("collect", "to_table", "read_all"),
    False: ("to_pandas", "toPandas", "df", "as_data_frame", "to_dataframe", "collect"),
}


def is_missing(value):
    """Return whether a value is None, NaN, ``pd.NA``, ``pd.NaT`` or ``np.ma.masked``.

    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    if value is None or type(value).__name__ in _MISSING:
        return True
    # NaN, of any type of number, differs from itself.
    return isinstance(value, _SCALARS) and bool(value != value)


def plain_str(text):
    """Return the characters of an instance of a subclass of str, as a str.

    ``str(text)`` of a member of an Enum of str is the name of the member.

    >>> from enum import Enum
    >>> class Event(str, Enum):
    ...     LOGIN = "login"
    >>> plain_str(Event.LOGIN), str(Event.LOGIN)
    ('login', 'Event.LOGIN')
    """
    return str.__str__(text)


def plain_container(X, name="X"):
    """Convert a container of another library to pandas, polars, Arrow or NumPy.

    Queries, streams and tables of a cluster raise a TypeError that says what to call.
    """
    owners = {str(base.__module__).partition(".")[0] for base in type(X).__mro__}
    if owners & _NUMPY:
        return _from_fields(X) if getattr(X.dtype, "names", None) else X
    is_known = bool(owners & _FRAMES)
    for owner, method in _CONVERSIONS.items():
        if owner in owners and hasattr(X, method):
            return plain_container(getattr(X, method)(), name)
    kind = type(X).__name__
    article = "an" if kind[0] in "AEIOU" else "a"
    if "datasets" in owners and hasattr(X, "shape"):
        if isinstance(X, dict):
            raise TypeError(f"{name} is a {kind}; select a split, such as X['train'].")
        return X.with_format("arrow")[:]
    for method in _CALLS[is_known]:
        if hasattr(type(X), method):
            raise TypeError(f"{name} is {article} {kind}; call its {method}() first.")
    if is_known:
        return _without_index(X)
    if not hasattr(type(X), "__arrow_c_stream__"):
        return X
    import pyarrow as pa

    array = pa.chunked_array(X)
    is_table = pa.types.is_struct(array.type)
    return pa.Table.from_struct_array(array) if is_table else array


def _without_index(X):
    """Return a frame without the columns in which pandas stores unnamed indexes."""
    names = getattr(X, "column_names", getattr(X, "columns", ()))
    kept = [name for name in names if not str(name).startswith(_STORED_INDEX)]
    if len(kept) == len(names):
        return X
    return X.select(kept) if hasattr(X, "select") else X[kept]


def _from_fields(X):
    """Return a structured array as a DataFrame."""
    import pandas as pd

    fields = {name: X[name] for name in X.dtype.names}
    return pd.DataFrame({n: f if f.ndim == 1 else list(f) for n, f in fields.items()})


def as_list(values):
    """Return an array, Series or iterable as a list."""
    for method in ("to_list", "to_pylist"):  # of Arrow, which iterates as scalars
        if hasattr(values, method):
            return getattr(values, method)()
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
    """Return the index of a pandas Series or DataFrame, and None for anything else."""
    # Lists and tuples have an `index` too: a method.
    return X.index if hasattr(X, "iloc") else None


def column_names(X):
    """Return the names of a DataFrame's columns if all of them are str, else None."""
    if not hasattr(X, "columns"):
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
    """Return names as an array; repeated names get underscores.

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
    """Raise a ValueError if there are no column names, or duplicate ones."""
    names = list(names)
    if not names or len(set(names)) < len(names):
        raise ValueError(
            "at least one column is needed, with distinct names; got "
            f"{short_repr(names)}. Rename columns that have the same name."
        )
