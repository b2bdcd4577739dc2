"""Compressed files, known by how they begin."""

import bz2
import gzip
import lzma

_OPENERS = {
    b"\x1f\x8b": ("gz", gzip.open),
    b"BZh": ("bz2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}


def detect_compression(path):
    """Return how a file is compressed, and the function that opens it.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    name : {"gz", "bz2", "xz"} or None
    opener : callable or None
        None where the file is not compressed.
    """
    with open(path, "rb") as file:
        head = file.read(6)
    for magic, found in _OPENERS.items():
        if head.startswith(magic):
            return found
    return None, None
