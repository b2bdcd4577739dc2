"""Targets of a stack: columns to predict, and the link from decision values to them.

Decision values have one column for two classes and for each label of a set of labels,
the log odds; one per class for more classes; and one per column of numbers.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logsumexp, softmax

from ..sequences._targets import check_target, class_codes, is_indicator


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
    center : ndarray of float64, shape (n_columns,)
        The mean of numbers, 0 for the others. Decision values are relative to it.
    classes : ndarray or None
        Classes, or the numbers of the labels; None for numbers.
    """

    kind: str
    y: np.ndarray
    columns: np.ndarray
    classes: np.ndarray | None
    center: np.ndarray | float = 0.0

    @property
    def is_exclusive(self):
        """Whether the columns are classes of which one applies: more than two."""
        return self.kind == "classes" and self.columns.shape[1] > 1

    @property
    def is_binary(self):
        """Whether the only column is the second of two classes."""
        return self.kind == "classes" and self.columns.shape[1] == 1


def read_classes(y, n_rows):
    """Return the `Target` of classes or of an indicator matrix of labels."""
    y = check_target(y, n_rows, "classes")
    if is_indicator(y):
        return Target("labels", y, y.astype(np.float64), np.arange(y.shape[1]))
    if y.ndim == 2:
        raise ValueError(
            "y must have one column of classes, or be an indicator matrix of 0 and 1 "
            f"with a column per label; got shape {y.shape}. Fit one estimator per "
            "column for several columns of classes."
        )
    classes, codes = class_codes(y)
    columns = np.eye(len(classes))[codes]
    return Target(
        "classes", y, columns[:, 1:] if len(classes) == 2 else columns, classes
    )


def read_numbers(y, n_rows, sample_weight=None):
    """Return the `Target` of numbers, one or several per row."""
    y = check_target(y, n_rows, "numbers")
    columns = y.reshape(len(y), -1)
    center = np.average(columns, axis=0, weights=sample_weight)
    return Target("numbers", y, columns - center, None, center)


def expected(target, decisions):
    """Return probabilities of the columns, or the values themselves for numbers."""
    if target.kind == "numbers":
        return decisions
    return softmax(decisions, axis=-1) if target.is_exclusive else expit(decisions)


def losses(target, decisions, columns):
    """Return the log loss or half the squared error of each row, summed over columns.

    `decisions` and `columns` have shape (..., n_rows, n_columns).
    """
    if target.kind == "numbers":
        return np.square(decisions - columns).sum(axis=-1) / 2
    if target.is_exclusive:
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
    if target.is_exclusive:
        return target.classes[decisions.argmax(axis=1)]
    return target.classes[(decisions[:, 0] > 0).astype(int)]
