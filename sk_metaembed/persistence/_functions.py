"""Functions go into files by name, and come back if they are trusted."""

from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType

import numpy as np

from ._codecs import StandIn, Untold, part

_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodDescriptorType, type(np.mean))


def named(thing, where, rewrite):
    """Return a stand-in for something that can be called.

    Raises
    ------
    TypeError
        If it cannot be found again by a name; says of which parameter it is.
    """
    if type(thing) is partial:
        parts = {"args": list(thing.args), "kwargs": dict(thing.keywords)}
        told = {name: rewrite(value, where) for name, value in parts.items()}
        return StandIn("partial", function=rewrite(thing.func, where), **told)
    scorer = _scorer_name(thing)
    if scorer is not None:
        return StandIn("scorer", name=scorer)
    if isinstance(thing, MethodType):
        raise TypeError(
            f"{where} is {thing.__func__.__qualname__}, a method bound to an object, "
            "and only functions of modules can be saved. Write a function at the top "
            "level of a module that calls it."
        )
    if not isinstance(thing, _FUNCTIONS):
        return NotImplemented
    module, name = _home(thing), getattr(thing, "__qualname__", thing.__name__)
    _check_found(thing, module, name, where)
    return StandIn("function", module=module, name=name)


def _home(thing):
    if isinstance(thing, MethodDescriptorType):
        return thing.__objclass__.__module__
    return thing.__module__ or "builtins"


def _check_found(thing, module, name, where):
    what = f"{where} is the function {name!r} of {module}"
    todo = "Define it at the top level of a module that can be imported."
    if "<lambda>" in name:
        raise TypeError(
            f"{where} is a lambda, which has no name to be found by, and code does not "
            f"go into files. {todo}"
        )
    if module == "__main__":
        raise TypeError(f"{what}, the running script, which no one can import. {todo}")
    try:
        found = _found(module, name)
    except (ImportError, AttributeError):
        found = None
    if found is not thing:
        raise TypeError(f"{what}, which does not lead to it by that name. {todo}")


def _found(module, name):
    found = import_module(module)
    for step in name.split("."):
        found = getattr(found, step)
    return found


def function_name(content):
    """Return the name by which a function is trusted."""
    return f"{part(content, 'module', str)}.{part(content, 'name', str)}"


def function_of(content):
    """Return a function that is trusted: importing its module runs that module."""
    found = _found(part(content, "module", str), part(content, "name", str))
    if isinstance(found, type) or not callable(found):
        raise Untold(f"{function_name(content)} is no function")
    return found


def partial_of(content):
    """Return the function with its arguments."""
    function = part(content, "function", *_FUNCTIONS, partial)
    return partial(
        function, *part(content, "args", list), **part(content, "kwargs", dict)
    )


def _scorer_name(thing):
    if type(thing).__module__ != "sklearn.metrics._scorer":
        return None
    told = _told(thing)
    with suppress(ValueError):  # where its arguments are arrays
        return next((n for n, known in _scorers().items() if known == told), None)


@cache
def _scorers():
    from sklearn.metrics import get_scorer, get_scorer_names

    return {name: _told(get_scorer(name)) for name in get_scorer_names()}


def _told(scorer):
    return type(scorer), vars(scorer)


def scorer_of(content):
    """Return the scorer that scikit-learn knows by a name."""
    from sklearn.metrics import get_scorer

    return get_scorer(part(content, "name", str))
