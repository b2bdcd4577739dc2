"""Copy a graph of plain objects, with some of them replaced."""

from collections import OrderedDict, defaultdict

import numpy as np
from sklearn.utils import Bunch

from ._codecs import StandIn

_ATOMS = (type(None), bool, int, float, str)
_WRITTEN_IN_PYTHON = 1 << 9  # CPython's flag of types on the heap
_DICTS = (dict, OrderedDict, Bunch)
ROOT = "the estimator"


class Rewriter:
    """Copies what is reachable from an object, and never writes into it.

    What is met twice is copied once, so that what was shared stays shared.

    Parameters
    ----------
    swap : callable
        Called with an object, where it was met, and this rewriter. Returns what goes in
        its place, or NotImplemented for a copy whose parts are looked at in turn.
    """

    def __init__(self, swap):
        self._swap = swap
        self._done = {}
        self._open = set()

    def __call__(self, thing, where=ROOT):
        """Return what an object becomes.

        Parameters
        ----------
        thing : object
        where : str
            Names the parameter or attribute, for error messages.
        """
        if type(thing) in _ATOMS:
            return thing
        key = id(thing)
        if key in self._done:
            return self._done[key][1]
        if key in self._open:
            raise TypeError(
                f"{where} refers back to itself, so it can be saved by pickle alone."
            )
        self._open.add(key)
        new = self._swap(thing, where, self)
        if new is NotImplemented:
            new = self.copy(thing, where)
        self._open.discard(key)
        self._done[key] = thing, new  # with what was met: its id stays its own
        return new

    def copy(self, thing, where):
        """Return a copy with each part rewritten, or what has no parts as it is."""
        kind = type(thing)
        if kind in _DICTS:
            new = kind()
            new.update({key: self(value, where) for key, value in thing.items()})
            return new
        if kind is list:
            return [self(value, _step_place(value, where)) for value in thing]
        if isinstance(thing, tuple):
            parts = [self(value, where) for value in thing]
            return kind(*parts) if hasattr(kind, "_fields") else tuple(parts)
        if isinstance(thing, np.ndarray):
            return self._array(thing, where)
        return self.attributes(thing, where) if is_plain_object(thing) else thing

    def attributes(self, thing, where, *, but=()):
        """Return a plain object with its attributes rewritten, some left out."""
        new = object.__new__(type(thing))
        for name, value in vars(thing).items():
            if name not in but:
                new.__dict__[name] = self(value, name_of(thing, name, where))
        return new

    def _array(self, array, where):
        if array.dtype != object:
            return array
        new = np.array(array, copy=True, subok=True)
        data = new.data if isinstance(new, np.ma.MaskedArray) else new
        for place in np.ndindex(data.shape):
            data[place] = self(data[place], where)
        return new


def name_of(thing, attribute, where=ROOT):
    """Return how error messages name an attribute, after the place of its owner."""
    if isinstance(thing, StandIn):
        return where
    kind = type(thing).__name__
    is_parameter = has_parameters(thing) and attribute.strip("_") == attribute
    if not is_parameter:
        return _inside(where, f"attribute {attribute!r} of {kind}")
    return _inside(where, f"{attribute}= of {kind}")


def _step_place(value, where):
    """Return the place of an entry of a list: its name, where it is a named step."""
    named = isinstance(value, tuple) and len(value) > 1 and type(value[0]) is str
    if not (named and has_parameters(value[1])):
        return where
    outer, _, _ = where.rpartition(", ")  # in place of "steps= of Pipeline"
    return _inside(outer or ROOT, f"step {value[0]!r}")


def _inside(where, place):
    return place if where == ROOT else f"{where}, {place}"


def parts_of(thing, where):
    """Yield what an object directly consists of, each with its place.

    Parameters
    ----------
    thing : object
    where : str
        Its own place.

    Yields
    ------
    part : object
    place : str
    """
    if isinstance(thing, dict):
        for pair in thing.items():
            yield from ((part, where) for part in pair)
    elif isinstance(thing, list | tuple):
        yield from ((part, _step_place(part, where)) for part in thing)
    elif isinstance(thing, np.ndarray) and thing.dtype == object:
        yield from ((part, where) for part in thing.flat)
    elif is_plain_object(thing):
        for name, part in vars(thing).items():
            yield part, name_of(thing, name, where)


def has_parameters(thing):
    """Tell whether something is an estimator, or like one."""
    return hasattr(thing, "get_params") and not isinstance(thing, type)


def is_plain_object(thing):
    """Tell whether an object is its class and its attributes, and nothing else."""
    kind = type(thing)
    inherited = (
        kind.__reduce_ex__ is object.__reduce_ex__
        and kind.__reduce__ is object.__reduce__
        and kind.__new__ is object.__new__
    )
    builtin = isinstance(thing, type | dict | list | set | tuple | str | defaultdict)
    written = kind.__flags__ & _WRITTEN_IN_PYTHON
    return inherited and written and not builtin and hasattr(thing, "__dict__")
