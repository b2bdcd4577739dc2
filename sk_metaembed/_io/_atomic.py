"""Atomic writes: a file appears complete in its place, or nothing changes."""

import contextlib
import errno
import os
import secrets
from pathlib import Path

from ._handle_cache import drop_unused_handles


@contextlib.contextmanager
def atomic_path(target):
    """Yield a temporary path that replaces `target`, in the same directory, on success.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with atomic_path(Path(folder, "words.txt")) as part:
    ...         _ = part.write_text("tea")
    ...         print([path.name for path in Path(folder).glob("*.txt")])
    ...     print([path.name for path in Path(folder).iterdir()])
    []
    ['words.txt']
    """
    part = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        yield part
        replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def replace(source, target):
    """Move a file or directory to a path, where an existing file is replaced.

    Windows refuses this while any process has a file open or mapped. Files that this
    process keeps open for later use are closed; for others, the error says so.
    """
    try:
        os.replace(source, target)
    except PermissionError:
        drop_unused_handles()
    else:
        return
    try:
        os.replace(source, target)
    except PermissionError as error:
        existing = target if os.path.exists(target) else source
        raise PermissionError(
            error.errno,
            "The existing file cannot be replaced. Close it in all programs (on "
            "Windows, arrays and stores that are mapped from it, too), or pass a "
            "different path",
            os.fspath(existing),
        ) from error


@contextlib.contextmanager
def atomic_write(target):
    """Yield a binary file that replaces `target` once it is on the disk.

    An OSError, for example because the disk is full, names the target.
    """
    try:
        with atomic_path(target) as part, open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        # Opening names a path, writing does not.
        if error.errno is not None and error.filename is None:
            error.filename = os.fspath(target)
        raise
    _sync_directory(target.parent)


def _sync_directory(folder):
    with contextlib.suppress(OSError):  # not every system can open a directory
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def cache_home():
    """Return ``$SK_METAEMBED_CACHE``, by default ``~/.cache/sk_metaembed``."""
    home = os.environ.get("SK_METAEMBED_CACHE") or "~/.cache/sk_metaembed"
    try:
        return Path(home).expanduser().resolve()
    except RuntimeError as error:  # a user without an entry in the password database
        raise FileNotFoundError(
            errno.ENOENT,
            f"{this_user()} has no home directory for the cache. Set "
            "SK_METAEMBED_CACHE to a writable directory",
            home,
        ) from error


def this_user():
    """Return how messages name the user of the process, "user 1000"."""
    return f"user {os.geteuid()}" if hasattr(os, "geteuid") else "this user"


@contextlib.contextmanager
def errors_of_folder(target):
    """Re-raise an error of creating or reading a path with the user and a remedy."""
    try:
        yield
    except OSError as error:
        raise OSError(
            error.errno,
            f"{this_user()} cannot read or create this path ({error}). Set "
            "SK_METAEMBED_CACHE to a writable directory if it is in the cache, "
            "otherwise pass another path",
            os.fspath(target),
        ) from error
