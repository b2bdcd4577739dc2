"""Cache of converted stores: its directory and digests of sources."""

import contextlib
import hashlib
import json
import os
import time
from pathlib import Path

from .._io._atomic import atomic_path, cache_home

# A file modified this recently may be modified again with an equal time stamp.
_SETTLED_NS = 2_000_000_000


def default_root():
    """Return ``$SK_METAEMBED_CACHE/vectors``, or the same below ``~/.cache``."""
    return cache_home() / "vectors"


def cache_root(cache_dir=None):
    """Return the directory of converted stores, which may be missing."""
    root = default_root() if cache_dir is None else Path(cache_dir).expanduser()
    return root.resolve()


def digest_file(path, root):
    """Digest the content of a file, read again only if size or time stamp changed."""
    path = os.path.abspath(path)
    file_stat = os.stat(path)
    # Copying and unpacking can preserve mtime, but not ctime.
    stat = [file_stat.st_size, file_stat.st_mtime_ns, file_stat.st_ctime_ns]
    name = hashlib.blake2b(path.encode("utf-8", "surrogateescape"))
    record = root / "sources" / f"{name.hexdigest()[:32]}.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(record.read_text("utf-8"))
        if known["stat"] == stat:
            return known["digest"]
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "blake2b").hexdigest()[:32]
    if time.time_ns() - max(stat[1:]) > _SETTLED_NS:
        # Reading needs no writable cache.
        with contextlib.suppress(OSError):
            record.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(record) as part:
                part.write_text(json.dumps({"digest": digest, "stat": stat}), "utf-8")
    return digest
