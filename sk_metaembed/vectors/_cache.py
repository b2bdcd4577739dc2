"""Cache of converted stores: its directory, source digests, atomic publication."""

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
import time
from pathlib import Path

from .._io._atomic import atomic_path, cache_home, replace
from .._io._lock import lock_file, release_lock

# A file modified this recently may be modified again with an equal time stamp.
_SETTLED_NS = 2_000_000_000


def default_root():
    """Return ``$SK_METAEMBED_CACHE/vectors``, or the same below ``~/.cache``."""
    return cache_home() / "vectors"


def cache_root(cache_dir=None):
    """Return the directory of converted stores, created if missing."""
    root = default_root() if cache_dir is None else Path(cache_dir).expanduser()
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(
            f"The cache directory {root} cannot be created ({error}). Pass cache_dir= "
            f"or set SK_METAEMBED_CACHE to a writable directory."
        ) from error
    return root.resolve()


def digest_file(path, root):
    """Digest the content of a file, read again only if size or time stamp changed."""
    path = os.path.abspath(path)
    stat = _stat(path)
    name = hashlib.blake2b(path.encode("utf-8", "surrogateescape"))
    record = root / "sources" / f"{name.hexdigest()[:32]}.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(record.read_text("utf-8"))
        if known["stat"] == stat:
            return known["digest"]
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "blake2b").hexdigest()[:32]
    if time.time_ns() - max(stat[1:]) > _SETTLED_NS:
        record.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(record) as part:
            part.write_text(json.dumps({"digest": digest, "stat": stat}), "utf-8")
    return digest


def _stat(path):
    stat = os.stat(path)
    # Copying and unpacking restore the time of modification, but not that of change.
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


def publish(target, write, *, overwrite=False):
    """Create a directory in one step: ``write(temporary)``, then rename.

    One of several processes writes; the others wait for it. Partial directories of
    killed processes are removed. With `overwrite`, an existing directory is replaced
    on success, and stays otherwise.

    Returns
    -------
    bool
        False if the target existed when the lock was acquired, and was not replaced.
    """
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with exclusive_lock(target):
        if target.exists() and not overwrite:
            return False
        _remove_partial(target)
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
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
    """Return an error of a full disk with a hint; NumPy's gives only byte counts."""
    if error.errno not in (None, errno.ENOSPC, errno.EDQUOT):
        return error
    return OSError(
        errno.ENOSPC,
        f"no space left to write {target} ({error}). Nothing was saved. Free some "
        "space, or use another directory (for the cache: SK_METAEMBED_CACHE)",
    )


@contextlib.contextmanager
def exclusive_lock(target):
    """Hold a lock file next to the target, which one process at a time can."""
    lock = lock_file(target.with_name(f".{target.name}.lock"), wait=True)
    try:
        yield
    finally:
        release_lock(lock)


def _remove_partial(target):
    for path in target.parent.iterdir():
        if path.name.startswith(f".{target.name}.") and path.suffix == ".part":
            shutil.rmtree(path, ignore_errors=True)
