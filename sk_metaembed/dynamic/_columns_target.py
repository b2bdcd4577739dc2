"""Several labels a sequence, a column each; and the choice of a target by y."""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from ._targets import IndicatorTarget, LabelTarget, NumberTarget, PerSequence


class ColumnsTarget(PerSequence):
    """One label of each of several kinds a sequence, each kind with its own head.

    Parameters
    ----------
    y : ndarray of shape (n_rows, n_columns)
    classes : list of array-like, default=None
        The classes of each column; those of y if None.
    whose : str
        The estimator's name.
    """

    loss = "columns-cross-entropy"
    monitor = "valid_acc"
    takes_classes = True
    is_classification = True

    def __init__(self, y, classes=None, *, whose):
        if classes is None:
            classes = [None] * y.shape[1]
        if len(classes) != y.shape[1]:
            raise ValueError(
                f"{whose}: classes must hold the classes of each of y's {y.shape[1]} "
                f"columns, a list of {y.shape[1]} lists; got {len(classes)} entries."
            )
        self.columns = [
            _column_target(column, own, f"{whose}: column {j} of y")
            for j, (column, own) in enumerate(zip(y.T, classes, strict=True))
        ]
        self.classes = [column.classes for column in self.columns]
        self.n_outputs = tuple(column.n_outputs for column in self.columns)

    def has_classes(self, classes):
        """Tell whether these are the classes of each column, in any order."""
        return len(classes) == len(self.columns) and all(
            column.has_classes(own)
            for column, own in zip(self.columns, classes, strict=True)
        )

    def encode(self, y, *, whose):
        """Return each column's labels as row numbers of its classes, int64."""
        self.check_shape(y, whose=whose)
        encoded = [
            column.encode(own_type(y[:, j]), whose=f"{whose}: column {j} of y")
            for j, column in enumerate(self.columns)
        ]
        return np.stack(encoded, axis=1)

    def check_shape(self, y, *, whose):
        """Raise unless y has the columns of fit.

        Parameters
        ----------
        y : ndarray
        whose : str
        """
        if y.ndim != 2 or y.shape[1] != len(self.columns):
            raise ValueError(
                f"{whose}: y must have {len(self.columns)} columns of labels, got "
                f"shape {y.shape}."
            )

    def _parts(self, outputs):
        return np.split(outputs, np.cumsum(self.n_outputs)[:-1], axis=1)

    def decode(self, outputs):
        """Return the best label of each column; object where their types differ."""
        labels = [
            column.decode(part)
            for column, part in zip(self.columns, self._parts(outputs), strict=True)
        ]
        if len({part.dtype.kind for part in labels}) == 1:
            return np.stack(labels, axis=1)
        mixed = np.empty((len(outputs), len(labels)), dtype=object)
        for j, part in enumerate(labels):
            mixed[:, j] = part.tolist()
        return mixed

    def probabilities(self, outputs):
        """Return a list of arrays, (n, n_classes) of each column."""
        return [
            column.probabilities(part)
            for column, part in zip(self.columns, self._parts(outputs), strict=True)
        ]

    def stratify(self, y):
        """Return which combination of labels a row has; single ones count as one."""
        encoded = self.encode(y, whose="y")
        _, combination, counts = np.unique(
            encoded, axis=0, return_inverse=True, return_counts=True
        )
        combination = combination.reshape(-1)
        return np.where(counts[combination] > 1, combination, -1)


def own_type(column):
    """Return a column of an object array in its own type where that is one.

    Parameters
    ----------
    column : ndarray of shape (n_rows,)

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    if column.dtype != object or not len(column):
        return column
    values = column.tolist()
    typed = np.array(values)
    is_text = typed.dtype.kind == "U" and all(isinstance(v, str) for v in values)
    return typed if is_text or typed.dtype.kind in "biuf" else column


def _column_target(column, classes, where):
    column = own_type(column)
    try:
        check_classification_targets(column)
        return LabelTarget(column, classes)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error


def classification_target(y, classes=None, *, whose="y"):
    """Return the target for labels, label sets or columns of labels.

    Parameters
    ----------
    y : ndarray
    classes : array-like, or list of array-like, default=None
        All that will ever come; those of y if None.
    whose : str, default="y"
        The estimator's name.

    Returns
    -------
    LabelTarget, IndicatorTarget or ColumnsTarget
    """
    if _is_indicator(y):
        return IndicatorTarget(y)
    if y.ndim == 2 and y.shape[1] > 1:
        return ColumnsTarget(y, classes, whose=whose)
    check_classification_targets(y)
    return LabelTarget(y, classes)


def _is_indicator(y):
    if y.ndim != 2 or y.dtype == object:
        return False
    return type_of_target(y).startswith("multilabel") and np.isin(y, (0, 1)).all()


def any_target(y, classes=None, weights=None, *, whose="y"):
    """Return the target that suits y: numbers if continuous, else labels.

    Parameters
    ----------
    y : ndarray
    classes : array-like, or list of array-like, default=None
    weights : ndarray of shape (n_rows,), default=None
    whose : str, default="y"
        The estimator's name.

    Returns
    -------
    NumberTarget, LabelTarget, IndicatorTarget or ColumnsTarget
    """
    # Columns of several types are labels; scikit-learn cannot tell their kind.
    if y.dtype != object and type_of_target(y).startswith("continuous"):
        return NumberTarget(y, weights)
    return classification_target(y, classes, whose=whose)
