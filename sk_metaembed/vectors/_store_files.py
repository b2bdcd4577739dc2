"""The directory a store is: its files, how they are written, checked and mapped.

============== ====================================================
``meta.json``  version, fingerprint, sizes, repairs, where it is from
``vectors.npy`` the matrix, one row a word
``words.npy``  all words in UTF-8, each followed by a newline
``offsets.npy`` where each word starts in ``words.npy``
``index.npy``  open-addressed table from a word's hash to its row
``buckets.npy`` fastText's n-gram vectors, where the source has them
============== ====================================================
"""

import hashlib
import json
import os
import re
import warnings
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np

from ._word_index import (
    PackedWords,
    build_index,
    find,
    pack,
)

VERSION = 1
META = "meta.json"
_CHUNK_BYTES = 1 << 24
_PLAIN = re.compile(r"[a-z]+\.npy")
_HASHED = ("words.npy", "offsets.npy", "vectors.npy", "buckets.npy")


class MatrixFile:
    """A ``.npy`` file that grows by rows and gets its length at the end."""

    def __init__(self, path, dim, dtype):
        self.path, self.dim, self.dtype = path, dim, np.dtype(dtype)
        self.n_rows = 0
        self._file = open(path, "wb")  # noqa: SIM115 (closed in close)
        self._write_header()

    def _write_header(self):
        shape = (self.n_rows, self.dim)
        header = {"descr": self.dtype.str, "fortran_order": False, "shape": shape}
        self._file.seek(0)
        # numpy pads the header so that the first axis may grow in place
        np.lib.format.write_array_header_1_0(self._file, header)
        self.data_start = self._file.tell()

    def append(self, rows):
        """Write rows, which must have the file's dtype already."""
        self._file.write(np.ascontiguousarray(rows, self.dtype).data)
        self.n_rows += len(rows)

    def keep(self, rows):
        """Keep only the given ascending rows, moving them up within the file."""
        self._file.flush()
        shape = (self.n_rows, self.dim)
        matrix = np.memmap(self.path, self.dtype, "r+", self.data_start, shape)
        step = max(1, _CHUNK_BYTES // max(1, matrix.strides[0]))
        for start in range(0, len(rows), step):
            chunk = rows[start : start + step]
            matrix[start : start + len(chunk)] = matrix[chunk]
        matrix.flush()
        del matrix
        self.n_rows = len(rows)
        self._file.truncate(
            self.data_start + self.n_rows * self.dim * self.dtype.itemsize
        )

    def close(self):
        """Write the final header."""
        if not self._file.closed:
            self._write_header()
            self._file.close()


class StoreWriter:
    """Writes one store: readers push rows, ``finish`` makes it whole.

    Attributes
    ----------
    repairs : Counter
        What had to be mended, by kind; ends up in ``meta.json``.
    """

    def __init__(self, directory, *, label, dtype="float32", limit=None, words=None):
        self.directory, self.label = Path(directory), label
        self.dtype, self.limit = np.dtype(dtype), limit
        self.repairs = Counter()
        self.subwords = None
        self._matrix = self._buckets = None
        self._packs = []
        self._not_finite = []
        self._wanted = None
        if words is not None:
            packed = pack(words)
            self._wanted = packed, build_index(packed)[0]

    def append(self, packed, vectors):
        """Take words and their float32 rows, mended and filtered."""
        if self._matrix is None:
            path = self.directory / "vectors.npy"
            self._matrix = MatrixFile(path, vectors.shape[1], self.dtype)
        packed = self._decodable(packed)
        if self._wanted is not None:
            keep = find(packed, *self._wanted) >= 0
            packed, vectors = _kept(packed, vectors, keep)
        packed, vectors = _kept(packed, vectors, self._finite(packed, vectors))
        self._matrix.append(self._cast(vectors, packed.word))
        self._packs.append(packed)

    def write_buckets(self, chunks, min_n, max_n):
        """Take the n-gram vectors, as an iterable of float32 chunks of rows."""
        for chunk in chunks:
            if self._buckets is None:
                path = self.directory / "buckets.npy"
                self._buckets = MatrixFile(path, chunk.shape[1], self.dtype)
            start = self._buckets.n_rows
            if not np.isfinite(chunk.sum(dtype=np.float64)):
                raise ValueError(
                    f"{self.label}: the n-gram vectors hold NaN or infinite values "
                    f"near bucket {start}; the file is damaged."
                )
            row_name = partial(_bucket_name, start)
            self._buckets.append(self._cast(chunk, row_name))
        if self._buckets is not None:
            self._buckets.close()
            self.subwords = {"min_n": int(min_n), "max_n": int(max_n)}

    def finish(self, source):
        """Drop duplicates, build the index, and write the meta data last."""
        packed = _concatenate(self._packs)
        if packed is None or packed.n_words == 0:
            raise ValueError(self._why_empty())
        slots, first = build_index(packed)
        rows = np.flatnonzero(first == np.arange(len(first)))
        if len(rows) < len(first):
            self.repairs["duplicate_words"] += len(first) - len(rows)
            packed = packed.take(rows)
            slots, _ = build_index(packed)
            self._matrix.keep(rows)
        self._matrix.close()
        self._write_meta(packed, slots, source)
        self._warn_not_finite()

    def close(self):
        """Let go of the files, also where writing was broken off."""
        for file in (self._matrix, self._buckets):
            if file is not None:
                file.close()

    def _write_meta(self, packed, slots, source):
        arrays = {"words": packed.blob, "offsets": packed.offsets, "index": slots}
        for name, array in arrays.items():
            np.save(self.directory / f"{name}.npy", array)
        meta = {
            "version": VERSION,
            "count": packed.n_words,
            "dim": self._matrix.dim,
            "dtype": self.dtype.name,
            "subwords": self.subwords,
        }
        meta["fingerprint"] = _fingerprint(self.directory, meta)
        meta["repairs"] = {k: int(v) for k, v in sorted(self.repairs.items()) if v}
        meta["source"] = source
        meta["files"] = {
            path.name: path.stat().st_size
            for path in sorted(self.directory.glob("*.npy"))
        }
        text = json.dumps(meta, indent=1, ensure_ascii=True)
        (self.directory / META).write_text(text, encoding="ascii")

    def _decodable(self, packed):
        try:
            bytes(packed.blob).decode()
            return packed
        except UnicodeDecodeError:
            pass
        starts, ends = packed.offsets[:-1], packed.offsets[1:] - 1
        raw = [bytes(packed.blob[a:b]) for a, b in zip(starts, ends, strict=True)]
        words = [word.decode("utf-8", "backslashreplace") for word in raw]
        self.repairs["undecodable_words"] += sum(
            word.encode() != data for word, data in zip(words, raw, strict=True)
        )
        return pack(words)

    def _finite(self, packed, vectors):
        keep = np.ones(len(vectors), bool)
        with np.errstate(invalid="ignore"):
            if np.isfinite(vectors.sum(dtype=np.float64)):
                return keep
        keep = np.isfinite(vectors).all(axis=1)
        bad = np.flatnonzero(~keep)
        self.repairs["not_finite_rows"] += len(bad)
        self._not_finite += [packed.word(row) for row in bad[:5]]
        return keep

    def _cast(self, vectors, name_of):
        if vectors.dtype == self.dtype:
            return vectors
        with np.errstate(over="ignore"):
            cast = vectors.astype(self.dtype)
        if not np.isfinite(cast).all():
            row = int(np.flatnonzero(~np.isfinite(cast).all(axis=1))[0])
            raise ValueError(
                f"{self.label}: the vector of {name_of(row)!r} holds "
                f"{np.abs(vectors[row]).max():g}, more than {self.dtype.name} can "
                f'hold. Use dtype="float32".'
            )
        return cast

    def _why_empty(self):
        if self.repairs["not_finite_rows"]:
            return (
                f"{self.label}: all {self.repairs['not_finite_rows']} vectors hold "
                f"NaN or infinite values; no usable one is left."
            )
        if self._wanted is not None:
            return f"{self.label}: holds none of the {self._wanted[0].n_words} words="
        return f"{self.label}: holds no words; at least one is needed."

    def _warn_not_finite(self):
        count = self.repairs["not_finite_rows"]
        if count:
            named = ", ".join(map(repr, self._not_finite[:5]))
            warnings.warn(
                f"{self.label}: {count} words have NaN or infinite values in their "
                f"vectors and were left out, so they count as unknown: {named}"
                f"{', ...' if count > 5 else ''}.",
                UserWarning,
                stacklevel=2,
            )


def _kept(packed, vectors, keep):
    if keep.all():
        return packed, vectors
    rows = np.flatnonzero(keep)
    return packed.take(rows), vectors[rows]


def _bucket_name(start, row):
    return f"n-gram bucket {start + row}"


def _concatenate(packs):
    if len(packs) < 2:
        return packs[0] if packs else None
    ends = np.cumsum([0] + [len(packed.blob) for packed in packs])
    offsets = [
        packed.offsets[:-1] + end for packed, end in zip(packs, ends, strict=False)
    ]
    blob = np.concatenate([packed.blob for packed in packs])
    return PackedWords(blob, np.concatenate([*offsets, ends[-1:]]))


def _fingerprint(directory, meta):
    """Digest the content alone: not the name, the source or the repairs."""
    digest = hashlib.blake2b(json.dumps(meta, sort_keys=True).encode(), digest_size=16)
    for name in _HASHED:
        path = Path(directory, name)
        if path.exists():
            digest.update(name.encode())
            with open(path, "rb") as file:
                while block := file.read(_CHUNK_BYTES):
                    digest.update(block)
    return digest.hexdigest()


def is_store(path):
    """Say whether the path is a store directory."""
    return os.path.isfile(os.path.join(path, META))


def read_meta(path):
    """Read and check a store's meta data: version, and each file's length."""
    try:
        with open(os.path.join(path, META), encoding="ascii") as file:
            meta = json.load(file)
        version, files = meta["version"], dict(meta["files"])
        strange = [name for name in files if not _PLAIN.fullmatch(name)]
        if strange:
            raise ValueError(f"it names the file {strange[0]!r}")
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path}: {META} cannot be read ({error}); the store is damaged. Delete "
            f"the directory and convert the source again."
        ) from error
    if version != VERSION:
        raise ValueError(
            f"{path}: the store has layout version {version}, this release reads "
            f"{VERSION}. Delete the directory and convert the source again."
        )
    for name, size in files.items():
        file = os.path.join(path, name)
        found = os.path.getsize(file) if os.path.exists(file) else None
        if found != size:
            raise ValueError(
                f"{path}: {name} should have {size:,} bytes but "
                f"{'is missing' if found is None else f'has {found:,}'}; the store is "
                f"damaged. Delete the directory and convert the source again."
            )
    return meta


def map_array(path, name):
    """Map one of a store's arrays, read-only."""
    return np.load(os.path.join(path, f"{name}.npy"), mmap_mode="r")
