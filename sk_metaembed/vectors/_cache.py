"""Where converted stores live, and how one gets there whole or not at all."""

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
import time
from pathlib import Path

from .._io._atomic import atomic_path, cache_home

# A file changed this lately may change again without its time stamp moving
_SETTLED_NS = 2_000_000_000


def default_root():
    """Return ``$SK_METAEMBED_CACHE/vectors``, or the same below ``~/.cache``."""
    return cache_home() / "vectors"


def cache_root(cache_dir=None):
    """Return the directory for stores, made if need be."""
    root = default_root() if cache_dir is None else Path(cache_dir).expanduser()
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(
            f"The cache directory {root} cannot be made ({error}). Pass cache_dir= or "
            f"set SK_METAEMBED_CACHE to a directory that can be written."
        ) from error
    return root.resolve()


def digest_files(paths, root):
    """Digest the content of files, read again only where size or a time changed."""
    stats = [_stat(path) for path in paths]
    name = hashlib.blake2b(str(paths[0]).encode("utf-8", "surrogateescape"))
    record = root / "sources" / f"{name.hexdigest()[:32]}.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(record.read_text("utf-8"))
        if known["stats"] == stats:
            return known["digest"]
    digest = hashlib.blake2b(digest_size=16)
    for path in paths:
        with open(path, "rb") as file:
            while block := file.read(1 << 22):
                digest.update(block)
    found = digest.hexdigest()
    if all(time.time_ns() - max(stat[1:]) > _SETTLED_NS for stat in stats):
        _write_record(record, {"digest": found, "stats": stats})
    return found


def _stat(path):
    stat = os.stat(path)
    # Copying and unpacking set the time of modification back, not that of change.
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


def _write_record(record, content):
    record.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(record) as part:
        part.write_text(json.dumps(content), "utf-8")


def publish(target, write):
    """Have ``write`` fill a hidden directory, then give it its name in one step.

    Of several processes one writes and the others wait for it. What a killed
    one left behind is removed by the next.

    Returns
    -------
    bool
        False where the target was there already when its turn came.
    """
    target = Path(target)
    with _turn(target) as alone:
        if target.exists():
            return False
        _remove_leftovers(target, alone)
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
        temporary.mkdir()
        try:
            write(temporary)
            os.rename(temporary, target)
        except OSError as error:
            if not target.exists():
                raise _told(error, target) from error
            return False
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return True


def _told(error, target):
    """Say of a full disk what to do; numpy tells of it in numbers alone."""
    if error.errno not in (None, errno.ENOSPC, errno.EDQUOT):
        return error
    return OSError(
        errno.ENOSPC,
        f"no room left to write {target} ({error}). Nothing was kept. Make room, or "
        "give another place (for the cache: SK_METAEMBED_CACHE)",
    )


@contextlib.contextmanager
def _turn(target):
    """Hold the lock beside the target; yields False where there are no locks."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: the final rename alone decides
        yield False
        return
    path = target.with_name(f".{target.name}.lock")
    while True:
        with open(path, "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # whoever held it before may have removed the name meanwhile
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.stat(path), os.fstat(file.fileno())):
                    try:
                        yield True
                    finally:
                        path.unlink(missing_ok=True)
                    return


def _remove_leftovers(target, alone):
    for path in target.parent.iterdir():
        ours = path.name.startswith(f".{target.name}.") and path.suffix == ".part"
        if ours and (alone or time.time() - path.stat().st_mtime > 86_400):
            shutil.rmtree(path, ignore_errors=True)
