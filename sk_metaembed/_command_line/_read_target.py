"""Read the target of a table as classes or numbers."""

import warnings

import numpy as np

from ..tables._api import choose_column_format, read_cells, read_floats

_MAX_CLASSES = 20  # a target of more distinct integers is a number
_LARGEST = 2.0**63  # of integers; floats beyond are amounts


def read_target(y, task):
    """Return the task and the target as an array of classes or numbers.

    The task "auto" becomes "classifier" or "regressor", by the values. Numbers are read
    as in other columns, also if they are written as "12,5" or "$1,299".
    """
    y = y.convert_dtypes()  # integers are read as float if some are missing
    numbers = _numbers(y)
    if task == "auto":
        known = np.unique(numbers[~np.isnan(numbers)])
        is_whole = (known == np.round(known)) & (np.abs(known) < _LARGEST)
        has_many = len(known) > 0 and y.nunique() > _MAX_CLASSES
        is_amount = has_many or not is_whole.all()
        task = "regressor" if is_amount else "classifier"
    if y.dtype.kind == "f" or task == "regressor":
        _check_numbers(y, numbers)
    if task == "regressor":
        return task, numbers
    if y.dtype.kind not in "biuf":
        y = y.astype(str).str.strip()
    if y.nunique() < 2:
        raise ValueError(f"--target: column {y.name!r} has only one value.")
    return task, y.to_numpy()


def _numbers(y):
    """Return a Series as float64, NaN for values that are not numbers."""
    if y.dtype.kind in "biuf":
        return y.to_numpy(dtype=np.float64)
    cells = read_cells(y, y.name)
    if any(isinstance(cell, tuple) for cell in cells.values):
        raise ValueError(
            f"--target: column {y.name!r} has lists. Predict one label per row."
        )
    with warnings.catch_warnings(action="ignore"):
        column_format = choose_column_format(cells)  # may warn of other values
    if column_format.numbers is None:
        return np.full(len(y), np.nan)
    return read_floats(cells, column_format)[:, 0]


def _check_numbers(y, numbers):
    """Raise a ValueError that names the first value that is not a finite number."""
    invalid = np.flatnonzero(~np.isfinite(numbers))
    if len(invalid):
        value, row = y.tolist()[invalid[0]], y.index[invalid[0]] + 1
        raise ValueError(
            f"--target: column {y.name!r} has {value!r} in row {row:,}, which is not a "
            f"finite number; {len(invalid):,} of {len(y):,} values are not. Correct or "
            "remove the rows, or pass --task classifier if the values are classes."
        )
