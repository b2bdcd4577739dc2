"""Reading a source file: decompression, progress, and honest ends of file."""

import lzma
import os
import zlib

from ..sequences._compressed import compression_of

MOST_GROWTH = 100  # numbers and tagged text shrink to a third or a tenth
_HARMLESS = 1 << 28


def is_bomb(unpacked, packed):
    """Tell whether so many bytes came of so few that no honest file would do it.

    >>> is_bomb(10**9, 10**8), is_bomb(10**9, 10**6), is_bomb(10**6, 10**3)
    (False, True, False)
    """
    return unpacked > _HARMLESS and unpacked > MOST_GROWTH * packed


class SourceStream:
    """A binary source file, decompressed, with a progress bar over its bytes.

    Attributes
    ----------
    size : int or None
        Length of the content; None where it is compressed.
    position : int
        Bytes of content read so far.
    """

    def __init__(self, path, verbose=0):
        self.path = os.fspath(path)
        self.position = 0
        self._ahead = b""
        self.compression, opener = compression_of(path)
        length = os.path.getsize(path)
        self.size = None if opener else length
        self._raw = open(path, "rb")  # noqa: SIM115 (closed in __exit__)
        self._file = opener(self._raw, "rb") if opener else self._raw
        self._bar = _progress_bar(self.path, length) if verbose else None

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        if self._bar is not None:
            self._bar.update(self._raw.tell() - self._bar.n)
            self._bar.close()
        self._file.close()
        self._raw.close()

    def read(self, size):
        """Return ``size`` bytes, fewer only at the end of the content."""
        ahead, self._ahead = self._ahead[:size], self._ahead[size:]
        try:
            data = ahead + self._file.read(size - len(ahead))
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            if self.compression is None:
                raise
            raise ValueError(
                f"{self.path}: the {self.compression} data breaks off or is damaged "
                f"after {self.position:,} decompressed bytes ({error}). Fetch or "
                f"copy the file again."
            ) from error
        self.position += len(data)
        if self.compression is not None:
            self._check_growth()
        if self._bar is not None:
            self._bar.update(self._raw.tell() - self._bar.n)
        return data

    def _check_growth(self):
        if is_bomb(self.position, self._raw.tell()):
            raise ValueError(
                f"{self.path}: the {self.compression} data unpack to more than "
                f"{MOST_GROWTH} times their size, which vectors do not. Unpack the "
                "file yourself if you trust it."
            )

    def push_back(self, data):
        """Give back bytes that were read too far, to be read again."""
        self._ahead = data + self._ahead
        self.position -= len(data)

    def exactly(self, size, what):
        """Return ``size`` bytes or raise, naming what was being read and where."""
        left = size if self.size is None else self.size - self.position
        data = self.read(size) if size <= left else b""
        if len(data) < size:
            raise ValueError(
                f"{self.path}: the file ends too early: at byte {self.position:,} "
                f"{size:,} bytes were needed for {what}. It looks cut short; fetch "
                f"or copy it again."
            )
        return data


def _progress_bar(path, total):
    from tqdm import tqdm

    name = os.path.basename(path)
    return tqdm(total=total, unit="B", unit_scale=True, desc=f"Converting {name}")
