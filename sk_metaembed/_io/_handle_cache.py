"""Cache of the files and models that a process holds open, shared by their users."""

from collections import OrderedDict
from weakref import WeakSet, WeakValueDictionary

from ._fork_safe_lock import fork_safe_lock

_caches: WeakSet["HandleCache"] = WeakSet()


class HandleCache:
    """Handles by key: all that are in use, and the last few that were.

    Workers and the candidates of a search drop a handle and request it again, so the
    `maxsize` most recently requested handles stay open without a user.
    """

    def __init__(self, maxsize):
        self._lock = fork_safe_lock()  # never held while a handle is created
        self._maxsize = maxsize
        self.clear()
        _caches.add(self)

    def get(self, key, make):
        """Return the handle of a key, created by ``make()`` if there is none.

        Threads that request a key while its handle is created wait for it; those that
        request other keys do not.
        """
        with self._lock:
            handle = self.find(key)
            if handle is not None:
                return handle
            creating = self._creating.setdefault(key, fork_safe_lock())
        with creating:
            handle = self.find(key)  # another thread may have created it meanwhile
            return self._add(key, make()) if handle is None else handle

    def _add(self, key, handle):
        with self._lock:
            self._in_use[key] = handle
            self.find(key)
        return handle

    def find(self, key):
        """Return the handle of a key, or None."""
        with self._lock:
            handle = self._in_use.get(key)
            if handle is not None:
                self._recent[key] = handle
                self._recent.move_to_end(key)
                while len(self._recent) > self._maxsize:
                    self._recent.popitem(last=False)
            return handle

    def clear(self):
        """Drop all cached handles."""
        with self._lock:
            self._in_use = WeakValueDictionary()
            self._recent = OrderedDict()
            # A lock lives as long as a thread holds it or waits for it.
            self._creating = WeakValueDictionary()

    def drop_unused(self):
        """Drop the handles that are not in use."""
        with self._lock:
            self._recent.clear()


def drop_unused_handles():
    """Drop unused handles from all caches, which closes their files."""
    for cache in list(_caches):
        cache.drop_unused()
