"""Cache of the files and models that a process holds open, shared by their users."""

import threading
from collections import deque
from weakref import WeakSet, WeakValueDictionary

_caches: WeakSet["HandleCache"] = WeakSet()


class HandleCache:
    """Handles by key: all that are in use, and the last few that were.

    Workers and the candidates of a search drop a handle and request it again, so the
    `maxsize` most recently used handles stay open without a user.
    """

    def __init__(self, maxsize):
        self._lock = threading.RLock()
        self._maxsize = maxsize
        self.clear()
        _caches.add(self)

    def get(self, key, make):
        """Return the handle of a key, created by ``make()`` if there is none."""
        with self._lock:
            handle = self._in_use.get(key)
            if handle is None:
                handle = self._in_use[key] = make()
            if not any(handle is other for other in self._recent):
                self._recent.append(handle)
            return handle

    def find(self, key):
        """Return the handle of a key, or None."""
        with self._lock:
            return self._in_use.get(key)

    def clear(self):
        """Drop all cached handles."""
        with self._lock:
            self._in_use = WeakValueDictionary()
            self._recent = deque(maxlen=self._maxsize)

    def drop_unused(self):
        """Drop the handles that nobody uses."""
        with self._lock:
            self._recent.clear()


def drop_unused_handles():
    """Drop the handles that nobody uses from all caches, which closes their files."""
    for cache in list(_caches):
        cache.drop_unused()
