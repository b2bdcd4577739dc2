"""Sources of lines: text files with a document per line, and JSON-lines files."""

import codecs
import gzip
import json
import lzma
import re
import zlib
from contextlib import contextmanager
from hashlib import blake2b
from itertools import chain
from pathlib import Path

import numpy as np

from .._io._compression import detect_compression
from ..sequences._lines import Lines
from ..sequences._row_errors import is_missing
from ._batches import Batch

_DECOMPRESSION_ERRORS = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)
_END_SIZE = 2**20
_BLOCK = 2**18
_NEWLINE = ord("\n")


class LineReader:
    """Reads many lines of an open binary file at once.

    Several times faster than line by line, since only line ends are searched for.
    """

    def __init__(self, file, path):
        self._file, self._path = file, path
        self._lines = self._rest = b""

    def take(self, n_lines):
        """Return the bytes of 1 to `n_lines` lines and their number, 0 at the end."""
        data = self._lines or self._next_lines()
        is_end = np.frombuffer(data, np.uint8) == _NEWLINE
        count, stop = int(np.count_nonzero(is_end)), len(data)
        if count > n_lines:
            count, stop = n_lines, int(np.flatnonzero(is_end)[n_lines - 1]) + 1
        self._lines = data[stop:]
        is_open = bool(data) and not count  # the last line, without a line end
        return data[:stop], count + is_open

    def _next_lines(self):
        """Return the complete lines up to the end of a block, small enough to cache."""
        blocks, end = [self._rest], 0
        while (block := self._read()) and not (end := block.rfind(b"\n") + 1):
            blocks.append(block)
        self._rest = block[end:]
        return b"".join([*blocks, block[:end]])

    def _read(self):
        try:
            return self._file.read(_BLOCK)
        except _DECOMPRESSION_ERRORS as error:
            raise ValueError(
                f"{self._path} is corrupt or truncated: {error}. Get an intact copy, "
                "or decompress it to see how much of it can be read."
            ) from error


def file_identity(path):
    """Return ``[name, size, mtime, digest of the first and last bytes]`` of a file."""
    path = Path(path)
    stat = path.stat()
    digest = blake2b(digest_size=16)
    with path.open("rb") as file:
        digest.update(file.read(_END_SIZE))
        file.seek(max(0, stat.st_size - _END_SIZE))
        digest.update(file.read(_END_SIZE))
    return [path.name, stat.st_size, stat.st_mtime_ns, digest.hexdigest()]


def list_files(path, suffixes):
    """Return the files of a path: the file itself, or those of a folder, sorted."""
    if path.is_dir():
        files = sorted(
            file
            for file in path.rglob("*")
            if file.is_file() and not file.name.startswith((".", "_"))
        )
        kinds = {file_suffix(file) for file in files}
        if len(kinds) > 1:
            raise ValueError(
                f"The folder {path} contains files of several types: {sorted(kinds)}. "
                "Pass a folder of one type, or an iterable that reads them."
            )
        if not files:
            raise FileNotFoundError(f"The folder {path} contains no files.")
        return files
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no file or folder {str(path)!r}. A str is read as a path; pass "
            "texts as a list, [text]. Supported are text files and "
            f"{', '.join(suffixes)}."
        )
    return [path]


def file_suffix(path):
    """Return the suffix of a file, without that of its compression.

    >>> from pathlib import Path
    >>> file_suffix(Path("a.jsonl.gz")), file_suffix(Path("a.TXT"))
    ('.jsonl', '.txt')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in (".gz", ".bz2", ".xz"):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


_OBJECTS = (
    'Every line must be an object, such as {"id": 1, "text": "..."}. Read a file that '
    "is a single JSON array with pandas.read_json and pass the DataFrame."
)


class TextLines:
    """Texts of UTF-8 files, one per line; an empty line is an empty text."""

    n_rows = None
    in_files = True

    def __init__(self, files):
        self.files = files

    @property
    def name(self):
        """Name in messages."""
        return str(self.files[0] if len(self.files) == 1 else self.files[0].parent)

    @property
    def plain_file(self):
        """Path of the file, None for several or compressed files."""
        if len(self.files) > 1 or detect_compression(self.files[0])[0]:
            return None
        return str(self.files[0])

    def identity(self):
        """Return what identifies the source, for JSON."""
        return [file_identity(file) for file in self.files]

    def no_rows(self):
        """Return None: there are no columns to be copied."""

    def batches(self, size, skip=0):
        """Yield a Batch per `size` rows, without the first `skip` rows."""
        parts, count, start, first = [], 0, skip, ""
        for file in self.files:
            n_lines = 0
            with _opened(file) as lines:
                while (taken := lines.take(skip or size - count))[1]:
                    part, n_rows = self._parse(*taken, file, n_lines + 1)
                    where = f"{file}, line {n_lines + 1:,}"
                    n_lines += taken[1]
                    if skip:
                        skip -= n_rows
                        continue
                    first = first or where
                    parts.append(part)
                    count += n_rows
                    if count == size:
                        where = f"{first} to {file}, line {n_lines:,}"
                        yield self._batch(start, parts, where)
                        parts, count, start, first = [], 0, start + size, ""
        if count:
            yield self._batch(start, parts, f"{first} to the end")

    def _parse(self, data, n_lines, file, first):
        """Return what `_batch` joins of some lines, and its number of rows."""
        return clean_lines(data, file, first), n_lines

    def _batch(self, start, parts, where):
        return Batch(start, Lines(b"".join(parts)), None, where)


@contextmanager
def _opened(file):
    """Yield a LineReader of a file, compressed or not."""
    _, opener = detect_compression(file)
    with (opener or open)(file, "rb") as opened:
        yield LineReader(opened, file)


class JsonLines(TextLines):
    """Objects of JSON files, one per line; empty lines are skipped.

    `columns` names the keys of texts or token lists, `keep` those to be copied;
    `missing` allows missing texts.
    """

    def __init__(self, files, columns, keep, missing=False):
        super().__init__(files)
        self._columns, self._keep, self._missing = columns, keep, missing

    def no_rows(self):
        """Return the columns to be copied, without rows; None if there are none."""
        return {name: [] for name in self._keep} or None

    def _parse(self, data, n_lines, file, first):
        texts = enumerate(Lines(clean_lines(data, file, first)), first)
        records = [self._record(text, file, i) for i, text in texts if text.strip()]
        return records, len(records)

    def _record(self, text, file, line):
        try:
            record = json.loads(text)
        except ValueError as error:
            raise ValueError(
                f"{file}, line {line:,} is not valid JSON: {error}. {_OBJECTS}"
            ) from error
        if not isinstance(record, dict):
            raise ValueError(
                f"{file}, line {line:,} is a {type(record).__name__}. {_OBJECTS}"
            )
        for name in (*self._columns, *self._keep):
            if name not in record:
                raise ValueError(
                    f"{file}, line {line:,} has no key {name!r}; it has {list(record)}."
                )
        for name in self._columns:
            value = record[name]
            if not (_is_row(value) or self._missing and is_missing(value)):
                raise TypeError(
                    f"{file}, line {line:,}: {name!r} must be a text or a list of "
                    f"texts, got {value!r:.60}."
                )
        return record

    def _batch(self, start, parts, where):
        records = list(chain.from_iterable(parts))
        if len(self._columns) == 1:
            rows = [record[self._columns[0]] for record in records]
        else:
            from pandas import DataFrame

            rows = DataFrame({n: [r[n] for r in records] for n in self._columns})
        copied = {name: [record[name] for record in records] for name in self._keep}
        return Batch(start, rows, copied or None, where)


def _is_row(value):
    if isinstance(value, list):
        return all(isinstance(token, str) for token in value)
    return isinstance(value, str)


def clean_lines(data, file, first):
    """Return lines as UTF-8, each with a newline, without BOM and carriage returns.

    `first` is the number of the first line, from 1, for error messages.
    """
    if first == 1:
        data = data.removeprefix(codecs.BOM_UTF8)
    if not data.isascii():
        try:
            str(data, "utf-8")
        except UnicodeDecodeError:
            raise _utf8_error(data, file, first) from None
    if not data.endswith(b"\n"):
        data += b"\n"
    return re.sub(rb"(?<!\r)\r+\n", b"\n", data) if b"\r" in data else data


def _utf8_error(data, file, first):
    for i, line in enumerate(data.split(b"\n"), first):
        try:
            str(line, "utf-8")
        except UnicodeDecodeError as error:
            return ValueError(
                f"{file}, line {i:,}: byte {line[error.start]:#04x} at position "
                f"{error.start} is not UTF-8. Convert the file to UTF-8, or decode its "
                "lines and pass them as an iterable."
            )
    return ValueError(f"{file}: a line from {first:,} on is not UTF-8.")
