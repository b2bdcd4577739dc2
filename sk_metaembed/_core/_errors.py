"""Error messages: values as text, and the public name that a message begins with."""

from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from ._sklearn import InvalidParameterError

_PACKAGE = __name__.partition(".")[0]
_LONGEST = 60  # characters of a value
_LONGEST_PARAMETER = 100
_Function = TypeVar("_Function", bound=Any)


def short_repr(value):
    """Return the repr of a value, cut to 60 characters; NumPy numbers as plain ones.

    >>> short_repr(np.float64(1.5)), len(short_repr("a" * 99))
    ('1.5', 60)
    """
    text = repr(value.item() if isinstance(value, np.number) else value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def plural(n, noun):
    """Return a number with a noun in the singular or plural.

    >>> plural(1, "tag"), plural(2, "tag")
    ('1 tag', '2 tags')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def prefix_errors(function: _Function) -> _Function:
    """Prefix the errors of a function with its name, and of a method with its class.

    Only errors that this package raises itself are named, by the innermost decorated
    call, so that helpers need not know who calls them. Costs 0.3 microseconds per call.
    """
    is_method = "." in function.__qualname__.rpartition("<locals>.")[2]

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            name = function.__name__
            if is_method:
                cls = args[0] if isinstance(args[0], type) else type(args[0])
                name = cls.__name__
            if isinstance(error, ModuleNotFoundError):
                _name_package(error, name)
            if isinstance(error, InvalidParameterError):
                _shorten_value(error)
            _add_prefix(error, name)
            raise

    return call  # type: ignore[return-value]


class NamedErrorsMixin:
    """Name the class in the errors of the public methods of all subclasses.

    Long values of invalid parameters are cut.
    """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for name, value in list(vars(cls).items()):
            if name.startswith("_"):
                continue
            if isinstance(value, classmethod):
                setattr(cls, name, classmethod(prefix_errors(value.__func__)))
            elif callable(value) and not isinstance(value, type | staticmethod):
                setattr(cls, name, prefix_errors(value))


@contextmanager
def prefix_input_errors(name):
    """Put the name of an input into errors raised inside, after the caller's."""
    try:
        yield
    except Exception as error:
        _add_prefix(error, name, is_last=False)
        raise


def _name_package(error, name):
    """Say in an ImportError what requires the missing package."""
    package = str(error.name).partition(".")[0]
    if error.msg == f"No module named {error.name!r}":
        error.msg = (
            f"{name} requires the package {package!r}, which is not installed: "
            f"pip install {package}."
        )


def _shorten_value(error):
    """Cut a long value in scikit-learn's message about an invalid parameter."""
    head, got, value = str(error).partition(" Got ")
    value = value.removesuffix(" instead.")
    if len(value) > _LONGEST_PARAMETER:
        shown = " ".join(value[:_LONGEST_PARAMETER].split())
        error.args = (f"{head}{got}{shown}... instead.",)


def _add_prefix(error, name, is_last=True):
    """Put a name in front of the message, unless another package wrote it."""
    traceback = error.__traceback__
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    module = traceback.tb_frame.f_globals.get("__name__", "")
    message = error.args[0] if len(error.args) == 1 else None
    is_own = module.partition(".")[0] == _PACKAGE and isinstance(message, str)
    if is_own and not hasattr(error, "_sk_metaembed_named"):
        if is_last:
            error._sk_metaembed_named = True
        if not message.startswith(name):
            error.args = (f"{name}: {message}",)


def check_choice(value, allowed, name):
    """Raise a ValueError if the value of a parameter is not one of those allowed."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {tuple(allowed)}; got {value!r}.")
