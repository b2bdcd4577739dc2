"""Lines of UTF-8 text files, compressed or not."""

import gzip
import lzma
import zlib

from ._compression import detect_compression


def read_lines(path):
    """Yield the lines of a UTF-8 file without line ends and byte order mark.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.txt")
    ...     _ = path.write_bytes(bytes([0xEF, 0xBB, 0xBF]) + b"tea")
    ...     list(read_lines(path))
    ['tea']
    """
    _, opener = detect_compression(path)
    with (opener or open)(path, "rb") as lines:
        try:
            for number, line in enumerate(lines, start=1):
                yield _decode(line, path, number).rstrip("\r\n")
        except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
            raise ValueError(
                f"{path} is corrupt or truncated: {error}. Get an intact copy, or "
                "decompress it to see how much of it can be read."
            ) from error


def _decode(line, path, number):
    try:
        # Some editors write a byte order mark.
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}, line {number:,}: byte {line[error.start]:#04x} at position "
            f"{error.start} is not valid UTF-8. Convert the file to UTF-8, or decode "
            "its lines and pass them as a list."
        ) from error
