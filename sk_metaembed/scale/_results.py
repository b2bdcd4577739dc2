"""What a pipeline gives for a batch, as an array and names for its columns."""

from typing import NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError

_NAMES = {
    "transform": "vector",
    "predict": "prediction",
    "predict_proba": "probability",
    "predict_log_proba": "log_probability",
    "decision_function": "decision",
}
METHODS = tuple(_NAMES)


class Result(NamedTuple):
    """Rows that a pipeline gave.

    Parameters
    ----------
    name : str
        Of a single column.
    values : ndarray of shape (n_rows,) or (n_rows, n_columns)
    columns : list of str
        A name a column.
    """

    name: str
    values: np.ndarray
    columns: list


def check_method(pipeline, method, caller="transform_in_batches"):
    """Refuse a method that there is none of, or that the pipeline lacks."""
    if method not in METHODS:
        raise ValueError(f"{caller}: method must be one of {METHODS}, got {method!r}.")
    if not hasattr(pipeline, method):
        has = [name for name in METHODS if hasattr(pipeline, name)]
        raise ValueError(
            f"{caller}: the {type(pipeline).__name__} has no {method}; it "
            f"has {has or 'none of the methods'}. Set method to one of these."
        )


def compute(pipeline, method, dtype, rows, layout="vector"):
    """Return the Result of some rows.

    Parameters
    ----------
    pipeline : estimator
        Fitted.
    method : str
    dtype : str or None
        What floats are brought to; predictions stay as they are.
    rows : list, TokenSequences or DataFrame
    layout : {"vector", "columns"}
        Names are looked up for the second one only.
    """
    given = getattr(pipeline, method)(rows)
    if hasattr(given, "blocks") or hasattr(given, "codes"):
        raise TypeError(
            f"the pipeline gives {type(given).__name__}, not one row a document. Put "
            "Pooling behind it, or another step that gives rows."
        )
    columns = [str(c) for c in given.columns] if hasattr(given, "columns") else None
    given = given.to_numpy() if columns is not None else given
    values = given.toarray() if hasattr(given, "toarray") else np.asarray(given)
    if values.ndim not in (1, 2) or len(values) != len(rows):
        raise ValueError(
            f"the pipeline's {method} gave an array of shape {values.shape} for "
            f"{len(rows)} rows. It must give a row for each of them."
        )
    if dtype is not None and values.dtype.kind == "f" and method != "predict":
        values = values.astype(dtype, copy=False)
    if values.dtype.kind == "O" and values.ndim == 2:
        raise TypeError(
            f"the pipeline's {method} gave an array of Python objects. It must give "
            "numbers, or one label a row."
        )
    if columns is None and values.ndim == 2 and layout == "columns":
        columns = _columns(pipeline, method, values.shape[1])
    return Result(_NAMES[method], values, columns or [])


def _columns(pipeline, method, width):
    """Return a name for each column."""
    if method == "transform":
        try:
            names = pipeline.get_feature_names_out()
        except (AttributeError, ValueError):
            names = ()
    else:
        names = [f"{_NAMES[method]}_{c}" for c in getattr(pipeline, "classes_", ())]
    if len(names) == width:
        return [str(name) for name in names]
    return [f"{_NAMES[method]}{i}" for i in range(width)]


def empty(pipeline, method, dtype, layout):
    """Return the Result of no rows, by way of one empty document."""
    for document in ("", []):
        try:
            found = compute(pipeline, method, dtype, [document], layout)
        except NotFittedError:
            raise
        except (TypeError, ValueError) as caught:
            error = caught
        else:
            return found._replace(values=found.values[:0])
    raise ValueError(
        "transform_in_batches: the source has no rows, and the pipeline does not take "
        "an empty document either, so that the columns are not known. It says: "
        f"{error}"
    ) from error
