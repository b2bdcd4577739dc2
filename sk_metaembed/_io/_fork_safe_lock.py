"""Locks that are free in a forked child, even if another thread held them."""

import os
import threading
from weakref import WeakSet

_locks: WeakSet = WeakSet()


def fork_safe_lock():
    """Return an RLock that is free in a forked child, unless the fork was within it.

    A thread of the parent may hold a lock at the fork. It does not exist in the child,
    where a plain lock would never be released. This is the lock itself and not a class
    around it: Ctrl-C can interrupt a ``__exit__`` written in Python before it releases.
    """
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _reset_after_fork():
    for lock in list(_locks):
        if not lock._is_owned():  # by the thread that forked, which exists
            lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
