"""The directory of a store: writing, memory-mapping and checking its files.

=============== ======================================================
``meta.json``   version, fingerprint, sizes, repairs and source
``vectors.npy`` the matrix, one row per word
``words.npy``   all words in UTF-8, each followed by a newline
``offsets.npy`` start of each word in ``words.npy``
``index.npy``   open-addressed hash table from words to rows
``buckets.npy`` n-gram vectors of fastText or floret, where the source has them
=============== ======================================================

Opening checks sizes, types and shapes before compiled code relies on them. Checks that
take time for millions of words are left to the compiled loops and `check_content`.
"""

import hashlib
import json
import os
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._core._arrays import infinite_rows
from ._subwords import Floret, Subwords
from ._word_index import MAX_NGRAM, PackedWords, build_index, pack

STORE_VERSION = 2
META = "meta.json"
MAX_FLORET = 99  # characters of an n-gram of floret
_CHUNK_BYTES = 1 << 24
_NGRAM_SIZES = {"min_n", "max_n"}
_ARRAY_NAME = re.compile(r"[a-z]+\.npy")
# The index is left out, because it follows from the words.
_HASHED_FILES = ("words.npy", "offsets.npy", "vectors.npy", "buckets.npy")
_OWN_ARRAYS = ("words.npy", "offsets.npy", "index.npy")  # names no other tool uses
_HASHED_META = ("version", "count", "dim", "dtype", "subwords")


class MatrixFile:
    """A ``.npy`` file that grows by rows; its length is written when it is closed."""

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
        """Write rows of the file's dtype."""
        self._file.write(np.ascontiguousarray(rows, self.dtype).data)
        self.n_rows += len(rows)

    def select(self, rows):
        """Keep only the given rows, in ascending order, moved up within the file."""
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
    """Write a store: readers append rows, ``finish`` completes it.

    A context manager, which closes the files, also after an interrupted conversion.

    Attributes
    ----------
    repairs : Counter
        Number of repairs by kind, which ``meta.json`` records.
    """

    def __init__(self, directory, label, dtype, *, limit=None):
        self.directory, self.label = Path(directory), label
        self.dtype, self.limit = np.dtype(dtype), limit
        self.repairs = Counter()
        self.subwords = None
        self._matrix = self._buckets = None
        self._packs = []
        self._not_finite = []

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        for file in (self._matrix, self._buckets):
            if file is not None:
                file.close()

    def append(self, packed, vectors):
        """Filter and repair words and their float32 rows, and write them."""
        if self._matrix is None:
            path = self.directory / "vectors.npy"
            self._matrix = MatrixFile(path, vectors.shape[1], self.dtype)
        packed, n_repaired = packed.decodable()
        self.repairs["undecodable_words"] += n_repaired
        bad = infinite_rows(vectors)
        if len(bad):
            self.repairs["not_finite_rows"] += len(bad)
            self._not_finite += [packed.word(row) for row in bad[:5]]
            rows = np.delete(np.arange(len(vectors)), bad)
            packed, vectors = packed.take(rows), vectors[rows]
        self._matrix.append(self._cast(vectors, packed.word))
        self._packs.append(packed)

    def write_buckets(self, chunks, min_n, max_n, floret=None):
        """Write the n-gram vectors, given as an iterable of float32 chunks of rows.

        With `floret`, all words are composed of them, and none has a row of its own.
        """
        for chunk in chunks:
            if self._buckets is None:
                path = self.directory / "buckets.npy"
                self._buckets = MatrixFile(path, chunk.shape[1], self.dtype)
            if len(infinite_rows(chunk)):
                raise ValueError(
                    f"{self.label}: the n-gram vectors contain NaN or infinity near "
                    f"bucket {self._buckets.n_rows}; the file is corrupt."
                )
            self._buckets.append(self._cast(chunk, lambda row: "an n-gram"))
        if self._buckets is not None:
            self._buckets.close()
            self.subwords = {"min_n": int(min_n), "max_n": int(max_n)}
            if floret is not None:
                self.subwords["floret"] = floret._asdict()
                self.append(pack([]), np.empty((0, self._buckets.dim), np.float32))

    def finish(self, source):
        """Drop duplicates, build the index, and write the meta data last."""
        packed = PackedWords.concatenate(self._packs) if self._packs else None
        composed = self.subwords is not None and "floret" in self.subwords
        if packed is None or (packed.n_words == 0 and not composed):
            raise ValueError(
                f"{self.label}: contains no words, or none with a finite vector."
            )
        slots, first = build_index(packed)
        rows = np.flatnonzero(first == np.arange(len(first)))
        if len(rows) < len(first):
            self.repairs["duplicate_words"] += len(first) - len(rows)
            packed = packed.take(rows)
            slots, _ = build_index(packed)  # rows have moved
            self._matrix.select(rows)
        self._matrix.close()
        self._write_meta(packed, slots, source)
        self._warn_of_repairs(packed.n_words)

    def _write_meta(self, packed, slots, source):
        arrays = {"words": packed.blob, "offsets": packed.offsets, "index": slots}
        for name, array in arrays.items():
            np.save(self.directory / f"{name}.npy", array)
        meta = {
            "version": STORE_VERSION,
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
        # Written last: a directory without it is not a store.
        text = json.dumps(meta, indent=1, ensure_ascii=True)
        (self.directory / META).write_text(text, encoding="ascii")

    def _cast(self, vectors, row_name):
        with np.errstate(over="ignore"):
            cast = vectors.astype(self.dtype, copy=False)
        too_small = vectors.any(axis=1) & ~cast.any(axis=1)
        bad = [*infinite_rows(cast), *np.flatnonzero(too_small)]
        if bad:
            raise ValueError(
                f"{self.label}: the largest number in the vector of "
                f"{row_name(bad[0])!r}, {np.abs(vectors[bad[0]]).max():g}, is out of "
                f'the range of {self.dtype.name}. Use dtype="float32".'
            )
        return cast

    def _warn_of_repairs(self, n_words):
        count = self.repairs["undecodable_words"]
        if count > max(10, n_words // 100):
            warnings.warn(
                f"{self.label}: {count:,} of {n_words:,} words are not UTF-8, so texts "
                "do not contain them. Convert the file if it is in another encoding.",
                stacklevel=2,
            )
        count = self.repairs["words_without_text"]
        if count:
            warnings.warn(
                f"{self.label}: {count:,} vectors belong to words that are not in "
                "strings.json and were dropped; they count as unknown.",
                stacklevel=2,
            )
        count = self.repairs["not_finite_rows"]
        if count:
            examples = ", ".join(map(repr, self._not_finite[:5]))
            warnings.warn(
                f"{self.label}: {count} words have NaN or infinity in their vectors "
                f"and were dropped; they count as unknown: {examples}"
                f"{', ...' if count > 5 else ''}.",
                stacklevel=2,
            )


def _fingerprint(directory, meta):
    """Digest the content alone: not the name, the source or the repairs."""
    digest = hashlib.blake2b(json.dumps(meta, sort_keys=True).encode(), digest_size=16)
    for name in _HASHED_FILES:
        path = Path(directory, name)
        if path.exists():
            digest.update(name.encode())
            with open(path, "rb") as file:
                while block := file.read(_CHUNK_BYTES):
                    digest.update(block)
    return digest.hexdigest()


def corrupt_error(path, reason):
    """Return the error to raise for a store whose files are not as written."""
    return ValueError(f"{path}: {reason}; the store is corrupt. {_convert_again(path)}")


def _convert_again(path):
    """Return what to do about a store; it never asks to delete files of others."""
    if holds_only_a_store(path):
        return "Delete the directory and convert the source again."
    return "Convert the source again, into another directory."


def is_store(path):
    """Return whether the path is the directory of a store.

    Other tools have a ``meta.json`` too, so at least one array must be next to it.
    """
    exists = [os.path.isfile(os.path.join(path, name)) for name in (META, *_OWN_ARRAYS)]
    return exists[0] and any(exists[1:])


def holds_only_a_store(path):
    """Return whether the path is a store with no other files in its directory."""
    own = {META, *_HASHED_FILES, *_OWN_ARRAYS}
    return is_store(path) and own.issuperset(os.listdir(path))


def read_meta(path):
    """Return the meta data of a store as a dict; check its entries and file sizes."""
    try:
        with open(os.path.join(path, META), encoding="ascii") as file:
            meta = json.load(file)
        version, files = meta["version"], dict(meta["files"])
        invalid = [name for name in files if not _ARRAY_NAME.fullmatch(name)]
        if invalid:
            raise ValueError(f"invalid file name {invalid[0]!r}")
    except (ValueError, KeyError, TypeError) as error:
        raise corrupt_error(path, f"{META} cannot be read ({error})") from error
    if version != STORE_VERSION:
        raise ValueError(
            f"{path}: the store has layout version {version}; this release reads "
            f"version {STORE_VERSION}. {_convert_again(path)} A file that bundles the "
            "store must be saved again."
        )
    for name, size in files.items():
        file = os.path.join(path, name)
        actual = os.path.getsize(file) if os.path.exists(file) else None
        if actual != size:
            state = "is missing" if actual is None else f"has {actual:,}"
            raise corrupt_error(path, f"{name} should have {size:,} bytes but {state}")
    if not _is_valid(meta):
        raise corrupt_error(path, f"an entry of {META} is missing or invalid")
    return meta


def _is_valid(meta):
    subwords = meta.get("subwords")
    numbers = [meta.get("count"), meta.get("dim"), *_sizes(subwords)]
    valid = all(type(number) is int and number >= 0 for number in numbers)
    valid = valid and numbers[1] > 0
    valid = valid and (
        numbers[0] > 0 or (subwords is not None and "floret" in subwords)
    )
    valid = valid and meta.get("dtype") in ("float32", "float16")
    valid = valid and isinstance(meta.get("fingerprint"), str)
    return valid and isinstance(meta.get("repairs"), dict)


def _sizes(subwords):
    if subwords is None:
        return []
    if not isinstance(subwords, dict) or subwords.keys() - {"floret"} != _NGRAM_SIZES:
        return [None]
    if "floret" in subwords and not is_floret(subwords["floret"], subwords["max_n"]):
        return [None]
    n = subwords["min_n"], subwords["max_n"]
    integers = all(type(size) is int for size in n)
    return n if integers and 0 <= n[0] <= n[1] <= MAX_NGRAM else [None]


def is_floret(settings, max_n):
    """Return whether a dict has valid settings of floret, with bounded n-grams."""
    kinds = Floret(int, int, str, str, bool, bool)._asdict()
    if not isinstance(settings, dict) or settings.keys() != kinds.keys():
        return False
    if any(type(settings[name]) is not kind for name, kind in kinds.items()):
        return False
    marks = max(len(settings["begin"]), len(settings["end"]))
    ranges = 1 <= settings["hash_count"] <= 4 and 0 <= settings["seed"] < 2**32
    return ranges and marks <= MAX_FLORET >= max_n


class StoreArrays(NamedTuple):
    """The arrays of a store, mapped read-only into memory."""

    words: PackedWords
    slots: np.ndarray  # of `build_index`
    vectors: np.memmap
    subwords: Subwords | None


def map_arrays(path, meta):
    """Return the `StoreArrays` of a store.

    Raises
    ------
    ValueError
        If a type or shape disagrees with the meta data.
    """
    names = ["words", "offsets", "vectors", "index"]
    names += ["buckets"] if meta["subwords"] else []
    try:
        arrays = {
            name: np.load(os.path.join(path, f"{name}.npy"), mmap_mode="r")
            for name in names
        }
    except PermissionError:
        raise
    except FileNotFoundError as error:
        raise corrupt_error(path, f"{error.filename} is missing") from error
    except Exception as error:  # numpy parses headers, and raises many kinds
        raise corrupt_error(
            path, f"an array cannot be read ({error!r:.200})"
        ) from error
    invalid = [name for name in names if not _is_consistent(name, arrays, meta)]
    if invalid:
        raise corrupt_error(path, f"{invalid[0]}.npy disagrees with meta.json")
    # Compiled loops take no memory maps, but their views.
    views = {name: np.asarray(array) for name, array in arrays.items()}
    subwords = None
    if meta["subwords"]:
        settings = dict(meta["subwords"])
        floret = settings.pop("floret", None)
        floret = None if floret is None else Floret(**floret)
        subwords = Subwords(views["buckets"], **settings, floret=floret)
    words = PackedWords(views["words"], views["offsets"])
    return StoreArrays(words, views["index"], arrays["vectors"], subwords)


def _is_consistent(name, arrays, meta):
    array, count, dim = arrays[name], meta["count"], meta["dim"]
    if not array.flags.c_contiguous:
        return False
    if name == "words":
        return array.dtype == np.uint8 and array.ndim == 1
    if name == "offsets":
        valid = array.dtype == np.int64 and array.shape == (count + 1,)
        return valid and array[0] == 0 and array[-1] == arrays["words"].size
    if name == "index":
        if array.dtype != np.uint64 or array.ndim != 2 or array.shape[1] != 2:
            return False
        return len(array) > count and len(array) & (len(array) - 1) == 0
    if name == "vectors":
        return array.dtype == meta["dtype"] and array.shape == (count, dim)
    valid = array.dtype == meta["dtype"] and array.shape[1:] == (dim,)
    return valid and 0 < len(array) < 2**32


def check_content(path, fingerprint):
    """Read every byte of a store and raise ValueError unless it has the fingerprint."""
    meta = read_meta(path)
    arrays = map_arrays(path, meta)
    hashed = {name: meta[name] for name in _HASHED_META}
    if not _fingerprint(path, hashed) == meta["fingerprint"] == fingerprint:
        raise corrupt_error(path, "the checksum of words and vectors does not match")
    if not np.array_equal(build_index(arrays.words)[0], arrays.slots):
        raise corrupt_error(path, "index.npy does not belong to these words")
