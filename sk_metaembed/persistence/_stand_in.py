"""StandIn: what stands in a saved structure for something that is kept elsewhere."""

import numpy as np


class StandIn:
    """Inert data, of which `load` makes a thing once the whole file is checked.

    Parameters
    ----------
    kind : str
        What to make of it.
    **content : object
        What to make it from: plain values, arrays, and further stand-ins.
    """

    def __init__(self, kind, **content):
        self.kind = kind
        self.content = content

    def __repr__(self):
        return f"StandIn({self.kind!r})"


class Untold(Exception):  # noqa: N818 (never leaves this room)
    """A stand-in lacks an entry, or has one of another type."""


def part(content, name, *types):
    """Return an entry of a stand-in's content, of one of some types.

    Raises
    ------
    Untold
        If it is not there, or something else.
    """
    value = content.get(name)
    if not isinstance(value, types) or isinstance(value, bool) > (bool in types):
        raise Untold(f"the entry {name!r} is {type(value).__name__}")
    return value


def array_of(content, name, dtype=None, n_dims=1):
    """Return an array of a stand-in, checked.

    Raises
    ------
    Untold
        If it is none, or has another type or number of dimensions.
    """
    array = part(content, name, np.ndarray)
    if array.ndim != n_dims or (dtype is not None and array.dtype != dtype):
        raise Untold(f"the array {name!r} has {array.ndim} axes of {array.dtype}")
    return array
