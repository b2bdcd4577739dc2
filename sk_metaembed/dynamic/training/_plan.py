"""Plan of a fit: the net, its data, and the options of training.

An estimator creates the plan, and training reads it, without access to the estimator.
This module does not import torch, because the classes of the estimators import it.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from ..._core._checked_parameters import is_integer
from ..._core._sklearn import _check_sample_weight
from .._options import TrainOptions
from .._targets import ColumnsTarget, own_type

# Parameters that go to the skorch net by the same name, and that a saved net keeps.
SETTINGS = ("lr", "batch_size", "verbose", "mix_penalty")


# Parameters of the estimators that their networks have by the same name.
NETWORK = (
    "projection_dim",
    "attention",
    "gate",
    "activation",
    "layer_norm",
    "mixer",
    "embedding_dropout",
    "encoder_dropout",
    "head_dropout",
)


class NetPlan(NamedTuple):
    """What a skorch net is built of.

    Attributes
    ----------
    caller : str
        Name of the estimator, for error messages.
    network_class, loss_class : type
        Torch modules.
    network : dict
        Parameters of `network_class`.
    loss : str or tuple
        Parameter of `loss_class`.
    score : skorch Callback
        Records the score that `monitor` names.
    trained : TrainedSources
    settings : dict
        Values of `SETTINGS`.
    options : TrainOptions
    callbacks : list
        The user's skorch callbacks.
    patience : int
        Epochs without improvement before training stops.
    monitor : {"valid_acc", "valid_f1", "valid_recall", "valid_loss"} or None
        What early stopping and the learning rate follow; None without held-out part.
    """

    caller: str
    network_class: type
    network: dict
    loss_class: type
    loss: Any
    score: Any
    trained: Any
    settings: dict
    options: TrainOptions
    callbacks: list
    patience: int
    monitor: str | None = None


class FitPlan(NamedTuple):
    """One fit: the net, its data, and where it is trained.

    Attributes
    ----------
    model : NetPlan
    net : SequenceNet or None
        The net whose training continues; None for a new one.
    target : LabelTarget or one of its siblings
    X : EmbeddedSequences, TokenSequences or SequencePairs
    y : ndarray or TokenSequences
    weights : ndarray of float32, shape (n_sequences,)
    epochs : int
    device : str
    random_state : numpy RandomState
    held_out : None, rows (train, valid) of X, or other data (X_val, y_val)
    """

    model: NetPlan
    net: Any
    target: Any
    X: Any
    y: Any
    weights: np.ndarray
    epochs: int
    device: str
    random_state: np.random.RandomState
    held_out: tuple | None = None


def make_net_plan(
    params, torch_parts, specific, *, target, trained, dims, options, caller
):
    """Return the `NetPlan` of an estimator.

    Parameters
    ----------
    params : dict
        Parameters of the estimator, by name.
    torch_parts : tuple of (type, type, skorch Callback)
        Classes of network and loss, and the callback of the held-out score.
    specific : dict
        Parameters of the network that not all kinds of networks have.
    target : LabelTarget or one of its siblings
    trained : TrainedSources
    dims : list of int
        Dimensions of all sources.
    options : TrainOptions
    caller : str
        Name of the estimator.
    """
    network_class, loss_class, score = torch_parts
    return NetPlan(
        caller=caller,
        network_class=network_class,
        network={
            "trained": trained,
            "dims": dims,
            "n_outputs": target.n_outputs,
            "encoder_dims": tuple(np.atleast_1d(params["encoder_dim"]).tolist()),
            "hidden_dims": tuple(params["hidden_dims"]),
            **{name: params[name] for name in NETWORK},
            **specific,
        },
        loss_class=loss_class,
        loss=target.loss,
        score=score,
        trained=trained,
        settings={name: params[name] for name in SETTINGS},
        options=options,
        callbacks=params["callbacks"] or [],
        patience=params["patience"],
    )


# Chosen on the development sets of `benchmarks/dynamic_defaults.py`. The accuracy on a
# tenth of fewer rows says little about an epoch, and the net misses the tenth.
MIN_ROWS_TO_HOLD_OUT = 5000
N_STEPS, MIN_EPOCHS, MAX_EPOCHS = 400, 8, 100


def holds_out(early_stopping, n_rows):
    """Return whether rows are held out for early stopping.

    Parameters
    ----------
    early_stopping : bool or "auto"
        "auto" holds out a part of at least `MIN_ROWS_TO_HOLD_OUT` rows.
    n_rows : int
    """
    if early_stopping == "auto":
        return n_rows >= MIN_ROWS_TO_HOLD_OUT
    return early_stopping


def count_epochs(max_epochs, n_rows, batch_size, *, stops_early):
    """Return the maximum number of epochs.

    Parameters
    ----------
    max_epochs : int or "auto"
        "auto" is `MAX_EPOCHS` with early stopping. Without, there are at least
        `MIN_EPOCHS` epochs and about `N_STEPS` steps: few rows have few batches.
    n_rows, batch_size : int
    stops_early : bool
    """
    if max_epochs != "auto":
        return max_epochs
    if stops_early:
        return MAX_EPOCHS
    steps = max(n_rows / batch_size, 1)  # per epoch, approximately
    return max(MIN_EPOCHS, math.ceil(N_STEPS / steps))


def checked_weights(sample_weight, X, *, caller):
    """Return the weights of sequences, (n_sequences,), at least one of them not 0."""
    if len(X) == 0:
        raise ValueError(
            f"Found array with 0 sample(s): {caller} needs at least one sequence to "
            "learn from."
        )
    weights = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not weights.sum() > 0:
        raise ValueError("sample_weight is zero for every sequence.")
    return weights


def scaled(weights):
    """Return weights with mean 1, as float32."""
    return (weights / weights.mean()).astype(np.float32)


def label_weights(class_weight, y, target, *, caller):
    """Return the weight of each row's label or labels.

    Parameters
    ----------
    class_weight : dict, "balanced", list of dict or None
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
    if class_weight is None:
        return np.ones(len(y))
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
                f"{caller}: class_weight names {strange[0]!r}, which is not one of the "
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
    """Return the product of the weights of a row's labels, one per column."""
    target.check_shape(y, caller=caller)
    n_columns = y.shape[1]
    if class_weight == "balanced":
        class_weight = [class_weight] * n_columns
    if not isinstance(class_weight, list) or len(class_weight) != n_columns:
        raise ValueError(
            f"{caller}: y has {n_columns} columns of labels, so class_weight must be "
            f"'balanced' or a list of {n_columns} entries, one per column, each a "
            f"dict, 'balanced' or None; got {class_weight!r}."
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


def check_validation(X_val, y_val, *, caller):
    """Raise if only one of the held-out sequences and their targets is given."""
    if (X_val is None) != (y_val is None):
        missing = "X_val" if X_val is None else "y_val"
        raise ValueError(
            f"{caller}: {missing} is missing. X_val and y_val, held-out sequences and "
            "their targets, must be passed together."
        )
    if X_val is not None and len(X_val) == 0:
        raise ValueError(f"{caller}: X_val holds no sequences. Leave it out.")


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


def fold_rows(cv, random_state, X, y, target, split_params, *, caller):
    """Return the (training, held-out) rows of each fold; every row is held out once.

    Parameters
    ----------
    cv : int, splitter or iterable
    random_state : int, RandomState or None
        Shuffles the folds if `cv` is a number.
    X : EmbeddedSequences, TokenSequences or SequencePairs
    y : ndarray
    target : LabelTarget or one of its siblings
    split_params : dict
        Further arguments of the splitter, such as ``groups``.
    caller : str
        Name of the estimator.
    """
    from sklearn.model_selection import KFold, StratifiedKFold, check_cv

    labels = target.stratify(y)
    if is_integer(cv):
        kind = StratifiedKFold if _fills_folds(labels, cv, target) else KFold
        cv = kind(cv, shuffle=True, random_state=random_state)
    splitter = check_cv(cv)
    rows = np.arange(len(X))
    split = splitter.split(X, y if labels is None else labels, **split_params)
    folds = [(rows[train], rows[test]) for train, test in split]
    counts = np.zeros(len(X), dtype=np.int64)
    for _, test in folds:
        np.add.at(counts, test, 1)
    wrong = np.flatnonzero(counts != 1)
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(
            f"{caller}: cv must hold out every row exactly once, but row {row} is held "
            f"out {counts[row]} times by {splitter!r}. Use a splitter such as "
            "StratifiedKFold or GroupKFold."
        )
    return folds


def _fills_folds(labels, n_folds, target):
    """Return whether to stratify; combinations of labels may be too rare for it."""
    if labels is None:
        return False
    _, counts = np.unique(labels, return_counts=True)
    return not isinstance(target, ColumnsTarget) or counts.min() >= n_folds
