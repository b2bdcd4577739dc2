"""Locks that a forked child does not inherit from threads that it does not have."""

import os
import threading
from contextlib import suppress
from weakref import WeakSet

_locks: WeakSet["ForkSafeLock"] = WeakSet()


class ForkSafeLock:
    """A reentrant lock, a context manager, that is free in a forked child.

    A thread of the parent may hold a lock at the fork. It does not exist in the child,
    where a plain lock would never be released.
    """

    def __init__(self):
        self._reset()
        _locks.add(self)

    def _reset(self):
        self._lock = threading.RLock()

    def __enter__(self):
        self._lock.acquire()

    def __exit__(self, *error):
        with suppress(RuntimeError):  # this thread forked while it held the lock
            self._lock.release()


def _reset_after_fork():
    for lock in list(_locks):
        lock._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
