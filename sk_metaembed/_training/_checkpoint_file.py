"""Checkpoint files: replaced atomically, verified by a digest, loaded without code.

`torch.load` does not verify checksums, so the file ends with a digest of its content.
"""

import os
from hashlib import blake2b
from pathlib import Path

import torch

from .._io._atomic import atomic_write

_DIGEST_SIZE = 16  # bytes, after the content


class CorruptCheckpointError(ValueError):
    """The file is not a checkpoint, or it is corrupt."""


def write_checkpoint(file, content):
    """Save a dict of tensors and plain values; on an OSError the old file remains."""
    file = Path(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(file) as stream:
        hashing = _HashingStream(stream)
        torch.save(content, hashing)
        stream.write(hashing.digest.digest())


class _HashingStream:
    """A stream that hashes what is written to it."""

    def __init__(self, stream):
        self._stream, self.digest = stream, blake2b(digest_size=_DIGEST_SIZE)

    def write(self, data):
        self.digest.update(data)
        return self._stream.write(data)

    def flush(self):
        self._stream.flush()


def read_checkpoint(file, device):
    """Return the content of a checkpoint, with tensors on `device`.

    Nothing in the file is executed.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    CorruptCheckpointError
        If it is another kind of file, or corrupt.
    """
    with open(file, "rb") as stream:
        if not _digest_matches(stream):
            raise CorruptCheckpointError("its checksum does not match its content")
        try:
            return torch.load(stream, map_location=device, weights_only=True)
        except Exception as error:  # torch raises many types for unreadable content
            raise CorruptCheckpointError(f"{error!r:.200}") from error


def _digest_matches(stream):
    """Compare the content with the digest at the end, and rewind."""
    left = os.fstat(stream.fileno()).st_size - _DIGEST_SIZE
    digest = blake2b(digest_size=_DIGEST_SIZE)
    while left > 0 and (block := stream.read(min(left, 1 << 22))):
        digest.update(block)
        left -= len(block)
    expected = stream.read()
    stream.seek(0)
    return digest.digest() == expected
