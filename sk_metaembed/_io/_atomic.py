"""New files: each takes its place when it is whole, or nothing changes."""

import contextlib
import os
import secrets
from pathlib import Path


@contextlib.contextmanager
def atomic_path(target):
    """Yield a path beside a target, which takes its place when all went well.

    Parameters
    ----------
    target : Path
        In a folder that is there.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with beside(Path(folder, "words.txt")) as part:
    ...         _ = part.write_text("tea")
    ...         print([path.name for path in Path(folder).glob("*.txt")])
    ...     print([path.name for path in Path(folder).iterdir()])
    []
    ['words.txt']
    """
    part = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_write(target):
    """Yield a binary file that takes the target's place once it is on the disk.

    Parameters
    ----------
    target : Path
        In a folder that is there.

    Raises
    ------
    OSError
        If it cannot be written, such as to a full disk; names the target.
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
    _sync_folder(target.parent)


def _sync_folder(folder):
    with contextlib.suppress(OSError):  # not everywhere can a folder be opened
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def cache_home():
    """Return the folder that all of the package's caches lie in.

    It is ``$SK_METAEMBED_CACHE``, or ``~/.cache/sk_metaembed``.
    """
    root = os.environ.get("SK_METAEMBED_CACHE")
    home = Path(root) if root else Path.home() / ".cache" / "sk_metaembed"
    return home.expanduser().resolve()
