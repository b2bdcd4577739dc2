"""The two files of a model: given by their paths, or found in a folder or zip archive.

The NLPL repository distributes models of ELMo as zip archives of options.json and
model.hdf5; AllenNLP and bilm-tf write folders.
"""

import hashlib
import json
import os
import shutil
import zipfile

from ..._io._atomic import cache_home, publish
from ..._io._compression import is_decompression_bomb
from ..._io._download import cached_path, local_file
from .._model_folder import MANY_LANGUAGES, elmo_pairs

NAMES = ("options.json", "weights.hdf5")


def find_files(options, weights, *, local):
    """Return the paths of options and weights.

    Parameters
    ----------
    options, weights : str
        Paths or URLs; if `weights` is None, `options` is a folder or zip archive.
    local : bool
        Whether nothing is downloaded.
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
    """Return the names of options and weights; an error lists the others."""
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
