"""Readers of word2vec, GloVe and fastText ``.vec`` text, and of word2vec binaries.

A binary record is a word, a space and the float32 numbers.

A file is converted once. A parser compiled with numba converted text twice as fast, but
compiling it took as long as converting 150 MB.
"""

from __future__ import annotations

import numpy as np

from .._core._messages import short_repr
from ._detect_format import (
    MAX_WORD,
    Format,
    SourceStream,
    check_header,
    check_row_count,
)
from ._store_files import StoreWriter
from ._word_index import PackedWords

_BLOCK = 1 << 23
_LONGEST_LINE = 1 << 27


def read_text(stream: SourceStream, fmt: Format, writer: StoreWriter) -> None:
    """Append all rows of a text source to the writer."""
    check_header(stream, fmt, writer.limit, 2 * fmt.dim)
    n_read, number = 0, fmt.header_lines
    for lines in _line_blocks(stream):
        words: list[bytes] = []
        rows: list[np.ndarray] = []
        for line in lines:
            if n_read + len(rows) == writer.limit:
                break
            number += 1
            if line.strip():
                word, row = _parse_line(line, fmt.dim, f"{stream.path}, line {number}")
                words.append(word)
                rows.append(row)
            else:
                writer.repairs["blank_lines"] += 1
        _append(writer, words, rows)
        n_read += len(rows)
        if n_read == writer.limit:
            break
    check_row_count(stream.path, fmt, writer.limit, n_read, writer.repairs)


def _append(writer, words, rows):
    """Append rows (lists of bytes and of float32 arrays) to the writer."""
    if rows:
        offsets = np.cumsum([0, *(len(word) + 1 for word in words)])
        blob = np.frombuffer(b"\n".join([*words, b""]), np.uint8)
        writer.append(PackedWords(blob, offsets), np.stack(rows))


def _line_blocks(stream):
    """Yield lists of lines without their ends."""
    tail = b""
    while block := stream.read(_BLOCK):
        *lines, tail = (tail + block).split(b"\n")
        if len(tail) > _LONGEST_LINE:
            raise ValueError(
                f"{stream.path}: a line before byte {stream.position:,} has over "
                f"{_LONGEST_LINE:,} bytes; this is not a text file of vectors."
            )
        yield lines
    if tail:
        yield [tail]


def _parse_line(line, dim, where):
    """Return the word and the vector, float32 (dim,), of a line.

    It is parsed from the right, as a word may contain spaces (GloVe's ". . .").
    """
    fields = line.rsplit(None, dim)
    if line[:1] in (b" ", b"\t") and len(fields) == dim:
        fields.insert(0, b"")  # the word is the empty string
    word, *numbers = fields
    extra = word.rsplit(None, 1)[1:]
    if len(numbers) != dim or (extra and _is_number(extra[0])):
        raise ValueError(
            f"{where}: expected a word and {dim} numbers; got {len(line.split())} "
            f"columns in {_decoded(line)}. All lines must have as many columns."
        )
    try:
        with np.errstate(over="ignore"):
            vector = np.array(numbers, np.float32)
    except ValueError:
        vector = None
    if vector is None or b"_" in line[len(word) :]:  # Python reads 1_0 as 10
        column = next(i for i, n in enumerate(numbers, 2) if not _is_number(n))
        raise ValueError(
            f"{where}: {_decoded(numbers[column - 2])} in column {column} is not a "
            f"number; expected a word and {dim} numbers in {_decoded(line)}."
        )
    return word, vector


def _is_number(field):
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field


def _decoded(text):
    return short_repr(text.strip().decode("utf-8", "replace"))


def read_binary(stream: SourceStream, fmt: Format, writer: StoreWriter) -> None:
    """Append all rows of a word2vec binary to the writer."""
    width = 4 * fmt.dim
    check_header(stream, fmt, writer.limit, width + 1)
    n_read, data = 0, b""
    while writer.limit is None or n_read < writer.limit:
        block = stream.read(_BLOCK)
        left = None if writer.limit is None else writer.limit - n_read
        words, rows, data = _split_records(data + block, fmt.dim, left)
        _append(writer, words, rows)
        n_read += len(rows)
        if len(data) > width + MAX_WORD:
            raise ValueError(
                f"{stream.path}: word {n_read} before byte {stream.position:,} has "
                f"over {MAX_WORD:,} bytes; the file is corrupt."
            )
        if not block:
            _check_rest(stream, data, n_read, width)
            break
    check_row_count(stream.path, fmt, writer.limit, n_read, writer.repairs)


def _split_records(data, dim, limit):
    """Return the words and vectors of complete records, and the bytes after them."""
    words, rows, at = [], [], 0
    while limit is None or len(rows) < limit:
        start = at
        while data[start : start + 1] == b"\n":
            start += 1
        space = data.find(b" ", start)
        if space < 0 or space + 1 + 4 * dim > len(data):
            break
        words.append(data[start:space])
        rows.append(np.frombuffer(data, "<f4", dim, space + 1).astype(np.float32))
        at = space + 1 + 4 * dim
    return words, rows, data[at:]


def _check_rest(stream, data, n_read, width):
    if not data.strip(b"\r\n"):
        return
    word = data.lstrip(b"\n").partition(b" ")[0][:40].decode("utf-8", "replace")
    raise ValueError(
        f"{stream.path}: the file ends within word {n_read} ({word!r}), at byte "
        f"{stream.position:,}: a vector of {width} bytes is incomplete. The file is "
        f"truncated; download it again, or pass limit={n_read} to use the complete "
        f"rows."
    )
