"""Convert a source into a store: cache, reader and target directory."""

import contextlib
import hashlib
import json
import os
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path

import joblib
import numpy as np

from .._core._estimators import is_integer
from .._io._atomic import atomic_path, cache_home, publish
from ._detect_format import detect
from ._gensim import read_gensim
from ._read_fasttext import read_fasttext
from ._read_spacy import read_spacy
from ._read_word2vec import SourceStream, read_binary, read_floret, read_text
from ._store import (
    STORE_VERSION,
    StoreWriter,
    append_arrays,
    map_arrays,
    pack,
    read_meta,
)

_DTYPES = ("float32", "float16")
# A file modified this recently may be modified again with an equal time stamp.
_SETTLED_NS = 2_000_000_000


@dataclass(frozen=True)
class Options:
    """Which part of a source to store, and in which dtype."""

    limit: int | None = None
    dtype: str | None = None
    verbose: int = 0

    @classmethod
    def checked(cls, limit, dtype, verbose=0):
        """Check and normalize the arguments of `WordVectors.open`."""
        if limit is not None:
            if not is_integer(limit):
                raise TypeError(f"limit must be an int or None; got {limit!r}.")
            if limit < 1:
                raise ValueError(f"limit must be at least 1; got {limit}.")
            limit = int(limit)
        return cls(limit, _dtype_name(dtype), verbose)

    def key(self, content):
        """Return a digest of the content and the options that change the store."""
        parts = [STORE_VERSION, content, self.limit, self.dtype or "float32"]
        return hashlib.blake2b(json.dumps(parts).encode(), digest_size=12).hexdigest()


def _dtype_name(dtype):
    if dtype is None:
        return None
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = None
    if name not in _DTYPES:
        raise ValueError(f'dtype must be "float32" or "float16"; got {dtype!r}.')
    return name


def default_root():
    """Return ``$SK_METAEMBED_CACHE/vectors``, or the same below ``~/.cache``."""
    return cache_home() / "vectors"


def cache_root(cache_dir=None):
    """Return the directory of converted stores, which may be missing."""
    root = default_root() if cache_dir is None else Path(cache_dir).expanduser()
    return root.resolve()


def _digest_file(path, root):
    """Digest the content of a file, read again only if size or time stamp changed."""
    path = os.path.abspath(path)
    file_stat = os.stat(path)
    # Copying and unpacking can preserve mtime, but not ctime.
    stat = [file_stat.st_size, file_stat.st_mtime_ns, file_stat.st_ctime_ns]
    name = hashlib.blake2b(path.encode("utf-8", "surrogateescape"))
    record = root / "sources" / f"{name.hexdigest()[:32]}.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(record.read_text("utf-8"))
        if known["stat"] == stat:
            return known["digest"]
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "blake2b").hexdigest()[:32]
    if time.time_ns() - max(stat[1:]) > _SETTLED_NS:
        # Reading needs no writable cache.
        with contextlib.suppress(OSError):
            record.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(record) as part:
                part.write_text(json.dumps({"digest": digest, "stat": stat}), "utf-8")
    return digest


def cached_store(path, options, cache_dir=None):
    """Return the store of a source, converted into the cache if it is not there."""
    path = _checked_path(path)
    fmt = detect(path)
    meta = _meta_of_store(path, fmt)
    options = _with_dtype(options, meta)
    if meta and options.limit is None and options.dtype == meta["dtype"]:
        return path
    root = cache_root(cache_dir)
    if meta:
        content = meta["fingerprint"]
    else:
        files = fmt.files or (path,)
        content = "-".join(_digest_file(file, root) for file in files)
    stem = re.sub(r"[^\w.-]+", "_", os.path.basename(os.path.abspath(path)))
    target = root / f"{stem[:60]}-{options.key(content)}"
    publish(target, lambda folder: write_store(path, fmt, options, folder))
    return target


def convert_to(source, path, options):
    """Convert a source into a new store at a path, and return the path."""
    source = _checked_path(source)
    fmt = detect(source)
    options = _with_dtype(options, _meta_of_store(source, fmt))
    return _publish_at(path, lambda folder: write_store(source, fmt, options, folder))


def _meta_of_store(path, fmt):
    """Return the meta data of a store, or None for other sources."""
    return read_meta(path) if fmt.kind == "store" else None


def _with_dtype(options, meta):
    """Return options with the type of the vectors, by default the type in the store."""
    own = meta["dtype"] if meta else "float32"
    return replace(options, dtype=options.dtype or own)


def _publish_at(path, write, *, overwrite=False):
    target = _checked_path(path).absolute()
    if not publish(target, write, overwrite=overwrite):
        raise FileExistsError(
            f"{target} exists already. Open it with WordVectors.open, or pass another "
            f"path."
        )
    return target


def _check_arrays(words, matrix):
    """Return the `PackedWords` and the (n_words, dim) matrix of real numbers."""
    packed, matrix = pack(words), np.asarray(np.ma.filled(matrix, np.nan))
    if matrix.dtype.kind not in "fiub":
        raise TypeError(f"The matrix must hold real numbers; got dtype {matrix.dtype}.")
    if matrix.ndim != 2 or matrix.shape[1] < 1:
        raise ValueError(
            f"The matrix must have one row per word and at least one column; got shape "
            f"{matrix.shape}."
        )
    if packed.n_words != len(matrix):
        raise ValueError(
            f"The matrix must have one row per word; got {packed.n_words} words and "
            f"{len(matrix)} rows."
        )
    return packed, matrix


def _is_utf8(word):
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def store_arrays(
    words,
    matrix,
    *,
    dtype="float32",
    subwords=None,
    repairs=None,
    path=None,
    cache_dir=None,
    overwrite=False,
):
    """Return a store of arrays: at ``path``, or in the cache under their digest.

    `repairs` are those of a model, whose words may be invalid UTF-8.
    """
    packed, matrix = _check_arrays(words, matrix)
    if repairs is None and packed.decodable()[1]:
        row, word = next((i, w) for i, w in enumerate(words) if not _is_utf8(w))
        raise ValueError(
            f"Element {row} of the words is {word!r}, which has a lone surrogate and "
            "cannot be stored as UTF-8. Replace it, for example with "
            'word.encode("utf-8", "replace").decode().'
        )
    options = Options.checked(None, dtype)

    def write(folder):
        name = options.dtype or "float32"
        with StoreWriter(folder, "The given arrays", name) as writer:
            append_arrays(writer, packed, matrix, subwords)
            writer.repairs.update(repairs or {})
            writer.finish(None)

    if path is not None:
        return _publish_at(path, write, overwrite=overwrite)
    key = options.key(joblib.hash([*packed, matrix, subwords], coerce_mmap=True))
    target = cache_root(cache_dir) / f"arrays-{key}"
    publish(target, write)
    return target


def write_store(source, fmt, options, folder):
    """Fill a directory with the store of a source that must not change meanwhile."""
    files = fmt.files or (source,)
    before = [os.stat(file) for file in files]
    with StoreWriter(folder, str(source), options.dtype, limit=options.limit) as writer:
        _read(source, fmt, writer, options.verbose)
        _check_unchanged(source, before, [os.stat(file) for file in files])
        writer.finish({"path": os.path.abspath(source), "format": fmt.kind})


def _read(source, fmt, writer, verbose):
    if fmt.kind == "store":
        arrays = map_arrays(source, read_meta(source))
        append_arrays(writer, arrays.words, arrays.vectors, arrays.subwords)
        return
    if fmt.kind == "spacy":
        read_spacy(Path(fmt.files[0]).parent, writer)
        return
    with SourceStream(source, verbose) as stream:
        if fmt.kind == "gensim":
            read_gensim(stream, writer)
        elif fmt.kind == "fasttext":
            read_fasttext(stream, writer)
        elif fmt.kind == "floret":
            read_floret(stream, fmt, writer)
        elif fmt.kind == "binary":
            read_binary(stream, fmt, writer)
        else:
            read_text(stream, fmt, writer)


def _checked_path(path):
    if isinstance(path, str | os.PathLike):
        return Path(path).expanduser()
    raise TypeError(
        f"Expected the path of a word-vector file or store; got "
        f"{type(path).__name__}. Use WordVectors.from_arrays for arrays and "
        f"WordVectors.from_keyed_vectors for objects of gensim."
    )


def _check_unchanged(source, before, after):
    kept = [
        [(stat.st_size, stat.st_mtime_ns) for stat in stats]
        for stats in (before, after)
    ]
    if kept[0] != kept[1]:
        raise ValueError(
            f"{source} was modified during the conversion; nothing was saved. Open "
            f"it again when it is complete."
        )
