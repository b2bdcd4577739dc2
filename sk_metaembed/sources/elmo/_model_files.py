"""Find the two files of a model, and read weights from HDF5.

The files are given by their paths, or found in a folder or zip archive. The NLPL
repository distributes models of ELMo as zip archives of options.json and model.hdf5;
AllenNLP and bilm-tf write folders.

h5py reads data sets that a file stores in other files, allocates as much memory as a
file declares, and raises many kinds of exceptions for corrupt files. The checks here
reject external data and sizes beyond the file, and convert all errors to ValueErrors
with one message.
"""

import hashlib
import json
import os
import shutil
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ..._io._atomic import cache_home, publish
from ..._io._compression import is_decompression_bomb
from ..._io._download import cached_path, local_file
from .._model_folder import MANY_LANGUAGES, elmo_pairs
from ._options import N_CHARACTERS

NAMES = ("options.json", "weights.hdf5")


def find_files(options, weights, *, local):
    """Return the paths of options and weights.

    Parameters
    ----------
    options, weights : str
        Paths or URLs; if `weights` is None, `options` is a folder or zip archive.
    local : bool
        Whether to raise an error instead of downloading.
    """
    for place in (options, weights):
        if place is not None and local and not cached_path(place).exists():
            raise FileNotFoundError(f"{place} is not on this machine.")
    if weights is not None:
        return local_file(options), local_file(weights)
    path = local_file(options)
    if path.is_dir():
        names = [p.name for p in path.iterdir()]
        return tuple(path / name for name in _pair(names, path))
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no folder or zip archive {str(path)!r} with ELMo's options.json "
            "and its weights."
        )
    if not zipfile.is_zipfile(path):
        raise ValueError(
            f"{path} is not a zip archive. Pass options.json and the HDF5 file, or a "
            "folder or zip archive that contains both."
        )
    return _unpacked(path)


def is_archive(path):
    """Return whether a file is a zip archive with the files of a model."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    return bool(elmo_pairs(names)) or _many_languages(names)


def _pair(names, place):
    """Return the names of options and weights; an error lists all names."""
    pairs = elmo_pairs(names)
    if len(pairs) == 1:
        return pairs[0]
    if _many_languages(names):
        raise ValueError(
            f"{place} has a model of ELMoForManyLangs, which reads other characters "
            "than ELMo and stores its weights in pickles. Only models of AllenNLP and "
            "bilm-tf are read: options.json and an HDF5 file. Use its Embedder: "
            "FunctionEmbedding(embedder.sents2elmo, level='token')."
        )
    if pairs:
        raise ValueError(
            f"{place} has several models of ELMo: {pairs[:5]}. Pass the options and "
            "the weights of one."
        )
    raise FileNotFoundError(
        f"{place} has no pair of ELMo's options.json and an HDF5 file of weights, only "
        f"{sorted(names)[:10]}. bin/dump_weights.py of bilm-tf writes the HDF5 file "
        "of a checkpoint of TensorFlow."
    )


def _many_languages(names):
    return any(name.rpartition("/")[2] == MANY_LANGUAGES for name in names)


def _unpacked(path):
    """Return the two files of an archive, unpacked once into the cache."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [archive.getinfo(n) for n in _pair(archive.namelist(), path)]
            for member in members:
                if is_decompression_bomb(member.file_size, member.compress_size):
                    raise ValueError(
                        f"{member.filename!r} in {path} unpacks to "
                        f"{member.file_size:,} bytes, too many to be a model."
                    )
            key = [(m.filename, m.file_size, m.CRC) for m in members]
            digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]
            folder = cache_home() / "elmo" / digest

            def extract(new):
                for name, member in zip(NAMES, members, strict=True):
                    with archive.open(member) as file, open(new / name, "xb") as out:
                        shutil.copyfileobj(file, out)

            if not folder.is_dir():
                publish(folder, extract)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path} is corrupt: {error}. Copy it again.") from error
    return tuple(folder / name for name in NAMES)


def absolute(place):
    """Return a path that is valid in any working directory, or a URL as it is."""
    if place is None or "://" in place:
        return place
    return os.path.abspath(os.path.expanduser(place))


def import_h5py():
    """Return h5py, or raise an ImportError that names the extra to install."""
    try:
        import h5py
    except ImportError as error:
        raise ImportError(
            "weights of ELMo are read with h5py: pip install 'sk_metaembed[elmo]'."
        ) from error
    return h5py


@contextmanager
def open_hdf5(file):
    """Open an HDF5 file, as a context manager."""
    h5py = import_h5py()
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(
            f"no weight file {str(path)!r}. Pass the HDF5 file of the same model "
            "as the options, as a path or URL."
        )
    with _hdf5_errors(path):
        h5 = h5py.File(path, "r")
    with h5:
        yield h5


def read_array(h5, name, file):
    """Return an array of an open file as float32; `file` is for error messages."""
    # Values too large for float32 become infinite and are reported below.
    with _hdf5_errors(file, f"{name!r} in "), np.errstate(over="ignore"):
        dataset = h5[name]
        if dataset.external or dataset.is_virtual:
            raise OSError("its data are stored in another file")
        if is_decompression_bomb(dataset.nbytes, os.path.getsize(h5.file.filename)):
            raise OSError(
                f"it declares {dataset.nbytes:,} bytes, more than the file has"
            )
        array = np.asarray(dataset[...], dtype=np.float32)
    if not np.isfinite(array).all():
        raise ValueError(
            f"{name!r} in {file} has values that are not finite. The file is "
            "corrupt, or its training diverged; use another file."
        )
    return array


@contextmanager
def _hdf5_errors(file, what=""):
    """Convert all errors of h5py, which have many types, to ValueError."""
    try:
        yield
    except Exception as error:
        raise ValueError(
            f"{what}{file} cannot be read as HDF5: the file is corrupt, "
            f"truncated or in another format ({error}). Download or copy it again."
        ) from error


def array_types(h5, file):
    """Return (shape, dtype) of each array in an open file, by name."""
    types = {}

    def note(name, entry):
        if hasattr(entry, "shape"):  # groups have no shape
            types[str(name)] = entry.shape, entry.dtype

    with _hdf5_errors(file):
        h5.visititems(note)
    return types


DIRECTIONS = (0, 1)  # forward, backward
_NETWORK_PREFIXES = ("CNN/", "CNN_", "RNN_")  # other arrays are for training only


def cell_key(direction, layer, part):
    """Return the full name of "W_0" (from input and state to gates), "B" or "W_P_0"."""
    return f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/{part}"


def weight_shapes(options):
    """Return the shapes of a model's arrays, by their names in a weight file."""
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
    """Return the arrays of a weight file in AllenNLP's or bilm-tf's layout.

    The dict has the names of `weight_shapes` and float32 arrays. Raises
    FileNotFoundError, ImportError if h5py is missing, or a ValueError if the file is
    corrupt or does not match the options.
    """
    with open_hdf5(file) as h5:
        shapes = _check_arrays(h5, options, Path(file))
        return {name: read_array(h5, name, file) for name in shapes}


def check_weights(file, options):
    """Check the names, shapes and dtypes of the arrays of a weight file."""
    with open_hdf5(file) as h5:
        _check_arrays(h5, options, Path(file))


def _check_arrays(h5, options, path):
    """Return the expected shapes by name, after checking the shapes in a file."""
    shapes = weight_shapes(options)
    arrays = array_types(h5, path)
    if options.n_filters == options.projection_dim and "CNN_proj/W_proj" not in arrays:
        # bilm-tf has a projection only if the dimensions differ.
        del shapes["CNN_proj/W_proj"], shapes["CNN_proj/b_proj"]
    missing = sorted(shapes.keys() - arrays.keys())
    if missing:
        raise ValueError(
            f"{len(missing)} of the {len(shapes)} arrays that the options "
            f"require are missing in {path}, such as {missing[0]!r}; it has "
            f"{sorted(arrays)[:4] or 'no arrays'}. Check that options and weights are "
            "of the same model."
        )
    others = sorted(arrays.keys() - shapes.keys())
    extra = [name for name in others if name.startswith(_NETWORK_PREFIXES)]
    if extra:
        raise ValueError(
            f"{path} has {len(extra)} arrays that do not fit the options, such "
            f"as {extra[0]!r}. Check that options and weights are of the same model."
        )
    for name, shape in shapes.items():
        actual, dtype = arrays[name]
        if actual != shape or dtype.kind != "f":
            raise ValueError(
                f"{name!r} in {path} has shape {actual} and dtype {dtype}; the "
                f"options require shape {shape} and a float dtype. Check that options "
                "and weights are of the same model."
            )
    return shapes
