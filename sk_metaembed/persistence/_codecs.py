"""Codecs of values: how each kind of value is written and read.

A node of a saved structure is a kind and its content, a dictionary of atoms, references
to other nodes, and lists of these. The `encode` function of a kind returns the content
of a value, or None to leave it to `Encoder._array`, which encodes arrays and scalars of
NumPy and refuses anything else. The `decode` function takes the content with its
references resolved: its parameters are the names in the content. Lists are part of a
content; other containers become nodes of their own.

Functions, types and objects are described by a name and by attributes. A name is
imported again only if it is trusted. No node calls a function or chooses the arguments
of a constructor. The exception is named tuples, whose constructor only stores its
arguments.
"""

import json
import math
import os
from collections import OrderedDict, defaultdict
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType
from typing import Any

import numpy as np
from numpy.random import PCG64, Generator, RandomState
from scipy import sparse, stats
from scipy.stats._distn_infrastructure import rv_frozen, rv_generic
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from ._trust import module_of, saved_name


class UnsavableError(TypeError):
    """A value cannot be saved; the caller puts its place before the message."""


def instance_of(*types):
    """Return a function that tests for instances of types and of their subclasses."""
    return lambda value: isinstance(value, types)


def attributes(*names):
    """Return an encode function that stores attributes of the value."""
    return lambda value: {name: getattr(value, name) for name in names}


def _encode_items(value):
    return {"items": list(value)}


def _encode_set(value):
    """Return the items in an order that does not depend on the process."""
    return {"items": sorted(value, key=lambda item: (type(item).__name__, repr(item)))}


def _decode_items(kind):
    return lambda items: kind(items)


_DICTS = {kind.__name__: kind for kind in (dict, OrderedDict, defaultdict, Bunch)}


def _encode_dict(value):
    default = getattr(value, "default_factory", None)
    items = {"keys": list(value), "values": list(value.values())}
    return {"type": type(value).__name__, **items, "default": default}


def _decode_dict(type, keys, values, default):
    new = _DICTS[type]() if default is None else defaultdict(default)
    new.update(zip(keys, values, strict=True))
    return new


def _encode_bytes(value):
    return {"data": np.frombuffer(value, np.uint8)}


def _decode_bytes(kind):
    return lambda data: kind(data.astype(np.uint8, casting="no"))


def _decode_slice(start, stop, step):
    return slice(start, stop, step)


def _encode_text(value):
    return {"text": str(value)}


def _encode_path(value):
    return {"text": os.fspath(value)}


def _decode_zoned(text):
    from pandas import DatetimeTZDtype

    return DatetimeTZDtype.construct_from_string(text)


def _decode_text(kind):
    return lambda text: kind(text)


def dtype_text(dtype):
    """Return the text of a dtype without objects, for `decode_dtype`."""
    if dtype.names is None:
        return dtype.str
    return json.dumps(np.lib.format.dtype_to_descr(dtype))


def decode_dtype(dtype):
    """Return the dtype that a text names."""
    descr = json.loads(dtype) if dtype.startswith("[") else dtype
    new = np.lib.format.descr_to_dtype(descr)
    if new.hasobject:
        raise ValueError(f"the dtype {new} holds objects")
    return new


def array_bytes(array):
    """Return the bytes of an array or scalar, with zeros as padding."""
    data, used = array.tobytes("A"), _used_bytes(array.dtype)
    if used.all():
        return data
    cells = np.frombuffer(data, np.uint8).reshape(-1, len(used))
    return np.where(used, cells, np.uint8(0)).tobytes()


def _used_bytes(dtype):
    """Return which bytes of an item hold its value rather than padding."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return np.tile(_used_bytes(base), math.prod(shape))
    used = np.ones(dtype.itemsize, dtype=bool)
    if dtype.names is not None:
        used[:] = False
        for field, start, *_ in dtype.fields.values():
            used[start : start + field.itemsize] = _used_bytes(field)
    return used


def _encode_dtype(dtype):
    return None if dtype.hasobject else {"dtype": dtype_text(dtype)}


def _encode_objects(array):
    if array.dtype != object:
        return None
    return {"shape": list(array.shape), "items": list(array.flat)}


def _decode_objects(shape, items):
    return np.fromiter(items, object).reshape(shape)


def _decode_masked(data, mask):
    return np.ma.MaskedArray(data, mask)


_SPARSE = ("csr_array", "csr_matrix", "csc_array", "csc_matrix")
_is_sparse = instance_of(sparse.spmatrix, sparse.sparray)


def _encode_sparse(value):
    if value.format not in ("csr", "csc"):
        value = value.tocsr()
    kind = "matrix" if isinstance(value, sparse.spmatrix) else "array"
    arrays = {name: getattr(value, name) for name in ("data", "indices", "indptr")}
    shape = list(map(int, value.shape))
    return {"type": f"{value.format}_{kind}", "shape": shape, **arrays}


def _decode_sparse(type, shape, data, indices, indptr):
    if type not in _SPARSE:
        raise ValueError(f"there is no sparse {type!r}")
    return getattr(sparse, type)((data, indices, indptr), shape=tuple(shape))


def _encode_random(value):
    is_legacy = isinstance(value, RandomState)
    state = value.get_state(legacy=False) if is_legacy else value.bit_generator.state
    usual = "MT19937" if is_legacy else "PCG64"
    return {"state": state} if state["bit_generator"] == usual else None


def _decode_random(state):
    if state["bit_generator"] == "MT19937":
        new = RandomState(0)
        new.set_state(state)  # includes the number that `normal` keeps
        return new
    bits = PCG64(0)
    bits.state = state
    return Generator(bits)


def _encode_distribution(value):
    known = getattr(stats, value.dist.name, None)
    is_global = value.random_state is np.random.mtrand._rand
    if type(known) is not type(value.dist) or not is_global:
        raise UnsavableError(
            f"is the distribution {value.dist.name!r}, which is not one of "
            "scipy.stats or has its own random_state. Use one of scipy.stats without "
            "a random_state, or a list of values."
        )
    return {"name": value.dist.name, "args": list(value.args), "kwds": value.kwds}


def _decode_distribution(name, args, kwds):
    known = getattr(stats, name, None)
    if not isinstance(known, rv_generic):
        raise ValueError("scipy.stats has no distribution of that name")
    return known(*args, **kwds)


_FUNCTIONS = [FunctionType, BuiltinFunctionType, MethodDescriptorType, type(np.mean)]
_OPAQUE = ("lightgbm", "xgboost", "catboost", "sklearn")
# The id of the stop words that scikit-learn has checked. It is valid in one process, so
# scikit-learn checks loaded stop words again.
_OF_THE_PROCESS = {"_stop_words_id"}
_HEAP_TYPE = 1 << 9  # CPython's flag of types that are defined in Python


def _encode_function(value):
    """Return the name of a function; raise UnsavableError if it cannot be imported."""
    module, name = _module_of(value), getattr(value, "__qualname__", value.__name__)
    found, what = None, f"is the function {name!r} of {module}"
    with suppress(ImportError, AttributeError):
        found = _import(module, name)
    if found is value and module != "__main__":
        return {"module": module, "name": name}
    if "<lambda>" in name:
        reason = "is a lambda, which cannot be imported by name; code is not saved"
    elif module == "__main__":
        reason = f"{what}, the running script, which cannot be imported"
    else:
        reason = f"{what}, which cannot be imported by that name"
    raise UnsavableError(
        f"{reason}. Define it at the top level of a module that can be imported."
    )


def _module_of(function):
    if isinstance(function, MethodDescriptorType):
        return function.__objclass__.__module__
    if isinstance(function, np.ufunc):
        return "numpy" if hasattr(np, function.__name__) else "scipy.special"
    return function.__module__ or "builtins"


def _import(module, name):
    """Import a module and return its object with a qualified name."""
    target = import_module(module)
    for part in name.split("."):
        target = getattr(target, part)
    return target


def _decode_function(module, name):
    function = _import(module, name)
    if isinstance(function, type) or not callable(function):
        raise ValueError(f"{module}.{name} is not a function")
    return function


def _encode_partial(value):
    return {"function": value.func, "args": list(value.args), "kwds": value.keywords}


def _decode_partial(function, args, kwds):
    return partial(function, *args, **kwds)


def _encode_type(value):
    module, name = saved_name(value)
    return {"module": module, "name": name}


def import_class(module, name, base=object):
    """Import and return a trusted class, which is a subclass of `base`."""
    cls = _import(module_of(module, name), name)
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise ValueError(f"{module}.{name} is not a class of its kind")
    return cls


def _encode_tuple(value):
    return {**_encode_type(type(value)), "items": list(value)}


def _decode_tuple(module, name, items):
    return import_class(module, name, tuple)(*items)


def _is_opaque(value):
    """Return whether a value is a boosted or neighbors tree.

    It is saved as its library pickles it. The pickle contains no code, but compiled
    code of the library reads it, so the class is never trusted by default.
    """
    return (
        type(value).__module__.partition(".")[0] in _OPAQUE
        and hasattr(value, "__setstate__")
        and not isinstance(value, BaseEstimator)
    )


def _encode_opaque(value):
    return {**_encode_type(type(value)), "state": value.__getstate__()}


def _decode_opaque(module, name, state):
    if module.partition(".")[0] not in _OPAQUE:
        raise ValueError(f"{module}.{name} is not a class of {_OPAQUE}")
    cls = import_class(module, name)
    new = cls.__new__(cls)
    new.__setstate__(state)
    return new


def _is_named_tuple(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _is_plain_object(value):
    """Return whether an object consists only of its class and attributes."""
    kind = type(value)
    inherited = (
        kind.__reduce_ex__ is object.__reduce_ex__
        and kind.__reduce__ is object.__reduce__
        and kind.__new__ is object.__new__
    )
    return inherited and kind.__flags__ & _HEAP_TYPE and hasattr(value, "__dict__")


def _encode_object(value):
    cls = type(value)
    state = getattr(cls, "_saved_attributes", cls.__getstate__)(value) or {}
    if not isinstance(state, dict):
        return None
    if hasattr(cls, "_net_parts") and "net_" in state:
        plain, tensors = value._net_parts()
        arrays = {name: t.detach().cpu().numpy() for name, t in tensors.items()}
        state = {n: v for n, v in state.items() if n not in ("net_", "history_")}
        state["net_"] = [plain, arrays]
    state = {n: v for n, v in state.items() if n not in _OF_THE_PROCESS}
    names = {"names": list(state), "values": list(state.values())}
    return {**_encode_type(cls), **names}


def _decode_object(module, name, names, values):
    cls = import_class(module, name)
    new, state = cls.__new__(cls), dict(zip(names, values, strict=True))
    net = state.pop("net_", None) if hasattr(cls, "_set_net") else None
    if hasattr(new, "__setstate__"):
        new.__setstate__(state)
    else:
        new.__dict__.update(state)
    if net is not None:
        _set_net(new, *net)
    return new


def _set_net(estimator, plain, arrays):
    import torch

    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    estimator._set_net(plain, tensors)


# Trees, splines and losses of scikit-learn, whose classes are compiled. Their numbers
# are not checked; see SECURITY.md.


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

_ZONED = ["pandas.DatetimeTZDtype", "pandas.core.dtypes.dtypes.DatetimeTZDtype"]
# The test, encode and decode of each kind. A list as the test holds the exact types of
# values, or names of types or modules that are not imported here. Other tests are
# functions; a value has the first kind whose test is true.
CODECS: dict[str, tuple[Any, ...]] = {
    "list": ([list], _encode_items, _decode_items(list)),
    "tuple": ([tuple], _encode_items, _decode_items(tuple)),
    "set": ([set], _encode_set, _decode_items(set)),
    "frozenset": ([frozenset], _encode_set, _decode_items(frozenset)),
    "dict": (list(_DICTS.values()), _encode_dict, _decode_dict),
    "bytes": ([bytes], _encode_bytes, _decode_bytes(bytes)),
    "bytearray": ([bytearray], _encode_bytes, _decode_bytes(bytearray)),
    "slice": ([slice], attributes("start", "stop", "step"), _decode_slice),
    "path": (instance_of(os.PathLike), _encode_path, _decode_text(Path)),
    "text": ([np.str_], _encode_text, _decode_text(np.str_)),
    "dtype": (instance_of(np.dtype), _encode_dtype, decode_dtype),
    "objects": ([np.ndarray], _encode_objects, _decode_objects),
    "masked array": ([np.ma.MaskedArray], attributes("data", "mask"), _decode_masked),
    "sparse": (_is_sparse, _encode_sparse, _decode_sparse),
    "random": ([RandomState, Generator], _encode_random, _decode_random),
    "distribution": (
        instance_of(rv_frozen),
        _encode_distribution,
        _decode_distribution,
    ),
    "zoned dates": (_ZONED, _encode_text, _decode_zoned),
    "tree": (["sklearn.tree._tree.Tree"], _encode_tree, _decode_tree),
    "boosted tree": (_BOOSTED_TREES, _BOOSTED, _decode_boosted),
    "spline": (_SPLINES, _SPLINE, _decode_spline),
    "loss": (_LOSSES, _encode_loss, _decode_loss),
    "function": ([*_FUNCTIONS, np.ufunc], _encode_function, _decode_function),
    "partial": ([partial], _encode_partial, _decode_partial),
    "type": (instance_of(type), _encode_type, import_class),
    "named tuple": (_is_named_tuple, _encode_tuple, _decode_tuple),
    "opaque": (_is_opaque, _encode_opaque, _decode_opaque),
    "object": (_is_plain_object, _encode_object, _decode_object),
}
