"""Handle: an object that a process opens from files once and passes by reference."""

import os
import threading
from collections import OrderedDict
from weakref import WeakSet, WeakValueDictionary

_locks: WeakSet = WeakSet()
_caches: WeakSet["HandleCache"] = WeakSet()


def fork_safe_lock():
    """Return an RLock that is free in a forked child, unless its owner forked.

    A thread of the parent may hold a lock at the fork. It does not exist in the child,
    where a plain lock would never be released. The lock has no wrapper class, because
    Ctrl-C can interrupt an ``__exit__`` written in Python before the lock is released.
    """
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _reset_after_fork():
    for lock in list(_locks):
        if not lock._is_owned():  # the forking thread lives on
            lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


class HandleCache:
    """Cache handles by key: all handles in use, and the last few that were in use.

    Workers and the candidates of a search drop a handle and request it again, so the
    `maxsize` most recently requested handles stay open without a user.
    """

    def __init__(self, maxsize):
        self._lock = fork_safe_lock()
        self._maxsize = maxsize
        self._in_use = WeakValueDictionary()
        self._recent = OrderedDict()
        _caches.add(self)

    def get(self, key, make):
        """Return the handle of a key, created by ``make()`` if there is none."""
        with self._lock:
            handle = self._in_use.get(key)
            if handle is None:
                handle = self._in_use[key] = make()
            self._recent[key] = handle
            self._recent.move_to_end(key)
            while len(self._recent) > self._maxsize:
                self._recent.popitem(last=False)
            return handle

    def drop_unused(self):
        """Drop the handles that are not in use."""
        with self._lock:
            self._recent.clear()


def drop_unused_handles():
    """Drop unused handles from all caches, which closes their files."""
    for cache in list(_caches):
        cache.drop_unused()


class Handle:
    """A store or a model, opened once per process and shared by all its users.

    Copying returns the handle itself. A pickle or a saved file contains its class,
    `_spec` and `fingerprint`, by which it is opened again; a saved file may include its
    files.

    A subclass defines `_kind`, its name in messages; `_Spec`, a NamedTuple of a path or
    name and the options that change results; `_find`, `_files` and `_unpacked`; and it
    sets `_spec` and `fingerprint`, a digest of everything that results depend on. A
    subclass that is not opened from files (`LoadedModel`) overrides the callers of
    `_find` and `_unpacked`. A subclass is exported so that files can name it. All
    methods are private, because `WordVectors` is public. ``class Subclass(Handle,
    keep=...)`` states how many unused handles stay open.
    """

    __slots__ = ()

    def __init_subclass__(cls, keep=None, **options):
        super().__init_subclass__(**options)
        if keep is not None:
            cls._handles = HandleCache(keep)

    @classmethod
    def _find(cls, spec, local):
        """Return (spec, state, *parts), from which ``cls(spec, *parts)`` is opened.

        The spec is valid in any working directory; the state changes if the files
        change. Nothing is downloaded if `local`.
        """
        raise NotImplementedError

    def _files(self):
        """Return the files that a saved file may include, as Path or bytes by name."""
        raise NotImplementedError

    @classmethod
    def _unpacked(cls, spec, folder):
        """Return the spec of files that were unpacked to a folder."""
        raise NotImplementedError

    @classmethod
    def _reopen(cls, spec, fingerprint, *, local=False):
        """Return the handle of a pickle or a saved file; ValueError if it changed."""
        handle = shared_handle(cls, spec, local=local)
        if handle.fingerprint != fingerprint:
            raise cls._changed(spec[0], fingerprint, handle.fingerprint)
        return handle

    @classmethod
    def _changed(cls, place, expected, actual):
        return ValueError(
            f"The saved {cls._kind} had fingerprint {expected}, but the files at "
            f"{place} have {actual}: they changed. Restore the original files, or fit "
            "again."
        )

    def _reference(self):
        """Return what a saved file contains; {} if it must include the files."""
        return {**self._spec._asdict(), "fingerprint": self.fingerprint}

    @classmethod
    def _from_reference(cls, content, folder=None):
        """Return the handle that a saved file refers to, without a download.

        The files are in `folder` if the saved file included them.
        """
        names = [name for name in cls._Spec._fields if name in content]
        spec = cls._Spec(**{name: content[name] for name in names})
        if folder is not None:
            spec = cls._unpacked(spec, folder)
        return cls._reopen(spec, content["fingerprint"], local=True)

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return reopen, (type(self), self._spec, self.fingerprint)


def shared_handle(cls, spec, *, local=False):
    """Return the process's handle of a spec; a new one if its files changed.

    Nothing is downloaded if `local`. Raises FileNotFoundError if files are missing.
    """
    spec, state, *parts = cls._find(spec, local)
    return cls._handles.get((spec, state), lambda: cls(spec, *parts))


def reopen(cls, spec, fingerprint):
    """Return the handle of a pickle; cloudpickle would write a method by value."""
    return cls._reopen(spec, fingerprint)


def file_states(paths):
    """Return values that change when files are modified or replaced."""
    return tuple(map(_state, paths))


def _state(path):
    try:
        stat = os.stat(path)
    except OSError:  # the reader reports a missing file
        return os.fspath(path), None
    return os.fspath(path), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
