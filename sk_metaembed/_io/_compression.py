"""Compressed files, recognized by their first bytes."""

import bz2
import gzip
import lzma

_OPENERS = {
    b"\x1f\x8b": ("gz", gzip.open),
    b"BZh": ("bz2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}


def detect_compression(path):
    """Return "gz", "bz2" or "xz" and the function that opens it, else None, None."""
    with open(path, "rb") as file:
        head = file.read(6)
    for magic, (name, opener) in _OPENERS.items():
        if head.startswith(magic):
            return name, opener
    return None, None
