"""The cache of the vectors of sentences, and its public interface `EmbeddingCache`."""

from __future__ import annotations

import os
import sqlite3
import warnings
from array import array
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import lru_cache
from hashlib import blake2b
from math import inf
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._core._errors import NamedErrorsMixin
from .._core._estimators import is_real
from .._core._typing import StrPath
from ._sentences import OriginalText

DTYPES = {"float16": np.dtype("<f2"), "float32": np.dtype("<f4")}
FILE = "sk_metaembed-sentences-4.sqlite"  # includes the version of the tables

_WAIT = 60  # seconds for a lock: a write takes milliseconds, an eviction a few seconds
_KEYS_PER_QUERY = 256  # older versions of SQLite allow 999 parameters
_EVICTED = 10  # the inverse of the share of entries that one eviction removes
# `known` is an integer for one vector per sentence, else a byte per token.
_SCHEMA = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value INTEGER);
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, source TEXT NOT NULL,
    size INTEGER NOT NULL, known NOT NULL, vectors BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS sizes ON entries (source, size);
COMMIT;
"""
_INSERT = "INSERT OR REPLACE INTO entries VALUES (NULL, ?, ?, ?, ?, ?)"
# No text has this byte in UTF-8, so no token list has the digest of a text.
_TEXT_MARK = b"\xff"


def connect(directory):
    """Return a connection to the store of a directory, which is created if missing.

    The connection is read-only if the store is not writable.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(
            f"The sentence cache needs a writable directory, got {str(directory)!r}: "
            f"{error}. Pass a different directory."
        ) from error
    # Writes begin a transaction, which `with connection` commits or rolls back.
    file, options = directory / FILE, {"timeout": _WAIT, "isolation_level": "IMMEDIATE"}
    if file.exists() and not (_is_writable(directory) and _is_writable(file)):
        uri = f"{file.absolute().as_uri()}?mode=ro"
        return sqlite3.connect(uri, uri=True, **options)
    connection = sqlite3.connect(file, **options)
    try:
        connection.execute("PRAGMA page_size = 8192")  # an entry takes several pages
        connection.executescript(_SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection


def _is_writable(path):
    """Return False for a path of another user, or on a read-only disk."""
    return os.access(path, os.W_OK)


def limit_of(connection):
    """Return the limit in bytes, None for no limit."""
    rows = connection.execute("SELECT value FROM settings WHERE name = 'limit'")
    return next(rows, (None,))[0]


def evict(connection):
    """Delete the oldest entries until the size is below the limit."""
    limit = limit_of(connection)
    while limit is not None and _used_bytes(connection) > limit:
        deleted = connection.execute(
            "DELETE FROM entries WHERE id IN (SELECT id FROM entries ORDER BY id LIMIT "
            f"(SELECT 1 + count(*) / {_EVICTED} FROM entries))"
        )
        if not deleted.rowcount:  # the limit is below the size of an empty store
            return


def _used_bytes(connection):
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


class SentenceCache:
    """Vectors by model, layer and exact tokens or text, shared by processes and runs.

    Opening a cache is cheap, so it is opened where it is needed and not stored in
    estimators. Once it is open, a failure of the store raises no error: a warning is
    issued, and the vectors are computed.

    Parameters
    ----------
    directory : path-like
        Created if it is missing.
    fingerprint : str
        Digest of everything that vectors depend on except tokens and layer.
    dtype : {"float32", "float16"}, default="float32"
        Precision of stored and returned vectors. Part of the key.
    """

    def __init__(self, directory, fingerprint, dtype="float32"):
        self.directory = Path(directory).expanduser()
        self.fingerprint, self.dtype = fingerprint, dtype
        self._connection, self._failed = None, False
        with self._guarded("open"):
            self._connection = connect(self.directory)

    def keys(self, sentences, layer):
        """Return the keys of sentences, token lists or OriginalText, at one layer."""
        model = fields_digest(
            [self.fingerprint.encode(), self.dtype.encode(), repr(layer).encode()]
        )
        return [fields_digest([model, sentence_digest(s)], 20) for s in sentences]

    def get_many(self, keys):
        """Return the (values, known) stored under each key, None if it is missing."""
        found = {}
        if self._connection is not None:
            with self._guarded("read"):
                for start in range(0, len(keys), _KEYS_PER_QUERY):
                    part = list(keys[start : start + _KEYS_PER_QUERY])
                    rows = self._connection.execute(
                        "SELECT key, known, vectors FROM entries "
                        f"WHERE key IN ({','.join('?' * len(part))})",
                        part,
                    )
                    found.update((key, self._decoded(*entry)) for key, *entry in rows)
        return [found.get(key) for key in keys]

    def _decoded(self, known, vectors):
        values = np.frombuffer(vectors, DTYPES[self.dtype])
        if isinstance(known, int):
            return values, bool(known)
        known = np.frombuffer(known, bool)
        return values.reshape(len(known), -1), known

    def put_many(self, keys, entries):
        """Store (values, known) from `round_entry`; they survive a killed process.

        They have shapes (n_tokens, dim) and (n_tokens,), or (dim,) and () for one
        vector per sentence. An entry that is written again counts as new.
        """
        if self._failed:
            return
        rows = []
        for key, (values, known) in zip(keys, entries, strict=True):
            vectors = np.ascontiguousarray(values, DTYPES[self.dtype]).tobytes()
            known = np.asarray(known, bool)
            mask = known.tobytes() if known.ndim else int(known)
            rows.append((key, self.fingerprint, len(vectors), mask, vectors))
        with self._guarded("write"), self._connection:
            self._connection.executemany(_INSERT, rows)
            evict(self._connection)

    def close(self):
        """Close the store."""
        if self._connection is not None:
            self._connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    @contextmanager
    def _guarded(self, action):
        """Warn of a database error, and skip the store for the rest of the call."""
        try:
            yield
        # Rows of other types raise the last two.
        except (sqlite3.Error, ValueError, TypeError) as error:
            self._failed = True
            if action != "write":
                self.close()
                self._connection = None
            used = "not used" if self._connection is None else "not written to"
            warnings.warn(
                f"Sentence cache {self.directory}: {error} ({action}). For the rest of "
                f"this call it is {used}, and missing vectors are computed. If the "
                "file is corrupt or the disk is full, EmbeddingCache(directory).clear()"
                " empties it; the directory must be writable.",
                stacklevel=4,
            )


def open_cache(directory, fingerprint, dtype):
    """Return a context manager with a SentenceCache, or with None for no directory."""
    if directory is None:
        return nullcontext()
    return SentenceCache(directory, fingerprint, dtype)


def fields_digest(fields, size=32):
    """Return a digest of byte strings, which depends on their boundaries.

    >>> fields_digest([b"a", b"b"]) == fields_digest([b"ab"])
    False
    """
    fields = list(fields)
    lengths = array("Q", map(len, fields))
    framed = (array("Q", [len(fields)]), lengths, *fields)
    return blake2b(b"".join(framed), digest_size=size).digest()


@lru_cache(2**14)  # computed for each layer, when reading and when writing
def sentence_digest(sentence):
    """Return a digest of tokens or of an OriginalText; their digests always differ.

    >>> sentence_digest(OriginalText("to be")) == sentence_digest(("to be",))
    False
    >>> sentence_digest(("a b",)) == sentence_digest(("a", "b"))
    False
    """
    if not isinstance(sentence, OriginalText):
        return fields_digest(word.encode("utf-8", "surrogatepass") for word in sentence)
    text = sentence.text.encode("utf-8", "surrogatepass")
    # "Tokens not requested" and "no tokens in the text" must differ.
    spans = () if sentence.span_bytes is None else (sentence.span_bytes,)
    return fields_digest([_TEXT_MARK, text, *spans])


def round_entry(values, known, dtype):
    """Return vectors rounded as the cache does, so that later results are equal.

    Raises ValueError if values are not finite, or too large for float16.
    """
    values = np.asarray(values)
    with np.errstate(over="ignore"):  # checked below
        rounded = values.astype(DTYPES[dtype], copy=False)
    if not np.isfinite(rounded).all():
        if np.isfinite(values).all():
            raise ValueError(
                f"The vectors reach {np.abs(values).max():.4g}, more than {dtype} can "
                "represent: store them as float32."
            )
        raise ValueError(
            "The vectors contain NaN or infinity. float16 is too narrow for some "
            "networks, such as T5: use dtype='bfloat16' or 'float32'. In float32 the "
            "weights are corrupt."
        )
    return rounded, np.asarray(known, dtype=bool)


class CacheInfo(NamedTuple):
    """Content of a sentence cache, as returned by `EmbeddingCache.info`.

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
    sources : dict of str to int
        Number of entries by fingerprint of a model and its options.
    """

    entries: int
    bytes: int
    disk_bytes: int
    limit: int | None
    sources: dict[str, int]


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
    >>> from sk_metaembed import EmbeddingCache, FunctionEmbedding
    >>> def lengths(words):
    ...     return [[len(word)] for word in words]
    >>> lengths.cache_key = "lengths"
    >>> folder = tempfile.TemporaryDirectory()
    >>> source = FunctionEmbedding(lengths, cache=folder.name).fit(["to be"])
    >>> cache = EmbeddingCache(folder.name)
    >>> cache.info().entries
    2
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
            limit = limit_of(connection)
            counts = "SELECT source, count(*) FROM entries GROUP BY source"
            sources = dict(connection.execute(counts).fetchall())
            [(size,)] = connection.execute("SELECT total(size) FROM entries")
        disk_bytes, entries = file.stat().st_size, sum(sources.values())
        return CacheInfo(entries, int(size), disk_bytes, limit, sources)

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
        with self._connected() as connection, connection:
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
                with connection:
                    connection.execute("DELETE FROM entries")
                with suppress(sqlite3.OperationalError):  # other readers, or disk full
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
