"""Results of a pipeline for a batch: an array and names for its columns."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Literal, NamedTuple, TypeAlias

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
Method: TypeAlias = Literal[
    "transform", "predict", "predict_proba", "predict_log_proba", "decision_function"
]


DTYPES = ("float16", "float32", "float64", None)


class Result(NamedTuple):
    """Values of shape (n_rows,) or (n_rows, n_columns), with names.

    `name` is for a single column, `columns` has one name per column of the array.
    """

    name: str
    values: np.ndarray
    columns: list


def check_method(pipeline, method, dtype, caller):
    """Raise ValueError for an unknown method or type, or a method that is missing."""
    if method not in METHODS:
        raise ValueError(f"{caller}: method must be one of {METHODS}, got {method!r}.")
    if not hasattr(pipeline, method):
        has = [name for name in METHODS if hasattr(pipeline, name)]
        raise ValueError(
            f"{caller}: {type(pipeline).__name__} has no method {method!r}; it "
            f"has {has or 'none of the methods'}. Set method to one of these."
        )
    if dtype not in DTYPES:
        raise ValueError(f"{caller}: dtype must be one of {DTYPES}, got {dtype!r}.")


def compute(pipeline, method, dtype, rows, layout="vector"):
    """Return the Result of a fitted pipeline for rows.

    Floats are converted to `dtype`, except predictions. Names of columns are looked up
    for the layout "columns" only.
    """
    output = getattr(pipeline, method)(rows)
    if hasattr(output, "blocks") or hasattr(output, "codes"):
        raise TypeError(
            f"The pipeline returns {type(output).__name__}, not one row per document. "
            "Add Pooling or another step that returns rows."
        )
    columns = [str(c) for c in output.columns] if hasattr(output, "columns") else None
    output = output.to_numpy() if columns is not None else output
    values = output.toarray() if hasattr(output, "toarray") else np.asarray(output)
    if values.ndim not in (1, 2) or len(values) != len(rows):
        raise ValueError(
            f"The pipeline's {method} returned an array of shape {values.shape} for "
            f"{len(rows)} rows. It must return one row for each of them."
        )
    if dtype is not None and values.dtype.kind == "f" and method != "predict":
        values = values.astype(dtype, copy=False)
    if values.dtype.kind == "O" and values.ndim == 2:
        raise TypeError(
            f"The pipeline's {method} returned an array of Python objects. It must "
            "return numbers, or one label per row."
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


@contextmanager
def explain_rows(caller, where, start=0):
    """Add to an error the rows that it is about; they count from `start`."""
    try:
        yield
    except Exception as error:
        error.add_note(
            f"{caller}: in {where}. Row numbers in the message count from {start:,}."
        )
        raise


def compute_empty(pipeline, method, dtype, documents, note):
    """Return the Result for no rows, computed from the first document that is accepted.

    `note` is added to the error of the pipeline if it accepts none.
    """
    for document in documents:
        try:
            result = compute(pipeline, method, dtype, document, "columns")
            return result._replace(values=result.values[:0])
        except NotFittedError:
            raise
        except (TypeError, ValueError) as caught:
            error = caught
    error.add_note(note)
    raise error
