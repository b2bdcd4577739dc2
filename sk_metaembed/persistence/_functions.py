"""Functions are saved by name, and imported again only if they are trusted."""

from contextlib import suppress
from functools import partial
from importlib import import_module
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType

import numpy as np

from ._codecs import MalformedEntryError, UnsavableError, entry

_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodDescriptorType, type(np.mean))


def encode_function(value):
    """Return kind and content of a function, partial or scorer, else None.

    Raises UnsavableError for a function that cannot be imported by its name.
    """
    if type(value) is partial:
        content = {"function": value.func, "args": list(value.args)}
        return "partial", {**content, "kwargs": value.keywords}
    scorer = _scorer_name(value)
    if scorer is not None:
        return "scorer", {"scorer": scorer}
    if isinstance(value, MethodType):
        raise UnsavableError(
            f"is {value.__func__.__qualname__}, a bound method; only functions of "
            "modules can be saved. Define a function at the top level of a module that "
            "calls it."
        )
    if not isinstance(value, _FUNCTIONS):
        return None
    module, name = _module_of(value), getattr(value, "__qualname__", value.__name__)
    _check_importable(value, module, name)
    return "function", {"module": module, "name": name}


def _module_of(function):
    if isinstance(function, MethodDescriptorType):
        return function.__objclass__.__module__
    return function.__module__ or "builtins"


def _check_importable(function, module, name):
    what = f"is the function {name!r} of {module}"
    hint = "Define it at the top level of a module that can be imported."
    if "<lambda>" in name:
        raise UnsavableError(
            f"is a lambda, which cannot be imported by name; code is not saved. {hint}"
        )
    if module == "__main__":
        raise UnsavableError(
            f"{what}, the running script, which cannot be imported. {hint}"
        )
    found = None
    with suppress(ImportError, AttributeError):
        found = import_object(module, name)
    if found is not function:
        raise UnsavableError(f"{what}, which cannot be imported by that name. {hint}")


def import_object(module, name):
    """Return the object with a qualified name in a module, which is imported."""
    target = import_module(module)
    for part in name.split("."):
        target = getattr(target, part)
    return target


def full_name(content):
    """Return the name by which a function or class is trusted."""
    return f"{entry(content, 'module', str)}.{entry(content, 'name', str)}"


def imported_class(content, base=object):
    """Return a trusted class, a subclass of `base`; its module is imported."""
    cls = import_object(content["module"], content["name"])
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise MalformedEntryError(f"{full_name(content)} is not a class of its kind")
    return cls


def _decode_function(content):
    function = import_object(content["module"], content["name"])
    if isinstance(function, type) or not callable(function):
        raise MalformedEntryError(f"{full_name(content)} is not a function")
    return function


def _decode_partial(content):
    function = entry(content, "function", *_FUNCTIONS, np.ufunc, partial)
    args, kwargs = entry(content, "args", list), entry(content, "kwargs", dict)
    return partial(function, *args, **kwargs)


def _scorer_name(value):
    if type(value).__module__ != "sklearn.metrics._scorer":
        return None
    from sklearn.metrics import get_scorer, get_scorer_names

    for name in get_scorer_names():
        known = get_scorer(name)
        with suppress(ValueError):  # comparing arguments that are arrays
            if type(known) is type(value) and vars(known) == vars(value):
                return name
    return None


def _decode_scorer(content):
    from sklearn.metrics import get_scorer

    return get_scorer(entry(content, "scorer", str))


DECODERS = {
    "function": _decode_function,
    "partial": _decode_partial,
    "scorer": _decode_scorer,
}
