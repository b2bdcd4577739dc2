"""Cross-fitting: each row is transformed by a net that was not trained on it."""

from typing import NamedTuple

import numpy as np
from scipy import linalg
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from skorch.callbacks import (
    Checkpoint,
    MlflowLogger,
    NeptuneLogger,
    ProgressBar,
    SacredLogger,
    TensorBoard,
    TrainEndCheckpoint,
    WandbLogger,
)

from ..._core._checked_parameters import is_integer
from ..._core._ragged import span_index
from ...sequences import SequencePairs
from .._targets import ColumnsTarget
from .._trainable import tokens_and_blocks

# Callbacks that write or print, about the net that is fitted on all rows only.
WRITERS = (
    Checkpoint,
    MlflowLogger,
    NeptuneLogger,
    ProgressBar,
    SacredLogger,
    TensorBoard,
    TrainEndCheckpoint,
    WandbLogger,
)

# Penalty of the map between nets, relative to the mean variance of a dimension.
_PENALTY = 0.1


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
    labels = target.stratify(target.encode(y))
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


class Vectors(NamedTuple):
    """The vectors that a net computes for sequences, or for both sides of pairs.

    Attributes
    ----------
    values : ndarray of float32, shape (n_rows, dim)
    level : {"type", "token", "sequence"}
    known : ndarray of bool, shape (n_rows,)
    """

    values: np.ndarray
    level: str
    known: np.ndarray


def cross_fit(whole, folds, X):
    """Return out-of-fold vectors in the space of the net fitted on all rows.

    Parameters
    ----------
    whole : Vectors
        Those of the net fitted on all rows.
    folds : iterable of (ndarray of int, ndarray of int, Vectors)
        For each fold the rows that its net was trained on, the held-out rows, and the
        vectors that the net computes for all of X.
    X : EmbeddedSequences, TokenSequences or SequencePairs

    Returns
    -------
    table : ndarray of float32, shape (n_table_rows, dim)
    rows : ndarray of int, shape (n_tokens,) or (n_sequences,)
        The row of the table of each token or sequence, -1 where no source knows it.
    level : {"token", "sequence"}
        Types have one vector per fold, so they become tokens.
    """
    tokens, _ = tokens_and_blocks(X)
    level = "sequence" if whole.level == "sequence" else "token"
    rows = np.full(len(tokens) if level == "sequence" else tokens.n_tokens, -1)
    tables, size = [], 0
    for train, test, own in folds:
        known = own.known & whole.known
        counts = np.bincount(_rows_at(whole.level, X, train), minlength=len(known))
        learn = np.flatnonzero(counts * known)
        to_whole = alignment(own.values[learn], whole.values[learn], counts[learn])
        used, inverse = np.unique(_rows_at(whole.level, X, test), return_inverse=True)
        tables.append(to_whole(own.values[used]))
        numbers = np.where(known[used], size + np.arange(len(used)), -1)
        rows[_rows_at(level, X, test)] = numbers[inverse]
        size += len(used)
    return np.concatenate(tables), rows, level


def _rows_at(level, X, rows):
    """Return the rows of a level that belong to some rows of X, with repetitions."""
    if isinstance(X, SequencePairs):
        rows = X._sides_of(rows)
    if level == "sequence":
        return rows
    tokens, _ = tokens_and_blocks(X)
    positions = span_index(tokens.offsets, rows)[0]
    return tokens.codes[positions] if level == "type" else positions


def alignment(source, target, weights):
    r"""Return a function that maps vectors of one net to the space of another.

    With weighted centered vectors :math:`A` of the source and :math:`B` of the target,
    the map is the ridge regression that shrinks to the best rotation :math:`R`,

    .. math:: \min_W |A W - B|^2 + \lambda |W - R|^2, \qquad
              R = \arg\min_{R^T R = I} |A R - B|^2

    which has the solution :math:`W = R + (A^T A + \lambda I)^{-1} A^T (B - A R)`.

    Parameters
    ----------
    source, target : ndarray of float32, shape (n_rows, dim)
    weights : ndarray of shape (n_rows,)

    Returns
    -------
    callable
        Maps vectors (n, dim) to float32 (n, dim).
    """
    if not len(source):
        return lambda vectors: vectors
    means = [np.average(part, axis=0, weights=weights) for part in (source, target)]
    root = np.sqrt(weights)[:, None]
    a, b = (
        root * (part - mean).astype(np.float64)
        for part, mean in zip((source, target), means, strict=True)
    )
    products, mixed = a.T @ a, a.T @ b
    rotation = linalg.polar(mixed)[0]
    penalty = _PENALTY * np.trace(products) / len(products) or 1.0
    correction = linalg.solve(
        products + penalty * np.eye(len(products)),
        mixed - products @ rotation,
        assume_a="pos",
    )
    matrix = rotation + correction
    return lambda vectors: ((vectors - means[0]) @ matrix + means[1]).astype(np.float32)
