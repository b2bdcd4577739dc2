"""EmbeddingCache: inspect, limit and empty a cache."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager, suppress
from math import inf
from pathlib import Path
from typing import NamedTuple

from ..._core._errors import NamedErrorsMixin
from ..._core._estimators import is_real
from ..._core._typing import StrPath
from ._sentence_cache import FILE, connect, evict, limit_of, transaction


class CacheInfo(NamedTuple):
    """Content of a sentence cache; what `EmbeddingCache.info` returns.

    Parameters
    ----------
    entries : int
        Number of sentences, counted once per layer.
    bytes : int
        Size of the entries.
    disk_bytes : int
        Size of the file, including free space.
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


_BY_SOURCE = "SELECT source, count(*), sum(size) FROM entries GROUP BY source"


class EmbeddingCache(NamedErrorsMixin):
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
    FileNotFoundError
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
        file = self._existing_file()
        with self._connected() as connection:
            rows = connection.execute(_BY_SOURCE).fetchall()
            limit = limit_of(connection)
        sources = {name: SourceInfo(*numbers) for name, *numbers in rows}
        entries = sum(source.entries for source in sources.values())
        size = sum(source.bytes for source in sources.values())
        return CacheInfo(entries, size, file.stat().st_size, limit, sources)

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
            it are removed at once; their space is used for new ones. None for no limit.
        """
        if not (size is None or (is_real(size) and 1 <= size < inf)):
            raise ValueError(
                "size must be a positive number of bytes, or None for no limit; got "
                f"{size!r}."
            )
        limit = None if size is None else int(size)
        with self._connected() as connection, transaction(connection):
            connection.execute(
                "INSERT OR REPLACE INTO settings VALUES ('limit', ?)", (limit,)
            )
            evict(connection)

    def clear(self) -> None:
        """Remove all entries and free their space.

        Other processes that use the cache find no entries and compute again. The limit
        is kept. A file that SQLite cannot empty, because it is corrupt or the disk is
        full, is deleted, and the limit with it.
        """
        file = self._existing_file()
        try:
            with closing(connect(self._directory)) as connection:
                connection.execute("DELETE FROM entries")
                with suppress(sqlite3.OperationalError):  # others read, or no space
                    connection.execute("VACUUM")
        except sqlite3.Error:
            for path in self._directory.glob(f"{file.name}*"):
                path.unlink()

    def _existing_file(self):
        file = self._directory / FILE
        if not file.exists():
            raise FileNotFoundError(
                f"The directory {str(self._directory)!r} does not exist or contains no "
                "sentence cache. Pass the directory that a source was given as cache=."
            )
        return file

    @contextmanager
    def _connected(self):
        """Yield a connection; make errors of SQLite an OSError that says what to do."""
        try:
            with closing(connect(self._directory)) as connection:
                yield connection
        except sqlite3.Error as error:
            raise OSError(
                f"The sentence cache in {str(self._directory)!r} cannot be read or "
                f"changed: {error}. If it is corrupt or the disk is full, "
                "EmbeddingCache(directory).clear() empties it; it must be writable, "
                "and no other process may be writing to it."
            ) from error
