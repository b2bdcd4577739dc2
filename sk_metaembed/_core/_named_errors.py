"""Errors that begin with the name of the public function or class that raises them."""

from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

_PACKAGE = __name__.partition(".")[0]


_Function = TypeVar("_Function", bound=Any)


def names_errors(function: _Function) -> _Function:
    """Begin the errors of a public function with its name, of a method with its class.

    Only errors that this package raises itself are named, by the innermost decorated
    call, so that helpers need not know who calls them. Costs 0.3 microseconds per call.

    >>> @names_errors
    ... def halve(n):
    ...     return n / 2
    >>> halve(4)
    2.0
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
            _begin_with(error, name)
            raise

    return call  # type: ignore[return-value]


class NamedErrorsMixin:
    """Name the class in the errors of the public methods of all subclasses."""

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        name_errors_of_methods(cls)


def name_errors_of_methods(cls):
    """Name a class in the errors of its public methods."""
    for name, value in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        if isinstance(value, classmethod):
            setattr(cls, name, classmethod(names_errors(value.__func__)))
        elif callable(value) and not isinstance(value, type | staticmethod):
            setattr(cls, name, names_errors(value))


@contextmanager
def errors_of_input(name):
    """Begin the errors that are raised inside with the name of an input.

    The name of the public function or class still comes before it.

    >>> from sk_metaembed.sequences import check_texts
    >>> with errors_of_input("X_val"):
    ...     check_texts([3])
    Traceback (most recent call last):
        ...
    TypeError: X_val: row 0 is of type int: 3. Every row must be a str or ...
    """
    try:
        yield
    except Exception as error:
        _begin_with(error, name, is_last=False)
        raise


def _name_package(error, name):
    """Replace Python's message on a missing package by what requires it."""
    package = str(error.name).partition(".")[0]
    if error.msg == f"No module named {error.name!r}":
        error.msg = (
            f"{name} requires the package {package!r}, which is not installed: "
            f"pip install {package}."
        )


def _begin_with(error, name, is_last=True):
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
