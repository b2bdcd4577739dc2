"""Sources of lines: text files, a document a line, and JSON-lines.

Opening files that sources read: compressed or not, and what they are known by.
"""

import codecs
import gzip
import json
import lzma
import zlib
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

import numpy as np

from .._io._compression import detect_compression
from ..sequences._row_errors import is_missing
from ._batches import Batch

_DAMAGE = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)
_HEAD = 2**20
_BLOCK = 2**18
_NEWLINE = ord("\n")


class LineReader:
    """Reads whole lines of an open file, many at a time.

    Several times quicker than line by line: what is between the line ends is not looked
    at.

    Parameters
    ----------
    file : file object
        Open to read bytes.
    path : path-like
        For messages.
    """

    def __init__(self, file, path):
        self._file, self._path = file, path
        self._rest = b""

    def take(self, n_lines):
        """Return the bytes of up to so many lines, and their number; 0 at the end."""
        blocks, found = [], 0
        while found < n_lines:
            block, self._rest = self._rest or self._read(), b""
            if not block:
                break
            count = block.count(b"\n")
            if found + count >= n_lines:
                ends = np.flatnonzero(np.frombuffer(block, np.uint8) == _NEWLINE)
                end = int(ends[n_lines - found - 1]) + 1
                block, self._rest = block[:end], block[end:]
                count = n_lines - found
            blocks.append(block)
            found += count
        data = b"".join(blocks)
        last_is_open = bool(data) and not data.endswith(b"\n")
        return data, found + last_is_open

    def _read(self):
        try:
            return self._file.read(_BLOCK)
        except _DAMAGE as error:
            raise ValueError(
                f"{self._path} is damaged, or was cut off while it was copied: "
                f"{error}. Fetch it again, or unpack it to see how far it can be read."
            ) from error


def file_identity(path):
    """Return what a file is known by: its size, its time, and a digest of its ends.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    list
        ``[name, size, time, digest]``, as JSON has them.
    """
    path = Path(path)
    found = path.stat()
    digest = blake2b(digest_size=16)
    with path.open("rb") as file:
        digest.update(file.read(_HEAD))
        file.seek(max(0, found.st_size - _HEAD))
        digest.update(file.read(_HEAD))
    return [path.name, found.st_size, found.st_mtime_ns, digest.hexdigest()]


def files_of(path, suffixes):
    """Return the files of a path: itself, or those in a folder, sorted.

    Raises
    ------
    FileNotFoundError
        If there is none.
    """
    if path.is_dir():
        found = sorted(
            file
            for file in path.rglob("*")
            if file.is_file() and not file.name.startswith((".", "_"))
        )
        kinds = {suffix_of(file) for file in found}
        if len(kinds) > 1:
            raise ValueError(
                f"The folder {path} has files of several kinds: {sorted(kinds)}. Give "
                "a folder of one kind, or an iterable that reads them."
            )
        if not found:
            raise FileNotFoundError(f"The folder {path} has no files in it.")
        return found
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no file or folder {str(path)!r}. A str is read as a path; put "
            f"texts in a list, [text]. Known are text files and {', '.join(suffixes)}."
        )
    return [path]


def suffix_of(path):
    """Return a file's suffix, that of a compressed file without the outer one.

    Examples
    --------
    >>> from pathlib import Path
    >>> suffix_of(Path("a.jsonl.gz")), suffix_of(Path("a.TXT"))
    ('.jsonl', '.txt')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in (".gz", ".bz2", ".xz"):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


_SKIPPED = 100_000  # lines at a time
_OBJECTS = (
    'Every line must be an object of its own, such as {"id": 1, "text": "..."}; a file '
    "that is one JSON array is read by pandas.read_json, and the frame is a source."
)


class TextLines:
    """Texts of UTF-8 files, one a line; an empty line is an empty text.

    Parameters
    ----------
    files : list of Path
    """

    n_rows = None

    def __init__(self, files):
        self.files = files

    @property
    def name(self):
        """What messages call it."""
        return str(self.files[0] if len(self.files) == 1 else self.files[0].parent)

    @property
    def plain_file(self):
        """The one file, if it is one and not compressed."""
        if len(self.files) > 1 or detect_compression(self.files[0])[0]:
            return None
        return str(self.files[0])

    def identity(self):
        """Return what the source is known by."""
        return [file_identity(file) for file in self.files]

    def no_rows(self):
        """Return the columns that are carried along: none."""

    def batches(self, size, cursor=None):
        """Yield a Batch of up to `size` rows at a time, from a cursor on."""
        at = {"row": 0, "file": 0, "line": 0, "offset": 0, **(cursor or {})}
        at.pop("digests", None)
        rows, where, start = [], "", at["row"]
        for number in range(at["file"], len(self.files)):
            file = self.files[number]
            with self._opened(file, at) as lines:
                while (taken := lines.take(size - len(rows)))[1]:
                    where = where or f"{file}, line {at['line'] + 1:,}"
                    rows += self._parse(*taken, file, at["line"] + 1)
                    at["line"] += taken[1]
                    at["offset"] += len(taken[0])
                    if len(rows) == size:
                        at["row"] = start + size
                        told = f"{where} to {file}, line {at['line']:,}"
                        yield self._batch(start, rows, dict(at), told)
                        rows, where, start = [], "", at["row"]
            at.update(file=number + 1, line=0, offset=0)
        if rows:
            at["row"] = start + len(rows)
            yield self._batch(start, rows, dict(at), f"{where} to the end")

    @contextmanager
    def _opened(self, file, at):
        """Open a file where the lines to be read begin."""
        _, opener = detect_compression(file)
        with (opener or open)(file, "rb") as opened:
            lines = LineReader(opened, file)
            if opener is None:
                opened.seek(at["offset"])
            else:
                for start in range(0, at["line"], _SKIPPED):
                    lines.take(min(_SKIPPED, at["line"] - start))
            yield lines

    def _parse(self, data, n_lines, file, first):
        return decoded(data, n_lines, file, first)

    def _batch(self, start, rows, cursor, where):
        return Batch(start, rows, None, cursor, where)


class JsonLines(TextLines):
    """Objects of JSON files, one a line; empty lines are left out.

    Parameters
    ----------
    files : list of Path
    columns : list of str
        The keys of texts or token lists.
    keep : list of str
        Keys that are carried along.
    missing : bool, default=False
        Whether texts may be missing.
    """

    def __init__(self, files, columns, keep, missing=False):
        super().__init__(files)
        self._columns, self._keep, self._missing = columns, keep, missing

    def no_rows(self):
        """Return the columns that are carried along, without rows."""
        return {name: [] for name in self._keep} or None

    def _parse(self, data, n_lines, file, first):
        texts = enumerate(decoded(data, n_lines, file, first), first)
        return [self._record(text, file, i) for i, text in texts if text.strip()]

    def _record(self, text, file, line):
        try:
            record = json.loads(text)
        except ValueError as error:
            raise ValueError(
                f"{file}, line {line:,} is no JSON: {error}. {_OBJECTS}"
            ) from error
        if not isinstance(record, dict):
            raise ValueError(
                f"{file}, line {line:,} is a {type(record).__name__}. {_OBJECTS}"
            )
        for name in (*self._columns, *self._keep):
            if name not in record:
                raise ValueError(
                    f"{file}, line {line:,} has no {name!r}; it has {list(record)}."
                )
        for name in self._columns:
            value = record[name]
            if not (_is_row(value) or self._missing and is_missing(value)):
                raise TypeError(
                    f"{file}, line {line:,}: {name!r} is {value!r:.60}. It must be a "
                    "text or a list of texts."
                )
        return record

    def _batch(self, start, records, cursor, where):
        if len(self._columns) == 1:
            rows = [record[self._columns[0]] for record in records]
        else:
            from pandas import DataFrame

            rows = DataFrame({n: [r[n] for r in records] for n in self._columns})
        kept = {name: [record[name] for record in records] for name in self._keep}
        return Batch(start, rows, kept or None, cursor, where)


def _is_row(value):
    if isinstance(value, list):
        return all(isinstance(token, str) for token in value)
    return isinstance(value, str)


def decoded(data, n_lines, file, first):
    """Return lines as str, without their ends.

    The mark that some editors begin a file with is left out.

    Parameters
    ----------
    data : bytes
        Whole lines.
    n_lines : int
    file : Path
    first : int
        Number of the first line, from 1.

    Raises
    ------
    ValueError
        If one is not UTF-8; the message names it.
    """
    if first == 1:
        data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = str(data, "utf-8")
    except UnicodeDecodeError:
        raise _not_utf8(data, file, first) from None
    texts = text.split("\n")
    if len(texts) > n_lines:  # behind the last line's end
        texts.pop()
    return [line.rstrip("\r") for line in texts] if "\r" in text else texts


def _not_utf8(data, file, first):
    for i, line in enumerate(data.split(b"\n"), first):
        try:
            str(line, "utf-8")
        except UnicodeDecodeError as error:
            return ValueError(
                f"{file}, line {i:,}: byte {line[error.start]:#04x} at place "
                f"{error.start} is not UTF-8. Bring the file to UTF-8, or decode its "
                "lines yourself and pass them as an iterable."
            )
    return ValueError(f"{file}: a line from {first:,} on is not UTF-8.")
