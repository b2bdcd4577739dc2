"""One entry of the sentence cache: its key, its bytes, and the check of them.

A value is stored as a header (magic, format version, dtype, number of rows, dimension,
checksum), then the known mask, one byte a row, then the vectors, little-endian. A
sentence-level vector says -1 for its number of rows. The checksum is taken over the key
too, so that an entry that ended up under another's key is noticed.
"""

import struct
import zlib
from array import array
from functools import lru_cache
from hashlib import blake2b

import numpy as np

FORMAT = 1
DTYPES = {"float16": np.dtype("<f2"), "float32": np.dtype("<f4")}

_MAGIC = b"sS"
_HEADER = struct.Struct("<2sBBiII")
_CODES = {"float16": 2, "float32": 4}
_NAMES = {code: name for name, code in _CODES.items()}


class DamagedEntryError(ValueError):
    """The bytes are not those that were written."""


class OutdatedEntryError(ValueError):
    """The entry was written in another format version."""


def fields_digest(fields, size=32):
    """Return a digest of byte strings that tells where one ends and the next begins.

    Parameters
    ----------
    fields : iterable of bytes
        Their number and lengths go in before them.
    size : int, default=32
        Length of the digest in bytes.

    Returns
    -------
    bytes

    Examples
    --------
    >>> fields_digest([b"a", b"b"]) == fields_digest([b"ab"])
    False
    """
    fields = list(fields)
    lengths = array("Q", map(len, fields))
    framed = (array("Q", [len(fields)]), lengths, *fields)
    return blake2b(b"".join(framed), digest_size=size).digest()


@lru_cache(2**14)  # each layer asks for it, before and after computing
def tokens_digest(tokens):
    """Return a digest of a sentence, over its exact tokens.

    Parameters
    ----------
    tokens : tuple of str
        One sentence. Lone surrogates are allowed, as in any Python string.

    Returns
    -------
    bytes

    Examples
    --------
    >>> tokens_digest(("a b",)) == tokens_digest(("a", "b"))
    False
    """
    return fields_digest(token.encode("utf-8", "surrogatepass") for token in tokens)


def as_kept(values, known, dtype):
    """Return an entry as it will be read, so that it is the same first as later.

    Parameters
    ----------
    values : array-like of shape (n_tokens, dim) or (dim,)
        Vectors of the tokens, or one of the sentence.
    known : array-like of bool of shape (n_tokens,), or bool
        Where there really is a vector.
    dtype : {"float16", "float32"}
        How the vectors are kept.

    Returns
    -------
    values, known : ndarray

    Raises
    ------
    ValueError
        If values are not finite, or too large for float16.
    """
    values = np.asarray(values)
    with np.errstate(over="ignore"):  # told below
        kept = values.astype(DTYPES[dtype])
    if not np.isfinite(kept).all():
        if np.isfinite(values).all():
            raise ValueError(
                f"The vectors reach {np.abs(values).max():.4g}, more than {dtype} "
                "holds: keep them as float32."
            )
        raise ValueError(f"The vectors to keep as {dtype} hold NaN or infinity.")
    return kept, np.asarray(known, dtype=bool)


def encode(key, values, known, dtype):
    """Return the bytes of an entry.

    Parameters
    ----------
    key : bytes
        The entry's key.
    values : ndarray of shape (n_rows, dim) or (dim,)
        Vectors of the tokens, or one of the sentence.
    known : ndarray of bool of shape (n_rows,), or bool
        Where there really is a vector.
    dtype : {"float16", "float32"}
        How the vectors are stored.

    Returns
    -------
    bytes
    """
    rows = len(values) if values.ndim == 2 else -1
    mask = np.atleast_1d(known).astype(np.uint8).tobytes()
    vectors = np.ascontiguousarray(values, dtype=DTYPES[dtype]).tobytes()
    fields = _MAGIC, FORMAT, _CODES[dtype], rows, values.shape[-1]
    head = _HEADER.pack(*fields, 0)
    checksum = _checksum(key, head, mask, vectors)
    return b"".join((_HEADER.pack(*fields, checksum), mask, vectors))


def decode(key, data):
    """Return the vectors and the known mask of an entry.

    Parameters
    ----------
    key : bytes
        The entry's key.
    data : bytes
        What `encode` gave.

    Returns
    -------
    values : ndarray of shape (n_rows, dim) or (dim,)
        Read-only.
    known : ndarray of bool of shape (n_rows,), or bool

    Raises
    ------
    OutdatedEntryError
        If it has another format version.
    DamagedEntryError
        If it is not what was written.

    Examples
    --------
    >>> import numpy as np
    >>> data = encode(b"key", np.eye(2), np.array([True, False]), "float16")
    >>> values, known = decode(b"key", data)
    >>> values.dtype, known.tolist()
    (dtype('float16'), [True, False])
    """
    if not isinstance(data, bytes) or len(data) < _HEADER.size or data[:2] != _MAGIC:
        raise DamagedEntryError
    magic, version, code, rows, dim, checksum = _HEADER.unpack_from(data)
    if version != FORMAT:
        raise OutdatedEntryError
    n_known = 1 if rows < 0 else rows
    dtype = DTYPES.get(_NAMES.get(code))
    size = _HEADER.size + n_known
    if dtype is None or len(data) != size + n_known * dim * dtype.itemsize:
        raise DamagedEntryError
    head = _HEADER.pack(magic, version, code, rows, dim, 0)
    body = memoryview(data)[_HEADER.size :]
    if _checksum(key, head, body) != checksum:
        raise DamagedEntryError
    known = np.frombuffer(data, bool, n_known, _HEADER.size)
    values = np.frombuffer(data, dtype, n_known * dim, size)
    if rows < 0:
        return values, bool(known[0])
    return values.reshape(rows, dim), known


def _checksum(*parts):
    value = 0
    for part in parts:
        value = zlib.crc32(part, value)
    return value
