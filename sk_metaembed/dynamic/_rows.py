"""Rows and epochs of a fit: weights, held-out parts and folds."""

import math

import numpy as np

from .._core._checked_parameters import is_integer
from .._core._sklearn import _check_sample_weight
from ._targets import ColumnsTarget

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


def checked_weights(sample_weight, X):
    """Return the weights of sequences, (n_sequences,), at least one of them not 0."""
    if len(X) == 0:
        raise ValueError(
            "Found array with 0 sample(s): at least one sequence is needed to learn "
            "from."
        )
    weights = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not weights.sum() > 0:
        raise ValueError("sample_weight is zero for every sequence.")
    return weights


def split_rows(labels, rows, fraction, random_state):
    """Return the rows to train on and those to hold out, or None for a single row.

    Parameters
    ----------
    labels : ndarray of shape (n_all_rows,) or None
        Kept in proportion if each part has room for every label.
    rows : ndarray of int64
        The rows to divide.
    fraction : float
        What share of the rows is held out; at least one row stays on each side.
    random_state : numpy RandomState

    Returns
    -------
    tuple of two ndarrays of int64, or None
    """
    from sklearn.model_selection import train_test_split

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


def fold_rows(cv, random_state, X, y, target, split_params):
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
            f"cv must hold out every row exactly once, but row {row} is held out "
            f"{counts[row]} times by {splitter!r}. Use a splitter such as "
            "StratifiedKFold or GroupKFold."
        )
    return folds


def _fills_folds(labels, n_folds, target):
    """Return whether to stratify; combinations of labels may be too rare for it."""
    if labels is None:
        return False
    _, counts = np.unique(labels, return_counts=True)
    return not isinstance(target, ColumnsTarget) or counts.min() >= n_folds
