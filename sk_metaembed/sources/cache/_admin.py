"""cache_info, limit_cache, clear_cache: look into a sentence cache, bound, empty it."""

import os
import sqlite3
from contextlib import closing, suppress
from math import inf
from pathlib import Path
from typing import NamedTuple

from ..._core._parameters import is_real
from ._entry import FORMAT
from ._memory import MEMORY
from ._sqlite import (
    CacheStore,
    cache_files,
    check_folder,
    current_file,
    is_beyond_repair,
    set_aside,
)


class CacheInfo(NamedTuple):
    """What a sentence cache holds; what `cache_info` returns.

    Parameters
    ----------
    entries : int
        Sentences, counted once a layer.
    bytes : int
        Of the entries.
    disk_bytes : int
        Of the files, with room that is free again, and damaged files set aside.
    hits, misses : int
        Entries found and not found, since the cache was made or cleared. A program that
        is running adds to them now and then, and when it closes the cache.
    limit : int or None
        Bytes beyond which what was not used for longest is removed.
    format : int
        Version of the format of entries.
    sources : dict of str to SourceInfo
        The same for each fingerprint of a model and its options.
    """

    entries: int
    bytes: int
    disk_bytes: int
    hits: int
    misses: int
    limit: int | None
    format: int
    sources: dict


class SourceInfo(NamedTuple):
    """What a sentence cache holds of one source.

    Parameters
    ----------
    entries, bytes, hits, misses : int
        As in `CacheInfo`.
    """

    entries: int
    bytes: int
    hits: int
    misses: int


_BY_SOURCE = """
SELECT fingerprint, count(entries.id), coalesce(sum(size), 0), hits, misses
FROM sources LEFT JOIN entries ON source = sources.id GROUP BY sources.id
"""


def cache_info(directory):
    """Return what a sentence cache holds, and how much use it was.

    Sources whose vectors depend on the context take ``cache=directory`` and compute
    each sentence once; this tells what they have kept there. It changes nothing.

    Parameters
    ----------
    directory : path-like
        The folder that sources were given.

    Returns
    -------
    CacheInfo
        A named tuple of ``entries``, ``bytes``, ``disk_bytes``, ``hits``, ``misses``,
        ``limit``, ``format`` and ``sources``.

    Raises
    ------
    FileNotFoundError, NotADirectoryError
        If there is no such folder.
    ValueError
        If the folder holds no sentence cache.
    OSError
        If the cache cannot be read.

    See Also
    --------
    limit_cache : Bound its size.
    clear_cache : Empty it.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sk_metaembed import cache_info
    >>> from sk_metaembed.sources.cache._sentence_cache import SentenceCache
    >>> folder = tempfile.TemporaryDirectory()
    >>> with SentenceCache(folder.name, "some model") as cache:
    ...     keys = cache.keys([["to", "be"], ["or"]], layer=-1)
    ...     cache.put_many(keys[:1], [(np.eye(2), [True, True])])
    ...     found = cache.get_many(keys)
    >>> info = cache_info(folder.name)
    >>> info.entries, info.hits, info.misses, info.limit
    (1, 1, 1, None)
    >>> list(info.sources)
    ['some model']
    >>> folder.cleanup()
    """
    directory = Path(directory).expanduser()
    files = _files(directory)
    rows, limit = [], None
    file = current_file(directory)
    if file.exists():  # not if it was set aside as damaged, and none begun since
        store = CacheStore(directory, "", write=False)
        try:
            rows, limit = store.ask(_BY_SOURCE), store.limit()
        except sqlite3.Error as error:
            raise OSError(
                f"The sentence cache {file} cannot be read: {error}. If it is damaged, "
                "sk_metaembed.clear_cache empties it."
            ) from error
        finally:
            store.close()
    sources = {name: SourceInfo(*numbers) for name, *numbers in rows}
    entries, size, hits, misses = (
        sum(source[i] for source in sources.values()) for i in range(4)
    )
    disk = sum(path.stat().st_size for path in files if path.exists())
    return CacheInfo(entries, size, disk, hits, misses, limit, FORMAT, sources)


def limit_cache(directory, size):
    """Set how large a sentence cache may grow; what was longest unused goes first.

    Without a limit a cache keeps all it is given. The limit belongs to the folder, and
    binds every source, process and run that writes to it from now on.

    Parameters
    ----------
    directory : path-like
        The folder that sources are given; made if it is not there yet.
    size : int or float, or None
        Bytes that the store may take, free room not counted; what it has beyond is
        removed at once. SQLite's log beside it can add some tens of megabytes. None
        for no limit.

    Raises
    ------
    ValueError
        If `size` is no positive number.
    NotADirectoryError, OSError
        If the folder is none, or the cache cannot be written.

    See Also
    --------
    cache_info : What it holds, and the limit.

    Examples
    --------
    >>> import tempfile
    >>> from sk_metaembed import cache_info, limit_cache
    >>> folder = tempfile.TemporaryDirectory()
    >>> limit_cache(folder.name, 10 * 2**30)
    >>> cache_info(folder.name).limit
    10737418240
    >>> folder.cleanup()
    """
    if not (size is None or (is_real(size) and 1 <= size < inf)):
        raise ValueError(
            f"limit_cache: size must be a positive number of bytes, or None for no "
            f"limit; got {size!r}."
        )
    directory = Path(directory).expanduser()
    if not check_folder(directory):
        raise PermissionError(
            f"The sentence cache in {str(directory)!r} may only be read, so that its "
            "limit cannot be set."
        )
    try:
        with _store(directory) as store:
            store.set_limit(None if size is None else int(size))
    except sqlite3.Error as error:
        raise OSError(
            f"The limit of the sentence cache in {str(directory)!r} cannot be set: "
            f"{error}. If it is damaged or the disk is full, sk_metaembed.clear_cache "
            "empties it."
        ) from error


def clear_cache(directory):
    """Remove all entries of a sentence cache, and give their room back.

    Touches none but the cache's own files, and is safe while other processes use it:
    they find nothing and compute again. The limit stays as it was set. A file that
    SQLite cannot empty, for it is damaged or the disk is full, is removed and a new one
    begun, with the limit if it can still be read.

    Parameters
    ----------
    directory : path-like
        The folder that sources were given.

    Raises
    ------
    FileNotFoundError, NotADirectoryError
        If there is no such folder.
    ValueError
        If the folder holds no sentence cache.
    OSError
        If the cache may not be written, or another process holds it for a minute.

    See Also
    --------
    cache_info : What it holds.

    Examples
    --------
    >>> import tempfile
    >>> from sk_metaembed import cache_info, clear_cache
    >>> from sk_metaembed.sources.cache._sentence_cache import SentenceCache
    >>> folder = tempfile.TemporaryDirectory()
    >>> with SentenceCache(folder.name, "some model") as cache:
    ...     cache.put_many([cache.key(["to", "be"], layer=-1)], [([1.0], True)])
    >>> clear_cache(folder.name)
    >>> cache_info(folder.name).entries
    0
    >>> folder.cleanup()
    """
    directory = Path(directory).expanduser()
    _files(directory)
    MEMORY.forget()
    store = CacheStore(directory, "")
    try:
        store.clear()
    except sqlite3.Error as error:
        store.close()
        if not is_beyond_repair(error):
            raise OSError(
                f"The sentence cache in {str(directory)!r} cannot be cleared: {error}. "
                "It must be writable; try again when no other process is at work on it."
            ) from error
        _begin_anew(directory, store.file)
    finally:
        store.close()
    current = current_file(directory).name
    for path in cache_files(directory):
        if not path.name.startswith(current):
            path.unlink(missing_ok=True)


def _begin_anew(directory, file):
    """Empty a file that SQLite cannot, and begin the next one with its limit."""
    limit = None
    with _store(directory, write=False) as store, suppress(sqlite3.Error):
        limit = store.limit()
    # Emptied and not removed: that makes room, and its number stays taken until the
    # next file is there.
    with suppress(FileNotFoundError):
        os.truncate(set_aside(file), 0)
    for path in cache_files(directory):
        if path.name.startswith(file.name):
            path.unlink(missing_ok=True)
    with _store(directory) as store, suppress(sqlite3.Error):
        store.set_limit(limit)


def _store(directory, *, write=True):
    return closing(CacheStore(directory, "", write=write))


def _files(folder):
    """Return the files of the cache in a folder, of which there must be some."""
    if not folder.exists():
        raise FileNotFoundError(f"There is no folder {str(folder)!r}.")
    if not folder.is_dir():
        raise NotADirectoryError(f"{str(folder)!r} is a file, not a folder.")
    files = cache_files(folder)
    if not files:
        raise ValueError(
            f"The folder {str(folder)!r} holds no sentence cache. Give the folder "
            "that a source was given as cache=."
        )
    return files
