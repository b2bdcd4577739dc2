"""Readers of vectors in text and in word2vec's binary format, and of their streams.

Text is that of word2vec, GloVe, fastText's ``.vec`` and floret. A binary record is a
word, a space and the float32 numbers.

A file is converted once. A parser compiled with numba converted text twice as fast, but
compiling it took as long as converting 150 MB.
"""

from __future__ import annotations

import lzma
import os
import re
import zlib
from contextlib import AbstractContextManager
from typing import NamedTuple

import numpy as np

from .._core._errors import short_repr
from .._core._optional import progress_bar
from .._io._compression import MAX_RATIO, detect_compression, is_decompression_bomb
from ._store import Floret, PackedWords, StoreWriter, is_floret

MAX_DIM = 1 << 20
MAX_WORD = 1 << 20  # bytes
FLORET_SEED = 2166136261  # the seed that floret writes
_BLOCK = 1 << 23
_BATCH = 64  # words of a binary file that are checked at once
_AHEAD = 256  # bytes after a vector that show whether a word follows
_LONGEST_WITH_SPACES = 1 << 12  # bytes of a word
_SMALLEST, _LARGEST = 1e-7, 1e5  # usual range of nonzero numbers
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_LONGEST_LINE = 1 << 27


class SourceStream(AbstractContextManager):
    """A source file, decompressed, with a progress bar over its bytes.

    `size` is the length of the content in bytes, None if it is compressed; `position`
    is the number of content bytes read so far.
    """

    def __init__(self, path, verbose=0):
        self.path = os.fspath(path)
        self.position = 0
        self._pushed = b""
        self.compression, opener = detect_compression(path)
        length = os.path.getsize(path)
        self.size = None if opener else length
        self._raw = open(path, "rb")  # noqa: SIM115 (closed in __exit__)
        self._file = opener(self._raw, "rb") if opener else self._raw
        self._bar = None
        if verbose:
            shown = {"unit": "B", "unit_scale": True, "total": length}
            name = os.path.basename(self.path)
            self._bar = progress_bar(desc=f"Converting {name}", **shown)

    def __exit__(self, *exc_info):
        if self._bar is not None:
            self._bar.update(self._raw.tell() - self._bar.n)
            self._bar.close()
        self._file.close()
        self._raw.close()

    def read(self, size):
        """Return ``size`` bytes, fewer only at the end of the content."""
        pushed, self._pushed = self._pushed[:size], self._pushed[size:]
        try:
            data = pushed + self._file.read(size - len(pushed))
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            if self.compression is None:
                raise
            raise ValueError(
                f"{self.path}: the {self.compression} data is truncated or corrupt "
                f"after {self.position:,} decompressed bytes ({error}). Download or "
                f"copy the file again."
            ) from error
        self.position += len(data)
        packed = self._raw.tell()
        if self.compression and is_decompression_bomb(self.position, packed):
            raise ValueError(
                f"{self.path}: the {self.compression} data unpacks to more than "
                f"{MAX_RATIO} times its size, which vectors do not. Unpack the file "
                "yourself if you trust it."
            )
        if self._bar is not None:
            self._bar.update(packed - self._bar.n)
        return data

    def push_back(self, data):
        """Return bytes to the stream, to be read again."""
        self._pushed = data + self._pushed
        self.position -= len(data)

    def require(self, size, what):
        """Raise a ValueError that names `what` if fewer than ``size`` bytes are left.

        The number of bytes left is unknown if the content is compressed.
        """
        if self.size is not None and size > self.size - self.position:
            raise self._truncated(size, what, self.size - self.position)

    def read_exactly(self, size, what):
        """Return ``size`` bytes, or raise a ValueError that names `what`."""
        self.require(size, what)
        data = self.read(size)
        if len(data) < size:
            raise self._truncated(size, what, len(data))
        return data

    def _truncated(self, size, what, left):
        return ValueError(
            f"{self.path}: at least {size:,} bytes are needed for {what}, but only "
            f"{left:,} are left. The file is truncated or corrupt; download or copy it "
            "again."
        )


class Format(NamedTuple):
    """Format of a source, and what its first lines state.

    ``kind`` is "store", "spacy", "gensim", "fasttext", "floret", "binary" or "text";
    ``n_rows`` is the number of rows in the header, if there is one; ``start`` is the
    position of the first row, after ``header_lines`` lines; ``has_tabs`` means that a
    tab ends each word; ``files`` lists the files of a format with several files.
    """

    kind: str
    dim: int = 0
    n_rows: int | None = None
    start: int = 0
    header_lines: int = 0
    has_tabs: bool = False
    files: tuple[str, ...] = ()


def read_text(stream: SourceStream, fmt: Format, writer: StoreWriter) -> None:
    """Append all rows of a text source to the writer."""
    check_header(stream, fmt, writer.limit, 2 * fmt.dim)
    n_read, number = 0, fmt.header_lines
    parse = _parse_tab_line if fmt.has_tabs else _parse_line
    stated = fmt.n_rows is not None
    for lines in _line_blocks(stream):
        words: list[bytes] = []
        rows: list[np.ndarray] = []
        for line in lines:
            if n_read + len(rows) == writer.limit:
                break
            number += 1
            if line.strip():
                where = f"{stream.path}, line {number}"
                word, row = parse(line, fmt.dim, where, stated)
                words.append(word)
                rows.append(row)
            else:
                writer.repairs["blank_lines"] += 1
        if rows:
            _append(writer, words, np.stack(rows))
        n_read += len(rows)
        if n_read == writer.limit:
            break
    check_row_count(stream.path, fmt, writer.limit, n_read, writer.repairs)


def _append(writer, words, matrix):
    """Append words, a list of bytes, and their float32 matrix to the writer."""
    offsets = np.cumsum([0, *(len(word) + 1 for word in words)])
    blob = np.frombuffer(b"\n".join([*words, b""]), np.uint8)
    writer.append(PackedWords(blob, offsets), matrix)


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


def _parse_line(line, dim, where, stated):
    """Return the word and the vector, float32 (dim,), of a line.

    The line is parsed from the right, because a word may contain spaces (". . ." in
    GloVe). A word may end in a number only if the header has stated `dim`.
    """
    fields = line.rsplit(None, dim)
    if line[:1] in (b" ", b"\t") and len(fields) == dim:
        fields.insert(0, b"")  # the word is the empty string
    word, *numbers = fields
    extra = () if stated else word.rsplit(None, 1)[1:]
    if len(numbers) != dim or (extra and _is_number(extra[0])):
        raise _column_error(line, dim, where)
    return word, _vector(numbers, line[len(word) :], line, where)


def _parse_tab_line(line, dim, where, stated):
    """Return the word and the vector of a line with a tab after the word."""
    word, _, rest = line.partition(b"\t")
    numbers = rest.split()
    if len(numbers) != dim:
        raise _column_error(line, dim, where)
    return word, _vector(numbers, rest, line, where)


def _column_error(line, dim, where):
    return ValueError(
        f"{where}: expected a word and {dim} numbers; got {len(line.split())} columns "
        f"in {_decoded(line)}. All lines must have as many columns. A word may end in "
        "a number only if a tab follows it, or if the first line of the file states "
        "the number of words and the dimension."
    )


def _vector(numbers, text, line, where):
    """Return numbers, the fields of `text`, as float32."""
    try:
        with np.errstate(over="ignore"):
            vector = np.array(numbers, np.float32)
    except ValueError:
        vector = None
    if vector is None or b"_" in text:  # Python reads 1_0 as 10
        column = next(i for i, n in enumerate(numbers, 2) if not _is_number(n))
        raise ValueError(
            f"{where}: {_decoded(numbers[column - 2])} in column {column} is not a "
            f"number; expected a word and {len(numbers)} numbers in {_decoded(line)}."
        )
    return vector


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
    n_read, data, is_last = 0, b"", False
    while not is_last and (writer.limit is None or n_read < writer.limit):
        block = stream.read(_BLOCK)
        data, is_last = data + block, not block
        most = None if writer.limit is None else writer.limit - n_read
        words, rows, used = _split(data, fmt.dim, most, is_last, stream.path, n_read)
        if words:
            _append(writer, words, np.concatenate(rows).astype(np.float32, copy=False))
        n_read, data = n_read + len(words), data[used:]
        if len(data) > width + _LONGEST_WITH_SPACES + MAX_WORD:
            raise ValueError(
                f"{stream.path}: word {n_read} before byte {stream.position:,} has "
                f"over {MAX_WORD:,} bytes; the file is corrupt."
            )
    if is_last and n_read != writer.limit:
        _check_rest(stream, data, n_read, width)
    check_row_count(stream.path, fmt, writer.limit, n_read, writer.repairs)


def _split(data, dim, most, is_last, path, n_read):
    """Return words, arrays of their vectors, and the number of bytes they take.

    word2vec and gensim read a word up to its first space, but gensim also writes words
    that contain spaces. A word ends at the first space after which the numbers have a
    usual size. Data is read to its end only if it is the last.
    """
    words, rows, at, width = [], [], 0, 4 * dim
    after = 1 + width + (0 if is_last else _LONGEST_WITH_SPACES)
    while most is None or len(words) < most:
        spans, place = [], at
        for _ in range(_BATCH if most is None else min(_BATCH, most - len(words))):
            while data[place : place + 1] == b"\n":  # after each word2vec vector
                place += 1
            space = data.find(b" ", place)
            if space < 0 or space + after > len(data):
                break
            spans.append((place, space))
            place = space + 1 + width
        if not spans:
            break
        vectors = np.stack([_vector_at(data, end, dim) for _, end in spans])
        n_usual = int(np.argmin([*_are_usual(vectors), False]))
        if n_usual < len(spans):
            start, first = spans[n_usual]
            where = f"{path}: the numbers after word {n_read + len(words) + n_usual}"
            end = _end_of_word(data, start, first, dim, where)
            spans[n_usual:] = [(start, end)]
            vectors = vectors[: n_usual + 1]
            vectors[n_usual] = _vector_at(data, end, dim)
        words += [data[start:end] for start, end in spans]
        rows.append(vectors)
        at = spans[-1][1] + 1 + width
    return words, rows, at


def _vector_at(data, end, dim):
    return np.frombuffer(data, "<f4", dim, end + 1)


def _are_usual(vectors):
    """Return whether all numbers of each vector, float32 (..., dim), have a usual size.

    Text and shifted bytes read as numbers are mostly much larger or smaller.
    """
    size = np.abs(vectors)
    return (((size >= _SMALLEST) & (size <= _LARGEST)) | (size == 0)).all(axis=-1)


def _end_of_word(data, start, first, dim, where):
    """Return the place of the space that ends a word, by default the first one."""
    for space in re.finditer(b" ", data[start : start + _LONGEST_WITH_SPACES]):
        end = start + space.start()
        if end + 1 + 4 * dim > len(data):
            break
        is_word = not _CONTROL.search(data, start, end)
        if is_word and _are_usual(_vector_at(data, end, dim)):
            return end
    after = first + 1 + 4 * dim
    following = data[after : after + _AHEAD].lstrip(b"\n").partition(b" ")[0]
    if not _CONTROL.search(following):
        return first
    word = data[start:first].decode("utf-8", "replace")
    largest = max(_vector_at(data, first, dim).tolist(), key=abs)
    raise ValueError(
        f"{where} ({short_repr(word)}) are not a vector (one is {largest:.3g}). The "
        "file is corrupt, or its words contain spaces in a way that cannot be "
        "resolved: save the vectors as text or with gensim's save, or pass the "
        "KeyedVectors to WordVectors.from_keyed_vectors."
    )


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


def check_header(stream, fmt, limit, row_bytes):
    """Skip the header; raise ValueError if it states more rows than can follow."""
    stream.read_exactly(fmt.start, "the header")
    if fmt.n_rows is not None:
        rows = fmt.n_rows if limit is None else min(limit, fmt.n_rows)
        what = f"the {rows:,} rows of {fmt.dim} numbers that the header states"
        stream.require(rows * row_bytes, what)


def check_row_count(path, fmt, limit, n_read, repairs):
    """Compare the number of rows read with the number in the header.

    Fewer rows are an error, because the file is probably truncated; more are accepted
    and counted in the repairs.
    """
    if fmt.n_rows is None:
        return
    expected = fmt.n_rows if limit is None else min(limit, fmt.n_rows)
    if n_read < expected:
        raise ValueError(
            f"{path}: the header states {fmt.n_rows:,} rows, but the file ends after "
            f"{n_read:,}. It is truncated; download it again, or pass limit={n_read} "
            f"to use these rows."
        )
    if n_read > fmt.n_rows:
        repairs["rows_beyond_header"] += n_read - fmt.n_rows


def read_floret(stream: SourceStream, fmt: Format, writer: StoreWriter) -> None:
    """Write the rows of a table from which all words are composed."""
    *fields, begin, end = stream.read_exactly(fmt.start, "the header").split()
    n_rows, dim, min_n, max_n, hash_count, seed = map(int, fields)
    floret = Floret(hash_count, seed, begin.decode(), end.decode(), False, False)
    if not is_floret(floret._asdict(), max_n) or min_n > max_n:
        raise ValueError(
            f"{stream.path}: the header of the floret table is corrupt: minn={min_n}, "
            f"maxn={max_n}, hashCount={hash_count}, hashSeed={seed}."
        )
    stream.require(2 * n_rows * dim, f"the {n_rows:,} rows of {dim} numbers")
    writer.write_buckets(_floret_rows(stream, n_rows, dim), min_n, max_n, floret)


def _floret_rows(stream, n_rows, dim):
    """Yield rows in chunks; raise ValueError unless their names are row numbers."""
    number = 0
    for lines in _line_blocks(stream):
        rows = []
        for line in filter(bytes.strip, lines):
            where = f"{stream.path}, line {number + 2}"
            name, row = _parse_line(line, dim, where, True)
            if name != b"%d" % number:
                raise ValueError(
                    f"{where}: expected row {number} of a floret table; got "
                    f"{name[:40].decode('utf-8', 'replace')!r}. The file is corrupt."
                )
            rows.append(row)
            number += 1
        if rows:
            yield np.stack(rows)
    if number != n_rows:
        raise ValueError(
            f"{stream.path}: the header states {n_rows:,} rows, but the file has "
            f"{number:,}. It is truncated; download or copy it again."
        )
