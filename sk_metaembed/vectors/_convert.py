"""Convert a source into a store: cache, reader and target directory."""

import contextlib
import hashlib
import json
import os
import re
import time
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


def checked_options(limit, dtype):
    """Check the arguments of `WordVectors.open`; return an int and a name, or None."""
    if limit is not None:
        if not is_integer(limit):
            raise TypeError(f"limit must be an int or None; got {limit!r}.")
        if limit < 1:
            raise ValueError(f"limit must be at least 1; got {limit}.")
        limit = int(limit)
    if dtype is not None:
        name = getattr(dtype, "__name__", str(dtype))  # of numpy.float32, for example
        if name not in _DTYPES:
            raise ValueError(f'dtype must be "float32" or "float16"; got {dtype!r}.')
        dtype = name
    return limit, dtype


def _key(content, limit, dtype):
    """Return a digest of the content and the options that change the store."""
    parts = [STORE_VERSION, content, limit, dtype]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=12).hexdigest()


def cache_root(cache_dir=None):
    """Return the directory of converted stores, which may be missing.

    By default, ``$SK_METAEMBED_CACHE/vectors``, or the same below ``~/.cache``.
    """
    if cache_dir is None:
        return cache_home() / "vectors"
    return Path(cache_dir).expanduser().resolve()


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


def store_file(source, *, limit=None, dtype=None, path=None, cache_dir=None, verbose=0):
    """Return the store of a source: at ``path``, or in the cache, converted once."""
    limit, dtype = checked_options(limit, dtype)
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            f"Expected the path of a word-vector file or store; got "
            f"{type(source).__name__}. Use WordVectors.from_arrays for arrays and "
            f"WordVectors.from_keyed_vectors for objects of gensim."
        )
    source = Path(source).expanduser()
    fmt = detect(source)
    meta = read_meta(source) if fmt.kind == "store" else None
    own_dtype = meta["dtype"] if meta else "float32"
    dtype = dtype or own_dtype

    def write(folder):
        _convert(source, fmt, folder, limit, dtype, verbose)

    if path is not None:
        return _publish_at(path, write)
    if meta and limit is None and dtype == own_dtype:
        return source
    root = cache_root(cache_dir)
    if meta:
        content = meta["fingerprint"]
    else:
        content = "-".join(_digest_file(file, root) for file in fmt.files or (source,))
    stem = re.sub(r"[^\w.-]+", "_", os.path.basename(os.path.abspath(source)))
    target = root / f"{stem[:60]}-{_key(content, limit, dtype)}"
    publish(target, write)
    return target


def _publish_at(path, write, *, overwrite=False):
    target = Path(path).expanduser().absolute()
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
        utf8 = [word.encode("utf-8", "ignore").decode() for word in words]
        row, word = next((i, w) for i, w in enumerate(words) if w != utf8[i])
        raise ValueError(
            f"Element {row} of the words is {word!r}, which has a lone surrogate and "
            "cannot be stored as UTF-8. Replace it, for example with "
            'word.encode("utf-8", "replace").decode().'
        )
    _, dtype = checked_options(None, dtype or "float32")

    def write(folder):
        with StoreWriter(folder, "The given arrays", dtype) as writer:
            append_arrays(writer, packed, matrix, subwords)
            writer.repairs.update(repairs or {})
            writer.finish(None)

    if path is not None:
        return _publish_at(path, write, overwrite=overwrite)
    content = joblib.hash([*packed, matrix, subwords], coerce_mmap=True)
    target = cache_root(cache_dir) / f"arrays-{_key(content, None, dtype)}"
    publish(target, write)
    return target


def _convert(source, fmt, folder, limit, dtype, verbose):
    """Fill a directory with the store of a source that must not change meanwhile."""
    files = fmt.files or (source,)
    before = [os.stat(file) for file in files]
    with StoreWriter(folder, str(source), dtype, limit=limit) as writer:
        _read(source, fmt, writer, verbose)
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
