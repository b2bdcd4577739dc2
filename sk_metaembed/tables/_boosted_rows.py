"""Predictions of gradient boosting for few rows, all trees at once.

scikit-learn calls a function per tree, which takes ten times as long for a single row.
"""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from .._core._sklearn import boosted_trees

_MOST_ROWS = 8  # with more, scikit-learn is faster
_known: WeakKeyDictionary = WeakKeyDictionary()  # by model; not part of its files


class _Nodes(NamedTuple):
    """The nodes of all trees in one table; leaves are their own children.

    Attributes
    ----------
    roots : ndarray of int, shape (n_iterations, n_columns)
        The row of the root of each tree.
    baseline : ndarray of shape (n_columns,)
    depth : int
    feature, threshold, missing_left, left, right, value : ndarray of shape (n_nodes,)
    """

    roots: np.ndarray
    baseline: np.ndarray
    depth: int
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray


def is_fast(model, n_rows):
    """Return whether `boosted_decisions` can predict so many rows, and is faster."""
    from sklearn import ensemble

    is_sum = isinstance(model, ensemble.HistGradientBoostingClassifier) or (
        isinstance(model, ensemble.HistGradientBoostingRegressor)
        and model.loss == "squared_error"
    )
    return n_rows <= _MOST_ROWS and is_sum and model.is_categorical_ is None


def boosted_decisions(model, X):
    """Return the sums of the trees of a fitted HistGradientBoosting*.

    They have shape (n_rows, n_columns), and equal scikit-learn's to the last bit.

    Parameters
    ----------
    model : HistGradientBoostingClassifier or HistGradientBoostingRegressor
    X : ndarray of shape (n_rows, n_features)
    """
    trees, baseline = boosted_trees(model)
    known, nodes = _known.get(model, (None, None))
    if known is not trees:
        nodes = _nodes(trees, baseline)
        _known[model] = trees, nodes
    rows = np.arange(len(X))[:, None, None]
    X = X.astype(np.float64)
    place = np.repeat(nodes.roots[None], len(X), axis=0)
    for _ in range(nodes.depth):
        value = X[rows, nodes.feature[place]]
        goes_left = value <= nodes.threshold[place]
        goes_left |= np.isnan(value) & nodes.missing_left[place]
        place = np.where(goes_left, nodes.left[place], nodes.right[place])
    values = nodes.value[place]
    values[:, 0] += nodes.baseline
    # One after the other, as scikit-learn adds them; np.sum has another order.
    return np.cumsum(values, axis=1)[:, -1]


def _nodes(trees, baseline):
    """Return the `_Nodes` of the trees of each iteration."""
    tables = [tree.nodes for each in trees for tree in each]
    starts = np.cumsum([0, *map(len, tables[:-1])])
    table = np.concatenate(tables)
    offset = np.repeat(starts, [len(nodes) for nodes in tables])
    own, is_leaf = np.arange(len(table)), table["is_leaf"].astype(bool)
    return _Nodes(
        starts.reshape(len(trees), -1),
        np.asarray(baseline, dtype=np.float64).ravel(),
        min(int(table["depth"].max()), len(table)),  # a file can have any
        np.where(is_leaf, 0, table["feature_idx"]),
        table["num_threshold"].astype(np.float64),
        table["missing_go_to_left"].astype(bool),
        np.where(is_leaf, own, table["left"] + offset),
        np.where(is_leaf, own, table["right"] + offset),
        table["value"].astype(np.float64),
    )
