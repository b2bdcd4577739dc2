"""Targets of the predictions of strings: columns of numbers, and folds of rows."""

import numpy as np

from .._targets import (
    center_and_scale,
    check_one_column,
    check_target,
    is_continuous,
    read_partial_labels,
)

_FOLDS = 5
_MAX_COLUMNS = 10  # the most frequent classes or labels


def read_targets(y, n_rows, target_type, weights):
    """Return y as columns of unit variance, (n_rows, n_targets), and their names.

    Classes have an indicator each, two classes a single one. Only the most frequent of
    many classes have a column. Returns None and no names if y is None. The weights of
    rows without a label are set to 0.
    """
    if y is None:
        return None, []
    has_label = slice(None)
    if target_type == "semi-supervised":
        y, has_label = read_partial_labels(y)
    is_number = target_type == "continuous"
    y = check_target(y, n_rows, "numbers" if is_number else "any")
    if target_type == "semi-supervised":
        weights[~has_label] = 0
    if y.dtype.kind not in "biuf":
        check_one_column(y)
    if is_number or is_continuous(y) or y.ndim == 2:
        columns = y.astype(np.float64).reshape(n_rows, -1)
        names = [""] if y.ndim == 1 else [f"__{j}" for j in range(y.shape[1])]
    else:
        classes, codes = np.unique(y, return_inverse=True)
        shown = np.argsort(-np.bincount(codes), kind="stable")[:_MAX_COLUMNS]
        shown = [1] if len(classes) == 2 else np.sort(shown)
        columns = (codes[:, None] == shown).astype(np.float64)
        names = [f"__{classes[j]}" for j in shown]
    return columns / center_and_scale(columns[has_label])[1], names


def fold_numbers(targets, groups, n_rows, rng):
    """Return the number of the fold that holds out each row.

    Rows are dealt in the order of their targets, so that each fold has rows of all
    classes and sizes. Rows of one group are in one fold, as the first of them is.
    """
    units = first = np.arange(n_rows)
    if groups is not None:
        _, first, units = np.unique(groups, return_index=True, return_inverse=True)
    order = rng.permutation(len(first))
    if targets is not None:
        for column in targets[first].T:
            order = order[np.argsort(column[order], kind="stable")]
    fold_of = np.empty(len(order), dtype=np.int64)
    fold_of[order] = np.arange(len(order)) % min(_FOLDS, len(order))
    return fold_of[units]
