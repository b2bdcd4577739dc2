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
from contextlib import ExitStack, suppress
from typing import NamedTuple

from .._io._atomic import replace
from .._io._lock import lock_file, release_lock


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
    spec : object
        What all batches have in common, None before the first one.
    chunks : list of Chunk
    """

    def __init__(self, out, identity, resume, output):
        self.out, self._output = out, output
        self.folder = out.with_name(f".{out.name}.parts")
        self.spec, self.chunks, self._is_finished = None, [], False
        if out.is_dir():
            raise IsADirectoryError(
                errno.EISDIR, "The output is a folder; pass the path of a file", out
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as files:
            lock = lock_file(self.folder / "lock", wait=False)
            if lock is None:
                raise RuntimeError(
                    f"another process is writing {out}. Wait until it has finished, or "
                    "pass a different path."
                )
            files.callback(release_lock, lock)
            for path in self.folder.iterdir():
                if path.name not in ("lock", "data", "journal"):
                    path.unlink()  # left by a killed process
            # Unbuffered, so that an error leaves nothing to be written by close.
            self._data, self._journal = (
                files.enter_context(open(self.folder / name, "a+b", buffering=0))
                for name in ("data", "journal")
            )
            if resume:
                self._restore(identity)
            if not self.chunks:
                self._journal.truncate(0)
                self._record(identity)
            self._files = files.pop_all()

    @property
    def n_rows(self):
        """Number of finished rows."""
        return sum(chunk.rows for chunk in self.chunks)

    def _restore(self, identity):
        """Find the batches before the first one that is missing or corrupt."""
        records = list(_records(self._journal))
        if len(records) < 3:  # no batch
            return
        self._check_identity(records[0][0], identity)
        spec = records[1][0]
        size = self._data.seek(len(self._output.header(spec)))
        for record, end in records[2:]:
            chunk = Chunk(*record)
            if zlib.crc32(self._data.read(chunk.size)) != chunk.crc:
                break
            self.spec, size, stop = spec, size + chunk.size, end
            self.chunks.append(chunk)
        if self.chunks:
            self._data.truncate(size)
            self._journal.truncate(stop)

    def _check_identity(self, before, identity):
        differ = [name for name in identity if before.get(name) != identity[name]]
        if differ:
            changes = [f"{name} (was {before.get(name)!r:.40})" for name in differ]
            raise ValueError(
                f"{self.out} was started with a different "
                f"{', a different '.join(changes)}. Resume with the same arguments, "
                "for example with the fitted pipeline loaded from a file, or pass "
                "resume=False to start over and discard the finished rows in "
                f"{self.folder}."
            )

    def add(self, values, copied, digest):
        """Write the results of the next batch."""
        if self.spec is None:
            self.spec = self._output.spec(values, copied)
            self._data.truncate(0)
            _append(self._data, self._output.header(self.spec))
            self._record(self.spec)
        if len(values):
            data = self._output.encode(self.spec, values, copied)
            chunk = Chunk(len(values), data.nbytes, zlib.crc32(data), digest)
            _append(self._data, data)
            self._record(chunk)
            self.chunks.append(chunk)

    def _record(self, value):
        line = json.dumps(value, separators=(",", ":"))
        _append(self._journal, f"{line}\n".encode())

    def finish(self):
        """Complete the output, and move it to its path."""
        sizes = [chunk.size for chunk in self.chunks]
        data = self.folder / "data"
        try:
            whole = self._output.finish(self.spec, data, sizes, self.n_rows)
            # Windows syncs only what is open for writing.
            with open(whole, "r+b") as file:
                os.fsync(file.fileno())
            if whole == data:
                self._data.close()
            replace(whole, self.out)
        finally:
            (self.folder / "whole").unlink(missing_ok=True)
        self._is_finished = True

    def close(self):
        """Release the lock; finished batches stay unless the output is complete."""
        if self.chunks and not self._is_finished:
            self._files.close()
            return
        # Windows removes files only once they are closed.
        self._data.close()
        self._journal.close()
        for path in self.folder.iterdir():
            if path.name != "lock":
                path.unlink()
        self._files.close()
        with suppress(OSError):  # another process has started
            self.folder.rmdir()


def _append(file, data):
    """Write all bytes at the end of an unbuffered file."""
    data = memoryview(data)
    while data.nbytes:
        data = data[file.write(data) :]


def _records(file):
    """Yield the value and the end of each line of JSON, up to the first corrupt one."""
    end = file.seek(0)
    with suppress(ValueError):
        for line in file.readall().splitlines(keepends=True):
            end += len(line)
            if line.endswith(b"\n"):
                yield json.loads(line), end
