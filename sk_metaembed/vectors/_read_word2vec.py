"""Reading word2vec, GloVe and fastText ``.vec`` text.

Reading word2vec's binary format: ``word``, a space, then float32 numbers.
"""

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ._detect_format import MAX_WORD, check_complete, check_promise
from ._word_index import PackedWords, pack_spans

_BLOCK = 1 << 23
_LONGEST_LINE = 1 << 27


def read_text(stream, fmt, writer):
    """Push all rows of a text source to the writer.

    Blocks of whole lines are parsed by compiled code, on a few threads and in
    bounded memory. A line that is not plain (a word with spaces in it, a number
    that needs care, a fault) is parsed again in Python, which also words the error.
    """
    check_promise(stream.path, fmt, writer.limit, stream.size, 2 * fmt.dim)
    stream.exactly(fmt.start, "the header")
    found = 0
    for packed, vectors, blank in _parsed(stream, fmt, writer.limit):
        found += len(vectors)
        writer.repairs["blank_lines"] += blank
        writer.append(packed, vectors)
    check_complete(stream.path, fmt, writer.limit, found, writer.repairs)


def _parsed(stream, fmt, limit):
    """Yield parsed blocks in order, a few of them being parsed ahead."""
    threads = min(4, os.cpu_count() or 1)
    line = fmt.header_lines + 1
    left = limit
    with ThreadPoolExecutor(threads) as pool:
        waiting = deque()
        try:
            for block in _line_blocks(stream):
                buf = np.frombuffer(block, np.uint8)
                starts, ends = _line_spans(buf, left)
                left = left if left is None else left - len(starts)
                task = (buf, starts, ends, fmt.dim, line, stream.path)
                waiting.append(pool.submit(_parse_block, *task))
                line += len(starts)
                if len(waiting) > threads:
                    yield waiting.popleft().result()
                if left == 0:
                    break
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def _line_blocks(stream):
    tail = b""
    while block := stream.read(_BLOCK):
        cut = block.rfind(b"\n") + 1
        if not cut:
            tail += block
            if len(tail) > _LONGEST_LINE:
                raise ValueError(
                    f"{stream.path}: a line has no end within {_LONGEST_LINE:,} bytes "
                    f"before byte {stream.position:,}; this is no text of vectors."
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
    """Return (words, float32 matrix, number of blank lines) of one block."""
    from ._kernels_numba import parse_lines

    n_lines = len(starts)
    lines = _long_enough(buf, starts, ends, dim, first_line, path)
    if len(lines) < n_lines:
        starts, ends = starts[lines], ends[lines]
    vectors = np.empty((len(starts), dim), np.float32)
    word_ends = np.empty(len(starts), np.int64)
    doubtful = np.empty(len(starts), np.bool_)
    parse_lines(buf, starts, ends, vectors, word_ends, doubtful)
    blank = np.zeros(len(starts), bool)
    for row in np.flatnonzero(doubtful):
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
    packed = pack_spans(buf, starts, word_ends)
    return PackedWords(*packed), vectors, n_lines - len(vectors)


def _long_enough(buf, starts, ends, dim, first_line, path):
    """Return the lines that may hold a word and its numbers: the others are blank.

    Memory is set aside for these alone, so that it is at most twice that of the text,
    whatever dimension the header announces.
    """
    is_long = ends - starts >= 2 * dim
    for row in np.flatnonzero(~is_long & (ends > starts)):
        text = bytes(buf[starts[row] : ends[row]])
        if not text.strip():
            continue
        # an earlier line may be at fault too, and is told first
        _parse_block(buf, starts[:row], ends[:row], dim, first_line, path)
        parse_line(text, dim, f"{path}, line {first_line + row}")
    return np.flatnonzero(is_long)


def parse_line(text, dim, where):
    """Parse one line from the right, as a word may hold blanks (GloVe's ". . .").

    Returns
    -------
    length : int
        Number of bytes of the word.
    numbers : list of float
    """
    text = text.rstrip(b" \t\r\n\v\f")
    fields = text.rsplit(None, dim)
    if text[:1] in (b" ", b"\t") and len(fields) == dim:
        fields.insert(0, b"")  # the word is the empty string
    word = fields[0].rstrip(b" \t")
    extra = word.rsplit(None, 1)[1:]
    if len(fields) != dim + 1 or (extra and _as_number(extra[0]) is not None):
        raise ValueError(
            f"{where}: expected a word and {dim} numbers, found {len(text.split())} "
            f"columns in {_shown(text)}. Every line needs the same number of columns."
        )
    numbers = [_as_number(field) for field in fields[1:]]
    if None in numbers:
        column = numbers.index(None)
        raise ValueError(
            f"{where}: {_shown(fields[1 + column])} in column {column + 2} is not a "
            f"number; expected a word and {dim} numbers in {_shown(text)}."
        )
    return len(text) - len(text[len(word) :]), numbers


def _as_number(field):
    try:
        return None if b"_" in field else float(field)
    except ValueError:
        return None


def _shown(text):
    shown = text.decode("utf-8", "replace")
    return repr(shown if len(shown) <= 60 else shown[:57] + "...")


def read_binary(stream, fmt, writer):
    """Push all rows of a word2vec binary to the writer."""
    width = 4 * fmt.dim
    check_promise(stream.path, fmt, writer.limit, stream.size, width + 1)
    stream.exactly(fmt.start, "the header")
    found, data = 0, b""
    left = writer.limit
    while left is None or left > 0:
        block = stream.read(_BLOCK)
        data += block
        packed, vectors, used = _split(data, width, left)
        if len(vectors):
            writer.append(packed, vectors)
        found += len(vectors)
        left = left if left is None else left - len(vectors)
        data = data[used:]
        if len(data) > width + MAX_WORD:
            raise ValueError(
                f"{stream.path}: word {found} has no end within {MAX_WORD:,} "
                f"bytes before byte {stream.position:,}; the file is damaged."
            )
        if not block:
            _check_rest(stream, data, left, found, width)
            break
    check_complete(stream.path, fmt, writer.limit, found, writer.repairs)


def _split(data, width, left):
    from ._kernels_numba import parse_records

    buf = np.frombuffer(data, np.uint8)
    n_rows = len(buf) // (width + 1)
    n_rows = n_rows if left is None else min(left, n_rows)
    starts, ends = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    out = np.empty((n_rows, width), np.uint8)
    count, used = parse_records(buf, width, starts, ends, out)
    vectors = out[:count].view("<f4").astype(np.float32, copy=False)
    return pack_spans(buf, starts[:count], ends[:count]), vectors, used


def _check_rest(stream, data, left, found, width):
    if left == 0 or not data.strip(b"\r\n"):
        return
    word = data.lstrip(b"\n").partition(b" ")[0][:40].decode("utf-8", "replace")
    raise ValueError(
        f"{stream.path}: the file ends within word {found} ({word!r}), at byte "
        f"{stream.position:,}: a vector of {width} bytes is incomplete. It looks cut "
        f"short; fetch it again, or pass limit={found} to use the whole rows."
    )
