"""Locks between processes: files that only one process can lock at a time."""

import os
from contextlib import contextmanager, suppress

from ._atomic import errors_of_folder


def lock_file(path, *, wait):
    """Return a held `filelock.FileLock` on a path, which `release_lock` ends.

    None if another process holds it, unless `wait`.
    """
    import filelock

    # All users may open it, so that one can wait for another.
    lock = filelock.FileLock(path, mode=0o666, thread_local=False)
    try:
        return lock.acquire(blocking=wait).lock
    except filelock.Timeout:
        return None


def release_lock(lock):
    """Release a lock, and remove its file.

    A process that waits for it notices that the file is gone, and creates another one.
    Windows does not remove an open file.
    """
    with suppress(OSError):
        os.unlink(lock.lock_file)
    lock.release()


@contextmanager
def exclusive_lock(target):
    """Hold a lock file next to the target. Only one process can hold it at a time.

    The directory of the target is created if it is missing.
    """
    with errors_of_folder(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = lock_file(target.with_name(f".{target.name}.lock"), wait=True)
    try:
        yield
    finally:
        release_lock(lock)
