"""From a source to a store: which reader, which place, what counts as the same."""

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ._cache import cache_root, digest_files, publish
from ._detect_format import SourceStream, detect
from ._gensim import (
    push_arrays,
    read_gensim,
    refuse_untrusted,
    sidecars,
)
from ._integrity import check_meta, mapped
from ._read_fasttext import read_fasttext
from ._read_word2vec import read_binary, read_text
from ._store_files import VERSION, StoreWriter, read_meta
from ._word_index import PackedWords, pack

_DTYPES = ("float32", "float16")


@dataclass(frozen=True)
class Options:
    """What part of a source is wanted, and in which type; checked on creation."""

    limit: int | None = None
    words: tuple | None = None
    dtype: str | None = None
    trusted: bool = False
    verbose: int = 0

    @classmethod
    def of(cls, limit, words, dtype, trusted=False, verbose=0):
        """Check and normalise the arguments users give."""
        if limit is not None:
            whole = isinstance(limit, int | np.integer) and not isinstance(limit, bool)
            if not whole:
                raise TypeError(f"limit must be an int or None, got {limit!r}.")
            if limit < 1:
                raise ValueError(f"limit must be at least 1, got {limit}.")
            limit = int(limit)
        if words is not None:
            pack(words := list(_not_text(words)))  # refuses what is no str
            words = tuple(sorted(set(words)))
            if not words:
                raise ValueError("words= is empty; give at least one word or None.")
        return cls(limit, words, _dtype_name(dtype), bool(trusted), verbose)

    @property
    def as_is(self):
        """Whether they ask for all of a store as it stands."""
        return self.limit is None and self.words is None and self.dtype is None

    def key(self, content):
        """Digest the content's digest and all that shapes the store made of it."""
        parts = [VERSION, content, self.limit, self.words, self.dtype or "float32"]
        return hashlib.blake2b(json.dumps(parts).encode(), digest_size=12).hexdigest()


def _not_text(words):
    if isinstance(words, str | bytes):
        raise TypeError(f"words must be a collection of str, got the single {words!r}.")
    return words


def _dtype_name(dtype):
    if dtype is None:
        return None
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = None
    if name not in _DTYPES:
        raise ValueError(f'dtype must be "float32" or "float16", got {dtype!r}.')
    return name


def store_for(path, options, cache_dir=None):
    """Return the store of a source, converted into the cache if it is not there."""
    path = _checked_path(path)
    fmt = detect(path)
    if fmt.kind == "store":
        meta = read_meta(path)
        whole = options.limit is options.words is None
        if options.as_is or (whole and options.dtype == meta.get("dtype")):
            return path
        check_meta(path, meta)
        content = meta["fingerprint"]
        root = cache_root(cache_dir)
    else:
        _check_trust(path, fmt, options)
        root = cache_root(cache_dir)
        content = digest_files(_files(path, fmt), root)
    target = root / f"{_stem(path)}-{options.key(content)}"
    if not target.exists():
        publish(target, lambda folder: write_store(path, fmt, options, folder))
    return target


def store_at(source, path, options):
    """Convert a source into a new store at a given place."""
    source, target = _checked_path(source), Path(_checked_path(path)).absolute()
    fmt = detect(source)
    _check_trust(source, fmt, options)
    target.parent.mkdir(parents=True, exist_ok=True)
    if not publish(target, lambda folder: write_store(source, fmt, options, folder)):
        raise _occupied(target)
    return target


def check_arrays(words, matrix):
    """Return packed words and a matrix with one row for each, or raise."""
    packed, matrix = pack(words), np.asarray(matrix)
    if matrix.dtype.kind not in "fiub":
        raise TypeError(f"The matrix must hold real numbers, got dtype {matrix.dtype}.")
    if matrix.ndim != 2 or matrix.shape[1] < 1:
        raise ValueError(
            f"The matrix must have one row a word and at least one column, got shape "
            f"{matrix.shape}."
        )
    if packed.n_words != len(matrix):
        raise ValueError(
            f"{packed.n_words} words but {len(matrix)} rows in the matrix; there must "
            f"be one row a word."
        )
    return packed, matrix


def arrays_store(
    packed, matrix, *, dtype="float32", buckets=None, path=None, root=None
):
    """Return a store of arrays: at ``path``, or in the cache under their digest."""

    def write(folder):
        writer = StoreWriter(folder, label="The given arrays", dtype=dtype)
        try:
            push_arrays(writer, packed, matrix, buckets)
            writer.finish(None)
        finally:
            writer.close()

    if path is not None:
        target = Path(_checked_path(path)).absolute()
        target.parent.mkdir(parents=True, exist_ok=True)
        if not publish(target, write):
            raise _occupied(target)
        return target
    key = Options(dtype=dtype).key(_digest_arrays(packed, matrix, buckets))
    target = cache_root(root) / f"arrays-{key}"
    if not target.exists():
        publish(target, write)
    return target


def write_store(source, fmt, options, folder):
    """Fill a directory with the store of a source, which must not change meanwhile."""
    files = _files(source, fmt)
    before = [os.stat(file) for file in files]
    writer = StoreWriter(
        folder,
        label=str(source),
        dtype=options.dtype or _natural_dtype(source, fmt),
        limit=options.limit,
        words=options.words,
    )
    try:
        _read(source, fmt, writer, options.verbose)
        _check_unchanged(files, before)
        writer.finish({"path": os.path.abspath(source), "format": fmt.kind})
    finally:
        writer.close()


def _read(source, fmt, writer, verbose):
    if fmt.kind == "store":
        _read_store(source, writer)
    elif fmt.kind == "gensim":
        read_gensim(source, writer)
    else:
        with SourceStream(source, verbose) as stream:
            if fmt.kind == "fasttext":
                read_fasttext(stream, writer)
            elif fmt.kind == "binary":
                read_binary(stream, fmt, writer)
            else:
                read_text(stream, fmt, writer)


def _read_store(source, writer):
    meta = read_meta(source)
    check_meta(source, meta)
    arrays = mapped(source, meta)
    packed, buckets = PackedWords(arrays["words"], arrays["offsets"]), None
    if meta["subwords"]:
        n = meta["subwords"]
        buckets = arrays["buckets"], n["min_n"], n["max_n"]
    push_arrays(writer, packed, arrays["vectors"], buckets)


def _checked_path(path):
    if isinstance(path, str | os.PathLike):
        return Path(path).expanduser()
    raise TypeError(
        f"Expected the path of a word-vector file or store, got "
        f"{type(path).__name__}. For arrays use WordVectors.from_arrays, for gensim "
        f"objects WordVectors.from_keyed_vectors."
    )


def _check_trust(path, fmt, options):
    if fmt.kind == "gensim" and not options.trusted:
        refuse_untrusted(path)


def _files(path, fmt):
    if fmt.kind == "gensim":
        return sidecars(path)
    return [] if fmt.kind == "store" else [os.path.abspath(path)]


def _natural_dtype(source, fmt):
    return read_meta(source)["dtype"] if fmt.kind == "store" else "float32"


def _stem(path):
    name = re.sub(r"[^\w.-]+", "_", os.path.basename(os.path.abspath(path)))
    return name[:60]


def _check_unchanged(files, before):
    for file, then in zip(files, before, strict=True):
        now = os.stat(file)
        if (now.st_size, now.st_mtime_ns) != (then.st_size, then.st_mtime_ns):
            raise ValueError(
                f"{file} changed while it was being converted; nothing was kept. Open "
                f"it again once it is complete."
            )


def _occupied(target):
    return FileExistsError(
        f"{target} exists already. Open it with WordVectors.open, delete it first, or "
        f"give another path."
    )


def _digest_arrays(packed, matrix, buckets):
    digest = hashlib.blake2b(digest_size=16)
    digest.update(packed.blob)
    digest.update(packed.offsets)
    tables = [matrix] if buckets is None else [matrix, buckets[0]]
    for table in tables:
        digest.update(f"{table.shape}{table.dtype.str}".encode())
        step = max(1, (1 << 24) // max(1, table.dtype.itemsize * table.shape[1]))
        for start in range(0, len(table), step):
            digest.update(np.ascontiguousarray(table[start : start + step]))
    if buckets is not None:
        digest.update(repr((int(buckets[1]), int(buckets[2]))).encode())
    return digest.hexdigest()
