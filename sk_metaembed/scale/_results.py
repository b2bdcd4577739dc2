"""Arrays that a pipeline returns for batches, and names for their columns."""

from __future__ import annotations

from contextlib import contextmanager
from numbers import Integral
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from sklearn.exceptions import NotFittedError

from .._core._sklearn import (
    COUNT,
    StrOptions,
    parameter_of_pairs,
    validate_parameter_constraints,
)

NAMES = {
    "transform": "vector",
    "predict": "prediction",
    "predict_proba": "probability",
    "predict_log_proba": "log_probability",
    "decision_function": "decision",
}
Method: TypeAlias = Literal[
    "transform", "predict", "predict_proba", "predict_log_proba", "decision_function"
]
_CONSTRAINTS = {
    "method": [StrOptions(set(NAMES))],
    "dtype": [StrOptions({"float16", "float32", "float64"}), None],
    "batch_size": [COUNT],
    "n_jobs": [Integral, None],
}


def check_options(caller, pipeline, method, **params):
    """Raise ValueError for an invalid option or a method that the pipeline lacks."""
    params["method"] = method
    validate_parameter_constraints(_CONSTRAINTS, params, caller)
    if not hasattr(pipeline, method):
        has = [name for name in NAMES if hasattr(pipeline, name)]
        raise ValueError(
            f"{type(pipeline).__name__} has no method {method!r}; it has "
            f"{has or 'none of the methods'}. Set method to one of these."
        )


class Task(NamedTuple):
    """What is computed for all rows: a method of a fitted pipeline.

    Floats are converted to `dtype`, except predictions.
    """

    pipeline: Any
    method: str
    dtype: str | None

    def compute(self, rows):
        """Return the array for rows, (n_rows,) or (n_rows, n_columns)."""
        output = getattr(self.pipeline, self.method)(rows)
        if hasattr(output, "blocks") or hasattr(output, "codes"):
            raise TypeError(
                f"The pipeline returns {type(output).__name__}, not one row per "
                "document. Add Pooling or another step that returns rows."
            )
        output = output.to_numpy() if hasattr(output, "to_numpy") else output
        values = output.toarray() if hasattr(output, "toarray") else np.asarray(output)
        if values.ndim not in (1, 2) or len(values) != len(rows):
            raise ValueError(
                f"The pipeline's {self.method} returned an array of shape "
                f"{values.shape} for {len(rows)} rows. It must return one row for each "
                "of them."
            )
        if self.method == "predict" and values.shape[1:] == (1,):
            values = values[:, 0]  # as CatBoost returns labels
        is_float = values.dtype.kind == "f" and self.method != "predict"
        if self.dtype is not None and is_float:
            values = _converted(values, self.dtype)
        if values.dtype.kind == "O" and values.ndim == 2:
            raise TypeError(
                f"The pipeline's {self.method} returned an array of Python objects. It "
                "must return numbers, or one label per row."
            )
        return values

    def compute_empty(self):
        """Return the array for no rows, computed from an empty text or list of tokens.

        The error of the pipeline is raised if it accepts neither.
        """
        for rows in ([""], [[]]):
            try:
                return self.compute(rows)[:0]
            except NotFittedError:
                raise
            except (TypeError, ValueError) as caught:
                error = caught
        error.add_note(
            "Names and types of the columns are determined from an empty document, "
            "which the pipeline does not accept."
        )
        raise error

    def class_columns(self):
        """Return a name for the column of each class; none for vectors.

        Nor for decision values of pairs of classes.
        """
        if self.method == "transform":
            return []
        if self.method == "decision_function" and parameter_of_pairs(self.pipeline):
            return []
        classes = getattr(self.pipeline, "classes_", ())
        return [f"{NAMES[self.method]}_{label}" for label in classes]


def _converted(values, dtype):
    """Return floats in another type, or raise ValueError if one is too large for it."""
    with np.errstate(over="ignore"):
        converted = values.astype(dtype, copy=False)
    places = np.argwhere(np.isinf(converted) & np.isfinite(values))
    if len(places):
        raise ValueError(
            f"The result of row {places[0][0]} has {values[tuple(places[0])]:g}, which "
            f"is too large for dtype={dtype!r}. Pass dtype=None for the pipeline's own."
        )
    return converted


def check_repeated(names, keep):
    """Raise ValueError if columns of a pipeline have names of copied columns."""
    repeated = sorted(set(names) & set(keep))
    if repeated:
        raise ValueError(
            f"keep names columns {repeated} that the pipeline returns as well. "
            "Rename them in the source."
        )


@contextmanager
def explain_rows(where, start=0):
    """Add to an error the rows that it is about; they count from `start`."""
    try:
        yield
    except Exception as error:
        error.add_note(f"In {where}. Row numbers in the message count from {start:,}.")
        raise
