"""Codecs of functions, types and objects, described by a name and by attributes.

A name is imported again only if it is trusted. No node calls a function, or chooses the
arguments of a constructor, except of named tuples, whose constructor stores them.
"""

from contextlib import suppress
from functools import partial
from importlib import import_module
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType

import numpy as np
from sklearn.base import BaseEstimator

from ._codecs import UnsavableError, instance_of

_FUNCTIONS = [FunctionType, BuiltinFunctionType, MethodDescriptorType, type(np.mean)]
_OPAQUE = ("lightgbm", "xgboost", "catboost", "sklearn")
# The id of the stop words that scikit-learn has checked; it checks them again.
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
    """Return the object with a qualified name in a module, which is imported."""
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
    return {"module": value.__module__, "name": value.__qualname__}


def import_class(module, name, base=object):
    """Return a trusted class, a subclass of `base`; its module is imported."""
    cls = _import(module, name)
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise ValueError(f"{module}.{name} is not a class of its kind")
    return cls


def _encode_tuple(value):
    return {**_encode_type(type(value)), "items": list(value)}


def _decode_tuple(module, name, items):
    return import_class(module, name, tuple)(*items)


def _is_opaque(value):
    """Return whether a value is a boosted or neighbors tree.

    It is saved as its library pickles it. This contains no code, but its own compiled
    code reads it: its class is never trusted by default.
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
    """Return whether an object consists of its class and its attributes alone."""
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


# In the form of `_codecs`; the first test that holds decides.
CODECS = {
    "function": ([*_FUNCTIONS, np.ufunc], _encode_function, _decode_function),
    "partial": ([partial], _encode_partial, _decode_partial, "args"),
    "type": (instance_of(type), _encode_type, import_class),
    "named tuple": (_is_named_tuple, _encode_tuple, _decode_tuple, "items"),
    "opaque": (_is_opaque, _encode_opaque, _decode_opaque),
    "object": (_is_plain_object, _encode_object, _decode_object, "names", "values"),
}
