"""The zip file of a saved estimator, and errors of files that cannot be read.

A file is written atomically, and validated before it is read.

Members are stored without compression, so that reading cannot produce more bytes than
the file has. The manifest holds the SHA-256 of every member, in addition to the CRC-32
of zip files: the folder that a bundle is unpacked to is named by these digests. A
CRC-32 can be forged to put other vectors under that name, and without digests in the
manifest each `load` would read a bundle in full to find its folder (1 GB/s).
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterable
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from .._io._atomic import atomic_write
from .._version import __version__

FORMAT, VERSION = "sk_metaembed estimator", 1
MANIFEST = "manifest.json"
_PACKAGES = ("scikit-learn", "numpy", "torch")
_NAME = re.compile(r"(?:[\w-][\w.-]*/){0,5}[\w-][\w.-]*", re.ASCII)
_CHUNK = 1 << 20


class SavedFileError(ValueError):
    """A saved file cannot be loaded: it is corrupt, or `save` did not write it."""


class UntrustedError(SavedFileError):
    """A saved file contains types, functions or options that are not trusted.

    Read the names before passing them to ``load(path, trusted=...)``: the objects that
    they name can run code.

    Parameters
    ----------
    message : str
        The error message.
    names : iterable of str
        Names to pass as ``trusted`` to `sk_metaembed.load`.

    Attributes
    ----------
    names : tuple of str
        The same names, sorted.

    See Also
    --------
    sk_metaembed.load : Raises this error; its parameter `trusted` takes the names.

    Examples
    --------
    >>> from sk_metaembed.persistence import UntrustedError
    >>> UntrustedError("The file contains a function.", ["mylib.split"]).names
    ('mylib.split',)
    """

    def __init__(self, message: str, names: Iterable[str]) -> None:
        super().__init__(message)
        self.names = tuple(sorted(names))

    def __reduce__(self):
        return type(self), (str(self), self.names)


@contextmanager
def reading(path):
    """Re-raise any error from reading an untrusted file as a SavedFileError.

    Errors of other files, such as a bundle in the cache, are left as they are.
    """
    try:
        yield
    except UntrustedError:
        raise
    # Malformed files make libraries raise errors without a common base class.
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise SavedFileError(f"{path}: {_reason(error)}") from error


def _reason(error):
    if isinstance(error, SavedFileError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        return f"the package {error.name!r} is required and is not installed."
    text = " ".join(str(error).split()).rstrip(".")
    text = text if len(text) <= 200 else f"{text[:200]}..."
    return (
        "the content is corrupt or was not written by sk_metaembed.save "
        f"({type(error).__name__}: {text})."
    )


def write_saved_file(path, members):
    """Write members (name -> bytes or Path) and a manifest, atomically."""
    with atomic_write(path) as out, ZipFile(out, "w") as file:
        digests = {name: _write(file, name, members[name]) for name in sorted(members)}
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "versions": {"sk_metaembed": __version__, **_versions()},
            "members": digests,
        }
        _write(file, MANIFEST, json.dumps(manifest, indent=1).encode())


def _versions():
    """Return the versions of the packages that are installed."""
    versions = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def _write(file, name, content):
    """Store bytes or the file at a Path, without a date; return the SHA-256."""
    entry = ZipInfo(name)
    entry.external_attr = 0o644 << 16
    is_path = isinstance(content, Path)
    digest = hashlib.sha256()
    with (
        open(content, "rb") if is_path else io.BytesIO(content) as source,
        file.open(entry, "w", force_zip64=True) as out,
    ):
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            out.write(chunk)
    return digest.hexdigest()


class SavedFile:
    """A file written by `write_saved_file`, which may be malformed or malicious.

    Raises SavedFileError if it is another kind of file, is from a newer version, has
    members that `write_saved_file` does not write (compressed ones, names that lead
    out of a folder), or if its members differ from its manifest. Each member that is
    read matches its checksum.

    Parameters
    ----------
    source : binary file

    Attributes
    ----------
    digests : dict of str to str
        SHA-256 of the members by name, as the manifest declares it.
    """

    def __init__(self, source):
        if source.read(2) != b"PK":
            raise SavedFileError(
                "the file was not written by sk_metaembed.save. A pickle, which can "
                "run any code when it is loaded, is not read: if you trust its author, "
                "use joblib.load or pickle.load, and save the estimator with "
                "sk_metaembed.save."
            )
        self._zip = ZipFile(source)
        self._check_entries()
        manifest = json.loads(self._zip.read(MANIFEST))
        _check_format(manifest)
        self.digests = manifest["members"]
        self._check_members()

    def _check_entries(self):
        if MANIFEST not in self._zip.namelist():
            raise SavedFileError(
                f"{MANIFEST} is missing: the file is truncated or was not written by "
                "sk_metaembed.save. Use skops.io.load, torch.load or numpy.load for "
                "files written by those libraries."
            )
        for entry in self._zip.infolist():
            if not _NAME.fullmatch(entry.filename):
                raise SavedFileError(
                    f"a member has the invalid name {entry.filename!r}, which could "
                    "lead out of a folder."
                )
            if entry.compress_type != ZIP_STORED:
                raise SavedFileError(
                    f"the member {entry.filename!r} is compressed, which "
                    "sk_metaembed.save never does: a small one can expand to fill "
                    "memory."
                )

    def _check_members(self):
        present, listed = {*self._zip.namelist()} - {MANIFEST}, {*self.digests}
        if present != listed:
            missing, extra = sorted(listed - present), sorted(present - listed)
            problem = f"lacks {missing[0]!r}" if missing else f"also has {extra[0]!r}"
            raise SavedFileError(
                f"the file {problem}, contrary to its manifest: it was modified after "
                "it was saved. Get an intact copy."
            )

    def read(self, name):
        """Return a member's bytes."""
        data = bytearray()
        self.copy(name, data.extend)
        return data

    def copy(self, name, write):
        """Pass a member to `write` in chunks; raise if its checksum is wrong."""
        digest = hashlib.sha256()
        with self._zip.open(name) as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                write(chunk)
        if digest.hexdigest() != self.digests[name]:
            raise SavedFileError(
                f"the checksum of {name!r} does not match the manifest. The file is "
                "corrupt or was modified after it was saved. Get an intact copy."
            )


def _check_format(manifest):
    given = manifest["format"], manifest["version"]
    if given != (FORMAT, VERSION):
        raise SavedFileError(
            f"the file has the {given[0]!r} format version {given[1]!r}; this release, "
            f"{__version__}, reads {FORMAT!r} version {VERSION}. It was written by "
            f"sk_metaembed {manifest['versions']['sk_metaembed']}: install that "
            "version or a newer one."
        )
