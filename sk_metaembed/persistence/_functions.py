"""Functions are saved by name, and imported again only if they are trusted."""

from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType

import numpy as np

from ._codecs import MalformedEntryError, Placeholder, entry

_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodDescriptorType, type(np.mean))


def encode_function(value, where, copy):
    """Return a Placeholder for a function, partial or scorer, else NotImplemented.

    Raises TypeError for a function that cannot be imported by its name.
    """
    if type(value) is partial:
        return Placeholder(
            "partial",
            function=copy(value.func, where),
            args=copy(list(value.args), where),
            kwargs=copy(dict(value.keywords), where),
        )
    scorer = _scorer_name(value)
    if scorer is not None:
        return Placeholder("scorer", name=scorer)
    if isinstance(value, MethodType):
        raise TypeError(
            f"{where} is {value.__func__.__qualname__}, a bound method; only functions "
            "of modules can be saved. Define a function at the top level of a module "
            "that calls it."
        )
    if not isinstance(value, _FUNCTIONS):
        return NotImplemented
    module, name = _module_of(value), getattr(value, "__qualname__", value.__name__)
    _check_importable(value, module, name, where)
    return Placeholder("function", module=module, name=name)


def _module_of(function):
    if isinstance(function, MethodDescriptorType):
        return function.__objclass__.__module__
    return function.__module__ or "builtins"


def _check_importable(function, module, name, where):
    what = f"{where} is the function {name!r} of {module}"
    hint = "Define it at the top level of a module that can be imported."
    if "<lambda>" in name:
        raise TypeError(
            f"{where} is a lambda, which cannot be imported by name; code is not "
            f"saved. {hint}"
        )
    if module == "__main__":
        raise TypeError(f"{what}, the running script, which cannot be imported. {hint}")
    try:
        imported = import_object(module, name)
    except (ImportError, AttributeError):
        imported = None
    if imported is not function:
        raise TypeError(f"{what}, which cannot be imported by that name. {hint}")


def import_object(module, name):
    """Return the object with a qualified name in a module, which is imported."""
    target = import_module(module)
    for part in name.split("."):
        target = getattr(target, part)
    return target


def function_name(content):
    """Return the name by which a function or class is trusted."""
    return f"{entry(content, 'module', str)}.{entry(content, 'name', str)}"


def imported(content):
    """Return the object of a trusted name; importing its module runs the module."""
    return import_object(entry(content, "module", str), entry(content, "name", str))


def decode_function(content):
    """Return a trusted function."""
    function = imported(content)
    if isinstance(function, type) or not callable(function):
        raise MalformedEntryError(f"{function_name(content)} is not a function")
    return function


def decode_partial(content):
    """Return a partial of a trusted function."""
    function = entry(content, "function", *_FUNCTIONS, partial)
    return partial(
        function, *entry(content, "args", list), **entry(content, "kwargs", dict)
    )


def _scorer_name(value):
    if type(value).__module__ != "sklearn.metrics._scorer":
        return None
    content = type(value), vars(value)
    with suppress(ValueError):  # comparing arguments that are arrays
        return next((n for n, known in _scorers().items() if known == content), None)


@cache
def _scorers():
    from sklearn.metrics import get_scorer, get_scorer_names

    scorers = {name: get_scorer(name) for name in get_scorer_names()}
    return {name: (type(scorer), vars(scorer)) for name, scorer in scorers.items()}


def decode_scorer(content):
    """Return the scorer that scikit-learn has under a name."""
    from sklearn.metrics import get_scorer

    return get_scorer(entry(content, "name", str))
