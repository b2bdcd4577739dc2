"""Locks between processes: files that one process at a time has locked."""

import os
from contextlib import suppress


def lock_file(path, *, wait):
    """Return an open file that is locked for this process until it is closed.

    None if another process has locked it, unless `wait`, or removed it since it was
    opened here. On systems without such locks the file is only opened.
    """
    file = open(path, "ab")  # noqa: SIM115 - closed by the caller
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        return file
    with suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.stat(path), os.fstat(file.fileno())):
            return file
    file.close()
    return None
