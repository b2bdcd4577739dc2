"""Checkpoint files: replaced atomically, verified by a digest, loaded without code.

`torch.load` does not verify checksums, so the file ends with a digest of its content.
"""

import json
import os
import warnings
from hashlib import blake2b
from pathlib import Path

import torch
from skorch.callbacks import Callback

from .._io._atomic import atomic_write
from ._net_state import load_net_state_dict, net_state_dict
from ._random import current_generators

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


class CheckpointCallback(Callback):
    """Base class of callbacks that write checkpoints of a fit.

    If a file cannot be written, a warning is issued once and training continues.
    """

    def __init__(self, file, caller):
        self.file, self.caller = Path(file), caller
        self._has_warned = False

    def write_state(self, net, history, **content):
        """Write the state from which training can resume; warn once if this fails."""
        plain, tensors = net_state_dict(net, history)
        content |= {
            "plain": plain,
            "tensors": tensors,
            "history": json.loads(plain.pop("history")),
            "generators": current_generators().states(net.device),
        }
        try:
            write_checkpoint(self.file, content)
        except OSError as error:
            if not self._has_warned:
                warnings.warn(
                    f"{self.caller}: the checkpoint {self.file} cannot be written "
                    f"({error}). Training continues; if it is killed, it resumes from "
                    "the last checkpoint that was written, if any.",
                    UserWarning,
                    stacklevel=2,
                )
            self._has_warned = True

    def restore_state(self, net, state):
        """Restore an initialized net, and the generators of the fit."""
        plain = {**state["plain"], "history": json.dumps(state["history"])}
        load_net_state_dict(net, plain, state["tensors"])
        current_generators().set_states(state["generators"], net.device)
