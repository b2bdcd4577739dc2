"""Training targets of sequences: labels, label sets or numbers."""

import warnings

import numpy as np
from sklearn.utils import column_or_1d

from .._core._named_errors import errors_of_input
from .._core._sample_weights import relative_weights
from .._core._targets import (
    as_numbers,
    center_and_scale,
    check_one_column,
    counted_labels,
    is_continuous,
    is_indicator,
    refuse_amounts,
    warn_of_rare_classes,
)


def warn_of_unseen(labels, noun="row"):
    """Warn of labels of y_val that were not seen in training, if there are any."""
    if len(labels):
        found = counted_labels(*np.unique(labels, return_counts=True), noun)
        kind = "tags" if noun == "tag" else "labels"
        warnings.warn(
            f"y_val has {kind} that are not in y: {found}. They count as wrong in the "
            f"held-out score, and not in the loss. Check for misspelled {kind}.",
            UserWarning,
            stacklevel=2,
        )


class BaseTarget:
    """Base class of targets with one weight per sequence.

    `row_weights` returns the relative weights of rows, (n_rows,), by those of classes,
    and `TagTarget`, with one per token, overrides `loss_weights`. `encode_held_out`
    takes labels that were not seen in training, which count as wrong, and warns of
    them. `weight_decay` of the targets of predictors reads how noisy a target is, 0 to
    1; its figures were chosen on development parts by `benchmarks/dynamic_defaults.py`.
    """

    score: str | None = None  # of held-out rows, in the history
    per_token = False

    def loss_weights(self, weights, codes):
        """Return the weights in the loss, from the weights of the sequences."""
        return weights

    def encode_held_out(self, y):
        """Return the targets of held-out rows."""
        return self.encode(y, "y_val")

    def has_loss(self, codes):
        """Return whether encoded targets have a loss: labels not seen have none."""
        return True

    def warn_of_rare(self, y):
        """Warn of classes with very few rows, if the target has classes."""

    def columns(self, codes):
        """Return encoded targets as numbers, (n_rows, n_outputs)."""
        return codes

    def stratify(self, codes):
        """Return the labels to stratify the held-out part by, None for other targets.

        Label sets are too many.
        """
        return None


class LabelTarget(BaseTarget):
    """One label per sequence, trained by cross-entropy."""

    loss = "cross-entropy"
    score = "valid_acc"
    is_classification = True

    def __init__(self, y):
        self.classes = np.unique(column_or_1d(y, warn=True))
        self.n_outputs = len(self.classes)

    def encode(self, y, name="y"):
        """Return labels as row numbers of `classes`, int64."""
        return np.searchsorted(self.classes, column_or_1d(y)).astype(np.int64)

    def encode_held_out(self, y):
        """Return row numbers of `classes`; their number for labels not seen before."""
        y = column_or_1d(y, warn=True)
        is_seen = np.isin(y, self.classes)
        warn_of_unseen(y[~is_seen])
        codes = np.full(len(y), len(self.classes), dtype=np.int64)
        codes[is_seen] = np.searchsorted(self.classes, y[is_seen])
        return codes

    def row_weights(self, class_weight, codes):
        """Return the weight of each row's label, 1 if it was not seen in training."""
        weights = class_weights(class_weight, codes, self.classes)
        return relative_weights([np.append(weights, 1.0)[codes]])

    def has_loss(self, codes):
        """Return which labels were seen in training."""
        return codes < self.n_outputs

    def decode(self, outputs):
        """Return the label with the highest output of each sequence."""
        return self.classes[outputs.argmax(axis=1)]

    def decisions(self, outputs):
        """Return log odds, (n,), of the second of two classes, or the outputs."""
        return outputs[:, 1] - outputs[:, 0] if self.n_outputs == 2 else outputs

    def probabilities(self, outputs):
        """Return softmax probabilities, (n, n_classes)."""
        shifted = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return shifted / shifted.sum(axis=1, keepdims=True)

    def columns(self, codes):
        """Return one column per label, 1 for its rows and 0 for others."""
        return np.eye(self.n_outputs)[codes]

    def outputs_of(self, probabilities):
        """Return outputs with these probabilities, (..., n_classes)."""
        return np.log(probabilities)

    def weight_decay(self, noise):
        """Return the weight decay."""
        return 0.1 * noise**3 * _share_of_decay(self.n_outputs)

    def stratify(self, codes):
        """Return the labels."""
        return codes

    def warn_of_rare(self, y):
        """Warn of classes with very few rows."""
        warn_of_rare_classes(y)


class IndicatorTarget(BaseTarget):
    """A set of labels per sequence, as an indicator matrix of 0 and 1."""

    loss = "binary-cross-entropy"
    is_classification = True

    def __init__(self, y):
        self.n_outputs = y.shape[1]
        self.classes = np.arange(self.n_outputs)

    def outputs_of(self, probabilities):
        """Return outputs with these probabilities, (..., n_labels)."""
        return np.log(probabilities / (1 - probabilities))

    def weight_decay(self, noise):
        """Return the weight decay. Gradients are means over labels."""
        return 0.1 * noise**3 * _share_of_decay(self.n_outputs) / self.n_outputs

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

    def row_weights(self, class_weight, codes):
        """Return the products of the weights of each row's labels."""
        if class_weight is None:
            return np.ones(len(codes))
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
            with errors_of_input(f"column {j} of y"):
                return class_weights(class_weight[j], labels, np.arange(2))[labels]

        return relative_weights(map(weights_of_column, range(n_columns)))

    def decode(self, outputs):
        """Return the indicators of labels with a probability above one half."""
        return (outputs > 0).astype(np.int64)

    def decisions(self, outputs):
        """Return the log odds of each label, (n, n_labels)."""
        return outputs

    def probabilities(self, outputs):
        """Return the independent probability of each label, (n, n_labels)."""
        return 1 / (1 + np.exp(-outputs.clip(-500, 500)))


def _share_of_decay(n_labels):
    """Return 1 for 4 labels at most, and 0 for 7 and more, where decay does harm."""
    return min(max((7 - n_labels) / 3, 0), 1)


class NumberTarget(BaseTarget):
    """One or more numbers per sequence, standardized for training."""

    loss = "squared-error"
    is_classification = False
    classes = None

    def __init__(self, y, weights=None):
        y = as_numbers(y)
        self.is_flat = y.ndim == 1
        y = y.reshape(len(y), -1)
        self.mean, self.scale = center_and_scale(y, weights)
        self.n_outputs = y.shape[1]

    def weight_decay(self, noise):
        """Return the weight decay. Gradients are means over columns."""
        return 0.3 * noise**6 / self.n_outputs

    def encode(self, y, name="y"):
        """Return standardized numbers, float32 (n, n_outputs)."""
        y = as_numbers(y).reshape(len(y), -1)
        check_columns(y, self.n_outputs, name)
        return ((y - self.mean) / self.scale).astype(np.float32)

    def row_weights(self, class_weight, codes):
        """Return ones; numbers have no classes."""
        if class_weight is not None:
            raise ValueError(
                f"class_weight={class_weight!r} needs labels, but y holds numbers. "
                "Leave it at None; to weight sequences, pass sample_weight to fit."
            )
        return np.ones(len(codes))

    def decode(self, outputs):
        """Return numbers on the scale and in the shape of y."""
        numbers = outputs * self.scale + self.mean
        return numbers[:, 0] if self.is_flat else numbers


def check_columns(y, n_columns, name="y"):
    """Raise unless y has as many columns as in fit."""
    if y.ndim != 2 or y.shape[1] != n_columns:
        raise ValueError(
            f"{name} must have {n_columns} columns, as in fit; got shape {y.shape}."
        )


def classification_target(y):
    """Return the target for labels or label sets."""
    if is_indicator(y):
        return IndicatorTarget(y)
    refuse_amounts(y)
    check_one_column(y)
    return LabelTarget(y)


def any_target(y, weights=None):
    """Return the target for y: numbers if continuous, otherwise labels."""
    if y.dtype != object and is_continuous(y):
        return NumberTarget(y, weights)
    return classification_target(y)


def class_weights(class_weight, labels, classes):
    """Return the weight of each class, float64 (n_classes,).

    Parameters
    ----------
    class_weight : dict, "balanced" or None
    labels : ndarray of int64
        Row numbers of `classes`, larger for other labels. Not all classes need to
        occur: this may be one batch of many.
    classes : ndarray of shape (n_classes,)
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
    if strange and unnamed:  # otherwise it names the classes that a fold lacks too
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
