"""Atomic writes: a file appears complete in its place, or nothing changes."""

import contextlib
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
    root = os.environ.get("SK_METAEMBED_CACHE")
    home = Path(root) if root else Path.home() / ".cache" / "sk_metaembed"
    return home.expanduser().resolve()
