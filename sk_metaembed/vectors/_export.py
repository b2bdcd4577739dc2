"""export_vectors: the vectors of any embedding, written for other programs to read.

Writing word vectors in the formats that others read, whole or not at all.
"""

import contextlib
import gzip
import os
import re
import secrets
import shutil
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .._io._atomic import atomic_path
from ..sequences._word_lookup import lookup_vectors
from ._convert import arrays_store
from ._gensim import to_keyed_vectors
from ._word_index import pack

SUFFIXES = {
    ".vec": "word2vec-text",
    ".w2v": "word2vec-text",
    ".bin": "word2vec-binary",
    ".glove": "glove",
    ".kv": "gensim",
    ".store": "store",
}
_CHUNK_NUMBERS = 1 << 21
# Numbers hardly shrink further: level 6 takes three times as long for a few percent.
_GZIP_LEVEL = 1
_TEXT = re.compile("[\t-\r \0]")
_UNWRITABLE = {
    "word2vec-text": _TEXT,
    "glove": _TEXT,
    "word2vec-binary": re.compile("[ \n]"),
}


def format_of(path, fmt):
    """Return the format asked for, or the one that the path's suffix stands for.

    Raises
    ------
    ValueError
        If there is no such format, the suffix tells none, or it cannot be compressed.
    """
    known = (*_WRITERS, "store")
    name = path.name.removesuffix(".gz")
    if fmt is None:
        fmt = SUFFIXES.get(Path(name).suffix)
        if fmt is None:
            told = ", ".join(f"{s} ({f})" for s, f in SUFFIXES.items())
            raise ValueError(
                f"export_vectors cannot tell the format from the name {path.name!r}: "
                f"it knows {told}. Pass format=, one of {', '.join(known)}; a .txt "
                'with a line of sizes on top is "word2vec-text", one without "glove".'
            )
    if fmt not in known:
        raise ValueError(
            f"export_vectors: format must be one of {', '.join(known)} or None, got "
            f"{fmt!r}."
        )
    if name != path.name and fmt not in _UNWRITABLE:
        raise ValueError(
            f"export_vectors: {path.name!r} asks for gzip, but format {fmt!r} is not "
            f"compressed. Leave .gz away, or write one of {', '.join(_UNWRITABLE)}."
        )
    return fmt


def check_words(words, fmt):
    """Refuse words that the format cannot hold, naming the first of them.

    Raises
    ------
    ValueError
        If there is one.
    """
    for row, word in enumerate(words):
        reason = _fault(word, row, fmt)
        if reason:
            raise ValueError(
                f"export_vectors: the word {word!r} {reason}. Leave it out or change "
                'it; format="store" holds any word that is text.'
            )


def _fault(word, row, fmt):
    try:
        word.encode()
    except UnicodeEncodeError:
        return "is not valid Unicode (it has half of a surrogate pair)"
    if fmt not in _UNWRITABLE:
        return None
    if not word:
        return f"is empty, which format {fmt!r} cannot hold"
    found = _UNWRITABLE[fmt].search(word)
    if found:
        return f"has {found[0]!r} in it, which format {fmt!r} cannot hold"
    if fmt == "glove" and row == 0 and (word[0] == "\ufeff" or word[:3] == "BZh"):
        return "begins the file like a byte-order mark or bzip2 data"
    return None


def write_vectors(words, matrix, path, fmt):
    """Write words and their vectors to a path; a file there is replaced in one step.

    Parameters
    ----------
    words : list of str
        Distinct, and such as the format can hold.
    matrix : ndarray of float32, shape (n_words, dim)
        Finite.
    path : Path
    fmt : str
        As `format_of` returns it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if fmt == "store":
        _write_store(words, matrix, path)
        return
    with atomic_path(path) as part:
        _WRITERS[fmt](words, matrix, part)


def _write_store(words, matrix, path):
    aside = path.with_name(f".{path.name}.{secrets.token_hex(6)}.old")
    new = path.with_name(f".{path.name}.{secrets.token_hex(6)}.new")
    arrays_store(pack(words), matrix, path=new)
    try:
        _swap(new, path, aside)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    shutil.rmtree(aside, ignore_errors=True)


def _swap(new, path, aside):
    """Move a folder to its place; what was there goes aside, and back on failure."""
    if path.exists():  # a folder cannot be replaced in one step
        os.rename(path, aside)
    try:
        os.rename(new, path)
    except OSError:
        if aside.exists():
            os.rename(aside, path)
        raise


@contextlib.contextmanager
def _output(path):
    """Open a file to write bytes to, compressed where the final name says so."""
    with open(path, "wb") as file:
        if path.suffixes[-3:-2] != [".gz"]:  # behind it: a random part, ".part"
            yield file
            return
        # Without name and time, equal vectors give equal files.
        with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as packed:
            yield packed


def _write_word2vec_text(words, matrix, path):
    with _output(path) as file:
        file.write(_header(matrix))
        _write_lines(words, matrix, file)


def _write_glove(words, matrix, path):
    with _output(path) as file:
        _write_lines(words, matrix, file)


def _header(matrix):
    return b"%d %d\n" % matrix.shape


def _write_lines(words, matrix, file):
    from ._format_numba import WIDEST, put_lines

    for rows in _row_slices(matrix):
        packed, values = pack(words[rows]), np.ascontiguousarray(matrix[rows])
        out = np.empty(len(packed.blob) + WIDEST * values.size, np.uint8)
        bits = values.view(np.uint32)
        length = put_lines(packed.blob, packed.offsets, values, bits, out)
        file.write(out[:length].data)


def _row_slices(matrix):
    step = max(1, _CHUNK_NUMBERS // matrix.shape[1])
    for start in range(0, len(matrix), step):
        yield slice(start, start + step)


def _write_word2vec_binary(words, matrix, path):
    dim = matrix.shape[1]
    with _output(path) as file:
        file.write(_header(matrix))
        for rows in _row_slices(matrix):
            values = np.ascontiguousarray(matrix[rows], "<f4").view(np.uint8)
            values = values.reshape(-1, 4 * dim)
            parts = (
                part
                for word, row in zip(words[rows], values, strict=True)
                for part in (f"{word} ".encode(), row.data)
            )
            file.write(b"".join(parts))


def _write_gensim(words, matrix, path):
    # One file: gensim's second one, for big arrays, would bear the temporary name.
    to_keyed_vectors(words, matrix).save(os.fspath(path), sep_limit=sys.maxsize)


_WRITERS = {
    "word2vec-text": _write_word2vec_text,
    "word2vec-binary": _write_word2vec_binary,
    "glove": _write_glove,
    "gensim": _write_gensim,
}


_BATCH = 1 << 16
_UNKNOWN = ("warn", "skip", "raise", "keep")
_WHOSE = "export_vectors"


@dataclass(frozen=True)
class ExportReport:
    """What `export_vectors` wrote, and what it left out.

    Unknown words are what an export loses without a sound: the report says how many
    there were, and which. It is for reading; changing it changes no file.

    Parameters
    ----------
    path : str
        The file, or the directory of a store.
    format : str
        The format it was written in.
    n_words, dim : int
        Number of words in it, and length of a vector.
    n_unknown, n_repeated : int
        Words that the embedding does not know (left out, or kept if that was asked
        for), and words given again after the first time.
    unknown : tuple of str
        The words that are not known.

    See Also
    --------
    export_vectors : Writes the file and returns the report.
    WordVectors.open : Reads the file again.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sk_metaembed import export_vectors
    >>> folder = tempfile.TemporaryDirectory()
    >>> export_vectors({"tea": [1.0]}, ["tea"], pathlib.Path(folder.name, "a.bin"))
    ExportReport(path='...a.bin', format='word2vec-binary', n_words=1, dim=1,
        n_unknown=0, n_repeated=0)
    >>> folder.cleanup()
    """

    path: str
    format: str
    n_words: int
    dim: int
    n_unknown: int
    n_repeated: int
    unknown: tuple = field(repr=False)


def export_vectors(
    embedding, words, path, *, format=None, unknown="warn", overwrite=False
):
    """Write the vectors that an embedding gives to words, for other programs.

    For a fitted meta-embedding that is to be used elsewhere: gensim, spaCy, fastText
    and whatever reads GloVe take one of these formats, and `WordVectors.open` reads
    them all. The words are computed in batches, and the file appears under its name
    when it is complete: nothing is left of an export that fails.

    Parameters
    ----------
    embedding : fitted estimator, WordVectors, KeyedVectors or dict
        An estimator, perhaps a Pipeline without its predictor (``pipeline[:-1]``),
        that gives one block or an array; each word is a sequence of its own for it.
    words : sequence of str
        What to write, in this order: for example the `words` of a `WordVectors`, or
        the `types` of a `TokenSequences`. Of a word given again the first is kept.
    path : str or path-like
        The file, or for a store the directory, to make.
    format : str, default=None
        "word2vec-text", "word2vec-binary", "glove", "gensim" or "store"; see Notes.
        None goes by the suffix: ``.vec`` or ``.w2v``, ``.bin``, ``.glove``, ``.kv``
        and ``.store``. With ``.gz`` behind it a text or binary file is compressed.
    unknown : {"warn", "skip", "raise", "keep"}, default="warn"
        What to do about words that the embedding does not know: leave them out and
        warn, or say so in the report only, or raise; or write the vector that the
        embedding gives them all the same, in many cases zeros.
    overwrite : bool, default=False
        Replace what is at `path`.

    Returns
    -------
    ExportReport
        `path`, `format`, `n_words`, `dim`, `n_unknown`, `n_repeated`, and `unknown`,
        the words that are not known. ``WordVectors.open(report.path)`` reads the file
        again, with ``trusted=True`` for gensim's.

    Raises
    ------
    FileExistsError
        If something is at `path` and it is not to be overwritten.
    TypeError
        If the embedding has no vectors of words, or a word is no str.
    ValueError
        If the format is unclear or cannot hold a word, no word is known, a vector is
        not finite, or a word is unknown and ``unknown="raise"``.

    Warns
    -----
    UserWarning
        If words were left out and ``unknown="warn"``.

    See Also
    --------
    WordVectors : Reads every format that is written here.

    Notes
    -----
    ================= ============ ==================================================
    format            words        read by
    ================= ============ ==================================================
    "word2vec-text"   no blanks    a line of sizes first; gensim, fastText, spaCy
    "word2vec-binary" no blanks    gensim's ``load_word2vec_format(binary=True)``
    "glove"           no blanks    as word2vec-text, without the line of sizes
    "gensim"          any          gensim's ``KeyedVectors.load``; a pickle
    "store"           any          `WordVectors.open`, which maps it into memory
    ================= ============ ==================================================

    All hold the float32 numbers exactly: as text, each is written with the fewest
    digits, nine at most, that any reader turns into the same float32 again, be it by
    way of float64 (a decimal right between two float32 is not used, and below 1e-38
    six digits are the fewest). Blanks are what ASCII calls white space; in binary
    files, space and newline alone. The matrix is built in memory.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sk_metaembed import WordVectors, export_vectors
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "drinks.vec")
    >>> drinks = {"tea": [0.1, 2.0], "coffee": [-1.5, 0.25]}
    >>> report = export_vectors(drinks, ["tea", "coffee", "rain"], path, unknown="skip")
    >>> report.n_words, report.unknown
    (2, ('rain',))
    >>> print(path.read_text())
    2 2
    tea 0.1 2.0
    coffee -1.5 0.25
    >>> WordVectors.open(path, cache_dir=folder.name)["tea"]
    array([0.1, 2. ], dtype=float32)
    >>> folder.cleanup()
    """
    path = _checked_path(path)
    format = format_of(path, format)
    if unknown not in _UNKNOWN:
        raise ValueError(
            f"{_WHOSE}: unknown must be one of {_UNKNOWN}, got {unknown!r}."
        )
    _check_place(path, format, overwrite)
    given = _checked_words(words)
    words = list(dict.fromkeys(given))
    matrix, known = _vectors(embedding, words)
    left_out = tuple(words[i] for i in np.flatnonzero(~known))
    if unknown != "keep" and left_out:
        _report_unknown(left_out, len(words), unknown)
        matrix = matrix[known]
        words = [word for word, is_known in zip(words, known, strict=True) if is_known]
    check_words(words, format)
    _check_finite(words, matrix)
    write_vectors(words, matrix, path, format)
    return ExportReport(
        path=os.fspath(path),
        format=format,
        n_words=len(words),
        dim=matrix.shape[1],
        n_unknown=len(left_out),
        n_repeated=len(given) - len(known),
        unknown=left_out,
    )


def _checked_path(path):
    if isinstance(path, str | os.PathLike):
        return Path(path).expanduser().absolute()
    raise TypeError(
        f"{_WHOSE}: path must be a str or a path, got {type(path).__name__}: {path!r}."
    )


def _check_place(path, format, overwrite):
    if not path.exists():
        return
    if not overwrite:
        raise FileExistsError(
            f"{path} exists already. Pass overwrite=True to replace it, or give "
            "another path."
        )
    # A folder is replaced whole: only a store may go that way.
    is_ours = (path / "meta.json").is_file() if format == "store" else path.is_file()
    if not is_ours:
        what = "word-vector store" if format == "store" else "file"
        raise FileExistsError(
            f"{path} is no {what}, so it is not replaced by one. Give another path."
        )


def _checked_words(words):
    if not hasattr(words, "__iter__"):
        raise TypeError(
            f"{_WHOSE}: words must be a sequence of str, got {type(words).__name__}."
        )
    if not isinstance(words, str | bytes | np.ndarray):
        words = list(words)
    pack(words)  # refuses what is no str, and a single one
    words = [str(word) for word in words]
    if not words:
        raise ValueError(f"{_WHOSE}: words is empty; give at least one word.")
    return words


def _vectors(embedding, words):
    """Return the float32 matrix of the words and which are known, in batches."""
    matrix, known = None, np.zeros(len(words), dtype=bool)
    for start in range(0, len(words), _BATCH):
        batch = words[start : start + _BATCH]
        values, found = lookup_vectors(embedding, batch, caller=_WHOSE)
        if matrix is None:
            matrix = np.empty((len(words), values.shape[1]), np.float32)
        matrix[start : start + len(batch)] = values
        known[start : start + len(batch)] = found
    if not matrix.shape[1]:
        raise ValueError(f"{_WHOSE}: the embedding's vectors have no dimensions.")
    return matrix, known


def _report_unknown(left_out, n_words, unknown):
    shown = ", ".join(repr(word) for word in left_out[:5])
    shown += ", ..." if len(left_out) > 5 else ""
    message = (
        f"{_WHOSE}: {len(left_out):,} of {n_words:,} words are not known to the "
        f"embedding: {shown}."
    )
    keep = 'unknown="keep" writes whatever the embedding gives them.'
    if len(left_out) == n_words:
        raise ValueError(f"{message} Nothing is left to write; {keep}")
    if unknown == "raise":
        raise ValueError(f'{message} unknown="skip" leaves them out, {keep}')
    if unknown == "warn":
        warnings.warn(f"{message} They are left out.", UserWarning, stacklevel=3)


def _check_finite(words, matrix):
    # A sum is finite unless some entry is not (or it overflows, then look again).
    if not np.isfinite(matrix.sum(dtype=np.float64)):
        bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
        if len(bad):
            raise ValueError(
                f"{_WHOSE}: the vector of {words[bad[0]]!r} holds NaN or infinity, and "
                f"so do {len(bad) - 1:,} more. Nothing was written."
            )
