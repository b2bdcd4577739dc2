"""Readers of word2vec, GloVe and fastText ``.vec`` text, and of word2vec binaries.

A binary record is a word, a space and the float32 numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._core._messages import short_repr
from ._detect_format import MAX_WORD, check_header, check_row_count
from ._word_index import pack_spans

if TYPE_CHECKING:
    from ._detect_format import Format, SourceStream
    from ._store_files import StoreWriter

_BLOCK = 1 << 23
_LONGEST_LINE = 1 << 27


def read_text(stream: SourceStream, fmt: Format, writer: StoreWriter) -> None:
    """Append all rows of a text source to the writer.

    Blocks of whole lines are parsed by compiled code. Other lines (a word that contains
    spaces, a number that is hard to round, an error) are parsed again in Python, which
    also raises the error.
    """
    check_header(stream, fmt, writer.limit, 2 * fmt.dim)
    n_read = 0
    for packed, vectors, n_blank in _parse_blocks(stream, fmt, writer.limit):
        n_read += len(vectors)
        writer.repairs["blank_lines"] += n_blank
        writer.append(packed, vectors)
    check_row_count(stream.path, fmt, writer.limit, n_read, writer.repairs)


def _parse_blocks(stream, fmt, limit):
    line = fmt.header_lines + 1
    left = limit
    for block in _line_blocks(stream):
        buf = np.frombuffer(block, np.uint8)
        starts, ends = _line_spans(buf, left)
        yield _parse_block(buf, starts, ends, fmt.dim, line, stream.path)
        line += len(starts)
        left = left if left is None else left - len(starts)
        if left == 0:
            return


def _line_blocks(stream):
    tail = b""
    while block := stream.read(_BLOCK):
        cut = block.rfind(b"\n") + 1
        if not cut:
            tail += block
            if len(tail) > _LONGEST_LINE:
                raise ValueError(
                    f"{stream.path}: a line before byte {stream.position:,} has over "
                    f"{_LONGEST_LINE:,} bytes; this is not a text file of vectors."
                )
            continue
        yield tail + block[:cut]
        tail = block[cut:]
    if tail:
        yield tail


def _line_spans(buf, limit):
    ends = np.flatnonzero(buf == 10)
    if len(buf) and buf[-1] != 10:
        ends = np.append(ends, len(buf))
    ends = ends if limit is None else ends[:limit]
    starts = np.zeros(len(ends), np.int64)
    starts[1:] = ends[:-1] + 1
    return starts, ends


def _parse_block(buf, starts, ends, dim, first_line, path):
    """Return the packed words, float32 matrix and number of blank lines of a block."""
    from ._kernels_numba import parse_lines

    n_lines = len(starts)
    lines = _long_enough(buf, starts, ends, dim, first_line, path)
    if len(lines) < n_lines:
        starts, ends = starts[lines], ends[lines]
    vectors = np.empty((len(starts), dim), np.float32)
    word_ends = np.empty(len(starts), np.int64)
    uncertain = np.empty(len(starts), np.bool_)
    parse_lines(buf, starts, ends, vectors, word_ends, uncertain)
    blank = np.zeros(len(starts), bool)
    for row in np.flatnonzero(uncertain):
        text = bytes(buf[starts[row] : ends[row]])
        if not text.strip():
            blank[row] = True
            continue
        where = f"{path}, line {first_line + lines[row]}"
        length, numbers = parse_line(text, dim, where)
        word_ends[row] = starts[row] + length
        with np.errstate(over="ignore"):
            vectors[row] = numbers
    if blank.any():
        rows = np.flatnonzero(~blank)
        starts, word_ends, vectors = starts[rows], word_ends[rows], vectors[rows]
    return pack_spans(buf, starts, word_ends), vectors, n_lines - len(vectors)


def _long_enough(buf, starts, ends, dim, first_line, path):
    """Return the lines long enough for a word and its numbers; the others are blank.

    Memory is allocated for these only, so that it is at most twice that of the text,
    whatever dimension the header states.
    """
    is_long = ends - starts >= 2 * dim
    for row in np.flatnonzero(~is_long & (ends > starts)):
        text = bytes(buf[starts[row] : ends[row]])
        if not text.strip():
            continue
        # An earlier line may be invalid too; its error is raised first.
        _parse_block(buf, starts[:row], ends[:row], dim, first_line, path)
        parse_line(text, dim, f"{path}, line {first_line + row}")
    return np.flatnonzero(is_long)


def parse_line(text, dim, where):
    """Return the byte length of the word and the list of ``dim`` numbers of a line.

    It is parsed from the right, as a word may contain spaces (GloVe's ". . .").
    """
    text = text.rstrip(b" \t\r\n\v\f")
    fields = text.rsplit(None, dim)
    if text[:1] in (b" ", b"\t") and len(fields) == dim:
        fields.insert(0, b"")  # the word is the empty string
    word = fields[0].rstrip(b" \t")
    extra = word.rsplit(None, 1)[1:]
    if len(fields) != dim + 1 or (extra and _as_number(extra[0]) is not None):
        raise ValueError(
            f"{where}: expected a word and {dim} numbers; got {len(text.split())} "
            f"columns in {_decoded(text)}. All lines must have as many columns."
        )
    numbers = [_as_number(field) for field in fields[1:]]
    if None in numbers:
        column = numbers.index(None)
        raise ValueError(
            f"{where}: {_decoded(fields[1 + column])} in column {column + 2} is not a "
            f"number; expected a word and {dim} numbers in {_decoded(text)}."
        )
    return len(text) - len(text[len(word) :]), numbers


def _as_number(field):
    try:
        return None if b"_" in field else float(field)
    except ValueError:
        return None


def _decoded(text):
    return short_repr(text.decode("utf-8", "replace"))


def read_binary(stream: SourceStream, fmt: Format, writer: StoreWriter) -> None:
    """Append all rows of a word2vec binary to the writer."""
    width = 4 * fmt.dim
    check_header(stream, fmt, writer.limit, width + 1)
    n_read, data = 0, b""
    left = writer.limit
    while left is None or left > 0:
        block = stream.read(_BLOCK)
        data += block
        packed, vectors, used = _split_records(data, width, left)
        if len(vectors):
            writer.append(packed, vectors)
        n_read += len(vectors)
        left = left if left is None else left - len(vectors)
        data = data[used:]
        if len(data) > width + MAX_WORD:
            raise ValueError(
                f"{stream.path}: word {n_read} before byte {stream.position:,} has "
                f"over {MAX_WORD:,} bytes; the file is corrupt."
            )
        if not block:
            _check_rest(stream, data, left, n_read, width)
            break
    check_row_count(stream.path, fmt, writer.limit, n_read, writer.repairs)


def _split_records(data, width, left):
    from ._kernels_numba import parse_records

    buf = np.frombuffer(data, np.uint8)
    n_rows = len(buf) // (width + 1)
    n_rows = n_rows if left is None else min(left, n_rows)
    starts, ends = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    out = np.empty((n_rows, width), np.uint8)
    count, used = parse_records(buf, width, starts, ends, out)
    vectors = out[:count].view("<f4").astype(np.float32, copy=False)
    return pack_spans(buf, starts[:count], ends[:count]), vectors, used


def _check_rest(stream, data, left, n_read, width):
    if left == 0 or not data.strip(b"\r\n"):
        return
    word = data.lstrip(b"\n").partition(b" ")[0][:40].decode("utf-8", "replace")
    raise ValueError(
        f"{stream.path}: the file ends within word {n_read} ({word!r}), at byte "
        f"{stream.position:,}: a vector of {width} bytes is incomplete. The file is "
        f"truncated; download it again, or pass limit={n_read} to use the complete "
        f"rows."
    )
