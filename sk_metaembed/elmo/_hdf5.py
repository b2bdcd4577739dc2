"""HDF5 files: whatever h5py says of one that is damaged becomes one sentence."""

import os
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ..vectors._stream import is_bomb


def imported_h5py():
    """Return h5py, or say which extra brings it."""
    try:
        import h5py
    except ImportError as error:
        raise ImportError(
            "ElmoEmbedding reads its weights by h5py: pip install 'sk_metaembed[elmo]'."
        ) from error
    return h5py


@contextmanager
def opened_hdf5(file):
    """Open an HDF5 file, as a context.

    Parameters
    ----------
    file : path-like

    Yields
    ------
    h5py.File

    Raises
    ------
    FileNotFoundError, ImportError, ValueError
        If there is no such file, no h5py, or it cannot be read.
    """
    h5py = imported_h5py()
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(
            f"ELMo: there is no file of weights {str(path)!r}. Give the HDF5 file that "
            "belongs to the options: its path, or its URL."
        )
    with _readable(path):
        held = h5py.File(path, "r")
    with held:
        yield held


def read_array(held, name, file):
    """Return an array of an open file as float32.

    Parameters
    ----------
    held : h5py.File or h5py.Group
    name : str
    file : path-like
        For the error messages.

    Returns
    -------
    float32 ndarray

    Raises
    ------
    ValueError
        If it cannot be read, or has numbers that are not finite.
    """
    # What is too large for float32 is told below.
    with _readable(file, f"{name!r} in "), np.errstate(over="ignore"):
        _check_own(held[name], held.file.filename)
        found = np.asarray(held[name][...], dtype=np.float32)
    if not np.isfinite(found).all():
        raise ValueError(
            f"ELMo: {name!r} in {file} has numbers that are not finite. The file is "
            "damaged, or its training failed: bring another."
        )
    return found


def _check_own(dataset, file):
    """Refuse an array whose numbers are in other files, or are more than there are.

    HDF5 fills with zeros, and lets files tell of other files what they like.
    """
    if dataset.external or dataset.is_virtual:
        raise OSError("its numbers are to be read from another file")
    if is_bomb(dataset.nbytes, os.path.getsize(file)):
        raise OSError(f"it announces {dataset.nbytes:,} bytes, more than the file has")


@contextmanager
def _readable(file, what=""):
    """Say in one sentence what h5py cannot read, of which it tells in many kinds."""
    try:
        yield
    except Exception as error:
        raise ValueError(
            f"ELMo: {what}{file} cannot be read as HDF5: it is damaged, cut off, or of "
            f"another format ({error}). Bring the file again."
        ) from error


def array_kinds(held, file):
    """Return the shape and dtype of each array in an open file, by its name.

    Parameters
    ----------
    held : h5py.File
    file : path-like
        For the error messages.

    Returns
    -------
    dict of str to (tuple, dtype)

    Raises
    ------
    ValueError
        If the file is damaged.
    """
    names, found = [], {}
    with _readable(file):
        held.visit(names.append)
        for name in names:
            entry = held[name]
            if hasattr(entry, "shape"):  # a group has none
                found[str(name)] = entry.shape, entry.dtype
    return found
