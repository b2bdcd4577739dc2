"""Writing word vectors in the formats that others read, whole or not at all."""

import contextlib
import gzip
import os
import re
import secrets
import shutil
import sys
from pathlib import Path

import numpy as np

from ..sequences._new_file import beside
from ._convert import arrays_store
from ._gensim import to_keyed_vectors
from ._words import pack

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
    with beside(path) as part:
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
    from ._digits import WIDEST, put_lines

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
