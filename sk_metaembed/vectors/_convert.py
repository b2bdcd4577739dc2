"""Convert a source into a store: its format, reader, cache and target directory."""

import contextlib
import glob
import hashlib
import json
import os
import re
import time
from pathlib import Path
from statistics import multimode

import joblib
import numpy as np

from .._core._estimators import is_integer
from .._io._atomic import atomic_path, cache_home, publish
from .._io._handle import file_states
from ._gensim import read_gensim
from ._read_fasttext import FASTTEXT_MAGIC, read_fasttext
from ._read_spacy import FILES as SPACY_FILES
from ._read_spacy import is_pipeline, no_vectors, read_spacy, spacy_folder
from ._read_word2vec import (
    MAX_DIM,
    Format,
    SourceStream,
    read_binary,
    read_floret,
    read_text,
)
from ._store import (
    STORE_VERSION,
    StoreWriter,
    append_arrays,
    is_store,
    map_arrays,
    pack,
    read_meta,
)

_DTYPES = ("float32", "float16")
# A file modified this recently may be modified again with an equal time stamp.
_SETTLED_NS = 2_000_000_000
_SAMPLE = 1 << 20
_BOM = b"\xef\xbb\xbf"
_HEADER = re.compile(rb"[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*")
_FLORET = re.compile(
    rb"\d{1,9} (\d{1,9}) \d{1,9} \d{1,9} [1-4] \d{1,10} [!-~]+ [!-~]+[ \r]*"
)
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_INTEGER = re.compile(rb"[+-]?\d+")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_SUPPORTED = (
    "Supported formats: word2vec text and binary, GloVe text, fastText .vec and .bin, "
    "floret (each also compressed by gzip, bzip2 or xz), files of gensim's save, and "
    "directories of stores and of spaCy. Read other files with the library that wrote "
    "them, and pass words and vectors to WordVectors.from_arrays(words, matrix)."
)


def checked_options(limit, dtype):
    """Check the arguments of `WordVectors.open`; return an int and a name, or None."""
    if limit is not None:
        if not is_integer(limit):
            raise TypeError(f"limit must be an int or None; got {limit!r}.")
        if limit < 1:
            raise ValueError(f"limit must be at least 1; got {limit}.")
        limit = int(limit)
    if dtype is not None:
        name = getattr(dtype, "__name__", str(dtype))  # a type such as numpy.float32
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
        # Reading does not require a writable cache.
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

    `repairs` are the repairs of a model whose words may be invalid UTF-8.
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
    """Write the store of a source to a directory; raise if the source changes."""
    files = fmt.files or (source,)
    before = file_states(files)
    with StoreWriter(folder, str(source), dtype, limit=limit) as writer:
        _read(source, fmt, writer, verbose)
        if file_states(files) != before:
            raise ValueError(
                f"{source} was modified during the conversion; nothing was saved. Open "
                f"it again when it is complete."
            )
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


def detect(path):
    """Return the `Format` of a source; an error lists the supported formats."""
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"No word-vector file or store at {path} (working directory "
            f"{os.getcwd()!r})."
        )
    if is_store(path):
        return Format("store")
    is_folder, folder = os.path.isdir(path), None
    if is_folder or os.path.basename(path) == "vectors":
        folder = spacy_folder(path)
    if folder is not None:
        names = [name for name in SPACY_FILES if (folder / name).is_file()]
        return Format("spacy", files=tuple(str(folder / name) for name in names))
    if is_folder and is_pipeline(path):
        raise no_vectors(path)
    if is_folder:
        raise ValueError(
            f"{path} is a directory but neither a word-vector store nor one of spaCy's "
            f"vectors. {_SUPPORTED}"
        )
    with SourceStream(path) as stream:
        sample = stream.read(_SAMPLE)
    fmt = _detect_sample(path, sample, is_whole=len(sample) < _SAMPLE)
    states_dim = fmt.kind in ("text", "binary", "floret")
    if states_dim and not 1 <= fmt.dim <= MAX_DIM:
        raise ValueError(
            f"{path}: vectors must have 1 to {MAX_DIM:,} dimensions; got {fmt.dim}. "
            "The first line is corrupt, or this is not a word-vector file."
        )
    return fmt


def holds_vectors(folder):
    """Return whether a folder is a store or a pipeline of spaCy."""
    return is_store(folder) or is_pipeline(folder) or spacy_folder(folder) is not None


def _detect_sample(path, sample, is_whole):
    """Return the `Format` of a file, given its first bytes or all of them."""
    if not sample.strip():
        raise ValueError(f"{path}: the file is empty; it contains no words.")
    if _PICKLE.match(sample):
        return Format("gensim", files=_saved_files(path))
    if sample.startswith(FASTTEXT_MAGIC):
        return Format("fasttext")
    skip = len(_BOM) if sample.startswith(_BOM) else 0
    first, newline, rest = sample[skip:].partition(b"\n")
    after_first = skip + len(first) + len(newline)
    floret = _FLORET.fullmatch(first)
    if floret:
        return Format("floret", int(floret[1]), start=after_first)
    header = _HEADER.fullmatch(first)
    lines = (rest if header else sample[skip:]).split(b"\n", 51)
    # The last line of a sample may be cut.
    lines = lines[:50] if is_whole or len(lines) > 50 else lines[:-1]
    lines = [line for line in lines if line.strip()]
    if header:
        return _format_with_header(path, header, rest, after_first, lines)
    if b"\0" in sample:
        lines = []
    dim, has_tabs = _tab_dim(lines), True
    if not dim:
        counts = [min(_trailing_numbers(line), len(line.split()) - 1) for line in lines]
        dim, has_tabs = min(multimode(counts), default=0), False
    if dim < 1:
        raise ValueError(
            f"{path}: unknown format; the file begins with {sample[:24]!r}. "
            f"{_hint(sample)}{_SUPPORTED}"
        )
    _check_words(path, lines)
    return Format("text", dim, start=skip, has_tabs=has_tabs)


def _saved_files(path):
    """Return a file and the arrays that gensim's ``save`` wrote next to it."""
    path = os.fspath(path)
    return (path, *sorted(glob.glob(glob.escape(path) + ".*.np[yz]")))


def _format_with_header(path, header, rest, start, lines):
    """Return the format of a file whose first line has two numbers."""
    n_rows, dim = int(header[1]), int(header[2])
    if n_rows == 0:
        raise ValueError(f"{path}: the header states 0 words; the file is empty.")
    row = rest.partition(b"\n")[0]
    # Float32 values without control characters can look like text in a short sample.
    is_utf8 = row.decode(errors="ignore").encode() == row
    has_no_control = not _CONTROL.search(rest[: 4 * dim + 512])
    stated = {"dim": dim, "n_rows": n_rows, "start": start, "header_lines": 1}
    if _trailing_numbers(row) < dim and not (is_utf8 and has_no_control):
        return Format("binary", **stated)
    _check_stated_dim(path, dim, lines)
    return Format("text", **stated, has_tabs=_tab_dim(lines) == dim)


def _tab_dim(lines):
    """Return how many numbers follow the first tab of most lines, 0 without tabs."""
    counts = []
    for line in lines:
        n_fields = len(line.partition(b"\t")[2].split())
        has_numbers = n_fields and _trailing_numbers(line) >= n_fields
        counts.append(n_fields if has_numbers else 0)
    dim = min(multimode(counts), default=0)
    if not dim or counts.count(dim) <= len(counts) / 2:
        return 0
    # If tabs only separate the numbers, a space may end the word.
    last = [line.partition(b"\t")[0].split(b" ")[-1] for line in lines]
    heads = all(_trailing_numbers(field) and b"." in field for field in last)
    return 0 if heads else dim


def _check_words(path, lines):
    """Raise ValueError if the lines have only numbers and no integer ids."""
    fields = [line.split() for line in lines]
    only_numbers = all(_trailing_numbers(line) == len(line.split()) for line in lines)
    if only_numbers and not any(_INTEGER.fullmatch(row[0]) for row in fields):
        raise ValueError(
            f"{path}: the lines contain numbers only, without words, like the "
            "vectors.tsv of TensorFlow's projector (its words are in metadata.tsv). "
            "Read both, and pass them to WordVectors.from_arrays(words, matrix)."
        )


def _check_stated_dim(path, dim, lines):
    """Raise ValueError if all lines have a word without spaces and too many numbers.

    The additional numbers may belong to the words, as in "user 1", if they are integers
    and the others are not.
    """
    fields = [line.split() for line in lines]
    counts = {len(row) - 1 for row in fields}
    found = max(counts, default=dim)
    if len(counts) != 1 or found <= dim or b"\t" in b"".join(lines):
        return
    if any(_trailing_numbers(line) < found for line in lines):
        return
    extra = [field for row in fields for field in row[1:-dim]]
    rest = [field for row in fields for field in row[-dim:]]
    if all(map(_INTEGER.fullmatch, extra)) and not all(map(_INTEGER.fullmatch, rest)):
        return
    raise ValueError(
        f"{path}: the header states {dim} dimensions, but the lines have a word and "
        f"{found} numbers. Correct the first line, or remove it."
    )


def _trailing_numbers(line):
    """Return how many fields at the end of a line are numbers."""
    count = 0
    for field in reversed(line.split()):
        try:
            float(field)
        except ValueError:
            break
        count += 1
    return count


_LFS = "It is a Git LFS pointer: run git lfs pull. "
_HTML = "It looks like a web page, as a failed download leaves. "
_ARCHIVE = "It is an archive: unpack it, and pass one of its files. "
_SAFETENSORS = (
    "It is a safetensors file, which has no words: pass the folder of a static model "
    "(model2vec, sentence-transformers) to make_embedding. "
)
_MAGIC = {b"version https://git-lfs": _LFS, b"<": _HTML}
_MAGIC |= dict.fromkeys((b"PK\x03\x04", b"7z\xbc", b"Rar!", b"\x28\xb5\x2f"), _ARCHIVE)


def _hint(sample):
    """Return what an unsupported file may be, given its first bytes."""
    if sample[257:262] == b"ustar":  # magic bytes of tar
        return _ARCHIVE
    if sample[8:10] == b'{"' and int.from_bytes(sample[:8], "little") < 1 << 30:
        return _SAFETENSORS
    hints = (hint for magic, hint in _MAGIC.items() if sample.startswith(magic))
    return next(hints, "")
