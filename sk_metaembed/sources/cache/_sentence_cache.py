"""SentenceCache: what a contextual source gave for a sentence, kept in a folder.

Claims: who is computing what, so that two processes do not compute it twice.

A claim ends when it is given back, when its process is gone (as far as this machine can
see), or after some minutes at the latest. To compute what is claimed is no error, only
waste: nothing waits for a claim for ever.
"""

import math
import os
import socket
import sqlite3
import time
import uuid
import warnings
import weakref
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from .._original_text import sentence_digest
from ._entry import (
    DTYPES,
    DamagedEntryError,
    OutdatedEntryError,
    as_kept,
    decode,
    encode,
    fields_digest,
)
from ._sqlite import CacheStore, check_folder, in_chunks, is_damage, set_aside

_LEASE = 300  # seconds; longer than a slice of work takes


class Claims:
    """The claims of one handle on a store.

    Parameters
    ----------
    store : CacheStore
        Where all processes see them.
    """

    def __init__(self, store):
        self._store = store
        self._name = uuid.uuid4().hex

    def _owner(self):
        return f"{socket.gethostname()} {os.getpid()} {self._name}"

    def take(self, keys):
        """Claim keys, and return the set of those that are not another's."""
        owner, now, mine = self._owner(), time.time(), set()
        with self._store.writing() as run:
            run("DELETE FROM claims WHERE until < ?", (now,))
            for some in in_chunks(keys):
                marks = ",".join("?" * len(some))
                rows = run(f"SELECT * FROM claims WHERE key IN ({marks})", some)
                taken = {
                    key
                    for key, other, until in rows.fetchall()
                    if other != owner and _holds(other, until, now)
                }
                mine.update(key for key in some if key not in taken)
            run.many(
                "INSERT OR REPLACE INTO claims VALUES (?, ?, ?)",
                [(key, owner, now + _LEASE) for key in mine],
            )
        return mine

    def give_back(self, keys):
        """End the claims on keys."""
        with self._store.writing() as run:
            run.many(
                "DELETE FROM claims WHERE key = ? AND owner = ?",
                [(key, self._owner()) for key in keys],
            )


def _holds(owner, until, now):
    host, pid, _ = owner.split(" ")
    if not now < until <= now + 2 * _LEASE:  # over, or a clock was set back
        return False
    return host != socket.gethostname() or _is_running(int(pid))


def _is_running(pid):
    if os.name != "posix":  # elsewhere this signal would end the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        return (
            file.read().rpartition(b")")[2].split()[0] != b"Z"
        )  # killed, still listed
    return True


_STRANGE = (TypeError, ValueError, AttributeError, IndexError, OverflowError)


@dataclass
class CacheCounts:
    """What one handle did since it was made; bytes are those of entries."""

    hits: int = 0
    misses: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    damaged: int = 0
    outdated: int = 0


class SentenceCache:
    """Vectors by model, layer and exact tokens or text, shared by processes and runs.

    For sources whose vectors depend on the whole sentence, and which cost too much to
    compute twice. A handle is cheap to make: open one where it is used, ``with
    SentenceCache(...) as cache``, and keep none in an estimator. A cache never stops
    the program once it is open: what goes wrong later is told in one warning, and the
    vectors are computed.

    Parameters
    ----------
    directory : path-like
        A folder on a local disk, made if it is not there. Write-ahead logging needs
        memory that is shared between the processes, which network drives do not have.
    fingerprint : str
        Of all that the vectors depend on but the tokens and the layer: weights,
        options, precision. See `fingerprint_of`.
    dtype : {"float32", "float16"}, default="float32"
        How vectors are kept, and what `get_many` returns. Part of the key: what was
        kept as float16 is never taken for float32.
    size_limit : int, default=None
        Largest number of bytes of the store, beyond which what was not used for longest
        is removed. It belongs to the folder and binds every source and process; None
        leaves what was set before, ``math.inf`` removes it. SQLite's log beside the
        store can add some tens of megabytes.

    Attributes
    ----------
    counts : CacheCounts
        ``hits``, ``misses``, ``bytes_read``, ``bytes_written``, ``damaged`` and
        ``outdated`` of this handle.

    Raises
    ------
    ValueError
        For another dtype or a limit that is not positive.
    NotADirectoryError, PermissionError, OSError
        If the folder is none, or holds no cache and may not be written. A cache that
        may only be read is read; what is new is then not kept, and a warning says so.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> folder = tempfile.TemporaryDirectory()
    >>> with SentenceCache(folder.name, "model 1") as cache:
    ...     key = cache.key(("to", "be"), layer=-1)
    ...     cache.get_many([key])
    ...     cache.put_many([key], [(np.eye(2), np.array([True, True]))])
    ...     cache.get_many([key])[0][0]
    [None]
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    >>> folder.cleanup()
    """

    def __init__(self, directory, fingerprint, dtype="float32", size_limit=None):
        if dtype not in DTYPES:
            raise ValueError(f"dtype must be one of {sorted(DTYPES)}, got {dtype!r}.")
        if size_limit is not None and not size_limit > 0:
            raise ValueError(
                f"size_limit must be positive or None, got {size_limit!r}."
            )
        self.directory = Path(directory).expanduser()
        self.fingerprint = fingerprint
        self.dtype = dtype
        self.size_limit = size_limit
        self.counts = CacheCounts()
        self._reading = self._writing = True
        self._reported = (0, 0)
        self._unusable = set()  # keys that hold something damaged or outdated
        self._set_aside = False
        writable = check_folder(self.directory)
        self._store = CacheStore(self.directory, fingerprint, write=writable)
        self._claims = Claims(self._store)
        self._finish = weakref.finalize(self, _finish, self._store)
        held = self._guarded("open", self._store.limit)
        if writable and self._writing and size_limit is not None:
            limit = None if math.isinf(size_limit) else int(size_limit)
            if limit != held:
                self._guarded("write", self._store.set_limit, limit)

    def key(self, tokens, layer):
        """Return the key of a sentence at one layer.

        Parameters
        ----------
        tokens : sequence of str, or OriginalText
            The sentence.
        layer : int or str
            As the source counts; one layer always goes by one name.

        Returns
        -------
        bytes
        """
        return self.keys([tokens], layer)[0]

    def keys(self, sentences, layer):
        """Return the keys of sentences at one layer.

        Parameters
        ----------
        sentences : iterable of sequence of str, or of OriginalText
            Each a sentence, or a text as it was written.
        layer : int or str
            See `key`.

        Returns
        -------
        list of bytes
        """
        model = fields_digest(
            [self.fingerprint.encode(), self.dtype.encode(), repr(layer).encode()]
        )
        return [fields_digest([model, sentence_digest(s)], 20) for s in sentences]

    def get_many(self, keys):
        """Return the entries behind keys, None where there is none that can be used.

        Parameters
        ----------
        keys : sequence of bytes
            See `keys`.

        Returns
        -------
        list of (values, known) or None
            As they were put, in the dtype of the cache and read-only.
        """
        found = [None] * len(keys)
        if self._reading:
            found = self._guarded("read", self._store.read, keys) or found
        entries = [
            data if data is None else self._decoded(key, data)
            for key, data in zip(keys, found, strict=True)
        ]
        hits = sum(entry is not None for entry in entries)
        self.counts.hits += hits
        self.counts.misses += len(keys) - hits
        if self._reading and self._writing:
            self._guarded("write", self._store.count, hits, len(keys) - hits)
        return entries

    def put_many(self, keys, entries):
        """Keep entries, over what was there. Once it returns they survive a crash.

        Parameters
        ----------
        keys : sequence of bytes
            See `keys`.
        entries : sequence of (values, known)
            Arrays of shape (n_tokens, dim) and (n_tokens,), or (dim,) and a bool for
            one vector of the sentence.

        Raises
        ------
        ValueError
            If values are not finite, or too large for float16.
        """
        rows = [as_kept(*entry, self.dtype) for entry in entries]
        items = [
            (key, encode(key, *row, self.dtype))
            for key, row in zip(keys, rows, strict=True)
        ]
        if self._writing and items:
            self._guarded("write", self._store.put, items)
            if self._writing:
                self._unusable.difference_update(keys)
                self.counts.bytes_written += sum(len(data) for _, data in items)

    def claim(self, keys):
        """Claim what is about to be computed, unless another process is at it.

        Parameters
        ----------
        keys : sequence of bytes
            See `keys`; any layer name that all processes use.

        Returns
        -------
        set of bytes
            Those that nobody else has claimed: all, where nothing can be written.
        """
        if self._writing and self._store.write:
            mine = self._guarded("write", self._claims.take, keys)
            return set(keys) if mine is None else mine
        return set(keys)

    def release(self, keys):
        """Give up claims, because the work is done or failed.

        Parameters
        ----------
        keys : sequence of bytes
            As they were claimed.
        """
        if self._writing and self._store.write:
            self._guarded("write", self._claims.give_back, keys)

    def lacks(self, keys):
        """Tell which keys have no entry, without reading or counting.

        Parameters
        ----------
        keys : sequence of bytes
            See `keys`.

        Returns
        -------
        set of bytes
        """
        held = self._guarded("read", self._store.held, keys) if self._reading else ()
        return set(keys).difference(held or ()).union(self._unusable & set(keys))

    def identity(self):
        """Return a number of this state of the cache, None if it cannot be read.

        A cache that was cleared, or whose damaged file was set aside, has another.
        """
        return self._guarded("read", self._store.identity) if self._reading else None

    def count_at_hand(self, hits):
        """Count entries that were found in memory as hits.

        Parameters
        ----------
        hits : int
            Their number. That they were used is not noted: it would be written for
            each of them.
        """
        self.counts.hits += hits
        if self._reading and self._writing:
            self._guarded("write", self._store.count, hits, 0)

    def report(self):
        """Warn of entries that could not be used, if there are more than before."""
        counts = self.counts
        damaged, outdated = (
            now - then
            for now, then in zip(
                (counts.damaged, counts.outdated), self._reported, strict=True
            )
        )
        self._reported = counts.damaged, counts.outdated
        told = [
            f"{count} entries {what}"
            for count, what in (
                (damaged, "are damaged (their checksums do not agree)"),
                (outdated, "are of another format version"),
            )
            if count
        ]
        if told:
            _warn(
                f"Sentence cache {self.directory}: {' and '.join(told)}; they count as "
                "missing and are computed again."
            )

    def close(self):
        """Note what was used, and close the store. Harmless a second time."""
        self._finish()
        self._reading = self._writing = False

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __reduce__(self):
        return type(self), (
            self.directory,
            self.fingerprint,
            self.dtype,
            self.size_limit,
        )

    def _decoded(self, key, data):
        try:
            entry = decode(key, data)
        except (OutdatedEntryError, DamagedEntryError) as error:
            if key not in self._unusable:
                self._unusable.add(key)
                outdated = isinstance(error, OutdatedEntryError)
                self.counts.outdated += outdated
                self.counts.damaged += not outdated
            return None
        self.counts.bytes_read += len(data)
        return entry

    def _guarded(self, what, do, *args):
        """Do something with the store; on failure warn, and go on with less of it."""
        for _ in range(2):
            try:
                return do(*args)
            except (sqlite3.Error, OSError) as error:
                failure = error
            except _STRANGE as error:
                # Rows that are missing, or hold something else than was written.
                failure = sqlite3.DatabaseError(f"a table is not as it was: {error!r}")
                failure.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            if not is_damage(failure) or not self._begin_anew(failure):
                break
        self._give_up(what, failure)
        return None

    def _begin_anew(self, error):
        """Set a damaged file aside, once a handle, so that an empty one is begun."""
        store, file = self._store, self._store.file
        if self._set_aside or not store.write:
            return False
        self._set_aside = True
        try:
            store.close()
            aside = set_aside(file)
        except (OSError, sqlite3.Error):  # some systems rename no file that is open
            return False
        _warn(
            f"Sentence cache {self.directory}: the file {file.name} is damaged "
            f"({error}). It is now {aside.name} and no longer used; a new one was "
            "begun, and what it held is computed again. sk_metaembed.clear_cache "
            "removes it."
        )
        return True

    def _give_up(self, what, error):
        self._writing = False
        if what != "write":
            self._reading = False
        then = "read, but nothing new is kept" if self._reading else "not used further"
        _warn(
            f"Sentence cache {self.directory}: {error} ({what}). The cache is "
            f"{then}; computing goes on. Make room or mend the rights of the folder: "
            "the next fit or transform tries again."
        )


def opened_cache(source):
    """Return a context with the cache that a fitted source asks for, or None.

    Parameters
    ----------
    source : estimator
        With parameters `cache` and `cache_dtype`, and an attribute `fingerprint_`.
    """
    if source.cache is None:
        return nullcontext()
    return SentenceCache(source.cache, source.fingerprint_, source.cache_dtype)


def _finish(store):
    with suppress(sqlite3.Error, OSError):
        store.note()
    with suppress(sqlite3.Error):
        store.close()


def _warn(message):
    warnings.warn(message, UserWarning, stacklevel=2)
