"""Journal: a file of lines, each whole or not there, that a kill cannot spoil."""

import json
import os
import zlib


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
