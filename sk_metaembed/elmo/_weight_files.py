"""The weights of a bidirectional language model, by their names in HDF5 files.

HDF5 files: whatever h5py says of one that is damaged becomes one sentence.
"""

import os
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from .._io._compression import is_decompression_bomb
from ._options import N_CHARACTERS


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
    if is_decompression_bomb(dataset.nbytes, os.path.getsize(file)):
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


DIRECTIONS = (0, 1)  # forward, backward
_OURS = ("CNN/", "CNN_", "RNN_")  # the rest of a file belongs to training


def cell_key(direction, layer, part):
    """Return the name of "W_0" (input and hidden to gates), "B" or "W_P_0"."""
    return f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/{part}"


def weight_shapes(options):
    """Return the shape of each array that a model with these options has.

    Parameters
    ----------
    options : ElmoOptions

    Returns
    -------
    dict of str to tuple
        By the names that the arrays have in a file.
    """
    n, dim, cells = options.n_filters, options.projection_dim, options.cell_dim
    shapes = {"char_embed": (N_CHARACTERS, options.char_dim)}
    for i, (width, number) in enumerate(options.filters):
        shapes[f"CNN/W_cnn_{i}"] = (1, width, options.char_dim, number)
        shapes[f"CNN/b_cnn_{i}"] = (number,)
    for k in range(options.n_highway):
        for gate in ("carry", "transform"):
            shapes[f"CNN_high_{k}/W_{gate}"] = (n, n)
            shapes[f"CNN_high_{k}/b_{gate}"] = (n,)
    shapes |= {"CNN_proj/W_proj": (n, dim), "CNN_proj/b_proj": (dim,)}
    for direction in DIRECTIONS:
        for layer in range(options.n_layers):
            shapes[cell_key(direction, layer, "W_0")] = (2 * dim, 4 * cells)
            shapes[cell_key(direction, layer, "B")] = (4 * cells,)
            shapes[cell_key(direction, layer, "W_P_0")] = (cells, dim)
    return shapes


def read_weights(file, options):
    """Return the arrays of an HDF5 file of AllenNLP's or bilm-tf's layout.

    Parameters
    ----------
    file : path-like
    options : ElmoOptions

    Returns
    -------
    dict of str to float32 ndarray
        As `weight_shapes` names them.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ImportError
        If h5py is not installed.
    ValueError
        If the file is damaged or of another format, lacks an array, or has one of
        another shape than the options tell or with numbers that are not finite.
    """
    with opened_hdf5(file) as held:
        shapes = _checked(held, options, Path(file))
        return {name: read_array(held, name, file) for name in shapes}


def check_weights(file, options):
    """See that a file has what `read_weights` reads, without reading the numbers.

    Raises
    ------
    FileNotFoundError, ImportError, ValueError
        As `read_weights`.
    """
    with opened_hdf5(file) as held:
        _checked(held, options, Path(file))


def _checked(held, options, path):
    shapes = weight_shapes(options)
    arrays = array_kinds(held, path)
    if options.n_filters == options.projection_dim and "CNN_proj/W_proj" not in arrays:
        # bilm-tf projects only where the dimensions differ.
        del shapes["CNN_proj/W_proj"], shapes["CNN_proj/b_proj"]
    _check_names(arrays, shapes, path)
    for name, shape in shapes.items():
        found, dtype = arrays[name]
        if found != shape or dtype.kind != "f":
            raise ValueError(
                f"ELMo: {name!r} in {path} has shape {found} and dtype "
                f"{dtype}, but by the options it has {shape}, of floats. Do "
                "options and weights belong together?"
            )
    return shapes


def _check_names(arrays, shapes, path):
    lacking = sorted(shapes.keys() - arrays.keys())
    if lacking:
        raise ValueError(
            f"ELMo: {path} lacks {len(lacking)} of the {len(shapes)} arrays that the "
            f"options tell of, such as {lacking[0]!r}; it has "
            f"{sorted(arrays)[:4] or 'none at all'}. Do options and weights belong "
            "together?"
        )
    beyond = sorted(n for n in arrays.keys() - shapes.keys() if n.startswith(_OURS))
    if beyond:
        raise ValueError(
            f"ELMo: {path} has {len(beyond)} arrays that the options tell nothing of, "
            f"such as {beyond[0]!r}. Do options and weights belong together?"
        )
