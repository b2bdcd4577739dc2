"""What scikit-learn's parameter constraints cannot say: entries of tuples, labels.

Which rows are trained on, and which are held out.
"""

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import _check_sample_weight

from .._core._parameters import is_integer
from .._training._parameters import check_callbacks
from ._targets import ColumnsTarget, own_type

# Here and not beside their classes, because those need torch.
ENCODERS = ("bilstm-max", "gru", "mean", "max", "attention")


def check_options(estimator, *, caller):
    """Raise for sizes, devices or callbacks that no net can be built with.

    Parameters
    ----------
    estimator : one of the Dynamic* estimators
    caller : str
        Its name.

    Raises
    ------
    ValueError, TypeError
        With what came and what is allowed.
    """
    _check_sizes(estimator.encoder_dim, "encoder_dim", caller)
    _check_sizes(estimator.hidden_dims, "hidden_dims", caller, may_be_empty=True)
    check_callbacks(estimator.callbacks, caller=caller)


def _check_sizes(sizes, name, caller, *, may_be_empty=False):
    sizes = sizes if isinstance(sizes, tuple | list) else [sizes]
    wrong = [s for s in sizes if not (is_integer(s) and s >= 1)]
    if wrong or not (sizes or may_be_empty):
        came = repr(wrong[0]) if wrong else "no size at all"
        raise ValueError(
            f"{caller}: {name} must hold the layers' sizes, integers of 1 or more; got "
            f"{came}."
        )


def checked_weights(sample_weight, X):
    """Return weights of sequences, ones for None, of which some must be above 0."""
    weights = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not weights.sum() > 0:
        raise ValueError("sample_weight is zero for every sequence.")
    return weights


def label_weights(class_weight, y, target, *, caller):
    """Return the weight of each row's label or labels.

    Parameters
    ----------
    class_weight : dict, "balanced" or list of dict
    y : ndarray
    target : LabelTarget, IndicatorTarget, ColumnsTarget or NumberTarget
    caller : str
        The estimator's name.

    Returns
    -------
    ndarray of float64, shape (n_rows,)

    Raises
    ------
    ValueError
        For numbers, for labels that do not exist, and weights that are negative or
        all zero.
    """
    if not target.is_classification:
        raise ValueError(
            f"{caller}: class_weight={class_weight!r} needs labels, but y holds "
            "numbers. Leave it at None; to weight sequences, pass sample_weight to fit."
        )
    if isinstance(target, ColumnsTarget):
        return _column_weights(class_weight, y, target, caller)
    if isinstance(class_weight, dict) and y.ndim == 1:
        # Not all labels need to be in this y: it may be one batch of many.
        strange = [label for label in class_weight if label not in target.classes]
        if strange:
            raise ValueError(
                f"{caller}: class_weight names {strange[0]!r}, which is none of the "
                f"classes {target.classes.tolist()}."
            )
        weights = np.array([class_weight.get(label, 1.0) for label in y.tolist()])
    else:
        weights = compute_sample_weight(class_weight, y)
    if weights.dtype.kind not in "iuf" or weights.min() < 0 or not weights.any():
        raise ValueError(
            f"{caller}: class_weight must hold numbers of 0 or more, and not 0 for "
            f"every row's label; got {class_weight!r}."
        )
    return weights.astype(np.float64)


def _column_weights(class_weight, y, target, caller):
    """Return the product of the weights of a row's labels, one a column."""
    target.check_shape(y, caller=caller)
    n_columns = y.shape[1]
    if class_weight == "balanced":
        class_weight = [class_weight] * n_columns
    if not isinstance(class_weight, list) or len(class_weight) != n_columns:
        raise ValueError(
            f"{caller}: y has {n_columns} columns of labels, so class_weight must be "
            f"'balanced' or a list of {n_columns} entries, one a column, each a dict, "
            f"'balanced' or None; got {class_weight!r}."
        )
    weights = np.ones(len(y))
    for j, (given, column) in enumerate(zip(class_weight, target.columns, strict=True)):
        if given is not None:
            where = f"{caller}: column {j} of y"
            weights *= label_weights(given, own_type(y[:, j]), column, caller=where)
    if not weights.any():
        raise ValueError(
            f"{caller}: class_weight gives every row a label of weight 0; got "
            f"{class_weight!r}."
        )
    return weights


def split_rows(labels, weights, fraction, random_state):
    """Return the rows to train on and those to hold out, or None for a single row.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,) or None
        Kept in proportion if each part has room for every label.
    weights : ndarray of shape (n_rows,)
        Rows of weight 0 go to neither part.
    fraction : float
        What share of the rows is held out; at least one row stays on each side.
    random_state : numpy RandomState

    Returns
    -------
    tuple of two ndarrays of int64, or None
    """
    from sklearn.model_selection import train_test_split

    rows = np.flatnonzero(weights)
    if len(rows) < 2:
        return None
    size = min(max(1, round(fraction * len(rows))), len(rows) - 1)
    if labels is not None:
        labels = labels[rows]
        _, counts = np.unique(labels, return_counts=True)
        room = min(size, len(rows) - size)
        labels = labels if counts.min() > 1 and room >= len(counts) else None
    return train_test_split(
        rows, test_size=size, stratify=labels, random_state=random_state
    )
