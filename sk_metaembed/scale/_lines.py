"""Sources of lines: text files, a document a line, and JSON-lines."""

import codecs
import json
from contextlib import contextmanager

from ..sequences._compressed import compression_of
from ._batch import Batch
from ._files import LineReader, file_identity
from ._missing import is_missing

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
        if len(self.files) > 1 or compression_of(self.files[0])[0]:
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
        _, opener = compression_of(file)
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
