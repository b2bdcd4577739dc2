"""Copy a graph of plain objects, with some of them replaced."""

from collections import OrderedDict, defaultdict

import numpy as np
from sklearn.utils import Bunch

from ._codecs import Placeholder

_ATOMS = (type(None), bool, int, float, str)
_HEAP_TYPE = 1 << 9  # CPython's flag of types that are defined in Python
_DICTS = (dict, OrderedDict, Bunch)
ROOT = "the estimator"


class GraphCopier:
    """Copy all that is reachable from an object, without modifying it.

    An object that occurs twice is copied once, so that shared objects stay shared.

    Parameters
    ----------
    replace : callable
        Called with an object, its place and this copier. Returns a replacement, or
        NotImplemented for a copy whose parts are visited in turn.
    """

    def __init__(self, replace):
        self._replace = replace
        self._done = {}
        self._open = set()

    def __call__(self, value, where=ROOT):
        """Return the copy of an object; `where` names its place in error messages."""
        if type(value) in _ATOMS:
            return value
        key = id(value)
        if key in self._done:
            return self._done[key][1]
        if key in self._open:
            raise TypeError(
                f"{where} has a circular reference; only a pickle can save such an "
                "object."
            )
        self._open.add(key)
        new = self._replace(value, where, self)
        if new is NotImplemented:
            new = self._copy(value, where)
        self._open.discard(key)
        self._done[key] = value, new  # a reference keeps the id from being reused
        return new

    def _copy(self, value, where):
        """Return a copy with each part copied, or an object without parts as it is."""
        kind = type(value)
        if kind in _DICTS:
            new = kind()
            new.update({key: self(item, where) for key, item in value.items()})
            return new
        if kind is list:
            return [self(item, _item_place(item, where)) for item in value]
        if isinstance(value, tuple):
            parts = [self(item, where) for item in value]
            return kind(*parts) if hasattr(kind, "_fields") else tuple(parts)
        if isinstance(value, np.ndarray):
            return self._copy_array(value, where)
        return self.copy_object(value, where) if is_plain_object(value) else value

    def copy_object(self, value, where, *, skip=()):
        """Return a plain object with its attributes copied, except those in `skip`."""
        new = object.__new__(type(value))
        for name, item in saved_attributes(value).items():
            if name not in skip:
                new.__dict__[name] = self(item, attribute_place(value, name, where))
        return new

    def _copy_array(self, array, where):
        if array.dtype != object:
            return array
        new = np.array(array, copy=True, subok=True)
        data = new.data if isinstance(new, np.ma.MaskedArray) else new
        for index in np.ndindex(data.shape):
            data[index] = self(data[index], where)
        return new


def saved_attributes(value):
    """Return the attributes of a plain object as files contain them, by name.

    A class with a method `_saved_attributes` leaves some out.
    """
    if hasattr(type(value), "_saved_attributes"):
        return value._saved_attributes()
    return vars(value)


def attribute_place(owner, name, where=ROOT):
    """Return how error messages name an attribute of an object at a place."""
    if isinstance(owner, Placeholder):
        return where
    kind = type(owner).__name__
    is_parameter = has_parameters(owner) and name.strip("_") == name
    if not is_parameter:
        return _inside(where, f"attribute {name!r} of {kind}")
    return _inside(where, f"{name}= of {kind}")


def _item_place(item, where):
    """Return the place of an item of a list: the name of a step, or the list's."""
    named = isinstance(item, tuple) and len(item) > 1 and type(item[0]) is str
    if not (named and has_parameters(item[1])):
        return where
    outer, _, _ = where.rpartition(", ")  # replaces "steps= of Pipeline"
    return _inside(outer or ROOT, f"step {item[0]!r}")


def _inside(where, place):
    return place if where == ROOT else f"{where}, {place}"


def iter_parts(value, where):
    """Yield (part, place) for each direct part of an object at a place."""
    if isinstance(value, dict):
        for pair in value.items():
            yield from ((part, where) for part in pair)
    elif isinstance(value, list | tuple):
        yield from ((part, _item_place(part, where)) for part in value)
    elif isinstance(value, np.ndarray) and value.dtype == object:
        yield from ((part, where) for part in value.flat)
    elif is_plain_object(value):
        for name, part in saved_attributes(value).items():
            yield part, attribute_place(value, name, where)


def has_parameters(value):
    """Return whether a value is an estimator or has its interface."""
    return hasattr(value, "get_params") and not isinstance(value, type)


def is_plain_object(value):
    """Return whether an object consists of its class and its attributes alone."""
    kind = type(value)
    inherited = (
        kind.__reduce_ex__ is object.__reduce_ex__
        and kind.__reduce__ is object.__reduce__
        and kind.__new__ is object.__new__
    )
    builtin = isinstance(value, type | dict | list | set | tuple | str | defaultdict)
    in_python = kind.__flags__ & _HEAP_TYPE
    return inherited and in_python and not builtin and hasattr(value, "__dict__")
