"""Validation of training targets: one row per sequence, none of them missing."""

import math
import warnings
from contextlib import contextmanager

import numpy as np

from .._core._messages import plural
from ._columns import column_names
from ._row_errors import is_missing
from ._validation import read_frame

_BINARIZE = (
    "Turn sets of labels into an indicator matrix with "
    "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(y)."
)

# A class is rare if it has few rows, and few next to the largest class.
_RARE_ROWS = 10
_RARE_SHARE = 20
_NAMED = 5  # rare classes in a warning


def rare_classes(labels):
    """Return the classes of labels, (n_rows,), that are too rare to be evaluated.

    They have at most 10 rows, and at most a twentieth of those of the largest class. A
    loss on held-out rows says nothing about them, but would be dominated by them. None
    are rare unless two other classes remain.

    Returns
    -------
    classes : ndarray of shape (n_rare,)
    counts : ndarray of int, shape (n_rare,)
        The number of rows of each.
    """
    classes, counts = np.unique(labels, return_counts=True)
    is_rare = (counts <= _RARE_ROWS) & (_RARE_SHARE * counts <= counts.max(initial=0))
    if np.count_nonzero(~is_rare) < 2:
        is_rare[:] = False
    return classes[is_rare], counts[is_rare]


def warn_of_rare_classes(labels):
    """Warn of the rare classes of labels, (n_rows,), by name, and return them."""
    classes, counts = rare_classes(labels)
    if len(classes):
        pairs = zip(classes.tolist(), counts.tolist(), strict=True)
        named = [f"{label!r} ({plural(n, 'row')})" for label, n in pairs]
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        warnings.warn(
            f"y has rare classes: {', '.join(named[:_NAMED])}{more}. They have too few "
            "rows to be learned or evaluated reliably. Check for misspelled labels, "
            "merge the classes with others, or add rows.",
            UserWarning,
            stacklevel=2,
        )
    return classes


@contextmanager
def no_warning_of_rare_classes():
    """Suppress the warning in fits on parts of rows that it was issued for."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "y has rare classes", UserWarning)
        yield


def check_target(y, n_rows):
    """Return y as an array without missing values, one row per sequence."""
    if y is None:
        raise ValueError(
            "this estimator requires y to be passed, but the target y is None. "
            "It learns its weights from labels: call fit(X, y)."
        )
    given, y = y, _as_array(y)
    if y.ndim == 0:
        raise ValueError(
            f"y must be an array-like with one row per sequence, got a "
            f"single value of type {type(given).__name__}. Pass a list or an array."
        )
    if len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X "
            f"has {plural(n_rows, 'sequence')} and y {plural(len(y), 'label')}."
        )
    gaps = _missing(y)
    if gaps.any():
        row, *column = np.argwhere(gaps)[0].tolist()
        names = column_names(given)
        where = f"row {row}" + "".join(f", column {j}" for j in column)
        where += f" ({names[column[0]]!r})" if names and column else ""
        rows = gaps.any(axis=tuple(range(1, gaps.ndim)))
        raise ValueError(
            f"y is missing (None, NaN or infinity) at {where}, "
            f"{plural(int(rows.sum()), 'row')} in all. Drop those rows of X and y, or "
            "label them. (Input y contains NaN.)"
        )
    return _typed(y)


def _as_array(y):
    if hasattr(y, "toarray"):  # an indicator matrix, as MultiLabelBinarizer gives it
        y = y.toarray()
    if hasattr(y, "columns") and y.shape[1] > 1:
        y = np.array(list(zip(*read_frame(y), strict=True)), dtype=object)
    try:
        y = np.asarray(y) if not _is_mixed(y) else np.array(y, dtype=object)
    except ValueError as error:
        raise ValueError(
            "the rows of y have different lengths. " + _BINARIZE
        ) from error
    has_sets = y.ndim and any(isinstance(row, set | frozenset) for row in y.flat)
    if y.dtype == object and has_sets:
        raise ValueError("the rows of y are sets. " + _BINARIZE)
    if y.ndim > 2 or (y.ndim == 2 and y.shape[1] == 0):
        raise ValueError(f"y must have one column or several, got shape {y.shape}.")
    return y


def _is_mixed(y):
    """Return whether NumPy would turn the numbers of some rows into strings."""
    is_list = isinstance(y, list | tuple)
    if not is_list or not all(isinstance(row, list | tuple) for row in y):
        return False
    are_texts = {isinstance(value, str) for row in y for value in row}
    return len(are_texts) > 1 and len(set(map(len, y))) == 1


def _typed(y):
    """Return an object array of numbers or bools in its own dtype."""
    if y.dtype != object or not y.size:
        return y
    columns = y.reshape(len(y), -1).T.tolist()
    kinds = {np.array(column).dtype.kind for column in columns}
    if len(kinds) > 1 and not kinds <= set("iuf"):
        return y  # columns of several types keep them
    typed = np.array(y.tolist())
    return typed if typed.dtype.kind in "biuf" else y


def _missing(y):
    if y.dtype == object:
        gaps = [_is_gap(value) for value in y.ravel().tolist()]
        return np.array(gaps, dtype=bool).reshape(y.shape)
    return ~np.isfinite(y) if y.dtype.kind == "f" else np.zeros(y.shape, dtype=bool)


def _is_gap(value):
    return is_missing(value) or (
        isinstance(value, float | np.floating) and math.isinf(value)
    )
