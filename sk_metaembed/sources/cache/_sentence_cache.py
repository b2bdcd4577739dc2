"""SentenceCache: the vectors of sentences in a directory, shared by processes.

An entry is stored as a header (number of rows, dimension, checksum), the known mask
with one byte per row, and the vectors, little-endian. The number of rows is -1 for a
sequence-level vector. The checksum covers the key too, which names the dtype, so that
an entry stored under the wrong key is detected.
"""

import sqlite3
import struct
import warnings
import zlib
from array import array
from contextlib import nullcontext, suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import numpy as np

from ..contextual._sentences import OriginalText
from ._sqlite import CacheStore, check_directory, is_corruption, set_aside

DTYPES = {"float16": np.dtype("<f2"), "float32": np.dtype("<f4")}

_HEADER = struct.Struct("<iII")
# No text has this byte in UTF-8, so no token list has the digest of a text.
_TEXT_MARK = b"\xff"
# Errors if rows are missing or contain values of other types.
_MALFORMED = (TypeError, ValueError, AttributeError, IndexError, OverflowError)


class SentenceCache:
    """Vectors by model, layer and exact tokens or text, shared by processes and runs.

    For sources whose vectors depend on the whole sentence and are expensive to compute.
    Opening a cache is cheap: use ``with SentenceCache(...) as cache`` where it is
    needed, and do not store it in an estimator. Once it is open, a failure of the store
    raises no error: a warning is issued, and the vectors are computed.

    Parameters
    ----------
    directory : path-like
        A directory on a local disk, created if it is missing. Network drives do not
        support the memory that write-ahead logging shares between processes.
    fingerprint : str
        Digest of everything that vectors depend on except tokens and layer: weights,
        options, precision. See `fingerprint_of`.
    dtype : {"float32", "float16"}, default="float32"
        Precision of stored and returned vectors. Part of the key.

    Raises
    ------
    NotADirectoryError, PermissionError, OSError
        If the directory cannot be created, or is read-only and holds no cache. A
        read-only cache is read; a warning says that new vectors are not stored.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> folder = tempfile.TemporaryDirectory()
    >>> with SentenceCache(folder.name, "model 1") as cache:
    ...     [key] = cache.keys([("to", "be")], layer=-1)
    ...     cache.get_many([key])
    ...     cache.put_many([key], [(np.eye(2), np.array([True, True]))])
    ...     cache.get_many([key])[0][0]
    [None]
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    >>> folder.cleanup()
    """

    def __init__(self, directory, fingerprint, dtype="float32"):
        self.directory = Path(directory).expanduser()
        self.fingerprint, self.dtype = fingerprint, dtype
        self._corrupt = set()
        self._reading = self._writing = True
        self._replaced_file = False
        writable = check_directory(self.directory)
        self._store = CacheStore(self.directory, fingerprint, write=writable)
        self._guarded("open", self._store.limit)

    def keys(self, sentences, layer):
        """Return the keys of sentences, token lists or OriginalText, at one layer."""
        model = fields_digest(
            [self.fingerprint.encode(), self.dtype.encode(), repr(layer).encode()]
        )
        return [fields_digest([model, sentence_digest(s)], 20) for s in sentences]

    def get_many(self, keys):
        """Return the (values, known) stored under each key, None if it is missing."""
        stored = None
        if self._reading:
            stored = self._guarded("read", self._store.read, keys)
        stored = stored or [None] * len(keys)
        entries = [
            None if data is None else decode(key, data, self.dtype)
            for key, data in zip(keys, stored, strict=True)
        ]
        self._corrupt |= {
            key
            for key, data, entry in zip(keys, stored, entries, strict=True)
            if entry is None and data is not None
        }
        return entries

    def put_many(self, keys, entries):
        """Store entries; once this returns they survive a killed process.

        Parameters
        ----------
        keys : sequence of bytes
        entries : sequence of (values, known)
            From `round_entry`: arrays of shape (n_tokens, dim) and (n_tokens,), or
            (dim,) and a bool for one vector per sentence.
        """
        items = [
            (key, encode(key, *entry, self.dtype))
            for key, entry in zip(keys, entries, strict=True)
        ]
        if self._writing and items:
            self._guarded("write", self._store.put, items)

    def close(self):
        """Close the store; warn if entries were corrupt."""
        with suppress(sqlite3.Error):
            self._store.close()
        n, self._corrupt = len(self._corrupt), set()
        if n:
            _warn(
                f"Sentence cache {self.directory}: {n} "
                f"{'entry is' if n == 1 else 'entries are'} corrupt (the checksum does "
                "not match), treated as missing and computed again."
            )

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def _guarded(self, what, function, *args):
        """Call a function of the store; if it fails, warn and disable the operation."""
        for _ in range(2):
            try:
                return function(*args)
            except (sqlite3.Error, OSError) as error:
                failure = error
            except _MALFORMED as error:
                failure = sqlite3.DatabaseError(f"unexpected table content: {error!r}")
                failure.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            if not is_corruption(failure) or not self._replace_file(failure):
                break
        self._disable(what, failure)
        return None

    def _replace_file(self, error):
        """Set a corrupt file aside, once per handle, so that the next one is new."""
        store, file = self._store, self._store.file
        if self._replaced_file or not store.write:
            return False
        self._replaced_file = True
        try:
            store.close()
            aside = set_aside(file)
        except (OSError, sqlite3.Error):  # some systems cannot rename an open file
            return False
        _warn(
            f"Sentence cache {self.directory}: the file {file.name} is corrupt "
            f"({error}). It was renamed to {aside.name} and is no longer used; a new "
            "file was created, and its content is computed again. "
            "EmbeddingCache(directory).clear() removes the corrupt file."
        )
        return True

    def _disable(self, what, error):
        self._writing = False
        if what != "write":
            self._reading = False
        state = "read, but new vectors are not stored" if self._reading else "not used"
        _warn(
            f"Sentence cache {self.directory}: {error} ({what}). For the rest of this "
            f"call the cache is {state}, and missing vectors are computed. Free disk "
            "space or fix the directory's permissions; the next fit or transform tries "
            "again."
        )


def open_cache(directory, fingerprint, dtype):
    """Return a context manager with a SentenceCache, or with None for no directory."""
    if directory is None:
        return nullcontext()
    return SentenceCache(directory, fingerprint, dtype)


def _warn(message):
    warnings.warn(message, UserWarning, stacklevel=2)


def fields_digest(fields, size=32):
    """Return a digest of byte strings, which depends on their boundaries.

    >>> fields_digest([b"a", b"b"]) == fields_digest([b"ab"])
    False
    """
    fields = list(fields)
    lengths = array("Q", map(len, fields))
    framed = (array("Q", [len(fields)]), lengths, *fields)
    return blake2b(b"".join(framed), digest_size=size).digest()


def sentence_digest(sentence):
    """Return a digest of tokens or of an OriginalText; the two never have the same.

    >>> sentence_digest(OriginalText("to be")) == sentence_digest(("to be",))
    False
    >>> sentence_digest(("a b",)) == sentence_digest(("a", "b"))
    False
    """
    if isinstance(sentence, OriginalText):
        return _text_digest(sentence)
    return _tokens_digest(tuple(sentence))


@lru_cache(2**14)  # computed for each layer, when reading and when writing
def _tokens_digest(tokens):
    return fields_digest(token.encode("utf-8", "surrogatepass") for token in tokens)


@lru_cache(2**14)
def _text_digest(original):
    return fields_digest(
        [
            _TEXT_MARK,
            original.text.encode("utf-8", "surrogatepass"),
            # "Tokens not requested" and "no tokens in the text" must differ.
            *(() if original.span_bytes is None else (original.span_bytes,)),
        ]
    )


def round_entry(values, known, dtype):
    """Return an entry as it will be read, so that first and later results are equal.

    Raises
    ------
    ValueError
        If values are not finite, or too large for float16.
    """
    values = np.asarray(values)
    with np.errstate(over="ignore"):  # checked below
        rounded = values.astype(DTYPES[dtype])
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


def encode(key, values, known, dtype):
    """Return an entry's bytes; values (n_rows, dim) or (dim,), known to match."""
    rows = len(values) if values.ndim == 2 else -1
    mask = np.atleast_1d(known).astype(np.uint8).tobytes()
    vectors = np.ascontiguousarray(values, dtype=DTYPES[dtype]).tobytes()
    fields = rows, values.shape[-1]
    checksum = _checksum(key, _HEADER.pack(*fields, 0), mask, vectors)
    return b"".join((_HEADER.pack(*fields, checksum), mask, vectors))


def decode(key, data, dtype):
    """Return read-only values and known from the output of `encode`.

    None if the data differ from what was written.

    Examples
    --------
    >>> import numpy as np
    >>> data = encode(b"key", np.eye(2), np.array([True, False]), "float16")
    >>> values, known = decode(b"key", data, "float16")
    >>> values.dtype, known.tolist()
    (dtype('float16'), [True, False])
    """
    if not isinstance(data, bytes) or len(data) < _HEADER.size:
        return None
    rows, dim, checksum = _HEADER.unpack_from(data)
    n_known = 1 if rows < 0 else rows
    size = _HEADER.size + n_known
    if len(data) != size + n_known * dim * DTYPES[dtype].itemsize:
        return None
    body = memoryview(data)[_HEADER.size :]
    if _checksum(key, _HEADER.pack(rows, dim, 0), body) != checksum:
        return None
    known = np.frombuffer(data, bool, n_known, _HEADER.size)
    values = np.frombuffer(data, DTYPES[dtype], n_known * dim, size)
    if rows < 0:
        return values, bool(known[0])
    return values.reshape(rows, dim), known


def _checksum(*parts):
    value = 0
    for part in parts:
        value = zlib.crc32(part, value)
    return value
