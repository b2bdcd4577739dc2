"""Sidecar: the folder beside an output that holds what is finished of it.

It has the output's bytes so far and a journal with a line a batch. A batch counts once
its line is there; what a kill left behind it is cut off. So an output that was
interrupted anywhere has the bytes that it would have had otherwise.

Journal: a file of lines, each whole or not there, that a kill cannot spoil.
"""

import errno
import json
import os
import shutil
import zlib
from contextlib import contextmanager
from typing import NamedTuple


class Journal:
    """Records, one a line with its checksum, appended one by one.

    Parameters
    ----------
    path : Path
        Made if it is not there. What stands behind the last whole line is cut off.

    Attributes
    ----------
    records : list of dict
        Those that were there when it was opened.
    """

    def __init__(self, path):
        self._path = path
        self._file = open(path, "a+b")  # noqa: SIM115 - closed by close

    def lock(self):
        """Take the file for this process, and tell whether nobody else has it."""
        try:
            import fcntl
        except ImportError:  # no POSIX system
            return True
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        # Whoever had it may have been done, and removed it, since it was opened here.
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self._file.fileno()))
        except FileNotFoundError:
            return False

    def read(self):
        """Read the records, and cut off what is not whole."""
        self._file.seek(0)
        records, end = [], 0
        for line in self._file:
            record = _record(line)
            if record is None:
                break
            records.append(record)
            end += len(line)
        self._file.truncate(end)
        return records

    def append(self, record):
        """Write a record; a kill in between leaves it whole or cut off."""
        text = json.dumps(record, separators=(",", ":")).encode()
        line = b"%08x %s\n" % (zlib.crc32(text), text)
        while line:  # unbuffered, so that nothing is left for a later close
            line = line[os.write(self._file.fileno(), line) :]

    def cut(self, n_records):
        """Leave the first records only."""
        self._file.seek(0)
        end = sum(len(line) for line, _ in zip(self._file, range(n_records)))  # noqa: B905
        self._file.truncate(end)

    def close(self):
        """Close the file, and give up the lock."""
        self._file.close()


def _record(line):
    digest, _, text = line.rstrip(b"\n").partition(b" ")
    if not line.endswith(b"\n") or digest != b"%08x" % zlib.crc32(text):
        return None
    return json.loads(text)


_PIECE = 2**22
VERSION = 1


class Piece(NamedTuple):
    """What the journal says of a batch."""

    rows: int
    start: int  # where its bytes begin
    size: int
    crc: int
    cursor: dict
    note: str | None
    digest: int | None


class Sidecar:
    """What is finished of an output.

    Parameters
    ----------
    out : Path
        Where the output will be.
    identity : dict
        Of all that the bytes depend on. What was begun with another is refused.
    resume : bool
        Whether to go on with what is there; else it is removed.

    Attributes
    ----------
    spec : dict or None
        What all batches have in common.
    pieces : list of Piece
    ended : bool
        Whether the last batch of the source is among them.
    """

    def __init__(self, out, identity, resume):
        self.out = out
        self.folder = out.with_name(f".{out.name}.parts")
        self.spec, self.pieces, self.ended = None, [], False
        self._is_mine, self._expected = False, None
        with self._telling("begin"):
            out.parent.mkdir(parents=True, exist_ok=True)
            _check_place(out)
            self.folder.mkdir(exist_ok=True)
            self._journal = Journal(self.folder / "journal")
            self._data = os.open(self.folder / "data", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            self._begin(identity, resume)
        except BaseException:
            self.close()
            raise

    @property
    def n_rows(self):
        """Rows that are finished."""
        return sum(piece.rows for piece in self.pieces)

    @property
    def end(self):
        """Where the next batch's bytes go."""
        last = self.pieces[-1] if self.pieces else None
        return last.start + last.size if last else self._head

    @property
    def cursor(self):
        """Where the source is to go on, None for its beginning."""
        if not self.pieces:
            return None
        digests = [piece.digest for piece in self.pieces]
        return {**self.pieces[-1].cursor, "digests": digests, "row": self.n_rows}

    def _begin(self, identity, resume):
        if not self._journal.lock():
            raise RuntimeError(
                f"transform_in_batches: another process is writing {self.out} at this "
                "moment. Wait for it, or give another name."
            )
        with self._telling("begin"):
            for left in self.folder.glob("pipeline-*"):  # of workers that were killed
                left.unlink()
            records = self._journal.read()
            if not resume or not any("rows" in record for record in records):
                records = []
                self._journal.cut(0)
                self._journal.append({"version": VERSION, "identity": identity})
        if records:
            check_identity(records[0], identity, self)
            self._restore(records[1:])
        self._head = self.spec["head"] if self.spec else 0
        self._is_mine = True

    def _restore(self, records):
        for record in records:
            if "spec" in record:
                self.spec = record["spec"]
            elif "end" in record:
                self.ended = True
            else:
                self.pieces.append(Piece(**record))
        if self.ended and not os.fstat(self._data).st_size and self.out.exists():
            return  # killed after the output had its name
        good = self._n_sound()
        if good < len(self.pieces):
            self.pieces = self.pieces[:good]
            self.ended = False
            self._journal.cut(2 + good)

    def _n_sound(self):
        """Return how many batches have the bytes that they should."""
        for number, piece in enumerate(self.pieces):
            if self._crc(piece) != piece.crc:
                return number
        return len(self.pieces)

    def _crc(self, piece):
        crc, at, end = 0, piece.start, piece.start + piece.size
        while at < end:
            data = os.pread(self._data, min(_PIECE, end - at), at)
            if not data:
                return None
            crc, at = zlib.crc32(data, crc), at + len(data)
        return crc

    def recheck_last(self):
        """Have the last batch computed again, to see that it comes out the same."""
        if self.pieces and not self.ended:
            self._expected = self.pieces.pop()
            self._journal.cut(2 + len(self.pieces))

    def describe(self, spec, head):
        """Keep what all batches have in common, and what the file begins with."""
        self.spec = {**spec, "head": len(head)}
        self._head = len(head)
        with self._telling("write"):
            self._write(head, 0)
            self._journal.append({"spec": self.spec})

    def add(self, rows, data, note, cursor, digest=None):
        """Keep the bytes of the next batch."""
        data = memoryview(data)
        piece = Piece(rows, self.end, len(data), zlib.crc32(data), cursor, note, digest)
        expected, self._expected = self._expected, None
        if expected is not None and expected.crc != piece.crc:
            self._journal.append(expected._asdict())
            raise ValueError(
                f"transform_in_batches: the pipeline gives other rows than before for "
                f"rows {self.n_rows:,} to {self.n_rows + rows - 1:,}. To go on, it "
                "must be the pipeline that was begun with. resume=False begins anew."
            )
        with self._telling("write"):
            self._write(data, piece.start)
            self._journal.append(piece._asdict())
        self.pieces.append(piece)

    def finish(self, output):
        """Write head and tail, and give the output its name.

        Parameters
        ----------
        output : NpyOutput or ParquetOutput
        """
        places = ((piece.note, piece.start) for piece in self.pieces)
        if not self.ended:
            with self._telling("write"):
                self._journal.append({"end": True})
            self.ended = True
        if os.fstat(self._data).st_size:
            tail = output.tail(self.spec, places, self.n_rows)
            with self._telling("write"):
                self._write(tail, self.end)
                os.ftruncate(self._data, self.end + len(tail))
                self._write(output.head(self.spec, self.n_rows), 0)
                os.fsync(self._data)
                os.replace(self.folder / "data", self.out)
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write(self, data, at):
        data = memoryview(data)
        while len(data):
            written = os.pwrite(self._data, data, at)
            data, at = data[written:], at + written

    @contextmanager
    def _telling(self, doing):
        """Say in a sentence what a full disk or a lacking right means here."""
        try:
            yield
        except OSError as error:
            raise _told(error, self, doing) from error

    def close(self):
        """Close the files; what is finished stays."""
        if self._data is None:
            return
        os.close(self._data)
        self._data = None
        if self._is_mine and not self.pieces:  # nothing to go on with
            shutil.rmtree(self.folder, ignore_errors=True)
        self._journal.close()


def _check_place(out):
    if out.is_dir():
        raise IsADirectoryError(
            errno.EISDIR,
            f"transform_in_batches writes one file, and {out} is a folder. Give the "
            "name of a file in it",
        )


def _told(error, sidecar, doing):
    """Return the error with a sentence on what it means."""
    if isinstance(error, IsADirectoryError):
        return error
    kept = f"The {sidecar.n_rows:,} rows that are finished stay in {sidecar.folder}: "
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        told = (
            f"transform_in_batches: there is no room left for {sidecar.out}. {kept}"
            "make room and call it again, and it goes on from there"
        )
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        told = (
            f"transform_in_batches may not write into {sidecar.out.parent}. Give a "
            "folder that can be written to, or mend its rights"
        )
    else:
        told = f"transform_in_batches: cannot {doing} {sidecar.out}: {error}"
        told += f". {kept}call it again to go on" if sidecar.pieces else ""
    return type(error)(error.errno, told)


def check_identity(record, identity, sidecar):
    """Refuse to go on with what was begun with something else.

    Raises
    ------
    ValueError
        If anything differs; the message says what.
    """
    held = record.get("identity", {})
    differ = [name for name in identity if held.get(name) != identity[name]]
    if record.get("version") != VERSION:
        differ = ["version of the format"]
    if not differ:
        return
    told = [f"{name}{_values(held.get(name), identity.get(name))}" for name in differ]
    raise ValueError(
        f"transform_in_batches: {sidecar.out} was begun with another "
        f"{', another '.join(told)}. It can go on with the same only, for example "
        "with the same fitted pipeline, saved before and loaded again. resume=False "
        f"begins anew, without what is finished in {sidecar.folder}."
    )


def _values(held, now):
    if isinstance(held, str | int | float) and isinstance(now, str | int | float):
        shown = f" ({held!r}, now {now!r})"
        return shown if len(shown) < 60 else ""
    return ""
