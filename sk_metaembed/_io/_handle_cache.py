"""Handles: what a process opens once, for all that ask for the same."""

import threading
from collections import deque
from weakref import WeakValueDictionary


class Handles:
    """The handles of a process, one a key.

    Parameters
    ----------
    keep : int
        How many stay open without a user: workers and the candidates of a search drop
        a handle and ask for it again.
    """

    def __init__(self, keep):
        self._lock = threading.RLock()
        self._keep = keep
        self.forget()

    def get(self, key, make):
        """Return the handle behind a key, made by ``make()`` if it is new."""
        with self._lock:
            handle = self._living.get(key)
            if handle is None:
                handle = self._living[key] = make()
            if not any(handle is other for other in self._recent):
                self._recent.append(handle)
            return handle

    def find(self, key):
        """Return the handle behind a key, or None."""
        with self._lock:
            return self._living.get(key)

    def forget(self):
        """Be as in a process that has opened nothing."""
        with self._lock:
            self._living = WeakValueDictionary()
            self._recent = deque(maxlen=self._keep)
