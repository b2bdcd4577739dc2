"""The store behind the sentence cache: bytes by key, in SQLite, oldest use out first.

Why SQLite (in write-ahead mode) and not LMDB: both were measured on 20,000 entries of
20 x 384 float32, with one and two processes, and so was diskcache. LMDB reads two to
five times as fast and writes up to twice as fast, but even SQLite gives and takes
thousands of sentences a second, where a transformer on a CPU makes some hundreds. What
decides is a store file that was cut short: LMDB, which maps it, ends the process with a
bus error; SQLite raises an exception. SQLite also needs no map size guessed in advance,
may be opened several times in a process, keeps no reader slots for killed processes,
and comes with Python. diskcache, on SQLite too, was no faster.

Reading writes nothing. Which entries were read is kept in memory and noted now and
then, together with a write if there is one, and only for entries that something was
noted or written after: a program that reads the same sentences again and again writes
the number of its hits when it closes, and no more.

The files of a sentence cache: which one is current, how it is opened, set aside.

A folder holds ``sk_metaembed-sentences-<layout>-<n>.sqlite`` (and SQLite's ``-wal`` and
``-shm`` beside it). A file that turns out to be damaged is renamed to ``.damaged`` and
the next number begins: a fresh name, because a process that still has the old file open
may yet touch the files that belong to its name.
"""

import os
import re
import sqlite3
import threading
import time
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path

LAYOUT = 1
WAIT = 60  # seconds for a lock: a write takes milliseconds, an eviction a few seconds

_PREFIX = "sk_metaembed-sentences"
_ANY = re.compile(rf"{_PREFIX}-(\d+)-(\d+)\.(sqlite|damaged)(-wal|-shm|-journal)?")
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value INTEGER);
CREATE TABLE IF NOT EXISTS sources (
    id INTEGER PRIMARY KEY, fingerprint TEXT UNIQUE NOT NULL,
    hits INTEGER NOT NULL DEFAULT 0, misses INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, source INTEGER NOT NULL,
    used INTEGER NOT NULL, size INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS claims (
    key BLOB PRIMARY KEY, owner TEXT NOT NULL, until REAL NOT NULL);
INSERT OR IGNORE INTO settings VALUES ('clock', 0), ('identity', random());
"""


def is_damage(error):
    """Tell whether an error of SQLite says that the file itself is damaged."""
    return _code(error) in _DAMAGE


def is_beyond_repair(error):
    """Tell whether an error of SQLite leaves nothing but to remove the file.

    Besides damage that is a full disk, on which SQLite cannot delete either, and a file
    that lacks tables.
    """
    beyond = (*_DAMAGE, sqlite3.SQLITE_FULL, sqlite3.SQLITE_ERROR)
    return _code(error) in beyond


def _code(error):
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def cache_files(directory):
    """Return the files of a cache in a folder, those of SQLite beside it included.

    Parameters
    ----------
    directory : path-like
        A folder.

    Returns
    -------
    list of Path
        Empty if the folder holds no cache.

    Raises
    ------
    FileNotFoundError, NotADirectoryError, PermissionError
        If there is no folder to look into.
    """
    return sorted(
        Path(entry.path)
        for entry in os.scandir(directory)
        if _ANY.fullmatch(entry.name)
    )


def check_folder(directory):
    """Tell whether a cache's folder may be written; make it if it is not there.

    Parameters
    ----------
    directory : Path
        The folder.

    Returns
    -------
    bool
        False if it holds a cache that may only be read.

    Raises
    ------
    NotADirectoryError, PermissionError, OSError
        If there is no such folder and none can be made, or no cache to read in it.
    """
    told = (
        f"The sentence cache needs a folder that it may write, got {str(directory)!r}: "
    )
    try:
        directory.mkdir(parents=True, exist_ok=True)
        held = cache_files(directory)
    except (FileExistsError, NotADirectoryError) as error:
        raise NotADirectoryError(f"{told}there is a file in its place.") from error
    except OSError as error:
        raise type(error)(f"{told}{error}. Give another folder.") from error
    stores = [file for file in held if file.suffix == ".sqlite"]
    if os.access(directory, os.W_OK | os.X_OK) and all(map(_is_writable, stores)):
        return True
    if held:
        return False
    raise PermissionError(f"{told}it may not be written. Give another folder.")


def _is_writable(file):
    # Only stores are asked: SQLite's files beside them come and go while it is open.
    return os.access(file, os.W_OK) or not file.exists()


def current_file(directory):
    """Return where the current file of a cache is, or is to be.

    Parameters
    ----------
    directory : path-like
        A folder that is there.

    Returns
    -------
    Path
    """
    names = [_ANY.fullmatch(path.name).groups() for path in cache_files(directory)]
    ours = [(int(n), kind) for layout, n, kind, _ in names if int(layout) == LAYOUT]
    number, kind = max(ours, default=(1, "sqlite"))
    if (number, "damaged") in ours:
        number += 1
    return Path(directory) / f"{_PREFIX}-{LAYOUT}-{number}.sqlite"


def set_aside(file):
    """Rename a damaged file, so that the next one opened is a new one.

    Parameters
    ----------
    file : Path
        As `current_file` gave it. That another process was faster is no error.

    Returns
    -------
    Path
        Where it is now.
    """
    aside = file.with_suffix(".damaged")
    if not aside.exists():
        with suppress(FileNotFoundError):
            os.rename(file, aside)
    return aside


def connect(file, *, write=True):
    """Open a file of the cache, made if it is not there and may be written.

    Parameters
    ----------
    file : Path
        As `current_file` gave it.
    write : bool, default=True
        False opens what is there for reading only.

    Returns
    -------
    sqlite3.Connection
        In autocommit mode, to be used under a lock of one's own.
    """
    if not write:
        return _connect_to_read(file)
    connection = _open(file, "mode=rwc")
    try:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _write_ahead(connection)
        # Commits survive a killed process; a power cut may undo the last of them,
        # never harm those before.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")
        connection.execute(f"PRAGMA journal_size_limit = {2**26}")
        if not _made(connection):
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


def _connect_to_read(file):
    connection = _open(file, "mode=ro")
    try:
        connection.execute("SELECT count(*) FROM settings")
        return connection
    except sqlite3.Error:
        connection.close()
        if file.with_name(file.name + "-wal").exists():
            raise
    # Nobody has the file open, and SQLite may not put its files beside it.
    return _open(file, "mode=ro&immutable=1")


def _write_ahead(connection):
    """Switch to write-ahead logging, which SQLite does not wait for by itself."""
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


def _made(connection):
    asked = "SELECT 1 FROM sqlite_master WHERE name = 'claims'"
    return connection.execute(asked).fetchone() is not None


# Connections of a parent process, which SQLite forbids to close.
_INHERITED: list[sqlite3.Connection] = []
_STORES: weakref.WeakSet["CacheStore"] = weakref.WeakSet()  # of this process
_AT_ONCE = 256  # keys a query: SQLite once allowed 999 parameters
_NOTE_AFTER = 4096  # entries read before their use is noted
_KEEP = 0.9  # share of the limit that eviction leaves, so that it is rare


class CacheStore:
    """Bytes by key in the current file of a folder.

    Safe with several threads, processes and forks; errors of SQLite go up to the
    caller.

    Parameters
    ----------
    directory : path-like
        A folder that is there.
    fingerprint : str
        Under which entries, hits and misses are counted.
    write : bool, default=True
        False opens what is there for reading only.
    """

    def __init__(self, directory, fingerprint, *, write=True):
        self.directory = directory
        self.fingerprint = fingerprint
        self.write = write
        self._start_anew()
        _STORES.add(self)

    def _start_anew(self):
        self.file = self._connection = None
        self._lock = threading.RLock()
        self._forget_use()

    def _forget_use(self):
        self._read_ids = set()
        self._hits = self._misses = 0

    def close(self):
        """Close the file. The next call opens the one that is current then."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def read(self, keys):
        """Return the bytes behind each key, None where there are none.

        Parameters
        ----------
        keys : sequence of bytes
            Any number.

        Returns
        -------
        list of (bytes or None)
        """
        found = {}
        with self.locked() as run:
            clock = self._clock(run) if self.write else None
            for some in in_chunks(keys):
                rows = run(
                    "SELECT id, key, used, data FROM entries LEFT JOIN vectors "
                    f"USING (id) WHERE key IN ({','.join('?' * len(some))})",
                    some,
                )
                for number, key, used, data in rows:
                    found[key] = b"" if data is None else data
                    if clock is not None and used < clock:
                        self._read_ids.add(number)
        return [found.get(key) for key in keys]

    def held(self, keys):
        """Return those keys that have an entry."""
        found = set()
        with self.locked() as run:
            for some in in_chunks(keys):
                marks = ",".join("?" * len(some))
                rows = run(f"SELECT key FROM entries WHERE key IN ({marks})", some)
                found.update(key for (key,) in rows)
        return found

    def count(self, hits, misses):
        """Count hits and misses, and note what was read if that is much by now."""
        with self.locked():
            self._hits += hits
            self._misses += misses
            much = len(self._read_ids) >= _NOTE_AFTER
        if much and self.write:
            self.note()

    def note(self):
        """Write down which entries were used, and the hits and misses."""
        if self.write and (self._read_ids or self._hits or self._misses):
            with self.writing() as run:
                self._note(run)

    def put(self, items):
        """Write entries in one transaction, over what is there, and keep to the limit.

        Parameters
        ----------
        items : sequence of (bytes, bytes)
            Keys and values. Once this returns they survive a killed process.
        """
        with self.writing() as run:
            self._note(run, tick=True)
            clock, source = self._clock(run), self._source_id(run)
            run.many(
                "INSERT INTO entries (key, source, used, size) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (key) DO UPDATE "
                "SET used = excluded.used, size = excluded.size",
                [(key, source, clock, len(data)) for key, data in items],
            )
            run.many(
                "INSERT OR REPLACE INTO vectors (id, data) "
                "SELECT id, ? FROM entries WHERE key = ?",
                [(data, key) for key, data in items],
            )
            self._evict(run)

    def set_limit(self, limit):
        """Set how many bytes the entries of all sources may take, None for any.

        Parameters
        ----------
        limit : int or None
            Binds every process that writes from now on. Evicts what is too much.
        """
        with self.writing() as run:
            run("INSERT OR REPLACE INTO settings VALUES ('limit', ?)", (limit,))
            evicted = self._evict(run)
        if evicted:
            with self.locked():  # as a script, for it gives back one page a step
                self._connection.executescript("PRAGMA incremental_vacuum")

    def limit(self):
        """Return the limit in bytes, None if there is none."""
        with self.locked() as run:
            return self._limit(run)

    def identity(self):
        """Return the number that this state of the cache has until it is cleared."""
        with self.locked() as run:
            return self._setting(run, "identity")

    def clear(self):
        """Remove every entry and count, and give the space back."""
        with self.writing() as run:
            for table in ("entries", "vectors", "sources", "claims"):
                run(f"DELETE FROM {table}")
            run("INSERT OR REPLACE INTO settings VALUES ('identity', random())")
        # Only tidying: what fails for want of space or quiet is done by a later one.
        with self.locked() as run, suppress(sqlite3.OperationalError):
            run("VACUUM")
            run("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def ask(self, query, *parameters):
        """Return all rows that answer a query."""
        with self.locked() as run:
            return run(query, parameters).fetchall()

    @contextmanager
    def locked(self):
        """Give what executes queries, to one thread at a time."""
        with self._lock:
            if self._connection is None:
                self.file = current_file(self.directory)
                self._connection = connect(self.file, write=self.write)
            yield _Run(self._connection)

    @contextmanager
    def writing(self):
        """Give what executes queries, in one transaction of one process at a time."""
        with self.locked() as run:
            run("BEGIN IMMEDIATE")
            try:
                yield run
                run("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    run("ROLLBACK")
                raise

    def _clock(self, run):
        return run("SELECT value FROM settings WHERE name = 'clock'").fetchone()[0]

    def _limit(self, run):
        return self._setting(run, "limit")

    def _setting(self, run, name):
        asked = "SELECT value FROM settings WHERE name = ?"
        row = run(asked, (name,)).fetchone()
        return row[0] if row else None

    def _source_id(self, run):
        asked = "SELECT id FROM sources WHERE fingerprint = ?", (self.fingerprint,)
        row = run(*asked).fetchone()
        if row is None:
            run("INSERT INTO sources (fingerprint) VALUES (?)", asked[1])
            row = run(*asked).fetchone()
        return row[0]

    def _note(self, run, tick=False):
        if tick or self._read_ids:
            run("UPDATE settings SET value = value + 1 WHERE name = 'clock'")
        clock = self._clock(run)
        run.many(
            "UPDATE entries SET used = ? WHERE id = ?",
            [(clock, number) for number in self._read_ids],
        )
        run(
            "UPDATE sources SET hits = hits + ?, misses = misses + ? WHERE id = ?",
            (self._hits, self._misses, self._source_id(run)),
        )
        self._forget_use()

    def _evict(self, run):
        """Delete what was not used for longest, down to a share of the limit."""
        limit = self._limit(run)
        if limit is None or _used_bytes(run) <= limit:
            return False
        too_much = _used_bytes(run) - _KEEP * limit
        numbers = []
        for number, size in run("SELECT id, size FROM entries ORDER BY used, id"):
            numbers.append((number,))
            too_much -= size
            if too_much <= 0:
                break
        run.many("DELETE FROM vectors WHERE id = ?", numbers)
        run.many("DELETE FROM entries WHERE id = ?", numbers)
        return True


def in_chunks(keys):
    """Yield keys, as many as fit into a query."""
    for start in range(0, len(keys), _AT_ONCE):
        yield list(keys[start : start + _AT_ONCE])


class _Run:
    """Shorthand for executing on a connection."""

    def __init__(self, connection):
        self._connection = connection

    def __call__(self, query, parameters=()):
        return self._connection.execute(query, parameters)

    def many(self, query, rows):
        self._connection.executemany(query, rows)


def _used_bytes(run):
    pages, free, size = (
        run(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _leave_to_parent():
    for store in list(_STORES):
        _INHERITED.append(store._connection)
        store._start_anew()  # the lock too: a thread that is not here may hold it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
