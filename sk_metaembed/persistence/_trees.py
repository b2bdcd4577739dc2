"""Trees, splines and losses: check numbers that compiled code does not check.

scikit-learn follows the links between the nodes of a tree, and reads the column that a
node names, without checking bounds. Trees are therefore rebuilt from arrays that have
been checked, copies to which no other object of the file can write. The width of an
input is known only when it is predicted: the methods of `DecisionTreeClassifier` and
its like compare it with `n_features_in_`, which must be the tree's, and those of
gradient boosting do not, so its trees do.
"""

from importlib import import_module
from typing import Any

import numpy as np

from ._codecs import attributes

_BITSET_WORDS = 8  # of 32 bits, for 256 categories


def _encode_tree(tree):
    _, (n_features, n_classes, _), state = tree.__reduce__()
    nodes = state["nodes"]
    # Without the bytes between the fields, which are not initialized.
    packed = nodes.astype([(name, nodes.dtype[name]) for name in nodes.dtype.names])
    arrays = {"nodes": packed, "values": state["values"], "n_classes": n_classes}
    return {"n_features": n_features, **arrays}


def _decode_tree(
    n_features: int, nodes: np.ndarray, values: np.ndarray, n_classes: np.ndarray
) -> Any:
    from sklearn.tree._tree import Tree

    left, right = nodes["left_child"], nodes["right_child"]
    depth = _check_nodes(left, right, left == -1, nodes["feature"], n_features)
    inner = nodes[left != -1]
    if n_features < 1 or len(n_classes) < 1 or n_classes.min() < 1:
        raise ValueError("a tree has no features or an output without values")
    if values.shape != (len(nodes), len(n_classes), n_classes.max()):
        raise ValueError(f"a tree has values of shape {values.shape}")
    _check_numbers(inner["threshold"], values)
    tree = Tree(n_features, n_classes.astype(np.intp, casting="no"), len(n_classes))
    arrays = {"nodes": nodes, "values": values}
    tree.__setstate__({"max_depth": depth, "node_count": len(nodes), **arrays})
    return tree


def _check_nodes(left, right, is_leaf, features, n_features):
    """Check that (n_nodes,) arrays link one tree, parents first; return its depth."""
    if left.ndim != 1:
        raise ValueError(f"the nodes of a tree have {left.ndim} dimensions")
    ids = np.arange(len(left))
    parents = np.tile(ids[~is_leaf], 2)
    children = np.concatenate([left[~is_leaf], right[~is_leaf]]).astype(np.int64)
    once = np.array_equal(np.sort(children), ids[1:])
    if not len(ids) or not once or (children <= parents).any():
        raise ValueError(
            "the nodes of a tree do not form one: each but the first must be the child "
            "of one node before it"
        )
    used = features[~is_leaf]
    if len(used) and not 0 <= used.min() <= used.max() < n_features:
        raise ValueError(f"a node of a tree reads feature {used.max()} of {n_features}")
    level, depth = ids[:1], -1
    while len(level):
        level = level[~is_leaf[level]]
        level, depth = np.concatenate([left[level], right[level]]), depth + 1
    return depth


def _check_numbers(thresholds, values):
    # Infinite where a node separates missing values from all others.
    if np.isnan(thresholds).any() or not np.isfinite(values).all():
        raise ValueError("a threshold or value of a tree is not a number")


def _decode_boosted(
    nodes: np.ndarray,
    binned_left_cat_bitsets: np.ndarray,
    raw_left_cat_bitsets: np.ndarray,
) -> Any:
    from ._checked_tree import CheckedTreePredictor

    bitsets = binned_left_cat_bitsets.copy(), raw_left_cat_bitsets.copy()
    tree = CheckedTreePredictor(nodes.copy(), *bitsets)
    nodes, is_leaf = tree.nodes, tree.nodes["is_leaf"] != 0
    features = nodes["feature_idx"]
    _check_nodes(nodes["left"], nodes["right"], is_leaf, features, np.inf)
    _check_numbers(nodes["num_threshold"][~is_leaf], nodes["value"])
    rows = nodes["bitset_idx"][~is_leaf & (nodes["is_categorical"] != 0)]
    n_bitsets = int(rows.max()) + 1 if len(rows) else 0
    for bitset in bitsets:
        shape = bitset.shape
        if len(shape) != 2 or shape[0] < n_bitsets or shape[1] != _BITSET_WORDS:
            raise ValueError(f"a tree has sets of categories of shape {shape}")
    return tree


def _encode_spline(spline):
    # Copies, as in a loaded spline: splines of one transformer share their knots.
    numbers = {"k": spline.k, "axis": spline.axis, "extrapolate": spline.extrapolate}
    return {"t": spline.t.copy(), "c": spline.c.copy(), **numbers}


def _decode_spline(
    t: np.ndarray, c: np.ndarray, k: int, axis: int, extrapolate: bool | str
) -> Any:
    from scipy.interpolate import BSpline

    if not (t.dtype == c.dtype == np.float64 and np.isfinite(c).all()):
        raise ValueError("the knots or coefficients of a spline are not numbers")
    # The constructor checks the knots and the shapes.
    return BSpline(t.copy(), c.copy(), k, extrapolate=extrapolate, axis=axis)


# Before scikit-learn 1.7, the first module names itself "_loss".
_LOSSES = ["sklearn._loss._loss", "sklearn.linear_model._sgd_fast", "_loss"]


def _encode_loss(loss):
    constructor, arguments, *_ = loss.__reduce__()
    parameters = arguments if isinstance(constructor, type) else ()
    return {"loss": type(loss).__name__, "parameters": list(parameters)}


def _decode_loss(loss: str, parameters: list) -> Any:
    for module in map(import_module, _LOSSES[:2]):
        kind = vars(module).get(loss)
        if isinstance(kind, type) and kind.__module__ in _LOSSES:
            return kind(*map(float, parameters))
    raise ValueError(f"there is no loss {loss!r}")


_BOOSTED = attributes("nodes", "binned_left_cat_bitsets", "raw_left_cat_bitsets")
_BOOSTED_TREES = [
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sk_metaembed.persistence._checked_tree.CheckedTreePredictor",
]
# In the form of `_codecs`.
CODECS = {
    "tree": (["sklearn.tree._tree.Tree"], _encode_tree, _decode_tree),
    "boosted tree": (_BOOSTED_TREES, _BOOSTED, _decode_boosted),
    "spline": (["scipy.interpolate._bsplines.BSpline"], _encode_spline, _decode_spline),
    "loss": (_LOSSES, _encode_loss, _decode_loss),
}
