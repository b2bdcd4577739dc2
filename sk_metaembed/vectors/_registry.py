"""One handle a store a process, so that all who use it share one map."""

import os

from ..sequences._handles import Handles
from ._cache import default_root
from ._layout import is_store, read_meta

_handles = Handles(keep=16)


def handle_of(path, make):
    """Return the process's handle on a store, made by ``make(path, meta)`` if new."""
    path = os.path.realpath(path)
    meta = read_meta(path)
    return _handles.get((path, meta["fingerprint"]), lambda: make(path, meta))


def reopen(path, fingerprint, make):
    """Return the handle that a pickle or a file of skops refers to.

    A store that is no longer at its path is looked for, under its own name, in the
    cache directory of this process, so that a file may cross machines.

    Raises
    ------
    FileNotFoundError
        If the store is in neither place.
    ValueError
        If what is there has another fingerprint.
    """
    handle = _handles.find((path, fingerprint))
    if handle is not None:
        return handle
    other = os.path.join(default_root(), os.path.basename(path))
    found = [place for place in (path, other) if is_store(place)]
    for place in found:
        if read_meta(place)["fingerprint"] == fingerprint:
            return handle_of(place, make)
    if found:
        raise ValueError(
            f"The word vectors saved here had fingerprint {fingerprint}, but the "
            f"store at {found[0]} now has {read_meta(found[0])['fingerprint']}: it was "
            f"made from something else. Bring back the directory that was there."
        )
    raise FileNotFoundError(
        f"Saved models hold word vectors by reference, and the store is missing: "
        f"the directory {path} (fingerprint {fingerprint}). Bring it to that place, or "
        f"put it at {other}."
    )
