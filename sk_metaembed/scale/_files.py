"""Opening files that sources read: compressed or not, and what they are known by."""

import gzip
import lzma
import zlib
from hashlib import blake2b
from pathlib import Path

import numpy as np

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
