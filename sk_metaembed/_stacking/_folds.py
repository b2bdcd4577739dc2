"""Divide training rows into folds.

Equal rows and groups stay in one fold, and rare classes do not change the division of
the others. `sklearn.model_selection` is imported inside functions, because it is slow
to load.
"""

import warnings
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from .._core._errors import plural

_FOLDS = 5
_FEW_FOLDS = 3  # with many rows, where small training parts suffice
MANY_ROWS = 1500


class Folds(NamedTuple):
    """A division of the training rows into folds."""

    pairs: list  # (train, test) pairs of row positions
    held_out: np.ndarray  # (n_rows,), whether a model has not seen the row
    groups: np.ndarray | None  # (n_rows,), for models that also divide rows into folds
    units: np.ndarray  # (n_rows,), equal for rows that stay together


def make_folds(cv, target, groups, copies, random_state):
    """Return the `Folds` of a target's rows; every training part has all classes.

    `copies` has the same number for equal rows, or is None if no rows are equal. Equal
    rows are in one fold unless there are `groups`.
    """
    units = copies if groups is None else groups
    units = np.arange(len(target.y)) if units is None else units
    labels = target.y if target.kind == "classes" else None
    if cv is None or isinstance(cv, Integral):
        if cv is None:
            has_many = np.count_nonzero(target.is_common) >= MANY_ROWS
            cv = _FEW_FOLDS if has_many else _FOLDS
        rng = check_random_state(random_state)
        pairs = _divide(cv, labels, target.is_common, units, groups, rng)
    else:
        pairs = given_pairs(cv, target.y, groups)
    if labels is not None:
        codes = np.unique(labels, return_inverse=True)[1]
        for i, (train, test) in enumerate(pairs):
            lacking = ~np.isin(codes[test], codes[train])
            pairs[i] = np.append(train, test[lacking]), test[~lacking]
    pairs = [(train, test) for train, test in pairs if len(train) and len(test)]
    held_out = np.zeros(len(target.y), dtype=bool)
    for _, test in pairs:
        held_out[test] = True
    return Folds(pairs, held_out, groups, units)


def compared_rows(target, folds, sample_weight):
    """Return the weights of rows in comparisons of models, and the columns that count.

    The weights, (n_rows,), are 0 for rare classes and rows that are not held out.
    Classes without a weighted row do not count if two other classes remain. Such a
    class would act only by its column, and reward large weights, which make the class
    improbable. The columns are a mask or a slice.
    """
    weights = (target.is_common & folds.held_out).astype(np.float64)
    if sample_weight is not None:
        weights = weights * sample_weight
    if target.has_column_per_class:
        has_rows = target.columns[weights > 0].any(axis=0)
        if not has_rows.all() and np.count_nonzero(has_rows) > 1:
            return weights, has_rows
    return weights, slice(None)


def given_pairs(cv, y, groups):
    """Check and return the (train, test) pairs of a splitter or an iterable."""
    from sklearn.model_selection import check_cv

    splitter = check_cv(cv)
    pairs = list(splitter.split(np.zeros(len(y)), y, groups))
    held_out = np.concatenate([test for _, test in pairs]).astype(int)
    counts = np.bincount(held_out, minlength=len(y))
    wrong = np.flatnonzero(counts != 1)
    if len(wrong):
        raise ValueError(
            f"cv must hold out every row once, but {splitter!r} holds out "
            f"row {wrong[0]} {counts[wrong[0]]} times. Use a splitter such as "
            "StratifiedKFold or GroupKFold."
        )
    return pairs


def pairs_of_part(pairs, rows):
    """Return (train, test) pairs of sorted rows, as positions among these rows."""
    return [[np.isin(rows, part).nonzero()[0] for part in pair] for pair in pairs]


def deal_rows(targets, groups, n_rows, rng):
    """Return the number of the fold that holds out each row.

    Rows are sorted by their targets and dealt to the folds in turn, so that each fold
    has rows of all classes and magnitudes. Rows of one group are in the fold of the
    group's first row.
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


def warn_of_no_folds(target, groups, copies=None, noun="token sequence"):
    """Warn that no row could be held out, unless there are too few rows for folds.

    `noun` is the name of the objects that `copies` compares.
    """
    n_rows = most = len(target.y)
    if target.kind == "classes":
        most = np.unique(target.y, return_counts=True)[1].max()
    if most == 1:
        return
    if groups is not None and len(np.unique(groups)) == 1:
        reason = f"all {n_rows} rows are of one group"
        remedy = "Pass groups of at least two values."
    elif groups is not None:
        reason = "no class has rows of two groups"
        remedy = "Pass groups that have rows of several classes."
    elif copies is not None:
        n_distinct = plural(len(np.unique(copies)), f"distinct {noun}")
        reason = f"the {n_rows} rows have {n_distinct}, and equal ones are in one fold"
        remedy = (
            "If equal ones are independent, pass groups=numpy.arange(len(X)) to fit."
        )
    else:
        reason = "no class has rows in two test parts of cv"
        remedy = "Pass a cv that divides the rows of each class."
    warnings.warn(
        f"no row could be held out: {reason}. Weights and settings are the defaults, "
        f"and scores_ are NaN. {remedy}",
        UserWarning,
        stacklevel=3,
    )


def _divide(n_folds, labels, is_common, units, groups, rng):
    """Return (train, test) pairs, or no pairs if no row can be held out.

    Rows that must stay together (a group, or equal rows) are one unit. Units with a row
    of a common class are stratified first. The other units are then spread evenly, and
    do not change the first division.
    """
    _, first, units = np.unique(units, return_index=True, return_inverse=True)
    rows = np.flatnonzero(is_common)
    if groups is None:  # equal rows count once
        rows = rows[np.unique(units[rows], return_index=True)[1]]
    fold_of_unit = np.full(len(first), -1)
    fold_of_unit[units[rows]] = _fold_of_row(
        n_folds,
        None if labels is None else labels[rows],
        len(rows),
        None if groups is None else units[rows],
        rng,
    )
    n_folds = fold_of_unit.max() + 1
    rare_units = rng.permutation(np.flatnonzero(fold_of_unit < 0))
    if len(rare_units):
        # Rows that are not common belong to rare classes, so there are labels.
        order = np.argsort(labels[first[rare_units]], kind="stable")
        fold_of_unit[rare_units[order]] = np.arange(len(rare_units)) % n_folds
    folds = fold_of_unit[units]
    numbers = range(n_folds) if n_folds > 1 else ()
    return [(np.flatnonzero(folds != i), np.flatnonzero(folds == i)) for i in numbers]


def _fold_of_row(n_folds, labels, n_rows, groups, rng):
    """Return the number of the fold that holds out each row, 0 if there is one fold.

    There are at most as many folds as units, and as rows of the largest class.
    """
    from sklearn import model_selection as sk

    n_units = n_rows if groups is None else len(np.unique(groups))
    if labels is not None:
        n_units = min(n_units, int(np.unique(labels, return_counts=True)[1].max()))
    n_folds = min(n_folds, n_units)
    fold_of_row = np.zeros(n_rows, dtype=int)
    if n_folds < 2:
        return fold_of_row
    if groups is None:
        kind = sk.KFold if labels is None else sk.StratifiedKFold
    else:
        kind = sk.GroupKFold if labels is None else sk.StratifiedGroupKFold
    splitter = kind(n_folds, shuffle=True, random_state=rng)
    with warnings.catch_warnings():
        # Classes with fewer rows than folds are allowed.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        pairs = splitter.split(np.zeros(n_rows), labels, groups)
        for i, (_, test) in enumerate(pairs):
            fold_of_row[test] = i
    return fold_of_row
