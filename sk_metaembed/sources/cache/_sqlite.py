"""The SQLite store behind the sentence cache, and its files.

SQLite in write-ahead mode, LMDB and diskcache were measured on 20,000 entries of 20 x
384 float32, with one and two processes. LMDB reads two to five times as fast and writes
up to twice as fast, but SQLite also reads and writes thousands of sentences per second,
where a transformer on a CPU embeds some hundreds. The deciding difference is a
truncated store file: LMDB maps it and the process ends with a bus error; SQLite raises
an exception. SQLite also needs no map size in advance, can be opened several times per
process, keeps no reader slots of killed processes, and is part of Python. diskcache,
also on SQLite, was no faster.

Reading writes nothing, so entries are evicted in the order in which they were written:
recording each use would turn the reads of a grid search into writes.

A directory holds ``sk_metaembed-sentences-<layout>-<n>.sqlite`` (and SQLite's ``-wal``
and ``-shm`` files). A corrupt file is renamed to ``.damaged`` and the next number is
used: the name must be new because a process that still has the old file open may write
to the files that belong to its name.
"""

import os
import re
import sqlite3
import threading
import time
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path

LAYOUT = 3  # version of the tables and of their entries
WAIT = 60  # seconds for a lock: a write takes milliseconds, an eviction a few seconds

_PREFIX = "sk_metaembed-sentences"
_FILE_NAME = re.compile(
    rf"{_PREFIX}-(\d+)-(\d+)\.(sqlite|damaged)(-wal|-shm|-journal)?"
)
_CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

# Vectors have a table of their own, so that counting and evicting read no vectors.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value INTEGER);
CREATE TABLE IF NOT EXISTS sources (
    id INTEGER PRIMARY KEY, fingerprint TEXT UNIQUE NOT NULL);
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, source INTEGER NOT NULL,
    size INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
"""


def is_corruption(error):
    """Return whether an SQLite error says that the file itself is corrupt."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF in _CORRUPT


def needs_new_file(error):
    """Return whether only removing the file helps against an SQLite error.

    Besides corruption: a full disk, where SQLite cannot delete either, and missing
    tables.
    """
    others = sqlite3.SQLITE_FULL, sqlite3.SQLITE_ERROR
    return is_corruption(error) or error.sqlite_errorcode & 0xFF in others


def cache_files(directory):
    """Return the sorted paths of a directory's cache files, SQLite's own included."""
    return sorted(
        Path(entry.path)
        for entry in os.scandir(directory)
        if _FILE_NAME.fullmatch(entry.name)
    )


def check_directory(directory):
    """Create a cache's directory if it is missing; return whether it is writable.

    Raises
    ------
    NotADirectoryError, PermissionError, OSError
        If it cannot be created, or is read-only and holds no cache.
    """
    message = f"The sentence cache needs a writable directory, got {str(directory)!r}: "
    try:
        directory.mkdir(parents=True, exist_ok=True)
        files = cache_files(directory)
    except (FileExistsError, NotADirectoryError) as error:
        raise NotADirectoryError(f"{message}a file has this name.") from error
    except OSError as error:
        raise type(error)(f"{message}{error}. Pass a different directory.") from error
    stores = [file for file in files if file.suffix == ".sqlite"]
    if os.access(directory, os.W_OK | os.X_OK) and all(map(_is_writable, stores)):
        return True
    if files:
        return False
    raise PermissionError(f"{message}it is read-only. Pass a different directory.")


def _is_writable(file):
    # Only stores are checked: SQLite's other files come and go while it is open.
    return os.access(file, os.W_OK) or not file.exists()


def current_file(directory):
    """Return the path of the cache's current file, which may not exist yet."""
    names = [
        _FILE_NAME.fullmatch(file.name).groups() for file in cache_files(directory)
    ]
    current = [
        (int(n), suffix) for layout, n, suffix, _ in names if int(layout) == LAYOUT
    ]
    number, suffix = max(current, default=(1, "sqlite"))
    if (number, "damaged") in current:
        number += 1
    return Path(directory) / f"{_PREFIX}-{LAYOUT}-{number}.sqlite"


def set_aside(file):
    """Rename a corrupt file and return its new path; the next file opened is new."""
    aside = file.with_suffix(".damaged")
    if not aside.exists():
        with suppress(FileNotFoundError):  # another process was faster
            os.rename(file, aside)
    return aside


def connect(file, *, write=True):
    """Return a connection in autocommit mode; without `write` the file must exist."""
    if not write:
        return _connect_read_only(file)
    connection = _open(file, "mode=rwc")
    try:
        # Has an effect on new files only. Entries take several pages, which are written
        # one by one.
        connection.execute("PRAGMA page_size = 8192")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _enable_write_ahead(connection)
        # Commits survive a killed process. A power cut may undo the last of them, but
        # never corrupts earlier ones.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint = 2000")
        connection.execute(f"PRAGMA journal_size_limit = {2**26}")
        # All tables are created in one transaction, so checking one is enough.
        table = "SELECT 1 FROM sqlite_master WHERE name = 'settings'"
        if connection.execute(table).fetchone() is None:
            connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
    except BaseException:
        connection.close()
        raise
    return connection


def _open(file, mode):
    return sqlite3.connect(
        f"{file.absolute().as_uri()}?{mode}",
        uri=True,
        timeout=WAIT,
        isolation_level=None,
        check_same_thread=False,
    )


def _connect_read_only(file):
    connection = _open(file, "mode=ro")
    try:
        connection.execute("SELECT count(*) FROM settings")
        return connection
    except sqlite3.Error:
        connection.close()
        if file.with_name(file.name + "-wal").exists():
            raise
    # No process has the file open, and SQLite cannot create its other files here.
    return _open(file, "mode=ro&immutable=1")


def _enable_write_ahead(connection):
    """Switch to write-ahead logging; SQLite's own timeout does not cover this step."""
    end = time.monotonic() + WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > end:
                raise
        time.sleep(0.01)


# Connections of a parent process, which SQLite forbids to close.
_INHERITED: list[sqlite3.Connection] = []
_STORES: weakref.WeakSet["CacheStore"] = weakref.WeakSet()  # of this process
_KEYS_PER_QUERY = 256  # older versions of SQLite allow 999 parameters
_EVICTION_TARGET = 0.9  # share of the limit that eviction leaves, to make it rare


class CacheStore:
    """Bytes by key in the current file of a directory.

    Safe with several threads, processes and forks. SQLite's errors are raised to the
    caller.

    Parameters
    ----------
    directory : path-like
        An existing directory.
    fingerprint : str
        The source under which new entries are counted.
    write : bool, default=True
        False opens an existing file for reading only.
    """

    def __init__(self, directory, fingerprint, *, write=True):
        self.directory = directory
        self.fingerprint = fingerprint
        self.write = write
        self._reset()
        _STORES.add(self)

    def _reset(self):
        self.file = self._connection = None
        self._lock = threading.RLock()

    def close(self):
        """Close the file; the next call opens the file that is then current."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def read(self, keys):
        """Return the bytes stored under each key, None for missing keys."""
        result = {}
        with self.locked() as db:
            for start in range(0, len(keys), _KEYS_PER_QUERY):
                part = list(keys[start : start + _KEYS_PER_QUERY])
                rows = db.execute(
                    "SELECT key, data FROM entries LEFT JOIN vectors USING (id) "
                    f"WHERE key IN ({','.join('?' * len(part))})",
                    part,
                )
                # An entry without vectors is corrupt, not missing.
                result.update(
                    (key, b"" if data is None else data) for key, data in rows
                )
        return [result.get(key) for key in keys]

    def put(self, items):
        """Write (key, bytes) pairs in one transaction, then evict down to the limit.

        Written entries survive a killed process. An entry that is written again counts
        as new.
        """
        source = self.fingerprint
        with self.writing() as db:
            db.execute(
                "INSERT OR IGNORE INTO sources (fingerprint) VALUES (?)", (source,)
            )
            db.executemany(
                "DELETE FROM vectors WHERE id = (SELECT id FROM entries WHERE key = ?)",
                [(key,) for key, _ in items],
            )
            db.executemany(
                "INSERT OR REPLACE INTO entries (key, size, source) "
                "SELECT ?, ?, id FROM sources WHERE fingerprint = ?",
                [(key, len(data), source) for key, data in items],
            )
            db.executemany(
                "INSERT OR REPLACE INTO vectors (id, data) "
                "SELECT id, ? FROM entries WHERE key = ?",
                [(data, key) for key, data in items],
            )
            self._evict(db)

    def set_limit(self, limit):
        """Set the limit in bytes for all sources and processes, None for no limit."""
        with self.writing() as db:
            db.execute("INSERT OR REPLACE INTO settings VALUES ('limit', ?)", (limit,))
            evicted = self._evict(db)
        if evicted:
            with self.locked() as db:  # a script: each step of the pragma frees a page
                db.executescript("PRAGMA incremental_vacuum")

    def limit(self):
        """Return the limit in bytes, None for no limit."""
        rows = self.query("SELECT value FROM settings WHERE name = 'limit'")
        return rows[0][0] if rows else None

    def clear(self):
        """Remove all entries and free their space; the limit stays."""
        with self.writing() as db:
            for table in ("entries", "vectors", "sources"):
                db.execute(f"DELETE FROM {table}")
        # Without space or while others read, this fails; a later call frees the space.
        with self.locked() as db, suppress(sqlite3.OperationalError):
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def query(self, query):
        """Return all rows that a query selects."""
        with self.locked() as db:
            return db.execute(query).fetchall()

    @contextmanager
    def locked(self):
        """Yield the connection, to one thread at a time."""
        with self._lock:
            if self._connection is None:
                self.file = current_file(self.directory)
                self._connection = connect(self.file, write=self.write)
            yield self._connection

    @contextmanager
    def writing(self):
        """Yield the connection in a transaction."""
        with self.locked() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def _evict(self, db):
        """Delete the oldest entries if the limit is exceeded; return whether it was."""
        limit = self.limit()
        excess = 0 if limit is None else _used_bytes(db) - limit
        if excess <= 0:
            return False
        excess += (1 - _EVICTION_TARGET) * limit
        ids = []
        for number, size in db.execute("SELECT id, size FROM entries ORDER BY id"):
            ids.append((number,))
            excess -= size
            if excess <= 0:
                break
        db.executemany("DELETE FROM vectors WHERE id = ?", ids)
        db.executemany("DELETE FROM entries WHERE id = ?", ids)
        return True


def _used_bytes(db):
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _reset_after_fork():
    for store in list(_STORES):
        _INHERITED.append(store._connection)
        store._reset()  # the lock too: a thread of the parent may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
