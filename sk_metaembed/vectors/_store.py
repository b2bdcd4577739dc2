"""Stores of word vectors: their words and index, and their files.

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
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._core._arrays import gather_spans, infinite_rows
from .._kernels._compiled import use_compiled

STORE_VERSION = 2
META = "meta.json"
MAX_NGRAM = 999  # characters of an n-gram
MAX_FLORET = 99  # the same for floret
_CHUNK_BYTES = 1 << 24
_SECONDS = 3e-6  # time to find a word in Python
_MASK_32, _MASK_64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
_NGRAM_SIZES = {"min_n", "max_n"}
_ARRAY_NAME = re.compile(r"[a-z]+\.npy")
# The index is left out, because it follows from the words.
_HASHED_FILES = ("words.npy", "offsets.npy", "vectors.npy", "buckets.npy")
_OWN_ARRAYS = ("words.npy", "offsets.npy", "index.npy")  # names that no other tool uses
_REMEDY = "Convert the source again, into another directory."
_HASHED_META = ("version", "count", "dim", "dtype", "subwords")


class PackedWords(NamedTuple):
    """Words in one buffer, each followed by a newline.

    Word ``i`` is ``blob[offsets[i] : offsets[i + 1] - 1]``. The offsets, not the
    newlines, mark the end of a word, so a word may contain a newline.
    """

    blob: np.ndarray
    offsets: np.ndarray

    @property
    def n_words(self):
        """Number of words."""
        return len(self.offsets) - 1

    @classmethod
    def concatenate(cls, packs):
        """Return the words of one or more `PackedWords` in order."""
        sizes = np.concatenate([[0], *(np.diff(packed.offsets) for packed in packs)])
        blob = np.concatenate([packed.blob for packed in packs])
        return cls(blob, np.cumsum(sizes, dtype=np.int64))

    def word(self, row):
        """Return one word as str."""
        start, end = int(self.offsets[row]), int(self.offsets[row + 1]) - 1
        return bytes(self.blob[start:end]).decode("utf-8", "backslashreplace")

    def head(self, n):
        """Return at most the first n words."""
        offsets = self.offsets[: n + 1]
        return PackedWords(self.blob[: offsets[-1]], offsets)

    def take(self, rows):
        """Return the words of the given rows."""
        return pack_spans(
            self.blob, self.offsets[:-1][rows], self.offsets[1:][rows] - 1
        )

    def to_list(self, errors="strict"):
        """Decode all words."""
        words = self.blob.tobytes().decode("utf-8", errors).split("\n")
        if len(words) == len(self.offsets):
            return words[:-1]
        return [word.decode("utf-8", errors) for word in self.to_bytes()]

    def to_bytes(self):
        """Return all words as bytes."""
        data = self.blob.tobytes()
        spans = pairwise(self.offsets.tolist())
        return [data[start : end - 1] for start, end in spans]

    def decodable(self):
        r"""Return the words with bad UTF-8 escaped (``caf\xe9``), and their number."""
        try:
            bytes(self.blob).decode()
            return self, 0
        except UnicodeDecodeError:
            pass
        escaped = pack(self.to_list("backslashreplace"))
        is_longer = np.diff(escaped.offsets) > np.diff(self.offsets)
        return escaped, int(is_longer.sum())


def pack(words):
    """Return the `PackedWords` of a sequence of str; raise TypeError for other input.

    Lone surrogates are accepted; they match no stored word.
    """
    if isinstance(words, str | bytes):
        raise TypeError(
            f"Expected a list or an array of words; got the single "
            f"{type(words).__name__} {words!r}. Wrap it in a list."
        )
    if isinstance(words, np.ndarray) and words.ndim != 1:
        raise ValueError(
            f"Words must be one-dimensional; got an array of shape {words.shape}."
        )
    words = words.tolist() if isinstance(words, np.ndarray) else list(words)
    try:
        text = "\n".join([*words, ""])
    except TypeError:
        row = next(i for i, word in enumerate(words) if not isinstance(word, str))
        raise TypeError(
            f"Words must be str; element {row} is {words[row]!r} of type "
            f"{type(words[row]).__name__}. Convert it with str() first."
        ) from None
    blob = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    ends = np.flatnonzero(blob == ord("\n"))
    if len(ends) > len(words):  # a word contains a newline
        lengths = [len(word.encode("utf-8", "surrogatepass")) for word in words]
        ends = np.cumsum(np.array(lengths, np.int64) + 1) - 1
    return PackedWords(blob, np.concatenate([[0], ends + 1]))


def pack_spans(buf, starts, ends):
    """Return the `PackedWords` at the given spans of a byte buffer."""
    _check_spans(starts, ends, len(buf))
    return PackedWords(*gather_spans(buf, starts, ends, ord("\n")))


def _check_spans(starts, ends, size):
    """Raise ValueError for spans out of bounds, which compiled code does not check."""
    inside = not len(starts) or (starts.min() >= 0 and ends.max() <= size)
    if not inside or (np.asarray(starts) > ends).any():
        raise ValueError("The offsets of the words are out of bounds: corrupt data.")


def build_index(packed):
    """Return the open-addressed hash table of a vocabulary, and first occurrences.

    The slots, uint64 (n_slots, 2), are at most half full. An entry is 24 bits of the
    word's hash, 8 bits of its length and 32 bits of its row + 1, and the first 8 bytes
    of the word: one cache line of the processor identifies a short word. The first
    occurrence, int64 (n_words,), is the row itself unless it is a duplicate.
    """
    from ._kernels_numba import fill_slots

    _check_spans(packed.offsets[:-1], packed.offsets[1:] - 1, len(packed.blob))
    size = 1 << max(3, (2 * packed.n_words - 1).bit_length())
    slots = np.zeros((size, 2), np.uint64)
    first = np.empty(packed.n_words, np.int64)
    fill_slots(*packed, slots, first)
    return slots, first


def find(queries, packed, slots):
    """Return the int32 row of each query, -1 if absent; bytes are compared."""
    rows = np.empty(queries.n_words, np.int32)
    if use_compiled(_SECONDS * len(rows)):
        from ._kernels_numba import find_rows

        find_rows(*queries, *packed, slots, rows)
    else:
        # Reading single entries is faster from a memoryview than from an array.
        arrays = [memoryview(array) for array in (*packed, slots)]
        rows[:] = [_find_one(word, *arrays) for word in queries.to_bytes()]
    if len(rows) and rows.min() < -1:
        raise ValueError(
            "The index of the store is corrupt. Convert the source again, into another "
            "directory (cache_dir= or path=)."
        )
    return rows


def _find_one(word, blob, offsets, slots):
    """Return the row of a word, -1 if it is absent, -2 if the table is corrupt."""
    h = len(word) * 0x9E3779B97F4A7C15 & _MASK_64  # as in `hash_bytes`
    for start in range(0, len(word), 8):
        h ^= int.from_bytes(word[start : start + 8], "little")
        h = h * 0xFF51AFD7ED558CCD & _MASK_64
        h ^= h >> 32
    n_words, mask = len(offsets) - 1, len(slots) - 1
    tag = (h >> 40) << 8 | min(len(word), 255)
    head, at = int.from_bytes(word[:8], "little"), h & mask
    for _ in range(len(slots)):
        entry = slots[at, 0]
        if entry == 0:
            return -1
        if entry >> 32 == tag and slots[at, 1] == head:
            row = (entry & _MASK_32) - 1
            if not 0 <= row < n_words:
                return -2
            if len(word) <= 8:
                return row
            first, last = offsets[row], offsets[row + 1] - 1
            if first < 0 or last < first or last > len(blob):
                return -2
            if blob[first:last] == word:
                return row
        at = (at + 1) & mask
    return -2


class Floret(NamedTuple):
    """How floret selects the rows of words."""

    hash_count: int  # rows per n-gram, 1 to 4
    seed: int
    begin: str  # mark before a word
    end: str
    spacy: bool  # spaCy also counts n-grams of no character and of one mark alone
    lowercase: bool


class Subwords(NamedTuple):
    """A table of n-gram vectors, and how words select its rows."""

    table: np.ndarray  # (n_rows, dim)
    min_n: int
    max_n: int
    floret: Floret | None = None


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
        """Keep only the given rows, in ascending order; move them up in the file."""
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

    As a context manager, it closes the files, also after an interrupted conversion.
    `repairs` counts the repairs by kind, which ``meta.json`` records.
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

        With `floret`, all words are composed of n-grams, and no word has its own row.
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
            slots, _ = build_index(packed)  # the row numbers changed
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
        texts, counts = [], self.repairs
        if counts["undecodable_words"] > max(10, n_words // 100):
            texts.append(
                f"{counts['undecodable_words']:,} of {n_words:,} words are not UTF-8, "
                "so texts do not contain them. Convert the file if it is in another "
                "encoding."
            )
        if counts["words_without_text"]:
            texts.append(
                f"{counts['words_without_text']:,} vectors belong to words that are "
                "not in strings.json and were dropped; they count as unknown."
            )
        if counts["not_finite_rows"]:
            texts.append(
                f"{counts['not_finite_rows']} words have NaN or infinity in their "
                "vectors and were dropped; they count as unknown, such as "
                f"{', '.join(map(repr, self._not_finite[:5]))}."
            )
        for text in texts:
            warnings.warn(f"{self.label}: {text}", stacklevel=2)


def row_chunks(matrix):
    """Yield (start, float32 rows) of a matrix in chunks of bounded size."""
    step = max(1, _CHUNK_BYTES // max(1, 4 * matrix.shape[1]))
    for start in range(0, len(matrix), step):
        with np.errstate(over="ignore"):
            yield start, np.asarray(matrix[start : start + step], np.float32)


def append_arrays(writer, packed, matrix, subwords=None):
    """Append packed words with their matrix, and n-gram vectors if there are any."""
    count = packed.n_words if writer.limit is None else writer.limit
    for start, rows in row_chunks(matrix[:count]):
        words = packed.take(np.arange(start, start + len(rows)))
        writer.append(words, rows)
    if subwords is not None:
        table, *settings = subwords
        writer.write_buckets((rows for _, rows in row_chunks(table)), *settings)


def _fingerprint(directory, meta):
    """Return a digest of the content, without the name, the source and the repairs."""
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
    """Return the error for a store whose files differ from those written."""
    return ValueError(f"{path}: {reason}; the store is corrupt. {_REMEDY}")


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
            f"version {STORE_VERSION}. {_REMEDY} A file that bundles the "
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
    """Return whether the types and ranges are as `StoreWriter` writes them."""
    count, dim, subwords = meta.get("count"), meta.get("dim"), meta.get("subwords")
    sizes, floret = [], None
    if subwords is not None:
        names = subwords.keys() if isinstance(subwords, dict) else set()
        if names - {"floret"} != _NGRAM_SIZES:
            return False
        sizes = [subwords["min_n"], subwords["max_n"]]
        floret = subwords.get("floret")
        if "floret" in names and not is_floret(floret, subwords["max_n"]):
            return False
    return (
        all(type(number) is int and number >= 0 for number in (count, dim, *sizes))
        and sizes == sorted(sizes)
        and max(sizes, default=0) <= MAX_NGRAM
        and dim > 0
        and (count > 0 or floret is not None)
        and meta.get("dtype") in ("float32", "float16")
        and isinstance(meta.get("fingerprint"), str)
        and isinstance(meta.get("repairs"), dict)
    )


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
    slots: np.ndarray  # slots of `build_index`
    vectors: np.memmap
    subwords: Subwords | None


def map_arrays(path, meta):
    """Return the `StoreArrays` of a store; ValueError if they disagree with `meta`."""
    names = ["words", "offsets", "vectors", "index"]
    names += ["buckets"] if meta["subwords"] else []
    try:
        arrays = {
            name: np.load(os.path.join(path, f"{name}.npy"), mmap_mode="r")
            for name in names
        }
    except PermissionError:
        raise
    except Exception as error:  # numpy raises many error types
        raise corrupt_error(
            path, f"an array cannot be read ({error!r:.200})"
        ) from error
    invalid = [name for name in names if not _is_consistent(name, arrays, meta)]
    if invalid:
        raise corrupt_error(path, f"{invalid[0]}.npy disagrees with meta.json")
    # Compiled loops accept views of memory maps, but not memory maps.
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
    """Read the whole store; raise ValueError if the fingerprint does not match."""
    meta = read_meta(path)
    arrays = map_arrays(path, meta)
    hashed = {name: meta[name] for name in _HASHED_META}
    if not _fingerprint(path, hashed) == meta["fingerprint"] == fingerprint:
        raise corrupt_error(path, "the checksum of words and vectors does not match")
    if not np.array_equal(build_index(arrays.words)[0], arrays.slots):
        raise corrupt_error(path, "index.npy does not belong to these words")
