"""Atomic writes: a file or directory appears complete in its place, or not at all."""

import contextlib
import errno
import os
import secrets
import shutil
from pathlib import Path

from ._handle import drop_unused_handles


@contextlib.contextmanager
def atomic_path(target):
    """Yield a temporary path that replaces `target` on success."""
    part = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        yield part
        replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def replace(source, target):
    """Move a file or directory to a path, where an existing file is replaced.

    Windows refuses this while any process has a file open or mapped. Files that this
    process keeps open for later use are closed. Other open files raise an error that
    says so.
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
        # Errors from opening a file name its path; errors from writing do not.
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
    """Return the name of the process's user for messages, such as "user 1000"."""
    return f"user {os.geteuid()}" if hasattr(os, "geteuid") else "this user"


@contextlib.contextmanager
def errors_of_folder(target):
    """Re-raise an error from creating or reading a path with the user and a remedy."""
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


@contextlib.contextmanager
def exclusive_lock(target):
    """Hold a lock file next to the target. Only one process can hold it at a time.

    The directory of the target is created if it is missing.
    """
    import filelock

    path = target.with_name(f".{target.name}.lock")
    # Other users may open the lock, so that they can wait for it.
    lock = filelock.FileLock(path, mode=0o666, thread_local=False)
    with errors_of_folder(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    try:
        yield
    finally:
        # A process that waits for the lock notices that its file is gone, and creates
        # another one. Windows does not remove an open file.
        with contextlib.suppress(OSError):
            os.unlink(path)
        lock.release()


def publish(target, write, *, overwrite=False):
    """Create a directory in one step: ``write(temporary)``, then rename.

    One of several processes writes; the others wait for it. Partial directories of
    killed processes are removed. Returns whether the directory was created. With
    `overwrite`, an existing directory is replaced on success; otherwise it is kept.
    """
    target = Path(target)
    if os.path.exists(target) and not overwrite:
        return False  # some users and disks do not allow locks
    with exclusive_lock(target):
        if target.exists() and not overwrite:
            return False
        _remove_partial(target)
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
        with errors_of_folder(target):
            temporary.mkdir()
        try:
            write(temporary)
            _swap(temporary, target)
        except OSError as error:
            raise _with_hint(error, target) from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return True


def _swap(new, target):
    """Move a directory to its final path; restore an existing one on failure."""
    old = target.with_name(f".{target.name}.{secrets.token_hex(6)}.old")
    if target.exists():  # a directory cannot be replaced in one step
        replace(target, old)
    try:
        replace(new, target)
    except OSError:
        if old.exists():
            os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _with_hint(error, target):
    """Return a disk-full error with a hint; NumPy's error gives only byte counts."""
    if error.errno not in (None, errno.ENOSPC, errno.EDQUOT):
        return error
    return OSError(
        errno.ENOSPC,
        f"no space left to write this path ({error}). Nothing was saved. Free some "
        "space, or use another directory (for the cache: SK_METAEMBED_CACHE)",
        os.fspath(target),
    )


def _remove_partial(target):
    for path in target.parent.iterdir():
        if path.name.startswith(f".{target.name}.") and path.suffix == ".part":
            shutil.rmtree(path, ignore_errors=True)


def file_path(path, caller):
    """Return the Path of a regular file on this machine, or of a file to be created."""
    if not isinstance(path, str | bytes | os.PathLike):
        raise TypeError(f"{caller} requires the path of a file, got {path!r:.80}.")
    given = os.fsdecode(path)
    if "://" in given:
        raise ValueError(
            f"{caller} requires a path on this machine, got the URL {given!r}. Nothing "
            "is downloaded or uploaded: copy the file by other means."
        )
    path = Path(given).expanduser()
    if path.is_dir():
        raise IsADirectoryError(
            f"{caller}: {given!r} is a directory, and an estimator is saved as one "
            f"file. Pass the file's path, such as {str(path / 'model.skm')!r}."
        )
    if path.exists() and not path.is_file():
        # Saving would replace a device or a named pipe by a file.
        raise OSError(f"{caller}: {given!r} is not a regular file. Pass a file's path.")
    return path


def check_parent(path, caller):
    """Raise if the directory that a file is to be written to does not exist."""
    folder = path.parent
    if not folder.is_dir():
        kind = NotADirectoryError if folder.exists() else FileNotFoundError
        raise kind(
            f"{caller}: cannot write {path.name!r}: there is no directory "
            f"{str(folder)!r}. Create it or pass a different path."
        )
