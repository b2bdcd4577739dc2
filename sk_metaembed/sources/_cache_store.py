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
"""

import os
import sqlite3
import threading
import weakref
from contextlib import contextmanager, suppress

from ._cache_files import connect, current_file

_INHERITED = []  # connections of a parent process, which SQLite forbids to close
_STORES = weakref.WeakSet()  # of this process
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
