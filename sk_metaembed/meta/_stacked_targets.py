"""Targets of a stack: columns to predict, and the link from decision values to them.

Decision values have one column for two classes and for each label of a set of labels,
the log odds; one per class for more classes; and one per column of numbers. Those of
numbers are relative to `Target.center`: it is subtracted from the output of each model,
and added to what users receive.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logsumexp, softmax

from .._core._targets import (
    center_and_scale,
    check_one_column,
    check_target,
    class_codes,
    is_indicator,
    warn_of_rare_classes,
)


@dataclass
class Target:
    """The target of the models of a stack.

    Attributes
    ----------
    kind : {"classes", "labels", "numbers"}
        One class per row, a set of labels per row, or numbers.
    y : ndarray of shape (n_rows,) or (n_rows, n_columns)
        Classes, an indicator matrix, or numbers.
    columns : ndarray of float64, shape (n_rows, n_columns)
        Indicators of the second class, of all classes or of labels; or numbers, less
        `center`.
    counted : ndarray of bool, shape (n_rows,)
        The rows on which models are compared: without rows of rare classes.
    classes : ndarray or None
        Classes, or the numbers of the labels; None for numbers.
    center : ndarray of float64, shape (n_columns,), or 0.0
        The mean of numbers, 0.0 for the others.
    scale : ndarray of float64, shape (n_columns,), or 1.0
        The unit of the errors of numbers: their standard deviation. 1.0 for the others.
    """

    kind: str
    y: np.ndarray
    columns: np.ndarray
    counted: np.ndarray
    classes: np.ndarray | None
    center: np.ndarray | float = 0.0
    scale: np.ndarray | float = 1.0

    @property
    def has_column_per_class(self):
        """Whether each class has a column: of more than two classes, one per row."""
        return self.kind == "classes" and self.columns.shape[1] > 1

    @property
    def is_binary(self):
        """Whether the only column is the second of two classes."""
        return self.kind == "classes" and self.columns.shape[1] == 1

    @property
    def n_common_classes(self):
        """The number of classes with a counted row, if each class has a column."""
        return np.count_nonzero(self.columns[self.counted].any(axis=0))

    def compared(self, decisions, weights):
        """Return the target and decision values without classes that no row is of.

        `weights` of rows, (n_rows,), are 0 for rows that are not held out or counted. A
        class without others would act by its column alone: the larger the weights, the
        less probable it is, and the smaller the loss.
        """
        if not self.has_column_per_class:
            return self, decisions
        has_rows = self.columns[weights > 0].any(axis=0)
        if has_rows.all() or np.count_nonzero(has_rows) < 2:
            return self, decisions
        target = replace(self, columns=self.columns[:, has_rows])
        return target, decisions[..., has_rows]

    def for_predictions(self):
        """Return the target without its rows, except one.

        The dtype and the shape of predictions are read from it.
        """
        parts = {name: getattr(self, name)[:1] for name in ("y", "columns", "counted")}
        return replace(self, **parts)


def read_classes(y, n_rows, n_absent=0):
    """Return the `Target` of classes or of an indicator matrix of labels.

    `n_absent` rows of weight 0 are not in y.
    """
    y = check_target(y, n_rows, "classes")
    counted = np.ones(len(y), dtype=bool)
    if is_indicator(y):
        columns = y.astype(np.float64)
        return Target("labels", y, columns, counted, np.arange(y.shape[1]))
    check_one_column(y)
    classes, codes = class_codes(y, n_absent)
    columns = np.eye(len(classes))[codes]
    columns = columns[:, 1:] if len(classes) == 2 else columns
    counted = ~np.isin(codes, np.searchsorted(classes, warn_of_rare_classes(y)))
    return Target("classes", y, columns, counted, classes)


def read_numbers(y, n_rows, sample_weight=None):
    """Return the `Target` of numbers, one or several per row."""
    y = check_target(y, n_rows, "numbers")
    columns = y.reshape(len(y), -1)
    center, scale = center_and_scale(columns, sample_weight)
    counted = np.ones(len(y), dtype=bool)
    return Target("numbers", y, columns - center, counted, None, center, scale)


def expected(target, decisions):
    """Return probabilities of the columns, or the values themselves for numbers."""
    if target.kind == "numbers":
        return decisions
    if target.has_column_per_class:
        return softmax(decisions, axis=-1)
    return expit(decisions)


def probabilities(target, decisions):
    """Return the probabilities of the classes or labels, (n_rows, n_classes)."""
    values = expected(target, decisions)
    return np.hstack([1 - values, values]) if target.is_binary else values


def losses(target, decisions, columns):
    """Return the log loss or half the squared error of each row, summed over columns.

    Errors of numbers are in units of `Target.scale`. `decisions` and `columns` have
    shape (..., n_rows, n_columns).
    """
    if target.kind == "numbers":
        return np.square((decisions - columns) / target.scale).sum(axis=-1) / 2
    if target.has_column_per_class:
        chosen = (decisions * columns).sum(axis=-1)
        return logsumexp(decisions, axis=-1) - chosen
    return (np.logaddexp(0, decisions) - columns * decisions).sum(axis=-1)


def predicted(target, decisions):
    """Return the predictions: classes, an indicator matrix, or numbers."""
    if target.kind == "numbers":
        numbers = decisions + target.center
        return numbers if np.ndim(target.y) == 2 else numbers[:, 0]
    if target.kind == "labels":
        return (decisions > 0).astype(target.y.dtype)
    if target.has_column_per_class:
        return target.classes[decisions.argmax(axis=1)]
    return target.classes[(decisions[:, 0] > 0).astype(int)]
