"""EmbeddingCache: inspect, limit and empty a cache."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager, suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..._core._checked_parameters import is_real
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
    """Content of a sentence cache; what `EmbeddingCache.info` returns.

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
    sources : dict of str to SourceInfo
        Entries by fingerprint of a model and its options.
    """

    entries: int
    bytes: int
    disk_bytes: int
    limit: int | None
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


class EmbeddingCache:
    """The vectors of sentences that sources store in a directory.

    Sources whose vectors depend on the context, and `FunctionEmbedding`, take
    ``cache=directory`` and compute each sentence once. Use this class to inspect, limit
    or remove what they have stored, even while other processes use the cache.

    Parameters
    ----------
    directory : path-like
        The directory that is passed to the sources.

    Raises
    ------
    FileNotFoundError, NotADirectoryError
        By `info` and `clear`, if there is no such directory.
    ValueError
        By `info` and `clear`, if the directory contains no sentence cache.
    OSError
        If the cache cannot be read or written.

    See Also
    --------
    TransformerEmbedding, ElmoEmbedding, FunctionEmbedding : Sources that take `cache`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sk_metaembed import EmbeddingCache
    >>> from sk_metaembed.sources.cache._sentence_cache import SentenceCache
    >>> folder = tempfile.TemporaryDirectory()
    >>> with SentenceCache(folder.name, "some model") as store:
    ...     store.put_many(store.keys([["to"]], layer=-1), [(np.eye(1), [True])])
    >>> cache = EmbeddingCache(folder.name)
    >>> cache.info().entries, list(cache.info().sources)
    (1, ['some model'])
    >>> cache.set_limit(10 * 2**30)
    >>> cache.info().limit
    10737418240
    >>> cache.clear()
    >>> cache.info().entries
    0
    >>> folder.cleanup()
    """

    def __init__(self, directory: StrPath) -> None:
        self._directory = Path(directory).expanduser()

    def __repr__(self) -> str:
        return f"EmbeddingCache({str(self._directory)!r})"

    def info(self) -> CacheInfo:
        """Return the number and size of the entries; changes nothing.

        Returns
        -------
        CacheInfo
            A named tuple of ``entries``, ``bytes``, ``disk_bytes``, ``limit``
            and ``sources``.
        """
        directory = self._directory
        files = _existing_files(directory)
        rows, limit = [], None
        # A file that was set aside as corrupt may have no successor yet.
        if current_file(directory).exists():
            with _explained(directory), _open(directory, write=False) as store:
                rows, limit = store.query(_BY_SOURCE), store.limit()
        sources = {name: SourceInfo(*numbers) for name, *numbers in rows}
        entries = sum(source.entries for source in sources.values())
        size = sum(source.bytes for source in sources.values())
        disk = sum(path.stat().st_size for path in files if path.exists())
        return CacheInfo(entries, size, disk, limit, sources)

    def set_limit(self, size: float | None) -> None:
        """Limit the size; beyond it the oldest entries are removed.

        Without a limit a cache keeps all entries. The limit belongs to the directory
        and applies to every source, process and run that writes to it from now on.
        Entries are removed in the order in which they were written, even if they were
        used since: choose a limit above the size of the vectors that a search needs.
        The directory is created if it is missing.

        Parameters
        ----------
        size : int or float, or None
            Maximum number of bytes of the store, free space not counted. Entries beyond
            it are removed at once. SQLite's log can add some tens of megabytes. None
            for no limit.
        """
        if not (size is None or (is_real(size) and 1 <= size < inf)):
            raise ValueError(
                "EmbeddingCache: size must be a positive number of bytes, or None for "
                f"no limit; got {size!r}."
            )
        directory = self._directory
        if not check_directory(directory):
            raise PermissionError(
                f"The limit of the sentence cache in {str(directory)!r} cannot be set: "
                "the cache is read-only."
            )
        with _explained(directory), _open(directory) as store:
            store.set_limit(None if size is None else int(size))

    def clear(self) -> None:
        """Remove all entries and free their space.

        Only the cache's own files are changed. Other processes that use the cache find
        no entries and compute again. The limit is kept. A file that SQLite cannot
        empty, because it is corrupt or the disk is full, is removed and a new one
        created, with the same limit if it can still be read.
        """
        directory = self._directory
        _existing_files(directory)
        with _explained(directory), _open(directory) as store:
            try:
                store.clear()
            except sqlite3.Error as error:
                store.close()
                if not needs_new_file(error):
                    raise
                _replace_file(directory, store.file)
        current = current_file(directory).name
        for path in cache_files(directory):
            if not path.name.startswith(current):
                path.unlink(missing_ok=True)


def _replace_file(directory, file):
    """Remove a file that SQLite cannot empty; create the next one with its limit."""
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


@contextmanager
def _explained(directory):
    """Re-raise errors of SQLite as an OSError that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(
            f"The sentence cache in {str(directory)!r} cannot be read or changed: "
            f"{error}. If it is corrupt or the disk is full, "
            "EmbeddingCache(directory).clear() empties it; it must be writable, and "
            "no other process may be writing to it."
        ) from error


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
