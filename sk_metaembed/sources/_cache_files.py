"""The files of a sentence cache: which one is current, how it is opened, set aside.

A folder holds ``sk_metaembed-sentences-<layout>-<n>.sqlite`` (and SQLite's ``-wal`` and
``-shm`` beside it). A file that turns out to be damaged is renamed to ``.damaged`` and
the next number begins: a fresh name, because a process that still has the old file open
may yet touch the files that belong to its name.
"""

import os
import re
import sqlite3
import time
from contextlib import suppress
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
