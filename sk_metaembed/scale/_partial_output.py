"""The finished batches of an output, from which an interrupted call resumes.

A folder next to the output holds ``data``, to which the bytes of each batch are
appended, and ``journal``, to which a line of JSON is appended once they are: the number
of rows and bytes, a checksum, and a digest of the input. The first two lines describe
the call and what all batches have in common. A call that resumes keeps the batches
before the first that is truncated or corrupt.

A single open ``ParquetWriter`` would be simpler, but its file is unreadable until it is
closed, so a killed call could not resume.
"""

import errno
import json
import os
import zlib
from contextlib import contextmanager, suppress
from typing import NamedTuple

from .._io._atomic import replace
from .._io._lock import lock_file, release_lock

VERSION = 3


class Chunk(NamedTuple):
    """A finished batch, as the journal records it."""

    rows: int
    size: int
    crc: int
    digest: int | None


class PartialOutput:
    """The finished batches of an output.

    Parameters
    ----------
    out : Path
        The output.
    identity : dict
        All that the bytes depend on; ValueError if the existing batches have another.
    resume : bool
        Whether to continue with existing batches; they are removed otherwise.
    output : NpyOutput or ParquetOutput
        Its format.

    Attributes
    ----------
    spec : dict or None
        What all batches have in common.
    chunks : list of Chunk
    """

    def __init__(self, out, identity, resume, output):
        self.out, self._output = out, output
        self.folder = out.with_name(f".{out.name}.parts")
        self.spec, self.chunks, self._expected = None, [], None
        self._data = self._journal = self._lock = None
        with self._explain_errors("start"):
            out.parent.mkdir(parents=True, exist_ok=True)
            _check_not_folder(out)
            self.folder.mkdir(exist_ok=True)
            self._lock = lock_file(self.folder / "lock", wait=False)
        if self._lock is None:
            raise RuntimeError(
                f"transform_in_batches: another process is writing {self.out}. Wait "
                "until it has finished, or pass a different path."
            )
        try:
            with self._explain_errors("start"):
                self._start(identity, resume)
        except BaseException:
            self._release()
            raise

    @property
    def n_rows(self):
        """Number of finished rows."""
        return sum(chunk.rows for chunk in self.chunks)

    @property
    def finished(self):
        """The number of rows and the digest of each finished batch."""
        return [(chunk.rows, chunk.digest) for chunk in self.chunks]

    def _start(self, identity, resume):
        for path in self.folder.iterdir():
            if path.name not in ("lock", "data", "journal"):
                path.unlink()  # left by a killed process
        self._data = _open(self.folder / "data")
        self._journal = _open(self.folder / "journal")
        records = list(_records(self._journal)) if resume else []
        if len(records) > 2:  # at least one batch
            _check_identity(records[0], identity, self)
            self._restore(records)
        if not self.chunks:
            self.spec = None
            self._journal.truncate(0)
            self._record({"version": VERSION, "identity": identity})

    def _restore(self, records):
        """Find the batches before the first one that is missing or corrupt."""
        self.spec = records[1]
        size = self._data.seek(len(self._output.header(self.spec)))
        for record in records[2:]:
            chunk = Chunk(*record)
            if zlib.crc32(self._data.read(chunk.size)) != chunk.crc:
                break
            self.chunks.append(chunk)
            size += chunk.size
        self._data.truncate(size)
        lines = self._journal.seek(0) or self._journal.readlines()
        self._journal.truncate(sum(map(len, lines[: 2 + len(self.chunks)])))

    def recheck_last(self):
        """Drop the last batch until `add`, which raises if it is another one."""
        if self.chunks:
            self._expected = self.chunks.pop()

    def start(self, spec):
        """Write what all batches have in common."""
        self.spec = spec
        with self._explain_errors("write"):
            self._data.truncate(0)
            _append(self._data, self._output.header(spec))
            self._record(spec)

    def add(self, rows, data, digest):
        """Write the bytes of the next batch."""
        data = memoryview(data)
        chunk = Chunk(rows, data.nbytes, zlib.crc32(data), digest)
        if self._expected is not None:
            self._readd(chunk)
            return
        with self._explain_errors("write"):
            _append(self._data, data)
            self._record(chunk)
            self.chunks.append(chunk)

    def _readd(self, chunk):
        """Add the dropped batch again, whose bytes are still in the file."""
        start, expected = self.n_rows, self._expected
        self._expected = None
        self.chunks.append(expected)
        if expected.crc != chunk.crc:
            raise ValueError(
                "transform_in_batches: the pipeline returns other values than before "
                f"for rows {start:,} to {start + chunk.rows - 1:,}. Resume with the "
                "pipeline that started the output, or pass resume=False to start over."
            )

    def _record(self, value):
        line = json.dumps(value, separators=(",", ":"))
        _append(self._journal, f"{line}\n".encode())

    def finish(self):
        """Complete the output, and move it to its path."""
        sizes = [chunk.size for chunk in self.chunks]
        with self._explain_errors("write"):
            try:
                whole = self._output.finish(
                    self.spec, self.folder / "data", sizes, self.n_rows
                )
                # Windows syncs only what is open for writing.
                with open(whole, "r+b") as file:
                    os.fsync(file.fileno())
                if whole == self.folder / "data":
                    self._data.close()
                replace(whole, self.out)
            finally:
                (self.folder / "whole").unlink(missing_ok=True)
        self._remove()

    @contextmanager
    def _explain_errors(self, action):
        """Re-raise an OSError with what it means for the output and what to do."""
        try:
            yield
        except OSError as error:
            raise _explained(error, self, action) from error

    def close(self):
        """Release the lock; finished batches stay."""
        if not self.chunks and self._expected is None:
            self._remove()
        self._release()

    def _remove(self):
        """Remove the folder; Windows removes files only once they are closed."""
        self._data.close()
        self._journal.close()
        for name in ("data", "journal"):
            (self.folder / name).unlink(missing_ok=True)
        self._release()
        with suppress(OSError):  # another process has started
            self.folder.rmdir()

    def _release(self):
        for file in (self._data, self._journal):
            if file is not None:
                file.close()
        if self._lock is not None:
            release_lock(self._lock)
            self._lock = None


def _open(path):
    path.touch()
    return open(path, "r+b", buffering=0)


def _append(file, data):
    """Write all bytes at the end of an unbuffered file."""
    file.seek(0, os.SEEK_END)
    data = memoryview(data)
    while data.nbytes:
        data = data[file.write(data) :]


def _records(file):
    """Yield the value of each line of JSON, up to the first that is corrupt."""
    with suppress(ValueError):
        for line in file.readlines():
            if line.endswith(b"\n"):
                yield json.loads(line)


def _check_not_folder(out):
    if out.is_dir():
        raise IsADirectoryError(
            errno.EISDIR,
            f"transform_in_batches writes a single file, but {out} is a directory. "
            "Pass the path of a file in it",
        )


def _explained(error, partial, action):
    if isinstance(error, IsADirectoryError):
        return error
    out = partial.out
    finished = f"The {partial.n_rows:,} finished rows are kept in {partial.folder}: "
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        message = (
            f"transform_in_batches: no space left for {out}. {finished}free some space "
            "and call it again to resume. A Parquet file needs twice its size"
        )
    elif error.filename == os.fspath(out):  # it exists, and cannot be replaced
        message = f"transform_in_batches: {out}: {error.strerror}. {finished}call it "
        message += "again to resume"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        message = (
            f"transform_in_batches: {out.parent} is not writable. Fix its permissions "
            "or pass a different directory"
        )
    else:
        message = f"transform_in_batches: cannot {action} {out}: {error}"
        message += f". {finished}call it again to resume" if partial.chunks else ""
    return type(error)(error.errno, message)


def _check_identity(record, identity, partial):
    """Raise ValueError if the existing batches were computed from something else."""
    record = record if isinstance(record, dict) else {}
    before = record.get("identity", {})
    differ = [name for name in identity if before.get(name) != identity[name]]
    if record.get("version") != VERSION:
        differ = ["version of the format"]
    if not differ:
        return
    changes = [
        f"{name}{_values(before.get(name), identity.get(name))}" for name in differ
    ]
    raise ValueError(
        f"transform_in_batches: {partial.out} was started with a different "
        f"{', a different '.join(changes)}. Resume with the same arguments, for "
        "example with the fitted pipeline loaded from a file, or pass resume=False to "
        f"start over and discard the finished rows in {partial.folder}."
    )


def _values(before, now):
    if isinstance(before, str | int | float) and isinstance(now, str | int | float):
        values = f" ({before!r}, now {now!r})"
        return values if len(values) < 60 else ""
    return ""
