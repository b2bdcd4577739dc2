"""Read and check y, with the same rules and messages for all predictors."""

import numbers
import warnings
from contextlib import contextmanager
from datetime import date, time, timedelta
from decimal import Decimal

import numpy as np
from sklearn.utils.validation import column_or_1d

from .._core._errors import plural, short_repr
from .._core._frames import (
    column_names,
    is_missing,
    plain_container,
    plain_str,
    read_frame,
)

_BINARIZE = (
    "Turn sets of labels into an indicator matrix with "
    "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(y)."
)
_NUMBERS = numbers.Real, np.bool_, Decimal
_LARGEST = 1e150  # the square of a larger number, or a sum of squares, overflows
# NumPy counts timedelta64 among the integers.
_TIMES = date, time, timedelta, np.datetime64, np.timedelta64

# A class is rare if it has few rows, also relative to the largest class.
_RARE_ROWS = 10
_RARE_SHARE = 10
_NAMED = 5  # labels in a warning

_LEAST_SPREAD = 1e-12  # relative; numbers that differ less are constant


def warn_of_rare_classes(labels):
    """Return the classes of labels, (n_rows,), that are too rare to be evaluated.

    Rare classes have at most 10 rows, and at most a tenth of the rows of the largest
    class. They could dominate a loss on held-out rows, without making it informative.
    No class is rare unless two other classes remain. A warning names rare classes.
    """
    classes, counts = np.unique(labels, return_counts=True)
    is_rare = (counts <= _RARE_ROWS) & (_RARE_SHARE * counts <= counts.max(initial=0))
    if np.count_nonzero(~is_rare) < 2 or not is_rare.any():
        return classes[:0]
    warnings.warn(
        f"y has rare classes: {with_counts(classes[is_rare], counts[is_rare])}. They "
        "have too few rows to be learned or evaluated reliably. Check for misspelled "
        "labels, merge the classes with others, or add rows.",
        stacklevel=2,
    )
    return classes[is_rare]


def warn_of_unseen(labels, noun="row"):
    """Warn about labels of y_val that were not seen in training."""
    if len(labels):
        found = with_counts(*np.unique(labels, return_counts=True), noun)
        kind = "tags" if noun == "tag" else "labels"
        warnings.warn(
            f"y_val has {kind} that are not in y: {found}. They count as wrong in the "
            f"held-out score, and not in the loss. Check for misspelled {kind}.",
            UserWarning,
            stacklevel=2,
        )


def with_counts(labels, counts, noun="row"):
    """Return labels with their counts for a message, at most five of them.

    >>> with_counts(np.array(["a", "b"]), np.array([1, 2]))
    "'a' (1 row), 'b' (2 rows)"
    """
    pairs = zip(labels.tolist(), counts.tolist(), strict=True)
    named = [f"{label!r} ({plural(n, noun)})" for label, n in pairs]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return ", ".join(named[:_NAMED]) + more


@contextmanager
def no_warning_of_rare_classes():
    """Suppress the warning about rare classes, which was issued for all rows."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*y has rare classes", UserWarning)
        yield


def check_target(y, n_rows=None, kind="any"):
    """Return y as a clean array, or raise an error that names the first invalid row.

    Parameters
    ----------
    y : array-like, Series, frame, Arrow array or table, or sparse matrix
        Classes, an indicator matrix, columns of classes, or numbers.
    n_rows : int, default=None
        Number of rows of X. None skips the check.
    kind : {"any", "classes", "numbers"}, default="any"
        "classes" raises an error for fractional numbers, "numbers" for texts that are
        not numbers.

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_columns)
        y without missing or infinite values. A single column becomes 1D, with a
        DataConversionWarning. "numbers" are float64; otherwise the values are bools,
        integers, floats or str. An array of objects has only str, or columns of
        different types.

    Raises
    ------
    TypeError, ValueError
        If y is invalid.
    """
    if y is None:
        raise ValueError(
            "this estimator requires y to be passed, but the target y is None. "
            "It learns its weights from labels: call fit(X, y)."
        )
    given = plain_container(y, "y")
    y = _as_array(given)
    if y.ndim == 0:
        raise ValueError(
            f"y must be an array-like with one value per row, got a single value of "
            f"type {type(given).__name__}. Pass a list or an array."
        )
    if y.ndim > 2 or (y.ndim == 2 and y.shape[1] == 0):
        raise ValueError(f"y must have one column or several, got shape {y.shape}.")
    if n_rows is not None and len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X "
            f"has {plural(n_rows, 'row')} and y {plural(len(y), 'label')}."
        )
    names = column_names(given)
    _check_no_missing(y, names)
    y = _typed(y, names)
    if kind == "numbers":
        y = as_numbers(y, names)
    elif kind == "classes":
        check_not_continuous(y, names)
    return column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y


def check_groups(groups, n_rows):
    """Return groups as an array (n_rows,); raise an error for the first invalid row."""
    if groups is None:
        return None
    values = _as_array(plain_container(groups, "groups"))
    if values.shape == (n_rows, 1):
        values = values[:, 0]
    if values.shape != (n_rows,):
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: X has "
            f"{plural(n_rows, 'row')}, but groups has shape {values.shape}. Pass one "
            "group per row."
        )
    _check_no_missing(values, None, "groups")
    try:
        np.unique(values)
    except TypeError as error:
        raise TypeError(
            f"groups cannot be sorted: {error}. Convert all of them to str."
        ) from None
    return values


def as_numbers(y, names=None):
    """Return a checked y as finite float64; raise an error if a row is not a number."""
    try:
        values = y.astype(np.float64)
    except ValueError:
        for cell in np.ndindex(y.shape):
            if not _is_number(y[cell]):
                break
        raise ValueError(
            f"y must hold numbers, but it has {_shown(y[cell])} at "
            f"{_where(cell, names)}. Use a classifier for classes; convert texts to "
            "numbers, for example with pandas.to_numeric."
        ) from None
    _check_no_missing(values, names)  # texts such as "nan"
    return values


def check_not_continuous(y, names=None):
    """Raise a ValueError if a checked y has fractional numbers."""
    fractional = _fractional(y)
    if fractional.any():
        cell = tuple(np.argwhere(fractional)[0].tolist())
        raise ValueError(
            f"y must hold classes, but it has {_shown(y[cell])} at "
            f"{_where(cell, names)}. Unknown label type: continuous. Use a regressor "
            "for amounts, or divide them into classes."
        )


def is_continuous(y):
    """Return whether a checked y has fractional numbers.

    As in scikit-learn's `type_of_target`, integers and whole floats are classes.
    """
    return bool(_fractional(y).any())


def check_one_column(y):
    """Raise a ValueError if y has several columns of classes."""
    if y.ndim == 2:
        raise ValueError(
            "y must have one column of classes, or be an indicator matrix of 0 and 1 "
            f"with a column per label; got shape {y.shape}. Fit one estimator per "
            "column for several columns of classes."
        )


def center_and_scale(columns, weights=None):
    """Return the mean and standard deviation of each column; 1 for constant columns."""
    center = np.average(columns, axis=0, weights=weights)
    scale = np.sqrt(np.average(np.square(columns - center), axis=0, weights=weights))
    return center, np.where(scale > _LEAST_SPREAD * np.abs(center), scale, 1.0)


def check_two_classes(classes, n_rows, n_absent=0):
    """Raise a ValueError unless there are at least two classes.

    The message names the weights if there are `n_absent` further rows of weight 0.
    """
    if len(classes) < 2:
        where = ""
        if n_absent:
            where = (
                f" in the {plural(n_rows, 'row')} with a sample_weight above 0. "
                f"Rows of weight 0 count as absent ({n_absent} here): give rows of "
                "another class a weight"
            )
        raise ValueError(
            "needs samples of at least 2 classes in y, got 1 class: "
            f"{classes.tolist()}{where}."
        )


def read_partial_labels(y):
    """Return y with its unlabeled rows filled, and a mask of the labeled ones.

    The label -1 marks unlabeled rows, which receive the first label. scikit-learn's
    semi-supervised classifiers accept -1 among str labels.
    """
    y = np.array(y, dtype=object)
    has_label = np.array([label != -1 for label in y.tolist()], dtype=bool)
    if not has_label.any():
        raise ValueError(
            "all rows of y are -1, which marks rows without a label if "
            'target_type="semi-supervised". Pass labeled rows of at least two classes.'
        )
    y[~has_label] = y[has_label][0]
    return y, has_label


def _as_array(y):
    """Return y as an array, without checks; values keep their types."""
    if hasattr(y, "toarray"):  # a sparse indicator matrix, as of MultiLabelBinarizer
        y = y.toarray()
    if np.ma.isMaskedArray(y):
        return np.where(np.ma.getmaskarray(y), None, y.data.astype(object))
    if hasattr(y, "columns") and (y.shape[1] > 1 or hasattr(y, "to_series")):
        columns = read_frame(y)
        return np.stack([np.fromiter(column, object) for column in columns], axis=1)
    if str(getattr(y, "dtype", "")).endswith("Int128"):  # of polars; NumPy lacks it
        return np.array(y.to_list(), dtype=object)
    try:
        array = np.asarray(y)
    except ValueError as error:
        raise ValueError(
            "the rows of y have different lengths. " + _BINARIZE
        ) from error
    if isinstance(y, list | tuple) and array.dtype.kind in "US":
        # NumPy turns numbers and NaN among texts into texts.
        objects = np.array(y, dtype=object)
        if not all(isinstance(value, str) for value in objects.flat):
            return objects
        if not {*map(type, objects.flat)} <= {str, np.str_}:
            # NumPy truncates the names of Enum members.
            array = np.reshape([*map(plain_str, objects.flat)], objects.shape)
    return array


def _check_no_missing(y, names, argument="y"):
    """Raise a ValueError that names the first missing or infinite value."""
    if y.dtype.kind in "fc":
        absent, infinite = np.isnan(y), np.abs(y).astype(np.float64) > _LARGEST
    elif y.dtype.kind in "mM":
        absent, infinite = np.isnat(y), np.zeros(y.shape, dtype=bool)
    elif y.dtype == object:
        values = y.ravel().tolist()
        absent = np.reshape([is_missing(value) for value in values], y.shape)
        infinite = np.reshape([_is_infinite(value) for value in values], y.shape)
    else:
        return
    for gaps, what, remedy in (
        (absent, "missing (None, NaN or NaT)", "or label them"),
        (infinite, f"infinite or beyond {_LARGEST:g}", "or divide y by a constant"),
    ):
        if gaps.any():
            rows = gaps.any(axis=tuple(range(1, gaps.ndim)))
            raise ValueError(
                f"{argument} is {what} at {_where(np.argwhere(gaps)[0], names)}, "
                f"{plural(int(rows.sum()), 'row')} in all. Drop those rows of X and y, "
                f"{remedy}."
            )


def _is_infinite(value):
    """Return whether a value is infinite, or so large that its square may be."""
    is_real = isinstance(value, numbers.Real | Decimal) and not is_missing(value)
    return is_real and not isinstance(value, _TIMES) and abs(value) > _LARGEST


def _typed(y, names):
    """Return objects as bools, numbers or str, or raise an error for other types."""
    if y.dtype.kind in "biufU":
        return y
    if y.dtype.kind == "T":  # scikit-learn does not know NumPy's strings
        return y.astype(object)
    if y.ndim == 1:
        return _typed_column(y, (), names)
    columns = [_typed_column(column, (j,), names) for j, column in enumerate(y.T)]
    kinds = {column.dtype.kind for column in columns}
    if len(kinds) == 1 or kinds <= set("iuf"):
        return np.stack(columns, axis=1)
    return np.stack([column.astype(object) for column in columns], axis=1)


def _typed_column(column, place, names):
    values = [*column]
    are_texts = [isinstance(value, str) for value in values]
    if values and all(are_texts):
        return np.fromiter(map(plain_str, values), object, len(values))
    for row, value in enumerate(values):
        if not isinstance(value, (str, *_NUMBERS)) or isinstance(value, _TIMES):
            raise TypeError(_other_type(value, _where((row, *place), names)))
    if any(are_texts):
        text, number = are_texts.index(True), are_texts.index(False)
        raise TypeError(
            f"y has labels of several types: {_shown(values[text])} at "
            f"{_where((text, *place), names)}, and {_shown(values[number])} at "
            f"{_where((number, *place), names)}. Convert all of them to str."
        )
    typed = np.array(values)
    # Decimals, fractions, and integers that need more than 64 bits.
    return typed if typed.dtype.kind in "biuf" else np.array(values, dtype=np.float64)


def _other_type(value, where):
    """Return the message for a value that is neither a str nor a number."""
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        remedy = _BINARIZE
    elif isinstance(value, bytes):
        remedy = "Decode bytes, for example with value.decode('utf-8')."
    elif isinstance(value, _TIMES):
        remedy = (
            "Convert dates and times to str for classes, or to numbers, such as days "
            "since the first."
        )
    else:
        remedy = "Convert the values, for example with str(value)."
    return (
        f"y has a value of type {type(value).__name__} at {where}: {_shown(value)}. "
        f"Labels are str, bools or numbers. {remedy}"
    )


def _fractional(y):
    """Return a mask of fractional numbers."""
    if y.dtype == object:  # some columns may have floats
        are = [isinstance(v, float) and not v.is_integer() for v in y.ravel().tolist()]
        return np.reshape(are, y.shape).astype(bool)
    if y.dtype.kind != "f":
        return np.zeros(y.shape, dtype=bool)
    with np.errstate(invalid="ignore"):
        return y != y.astype(np.int64)


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def _shown(value):
    return short_repr(value.item() if isinstance(value, np.generic) else value)


def _where(cell, names):
    """Return the row of a value, and its column if there are several."""
    row, *column = cell
    where = f"row {row}" + "".join(f", column {j}" for j in column)
    return where + (f" ({names[column[0]]!r})" if names and column else "")
