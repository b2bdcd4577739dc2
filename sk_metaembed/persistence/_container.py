"""The zip file around a saved estimator: written whole or not at all, read with doubt.

Nothing is compressed, so that nothing can come out larger than what lies on the disk.
"""

import contextlib
import hashlib
import io
import os
import re
import struct
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from ._errors import SavedFileError, told_as_damaged

_NAME = re.compile(r"(?:[\w-][\w.-]*/){0,3}[\w-][\w.-]*", re.ASCII)
_CHUNK = 1 << 20
_ENCRYPTED = 1
_LOCAL = struct.Struct("<26sHH")  # a member's header, up to its name


def stored_zip(members):
    """Return the bytes of a zip file, equal for equal members."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as file:
        for name, content in members.items():
            put(file, name, content)
    return buffer.getvalue()


def put(file, name, content):
    """Put a member into a zip file, as it is and without a time.

    Parameters
    ----------
    file : ZipFile
    name : str
    content : bytes or Path
        A path is copied a piece at a time.

    Returns
    -------
    dict
        Its size and its SHA-256.
    """
    entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type, entry.external_attr = ZIP_STORED, 0o644 << 16
    digest, size = hashlib.sha256(), 0
    with _opened(content) as source, file.open(entry, "w", force_zip64=True) as out:
        while piece := source.read(_CHUNK):
            digest.update(piece)
            size += len(piece)
            out.write(piece)
    return {"size": size, "sha256": digest.hexdigest()}


def _opened(content):
    return open(content, "rb") if isinstance(content, Path) else io.BytesIO(content)


class Span(io.RawIOBase):
    """A byte range of a file, as a seekable file.

    ``ZipFile.open`` returns a file that seeks backwards only by reading again from the
    start of the member.

    Parameters
    ----------
    file : binary file
        Each read moves its position. It stays open when the range is closed.
    start, size : int
    """

    def __init__(self, file, start, size):
        self._file, self._start, self._size, self._at = file, start, size, 0

    def readable(self):
        """Return True."""
        return True

    def seekable(self):
        """Return True."""
        return True

    def seek(self, offset, whence=os.SEEK_SET):
        """Set the position and return it."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}
        self._at = max(0, base[whence] + offset)
        return self._at

    def readinto(self, buffer):
        """Read into a buffer, up to the end of the range."""
        self._file.seek(self._start + self._at)
        n = min(len(buffer), max(0, self._size - self._at))
        n = self._file.readinto(memoryview(buffer)[:n])
        self._at += n
        return n


class Entries:
    """The members of a zip file that somebody else may have made.

    Parameters
    ----------
    source : path-like or binary file
    what : str
        Names the file in error messages.

    Raises
    ------
    SavedFileError
        If it is no zip file, or has members that `put` would not write: compressed or
        encrypted ones, two of one name, names that lead out of a folder, or more than
        there is in the file.
    """

    def __init__(self, source, what):
        self.what = what
        with told_as_damaged(what):
            self._zip = ZipFile(source)
        infos = self._zip.infolist()
        self.infos = {info.filename: info for info in infos}
        try:
            self._check(infos)
        except SavedFileError:
            self.close()
            raise

    def _check(self, infos):
        if len(self.infos) < len(infos):
            raise SavedFileError(f"{self.what} has two members of one name.")
        for info in infos:
            if not _NAME.fullmatch(info.filename):
                raise SavedFileError(
                    f"{self.what} has a member {info.filename!r}: no name that saving "
                    "gives, and one that could lead out of a folder."
                )
            stored = info.compress_type == ZIP_STORED
            if not stored or info.flag_bits & _ENCRYPTED:
                raise SavedFileError(
                    f"{self.what} has a compressed or encrypted member "
                    f"{info.filename!r}. Saving writes neither; what is compressed "
                    "can come out a thousand times as large."
                )
        here = self._zip.fp.seek(0, os.SEEK_END)
        total = sum(max(info.file_size, info.compress_size) for info in infos)
        if total > here:
            raise SavedFileError(
                f"{self.what} promises {total:,} bytes and has {here:,}. It was cut "
                "short, or made to fill up memory."
            )

    def read(self, name):
        """Return a member's bytes."""
        with self.open(name) as file:
            return file.read()

    @contextlib.contextmanager
    def open(self, name):
        """Yield a member as a binary file."""
        if name not in self.infos:
            raise SavedFileError(f"{self.what} lacks its member {name!r}.")
        named = told_as_damaged(f"{self.what}, {name!r}")
        with named, self._zip.open(self.infos[name]) as file:
            yield file

    def span(self, name):
        """Return a member as a seekable file."""
        start = self.infos[name].header_offset
        self._zip.fp.seek(start)
        *_, name_size, extra_size = _LOCAL.unpack(self._zip.fp.read(_LOCAL.size))
        start += _LOCAL.size + name_size + extra_size
        span = Span(self._zip.fp, start, self.infos[name].file_size)
        return io.BufferedReader(span)

    def close(self):
        """Close the zip file."""
        self._zip.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
