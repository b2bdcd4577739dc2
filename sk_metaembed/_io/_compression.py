"""Detection of compressed files by their first bytes, and of decompression bombs."""

import bz2
import gzip
import lzma

_OPENERS = {
    b"\x1f\x8b": ("gz", gzip.open),
    b"BZh": ("bz2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}

MAX_RATIO = 100  # numbers and tagged text shrink to a third or a tenth
_HARMLESS = 1 << 28  # bytes


def is_decompression_bomb(unpacked, packed):
    """Return whether so few bytes unpack to so many that the file must be malicious.

    >>> is_decompression_bomb(10**9, 10**8), is_decompression_bomb(10**9, 10**6)
    (False, True)
    >>> is_decompression_bomb(10**6, 10**3)
    False
    """
    return unpacked > _HARMLESS and unpacked > MAX_RATIO * packed


def detect_compression(path):
    """Return "gz", "bz2" or "xz" and the function that opens it, else None, None."""
    with open(path, "rb") as file:
        head = file.read(6)
    for magic, (name, opener) in _OPENERS.items():
        if head.startswith(magic):
            return name, opener
    return None, None
