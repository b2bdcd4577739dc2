"""Files of data sets: their paths, tables of text, and the result of a loader.

Archives are unpacked here and not by pooch: only one member is copied, to a fixed path,
atomically and with a limit on its size.
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

import numpy as np
from sklearn.utils import Bunch

from .._core._errors import short_repr
from .._io._atomic import atomic_path
from .._io._compression import MAX_RATIO, is_decompression_bomb
from .._io._download import download, downloads_root, sha256, url_name
from ..vectors._api import import_gensim

# Errors of readers for an archive that is truncated, or not an archive.
_ARCHIVE_ERRORS = (
    EOFError,
    KeyError,
    gzip.BadGzipFile,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)


class RemoteFile(NamedTuple):
    """A file of a data set, alone or in an archive, and where to download it.

    Attributes
    ----------
    folder : str
        Folder below ``SK_METAEMBED_DATA``, and below the cache.
    urls : tuple of str
        Mirrors of the file, or of the archive.
    sha256 : str or None
        Checksum of the download; None if only the member's is known.
    member : str or None
        Name in the archive; None if there is no archive.
    member_sha256 : str or None
        Checksum of the member.
    """

    folder: str
    urls: tuple[str, ...]
    sha256: str | None = None
    member: str | None = None
    member_sha256: str | None = None

    @property
    def name(self):
        """Name of the file to read."""
        return (self.member or self.download_name).rpartition("/")[2]

    @property
    def download_name(self):
        """Name of the downloaded file."""
        return url_name(self.urls[0])


def data_file(remote):
    """Return the path of a data set's file, which is downloaded if necessary.

    Searched in this order: the file below ``SK_METAEMBED_DATA``; the file in the cache;
    its archive in the cache; the URLs.

    Raises
    ------
    FileNotFoundError
        If it is missing everywhere; the message says which file to place where.
    ValueError
        If a checksum does not match.
    """
    root = os.environ.get("SK_METAEMBED_DATA")
    local = Path(root).expanduser() / remote.folder / remote.name if root else None
    cache = downloads_root() / remote.folder
    # The user's file is used as it is; only downloads are checked.
    for path in (local, cache / remote.name):
        if path is not None and path.is_file():
            return path
    archive = cache / remote.download_name
    state = f"it is {root}" if root else "it is not set"
    hint = (
        f"Without network access, copy {remote.name} into the folder {remote.folder} "
        f"below the one in SK_METAEMBED_DATA ({state}), or the download to {archive}."
    )
    actual = download(remote.urls, remote.sha256, archive, hint=hint)
    _check(archive, actual, remote.sha256)
    if remote.member is None:
        return archive
    with atomic_path(cache / remote.name) as part:
        copy_member(archive, remote.member, part)
        _check(f"{remote.member} in {archive}", sha256(part), remote.member_sha256)
    return cache / remote.name


def _check(file, actual, expected):
    """Raise a ValueError if a file has another SHA-256 than expected."""
    if expected not in (None, actual):
        raise ValueError(
            f"{file} has SHA-256 {actual}; expected {expected}. Move the download "
            "elsewhere, and it is downloaded again."
        )


def copy_member(archive, member, target):
    """Copy one file of a zip or tar archive to `target`, whatever its folder.

    Raises
    ------
    ValueError
        If the archive cannot be read or does not contain the file.
    """
    open_member = _zip_member if zipfile.is_zipfile(archive) else _tar_member
    size = Path(archive).stat().st_size
    try:
        with open_member(archive, member) as source, open(target, "wb") as file:
            while block := source.read(2**20):
                file.write(block)
                if is_decompression_bomb(file.tell(), size):
                    reason = f"it unpacks to over {MAX_RATIO} times its size"
                    raise zipfile.BadZipFile(reason)
    except _ARCHIVE_ERRORS as error:
        raise ValueError(
            f"{archive} cannot be read, or does not contain {member} ({error}). Move "
            "it elsewhere, and it is downloaded again."
        ) from error


@contextlib.contextmanager
def _zip_member(archive, member):
    with zipfile.ZipFile(archive) as opened, opened.open(member) as source:
        yield source


@contextlib.contextmanager
def _tar_member(archive, member):
    with tarfile.open(archive) as opened:
        info = opened.getmember(member)
        if not info.isreg():  # a link could refer to any file
            raise KeyError(f"{member} is not a regular file")
        with opened.extractfile(info) as source:
            yield source


def package_folder(name, *parts, install):
    """Return a folder of an installed package, without running code of the package."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(
            f"The package {name} is not installed. Install it with: {install}",
            name=name,
        )
    folder = Path(spec.submodule_search_locations[0], *parts)
    if not folder.exists():
        raise FileNotFoundError(
            f"The installed package {name} has no {Path(*parts)}. Reinstall it with: "
            f"{install} --force-reinstall"
        )
    return folder


def import_pandas():
    """Return pandas; ModuleNotFoundError names the extra to install."""
    package_folder("pandas", install="pip install 'sk_metaembed[tables]'")
    import pandas

    return pandas


def gensim_file(name):
    """Return the path of a test file of gensim, which its wheel contains."""
    gensim = import_gensim(f"The test file {name}")
    return os.path.join(os.path.dirname(gensim.__file__), "test", "test_data", name)


def read_rows(path, n_columns, expected, *, separator="\t", header=0):
    """Return the fields of each line and its place, such as "/data/men.txt, line 3".

    Parameters
    ----------
    path : str or path-like
        UTF-8; lines end in LF or CRLF.
    n_columns : int
        Minimum number of fields; these must not be empty.
    expected : str
        Content of a line, for error messages.
    separator : str, default=tab
    header : int, default=0
        Number of lines to skip at the top.

    Returns
    -------
    list of (list of str, str)
    """
    lines = Path(path).read_text(encoding="utf-8").rstrip("\n").split("\n")
    rows = []
    for number, line in enumerate(lines[header:], header + 1):
        fields, place = line.split(separator), f"{path}, line {number}"
        if len(fields) < n_columns or not all(f.strip() for f in fields[:n_columns]):
            raise ValueError(f"{place}: expected {expected}; got {short_repr(line)}.")
        rows.append((fields, place))
    return rows


def read_score(field, place):
    """Return a field as a finite float."""
    try:
        score = float(field)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise ValueError(f"{place}: the score must be a number; got {field!r}.")
    return score


def make_bunch(
    data,
    target,
    feature_names,
    *,
    target_name="target",
    as_frame=False,
    return_X_y=False,
    **others,
):
    """Return the Bunch of a data set, or its data and target if `return_X_y`.

    Parameters
    ----------
    data : dict of str to ndarray, ndarray of shape (n_rows, n_columns), or list of str
        A dict has the columns of a table; without frames, the columns become an array.
    target : ndarray of shape (n_rows,)
    feature_names : list of str
        Names of the columns.
    target_name : str, default="target"
        Name of the target in frames.
    as_frame, return_X_y : bool
        As the loaders document them.
    **others
        Further attributes.
    """
    frame = None
    if as_frame:
        pd = import_pandas()
        data = pd.DataFrame(data, columns=feature_names)
        target = pd.Series(target, name=target_name)
        frame = data.assign(**{target_name: target})
    elif isinstance(data, dict):
        data = np.array([data[name] for name in feature_names], dtype=object).T
    if return_X_y:
        return data, target
    return Bunch(
        data=data, target=target, frame=frame, feature_names=feature_names, **others
    )


def duplicate_groups(keys):
    """Return an int64 number per key; equal keys have equal numbers."""
    numbers = {}
    return np.array([numbers.setdefault(k, len(numbers)) for k in keys], dtype=np.int64)
