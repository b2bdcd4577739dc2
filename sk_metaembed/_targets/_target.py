"""Encode labels, sets of labels and numbers as training targets.

A `Target` encodes y, and turns decision values into predictions. Decision values have
one column of log odds for two classes and for each label of a set, one column per class
for more classes, and one per column of numbers, relative to the center. Networks have
two outputs for two classes, and outputs for numbers are in units of the scale.
"""

import numpy as np
from scipy.special import expit, logsumexp, softmax
from sklearn.utils import column_or_1d

from .._core._errors import prefix_input_errors
from .._core._sample_weights import relative_weights
from ._check import (
    as_numbers,
    center_and_scale,
    check_not_continuous,
    check_one_column,
    check_two_classes,
    is_continuous,
    warn_of_rare_classes,
    warn_of_unseen,
)


class Target:
    """Base class of the kinds of y."""

    kind: str  # "classes", "labels" (sets of them), "numbers" or "tags"
    classes: np.ndarray | None = None  # or the column numbers of labels
    n_outputs: int  # number of outputs of a network
    n_columns: int  # number of columns of decision values
    # Per column: the second of two classes, the class, or the number; "" for one column
    # of numbers.
    column_labels: list
    has_column_per_class = False  # exactly one column is 1 in each row
    center: np.ndarray | float = 0.0  # mean of the columns of numbers
    scale: np.ndarray | float = 1.0  # their standard deviation
    # Of training rows, only in the result of `read_target`: y; indicators of the second
    # of two classes, of each of more classes or of each label, or numbers minus the
    # center, (n_rows, n_columns); and which rows are not of a rare class.
    y = columns = is_common = None
    loss: str  # name of the loss of a network
    score: str | None = None  # held-out score in the history of a network
    per_token = False  # one target per token instead of one per row

    def decision_values(self, decisions):
        """Return the output of `decision_function`."""
        return decisions

    def encode_held_out(self, y):
        """Return the encoded targets of held-out rows.

        Labels that were not seen in training count as wrong, with a warning.
        """
        return self.encode(y, "y_val")

    def as_outputs(self, codes):
        """Return encoded targets as numbers, (n_rows, n_outputs)."""
        return codes

    def strata(self, codes):
        """Return the labels by which to stratify a split of rows, or None."""
        return None

    def has_loss(self, codes):
        """Return a mask of encoded targets that have a loss, unlike unseen labels."""
        return True

    def loss_weights(self, codes, weights, class_weight):
        """Return the weight of each row in the loss of a network, float32.

        The weight in `weights` is multiplied by the class weights of the row's labels.
        The largest weight is 0.5 to 1.
        """
        factors = self._label_weights(codes, class_weight)
        return relative_weights([weights, *factors]).astype(np.float32)


class LabelTarget(Target):
    """Target with one of two or more classes per row."""

    kind = "classes"
    loss = "cross-entropy"
    score = "valid_acc"
    is_classification = True

    def __init__(self, y):
        self.classes = np.unique(y)
        self.n_outputs = len(self.classes)
        self.n_columns = 1 if self.n_outputs == 2 else self.n_outputs
        self.column_labels = self.classes[-self.n_columns :].tolist()
        self.has_column_per_class = self.n_outputs > 2

    def encode(self, y, name="y"):
        """Return labels as row numbers of `classes`, int64."""
        return np.searchsorted(self.classes, y).astype(np.int64)

    def encode_held_out(self, y):
        """Return labels as row numbers of `classes`, len(classes) for unseen labels."""
        y = column_or_1d(y, warn=True)
        is_seen = np.isin(y, self.classes)
        warn_of_unseen(y[~is_seen])
        codes = np.full(len(y), len(self.classes), dtype=np.int64)
        codes[is_seen] = np.searchsorted(self.classes, y[is_seen])
        return codes

    def to_columns(self, y):
        """Return indicators of the second of two classes, or of all classes."""
        return np.eye(self.n_outputs)[self.encode(y), -self.n_columns :]

    def as_outputs(self, codes):
        """Return one column per class, 1 for its rows and 0 for others."""
        return np.eye(self.n_outputs)[codes]

    def link(self, probabilities):
        """Return outputs with these probabilities, (..., n_classes)."""
        return np.log(probabilities)

    def inverse_link(self, decisions):
        """Return the probabilities of the columns."""
        if decisions.shape[-1] == 1:
            return expit(decisions)
        return softmax(decisions, axis=-1)

    def losses(self, decisions, columns):
        """Return the log loss of each row, (..., n_rows)."""
        if decisions.shape[-1] == 1:
            return _binary_losses(decisions, columns)
        chosen = (decisions * columns).sum(axis=-1)
        return logsumexp(decisions, axis=-1) - chosen

    def decode(self, decisions):
        """Return the most probable class of each row."""
        if decisions.shape[-1] == 1:
            return self.classes[(decisions[:, 0] > 0).astype(int)]
        return self.classes[decisions.argmax(axis=1)]

    def probabilities(self, decisions):
        """Return the probabilities of the classes, (n_rows, n_classes)."""
        values = self.inverse_link(decisions)
        is_log_odds = decisions.shape[-1] == 1
        return np.hstack([1 - values, values]) if is_log_odds else values

    def decision_values(self, decisions):
        """Return the log odds of the second of two classes, (n_rows,), or all columns.

        The values of more classes are log probabilities up to a constant per row.
        """
        if decisions.shape[-1] == 1:
            return decisions[:, 0]
        is_pair = self.n_outputs == 2
        return decisions[:, 1] - decisions[:, 0] if is_pair else decisions

    def _label_weights(self, codes, class_weight):
        """Return the weight of each row's label, 1 for labels not seen in training."""
        weights = class_weights(class_weight, codes, self.classes)
        return [np.append(weights, 1.0)[codes]]

    def has_loss(self, codes):
        """Return a mask of the labels that were seen in training."""
        return codes < self.n_outputs

    def strata(self, codes):
        """Return the labels."""
        return codes

    def weight_decay(self, noise):
        """Return the weight decay of a network."""
        return 0.1 * noise**3 * _share_of_decay(self.n_outputs)


class MultilabelTarget(Target):
    """Target with a set of labels per row, as an indicator matrix of 0 and 1."""

    kind = "labels"
    loss = "binary-cross-entropy"
    is_classification = True

    def __init__(self, y):
        self.n_outputs = self.n_columns = y.shape[1]
        self.classes, self.dtype = np.arange(self.n_outputs), y.dtype
        self.column_labels = self.classes.tolist()

    def encode(self, y, name="y"):
        """Return the indicators as float32."""
        check_columns(y, self.n_outputs, name)
        strange = np.argwhere(~np.isin(y, [0, 1]))
        if len(strange):
            row, column = strange[0].tolist()
            raise ValueError(
                f"{name}: label sets are columns of 0 and 1; got "
                f"{y.tolist()[row][column]!r} at row {row}, column {column}."
            )
        return y.astype(np.float32)

    def to_columns(self, y):
        """Return the indicators."""
        return y.astype(np.float64)

    def link(self, probabilities):
        """Return outputs with these probabilities, (..., n_labels)."""
        return np.log(probabilities / (1 - probabilities))

    def inverse_link(self, decisions):
        """Return the independent probability of each label, (..., n_labels)."""
        return expit(decisions)

    def losses(self, decisions, columns):
        """Return the log loss of each row, summed over labels, (..., n_rows)."""
        return _binary_losses(decisions, columns)

    def decode(self, decisions):
        """Return the indicators of labels with a probability above one half."""
        return (decisions > 0).astype(self.dtype)

    def probabilities(self, decisions):
        """Return the independent probability of each label, (n_rows, n_labels)."""
        return self.inverse_link(decisions)

    def _label_weights(self, codes, class_weight):
        """Return the weights of each row's labels, an array per column."""
        if class_weight is None:
            return []
        n_columns = self.n_outputs
        if class_weight == "balanced":
            class_weight = [class_weight] * n_columns
        if not isinstance(class_weight, list) or len(class_weight) != n_columns:
            raise ValueError(
                f"y has {n_columns} columns of labels, so class_weight must be "
                f"'balanced' or a list of {n_columns} entries, one per column, each a "
                f"dict, 'balanced' or None; got {class_weight!r}."
            )

        def weights_of_column(j):
            labels = codes[:, j].astype(np.int64)
            with prefix_input_errors(f"column {j} of y"):
                return class_weights(class_weight[j], labels, np.arange(2))[labels]

        return map(weights_of_column, range(n_columns))

    def weight_decay(self, noise):
        """Return the weight decay of a network.

        The weight decay for the same number of classes is divided by the number of
        labels, because gradients are means over labels.
        """
        return 0.1 * noise**3 * _share_of_decay(self.n_outputs) / self.n_outputs


class NumberTarget(Target):
    """Target with one or more numbers per row; `center` and `scale` are weighted."""

    kind = "numbers"
    loss = "squared-error"
    is_classification = False

    def __init__(self, y, weights=None):
        self.is_flat = y.ndim == 1
        columns = y.reshape(len(y), -1).astype(np.float64)
        self.n_outputs = self.n_columns = columns.shape[1]
        self.column_labels = [*range(self.n_columns)] if self.n_columns > 1 else [""]
        self.center, self.scale = center_and_scale(columns, weights)

    def encode(self, y, name="y"):
        """Return standardized numbers, float32 (n_rows, n_outputs)."""
        y = as_numbers(y).reshape(len(y), -1)
        check_columns(y, self.n_outputs, name)
        return ((y - self.center) / self.scale).astype(np.float32)

    def to_columns(self, y):
        """Return the numbers minus the center."""
        return y.reshape(len(y), -1) - self.center

    def inverse_link(self, decisions):
        """Return the values themselves."""
        return decisions

    def losses(self, decisions, columns):
        """Return half the squared error of each row, (..., n_rows).

        The errors are in units of `scale`, and summed over columns.
        """
        return np.square((decisions - columns) / self.scale).sum(axis=-1) / 2

    def decode(self, decisions):
        """Return numbers in the shape of y."""
        numbers = decisions + self.center
        return numbers[:, 0] if self.is_flat else numbers

    def _label_weights(self, codes, class_weight):
        """Return no weights; numbers have no labels."""
        if class_weight is not None:
            raise ValueError(
                f"class_weight={class_weight!r} needs labels, but y holds numbers. "
                "Leave it at None; to weight sequences, pass sample_weight to fit."
            )
        return []

    def weight_decay(self, noise):
        """Return the weight decay of a network; gradients are means over columns."""
        return 0.3 * noise**6 / self.n_outputs


def make_target(y, kind="any", weights=None):
    """Return the `Target` for a y that `check_target` returned.

    The kind "any" means "numbers" if y is continuous, and "classes" otherwise.
    `weights` of rows, (n_rows,), apply to the mean and scale of numbers.
    """
    if kind == "any" and y.dtype != object and is_continuous(y):
        kind = "numbers"
    if kind == "numbers":
        return NumberTarget(y, weights)
    if y.ndim == 2 and y.dtype != object and np.isin(y, (0, 1)).all():
        return MultilabelTarget(y)
    check_not_continuous(y)
    check_one_column(y)
    return LabelTarget(y)


def read_target(y, kind, weights=None, n_absent=0):
    """Return the `Target` of a checked y, with its rows; check for two classes.

    `n_absent`, for the message, is the number of rows of weight 0, which y excludes.
    """
    target = make_target(y, kind, weights)
    target.y, target.columns = y, target.to_columns(y)
    target.is_common = np.ones(len(y), dtype=bool)
    if target.kind == "classes":
        check_two_classes(target.classes, len(y), n_absent)
        target.is_common = ~np.isin(y, warn_of_rare_classes(y))
    return target


def check_columns(y, n_columns, name="y"):
    """Raise a ValueError unless y has as many columns as in fit."""
    if y.ndim != 2 or y.shape[1] != n_columns:
        raise ValueError(
            f"{name} must have {n_columns} columns, as in fit; got shape {y.shape}."
        )


def class_weights(class_weight, labels, classes):
    """Return the weight of each class, float64 (n_classes,).

    `labels` has row numbers of `classes`, and larger numbers for other labels. Held-out
    rows may lack some classes.
    """
    counts = np.bincount(labels, minlength=len(classes))[: len(classes)]
    if class_weight is None:
        return np.ones(len(classes))
    if class_weight == "balanced":
        n_present = max(np.count_nonzero(counts), 1)
        return counts.sum() / (n_present * np.maximum(counts, 1))
    if not isinstance(class_weight, dict):
        raise ValueError(
            f"class_weight={class_weight!r} does not name the classes. Pass a dict of "
            "their weights, or for label sets a list of one dict per column."
        )
    strange = [label for label in class_weight if label not in classes]
    unnamed = [label for label in classes.tolist() if label not in class_weight]
    if strange and unnamed:  # a fold may lack classes that class_weight names
        raise ValueError(
            f"class_weight names {strange[0]!r}, which is not one of the classes "
            f"{classes.tolist()}, and not {unnamed[0]!r}. Correct the name, or name "
            "all classes if y may lack some of them."
        )
    weights = np.array([class_weight.get(label, 1.0) for label in classes.tolist()])
    is_number = weights.dtype.kind in "iuf" and np.isfinite(weights).all()
    used = weights[counts > 0] if counts.any() else weights
    if not is_number or weights.min() < 0 or not used.any():
        raise ValueError(
            "class_weight must hold numbers of 0 or more, and not 0 for every row's "
            f"label; got {class_weight!r}."
        )
    return weights.astype(np.float64)


def _share_of_decay(n_labels):
    """Return 1 for up to 4 labels, and 0 for 7 or more, where decay lowers accuracy."""
    return min(max((7 - n_labels) / 3, 0), 1)


def _binary_losses(decisions, columns):
    """Return the log loss of log odds, summed over columns."""
    return (np.logaddexp(0, decisions) - columns * decisions).sum(axis=-1)
