"""Trees, splines and losses of scikit-learn, whose classes are compiled.

The numbers of trees and splines are not checked; see SECURITY.md.
"""

from importlib import import_module

from ._codecs import attributes


def _encode_tree(tree):
    _, arguments, state = tree.__reduce__()
    return {"arguments": list(arguments), "state": state}


def _decode_tree(arguments, state):
    from sklearn.tree._tree import Tree

    tree = Tree(*arguments)
    tree.__setstate__(state)
    return tree


def _decode_boosted(**arrays):
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    return TreePredictor(**arrays)


def _decode_spline(**content):
    from scipy.interpolate import BSpline

    return BSpline(**content)


# Before scikit-learn 1.7, the first module names itself "_loss".
_LOSSES = ["sklearn._loss._loss", "sklearn.linear_model._sgd_fast", "_loss"]


def _encode_loss(loss):
    constructor, arguments, *_ = loss.__reduce__()
    parameters = arguments if isinstance(constructor, type) else ()
    return {"loss": type(loss).__name__, "parameters": list(parameters)}


def _decode_loss(loss, parameters):
    for module in map(import_module, _LOSSES[:2]):
        kind = vars(module).get(loss)
        if isinstance(kind, type) and kind.__module__ in _LOSSES:
            return kind(*map(float, parameters))
    raise ValueError(f"there is no loss {loss!r}")


_BOOSTED = attributes("nodes", "binned_left_cat_bitsets", "raw_left_cat_bitsets")
_BOOSTED_TREES = ["sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"]
_SPLINES = ["scipy.interpolate._bsplines.BSpline"]
_SPLINE = attributes("t", "c", "k", "extrapolate", "axis")
# In the form of `_codecs`.
CODECS = {
    "tree": (["sklearn.tree._tree.Tree"], _encode_tree, _decode_tree, "arguments"),
    "boosted tree": (_BOOSTED_TREES, _BOOSTED, _decode_boosted),
    "spline": (_SPLINES, _SPLINE, _decode_spline),
    "loss": (_LOSSES, _encode_loss, _decode_loss, "parameters"),
}
