"""cache_info, limit_cache and clear_cache: inspect, limit and empty a cache."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..._core._checked_parameters import is_real
from ._sentence_cache import FORMAT
from ._sqlite import (
    CacheStore,
    cache_files,
    check_directory,
    current_file,
    needs_new_file,
    set_aside,
)

if TYPE_CHECKING:
    from ..._core._typing import StrPath


class CacheInfo(NamedTuple):
    """Content of a sentence cache; what `cache_info` returns.

    Parameters
    ----------
    entries : int
        Number of sentences, counted once per layer.
    bytes : int
        Size of the entries.
    disk_bytes : int
        Size of the files, including free space and corrupt files set aside.
    limit : int or None
        Bytes beyond which the oldest entries are removed.
    format : int
        Version of the format of entries.
    sources : dict of str to SourceInfo
        Entries by fingerprint of a model and its options.
    """

    entries: int
    bytes: int
    disk_bytes: int
    limit: int | None
    format: int
    sources: dict[str, SourceInfo]


class SourceInfo(NamedTuple):
    """Content of a sentence cache that belongs to one source.

    Parameters
    ----------
    entries, bytes : int
        As in `CacheInfo`.
    """

    entries: int
    bytes: int


_BY_SOURCE = """
SELECT fingerprint, count(entries.id), coalesce(sum(size), 0)
FROM sources LEFT JOIN entries ON source = sources.id GROUP BY sources.id
"""


def cache_info(directory: StrPath) -> CacheInfo:
    """Return the number and size of the entries of a sentence cache.

    Sources whose vectors depend on the context, and `FunctionEmbedding`, take
    ``cache=directory`` and compute each sentence once. This function reads what they
    have stored and changes nothing.

    Parameters
    ----------
    directory : path-like
        The directory that was passed to the sources.

    Returns
    -------
    CacheInfo
        A named tuple of ``entries``, ``bytes``, ``disk_bytes``, ``limit``, ``format``
        and ``sources``.

    Raises
    ------
    FileNotFoundError, NotADirectoryError
        If there is no such directory.
    ValueError
        If the directory contains no sentence cache.
    OSError
        If the cache cannot be read.

    See Also
    --------
    limit_cache : Limit its size.
    clear_cache : Remove its entries.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sk_metaembed import cache_info
    >>> from sk_metaembed.sources.cache._sentence_cache import SentenceCache
    >>> folder = tempfile.TemporaryDirectory()
    >>> with SentenceCache(folder.name, "some model") as cache:
    ...     cache.put_many([cache.key(["to"], layer=-1)], [(np.eye(1), [True])])
    >>> info = cache_info(folder.name)
    >>> info.entries, info.limit
    (1, None)
    >>> list(info.sources)
    ['some model']
    >>> folder.cleanup()
    """
    directory = Path(directory).expanduser()
    files = _existing_files(directory)
    rows, limit = [], None
    file = current_file(directory)
    if file.exists():  # not if it was set aside as corrupt and no new one exists yet
        try:
            with _open(directory, write=False) as store:
                rows, limit = store.query(_BY_SOURCE), store.limit()
        except sqlite3.Error as error:
            raise OSError(
                f"The sentence cache {file} cannot be read: {error}. If it is corrupt, "
                "sk_metaembed.clear_cache empties it."
            ) from error
    sources = {name: SourceInfo(*numbers) for name, *numbers in rows}
    entries = sum(source.entries for source in sources.values())
    size = sum(source.bytes for source in sources.values())
    disk = sum(path.stat().st_size for path in files if path.exists())
    return CacheInfo(entries, size, disk, limit, FORMAT, sources)


def limit_cache(directory: StrPath, size: float | None) -> None:
    """Limit the size of a sentence cache; beyond it the oldest entries are removed.

    Without a limit a cache keeps all entries. The limit belongs to the directory and
    applies to every source, process and run that writes to it from now on. Entries are
    removed in the order in which they were written, whether or not they were used
    since: choose a limit that holds the working set of a search.

    Parameters
    ----------
    directory : path-like
        The directory that is passed to the sources; created if it is missing.
    size : int or float, or None
        Maximum number of bytes of the store, free space not counted. Entries beyond it
        are removed at once. SQLite's log can add some tens of megabytes. None for no
        limit.

    Raises
    ------
    ValueError
        If `size` is not a positive number.
    NotADirectoryError, OSError
        If `directory` is a file, or the cache cannot be written.

    See Also
    --------
    cache_info : Number and size of its entries, and the limit.

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
            "limit_cache: size must be a positive number of bytes, or None for no "
            f"limit; got {size!r}."
        )
    directory = Path(directory).expanduser()
    if not check_directory(directory):
        raise PermissionError(
            f"The limit of the sentence cache in {str(directory)!r} cannot be set: the "
            "cache is read-only."
        )
    try:
        with _open(directory) as store:
            store.set_limit(None if size is None else int(size))
    except sqlite3.Error as error:
        raise OSError(
            f"The limit of the sentence cache in {str(directory)!r} cannot be set: "
            f"{error}. If the cache is corrupt or the disk is full, "
            "sk_metaembed.clear_cache empties it."
        ) from error


def clear_cache(directory: StrPath) -> None:
    """Remove all entries of a sentence cache and free their space.

    Only the cache's own files are changed. Other processes may use the cache at the
    same time: they find no entries and compute again. The limit is kept. A file that
    SQLite cannot empty, because it is corrupt or the disk is full, is removed and a new
    one created, with the same limit if it can still be read.

    Parameters
    ----------
    directory : path-like
        The directory that was passed to the sources.

    Raises
    ------
    FileNotFoundError, NotADirectoryError
        If there is no such directory.
    ValueError
        If the directory contains no sentence cache.
    OSError
        If the cache is read-only, or another process locks it for a minute.

    See Also
    --------
    cache_info : Number and size of its entries.

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
    _existing_files(directory)
    with _open(directory) as store:
        try:
            store.clear()
        except sqlite3.Error as error:
            store.close()
            if not needs_new_file(error):
                raise OSError(
                    f"The sentence cache in {str(directory)!r} cannot be cleared: "
                    f"{error}. It must be writable; try again when no other process "
                    "uses it."
                ) from error
            _replace_file(directory, store.file)
    current = current_file(directory).name
    for path in cache_files(directory):
        if not path.name.startswith(current):
            path.unlink(missing_ok=True)


def _replace_file(directory, file):
    """Remove a file that SQLite cannot empty; create the next one, same limit."""
    limit = None
    with _open(directory, write=False) as store, suppress(sqlite3.Error):
        limit = store.limit()
    # Truncated rather than removed: that frees its space, and its number stays taken
    # until the next file exists.
    with suppress(FileNotFoundError):
        os.truncate(set_aside(file), 0)
    for path in cache_files(directory):
        if path.name.startswith(file.name):
            path.unlink(missing_ok=True)
    with _open(directory) as store, suppress(sqlite3.Error):
        store.set_limit(limit)


def _open(directory, *, write=True):
    return closing(CacheStore(directory, "", write=write))


def _existing_files(directory):
    """Return the files of the cache in a directory, or raise."""
    if not directory.exists():
        raise FileNotFoundError(f"There is no directory {str(directory)!r}.")
    if not directory.is_dir():
        raise NotADirectoryError(f"{str(directory)!r} is a file, not a directory.")
    files = cache_files(directory)
    if not files:
        raise ValueError(
            f"The directory {str(directory)!r} contains no sentence cache. Pass the "
            "directory that a source was given as cache=."
        )
    return files
