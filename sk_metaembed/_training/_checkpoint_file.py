"""Files that training goes on from: there whole or not at all, and checked."""

import os
import warnings
from hashlib import blake2b
from pathlib import Path

from .._io._atomic import new_file

_DIGEST = 16  # bytes, behind what torch wrote


class NoStateError(ValueError):
    """The file is none of these, or not as it was written."""


def write_state(file, content):
    """Write what torch can save, so that the file is the old or the new one, and whole.

    Parameters
    ----------
    file : path-like
    content : dict
        Tensors and plain values.

    Raises
    ------
    OSError
        If there is no writing it. A file of before is as it was.
    """
    import torch

    file = Path(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    with new_file(file) as held:
        digested = _Digested(held)
        torch.save(content, digested)
        held.write(digested.digest.digest())


class _Digested:
    """A file to write to, whose bytes are digested as they come."""

    def __init__(self, file):
        self._file, self.digest = file, blake2b(digest_size=_DIGEST)

    def write(self, data):
        self.digest.update(data)
        return self._file.write(data)

    def flush(self):
        self._file.flush()


def read_state(file, device):
    """Return what `write_state` wrote; nothing in it is executed.

    Parameters
    ----------
    file : path-like
    device : torch.device
        Where tensors go.

    Returns
    -------
    dict

    Raises
    ------
    FileNotFoundError
        If there is no file.
    NoStateError
        If it is another kind of file, or damaged.
    """
    import torch

    with open(file, "rb") as held:
        if not _is_whole(held):
            raise NoStateError("it is not as it was written")
        try:
            return torch.load(held, map_location=device, weights_only=True)
        except Exception as error:  # torch raises many kinds for what it cannot read
            raise NoStateError(f"{error!r:.200}") from error


def _is_whole(held):
    """Compare the digest at the end, for torch looks at none; back to the begin."""
    left, digest = (
        os.fstat(held.fileno()).st_size - _DIGEST,
        blake2b(digest_size=_DIGEST),
    )
    while left > 0 and (block := held.read(min(left, 1 << 22))):
        digest.update(block)
        left -= len(block)
    told = held.read()
    held.seek(0)
    return digest.digest() == told


class StateWriter:
    """Writes a state again and again; a disk that is full ends no training.

    Parameters
    ----------
    file : path-like
    caller : str
        Begins the warning.
    """

    def __init__(self, file, caller):
        self.file, self.caller = Path(file), caller
        self._told = False

    def write(self, content):
        """Write a state, or tell once that it cannot be written."""
        try:
            write_state(self.file, content)
        except OSError as error:
            if not self._told:
                warnings.warn(
                    f"{self.caller}: the checkpoint {self.file} cannot be written "
                    f"({error}). Training goes on; were it killed now, it would go on "
                    "from the last checkpoint that was written, if there is one.",
                    UserWarning,
                    stacklevel=2,
                )
            self._told = True
