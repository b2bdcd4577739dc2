"""Compressed files: detection, decompression bombs, and the lines of text files."""

import bz2
import gzip
import lzma
import zlib

_OPENERS = {
    b"\x1f\x8b": ("gz", gzip.open),
    b"BZh": ("bz2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}

MAX_RATIO = 100  # numbers and tagged text shrink to a third or a tenth
_HARMLESS = 1 << 28  # bytes


def is_decompression_bomb(unpacked, packed):
    """Return whether a file unpacks to so many bytes that it must be malicious."""
    return unpacked > _HARMLESS and unpacked > MAX_RATIO * packed


def detect_compression(path):
    """Return "gz", "bz2" or "xz" and the function that opens it, else None, None."""
    with open(path, "rb") as file:
        head = file.read(6)
    for magic, (name, opener) in _OPENERS.items():
        if head.startswith(magic):
            return name, opener
    return None, None


def read_lines(path):
    """Yield the lines of a UTF-8 file without line ends and byte order mark."""
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
