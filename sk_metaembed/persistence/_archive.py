"""The zip file around a saved estimator: written whole or not at all, read with doubt.

Nothing is compressed, so that nothing can come out larger than what lies on the disk.

The manifest of a saved file: what wrote it, and the checksum of every member.
"""

import contextlib
import hashlib
import io
import json
import os
import re
import struct
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from .._io._atomic import atomic_write
from .._version import __version__
from ._errors import SavedFileError, told_as_damaged

_NAME = re.compile(r"(?:[\w-][\w.-]*/){0,3}[\w-][\w.-]*", re.ASCII)
_CHUNK = 1 << 20
_ENCRYPTED = 1
_LOCAL = struct.Struct("<26sHH")  # a member's header, up to its name


def stored_zip(members):
    """Return the bytes of a zip file, equal for equal members."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as file:
        for name, content in members.items():
            put(file, name, content)
    return buffer.getvalue()


def put(file, name, content):
    """Put a member into a zip file, as it is and without a time.

    Parameters
    ----------
    file : ZipFile
    name : str
    content : bytes or Path
        A path is copied a piece at a time.

    Returns
    -------
    dict
        Its size and its SHA-256.
    """
    entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type, entry.external_attr = ZIP_STORED, 0o644 << 16
    digest, size = hashlib.sha256(), 0
    with _opened(content) as source, file.open(entry, "w", force_zip64=True) as out:
        while piece := source.read(_CHUNK):
            digest.update(piece)
            size += len(piece)
            out.write(piece)
    return {"size": size, "sha256": digest.hexdigest()}


def _opened(content):
    return open(content, "rb") if isinstance(content, Path) else io.BytesIO(content)


class Span(io.RawIOBase):
    """A byte range of a file, as a seekable file.

    ``ZipFile.open`` returns a file that seeks backwards only by reading again from the
    start of the member.

    Parameters
    ----------
    file : binary file
        Each read moves its position. It stays open when the range is closed.
    start, size : int
    """

    def __init__(self, file, start, size):
        self._file, self._start, self._size, self._at = file, start, size, 0

    def readable(self):
        """Return True."""
        return True

    def seekable(self):
        """Return True."""
        return True

    def seek(self, offset, whence=os.SEEK_SET):
        """Set the position and return it."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}
        self._at = max(0, base[whence] + offset)
        return self._at

    def readinto(self, buffer):
        """Read into a buffer, up to the end of the range."""
        self._file.seek(self._start + self._at)
        n = min(len(buffer), max(0, self._size - self._at))
        n = self._file.readinto(memoryview(buffer)[:n])
        self._at += n
        return n


class Entries:
    """The members of a zip file that somebody else may have made.

    Parameters
    ----------
    source : path-like or binary file
    what : str
        Names the file in error messages.

    Raises
    ------
    SavedFileError
        If it is no zip file, or has members that `put` would not write: compressed or
        encrypted ones, two of one name, names that lead out of a folder, or more than
        there is in the file.
    """

    def __init__(self, source, what):
        self.what = what
        with told_as_damaged(what):
            self._zip = ZipFile(source)
        infos = self._zip.infolist()
        self.infos = {info.filename: info for info in infos}
        try:
            self._check(infos)
        except SavedFileError:
            self.close()
            raise

    def _check(self, infos):
        if len(self.infos) < len(infos):
            raise SavedFileError(f"{self.what} has two members of one name.")
        for info in infos:
            if not _NAME.fullmatch(info.filename):
                raise SavedFileError(
                    f"{self.what} has a member {info.filename!r}: no name that saving "
                    "gives, and one that could lead out of a folder."
                )
            stored = info.compress_type == ZIP_STORED
            if not stored or info.flag_bits & _ENCRYPTED:
                raise SavedFileError(
                    f"{self.what} has a compressed or encrypted member "
                    f"{info.filename!r}. Saving writes neither; what is compressed "
                    "can come out a thousand times as large."
                )
        here = self._zip.fp.seek(0, os.SEEK_END)
        total = sum(max(info.file_size, info.compress_size) for info in infos)
        if total > here:
            raise SavedFileError(
                f"{self.what} promises {total:,} bytes and has {here:,}. It was cut "
                "short, or made to fill up memory."
            )

    def read(self, name):
        """Return a member's bytes."""
        with self.open(name) as file:
            return file.read()

    @contextlib.contextmanager
    def open(self, name):
        """Yield a member as a binary file."""
        if name not in self.infos:
            raise SavedFileError(f"{self.what} lacks its member {name!r}.")
        named = told_as_damaged(f"{self.what}, {name!r}")
        with named, self._zip.open(self.infos[name]) as file:
            yield file

    def span(self, name):
        """Return a member as a seekable file."""
        start = self.infos[name].header_offset
        self._zip.fp.seek(start)
        *_, name_size, extra_size = _LOCAL.unpack(self._zip.fp.read(_LOCAL.size))
        start += _LOCAL.size + name_size + extra_size
        span = Span(self._zip.fp, start, self.infos[name].file_size)
        return io.BufferedReader(span)

    def close(self):
        """Close the zip file."""
        self._zip.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


FORMAT, VERSION = "sk_metaembed estimator", 1
MANIFEST = "manifest.json"
_LARGEST = 1 << 26  # bytes of a manifest
_TOLD = ("scikit-learn", "numpy", "torch", "skops")
# How pickles begin, and what joblib compresses them with.
_PICKLES = (
    b"\x80",
    b"x\x01",
    b"x^",
    b"x\x9c",
    b"x\xda",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zX",
)


def versions():
    """Return the versions of what a saved estimator depends on."""
    found = {"sk_metaembed": __version__}
    for name in _TOLD:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def write_sealed(path, members, told):
    """Write a file with a manifest of its members, whole or not at all.

    Parameters
    ----------
    path : Path
    members : dict of str to bytes or Path
    told : dict
        What else the manifest says.
    """
    with atomic_write(path) as out, ZipFile(out, "w") as file:
        seals = {name: put(file, name, members[name]) for name in sorted(members)}
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "versions": versions(),
            **told,
            "members": seals,
        }
        put(file, MANIFEST, json.dumps(manifest, indent=1).encode())


class SealedFile(Entries):
    """A saved file to be read, each member held against its checksum.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    manifest : dict

    Raises
    ------
    SavedFileError
        If it is no such file, from a newer version, or its members are not those of
        its manifest.
    """

    def __init__(self, path):
        _check_kind(path)
        super().__init__(path, str(path))
        try:
            self.manifest = self._read_manifest()
            self._seals = self.manifest["members"]
            self._check_members()
        except BaseException:
            self.close()
            raise

    def _check(self, infos):
        if MANIFEST not in self.infos:
            raise SavedFileError(
                f"{self.what}: a zip file without {MANIFEST}. It was cut short, or "
                "sk_metaembed.save did not write it: skops.io.load reads files of "
                "skops, and what torch.save or numpy wrote, they read."
            )
        super()._check(infos)

    def _read_manifest(self):
        if self.infos[MANIFEST].file_size > _LARGEST:
            raise SavedFileError(f"{self.what}: {MANIFEST} is too large to be one.")
        with told_as_damaged(f"{self.what}, {MANIFEST!r}"):
            manifest = json.loads(super().read(MANIFEST))
            form, number = manifest["format"], manifest["version"]
            manifest["members"].items()
        if form != FORMAT or type(number) is not int or number < 1:
            raise SavedFileError(
                f"{self.what}: {MANIFEST} tells of {form!r}, version {number!r}, which "
                "sk_metaembed.save does not write."
            )
        if number > VERSION:
            raise SavedFileError(
                f"{self.what} has format version {number}, and this release, "
                f"{__version__}, reads up to {VERSION}. It was written by sk_metaembed "
                f"{_writer(manifest)}: install that or a newer one."
            )
        return manifest

    def _check_members(self):
        here, listed = {*self.infos} - {MANIFEST}, {*self._seals}
        if here != listed:
            lacking, beyond = sorted(listed - here), sorted(here - listed)
            found = f"lacks {lacking[0]!r}" if lacking else f"also has {beyond[0]!r}"
            raise SavedFileError(
                f"{self.what} {found}, against its manifest: it was changed after it "
                "was saved. Bring a whole copy."
            )
        for name, seal in self._seals.items():
            with told_as_damaged(f"{self.what}, {MANIFEST!r}"):
                told = seal["size"], seal["sha256"]
            if told[0] != self.infos[name].file_size:
                raise self._changed(name)

    def _changed(self, name):
        return SavedFileError(
            f"{self.what}: the checksum of {name!r} is not the manifest's. The file "
            "was damaged or changed after it was saved. Bring a whole copy."
        )

    def read(self, name):
        """Return a member's bytes."""
        pieces = []
        self._copy(name, pieces.append)
        return b"".join(pieces)

    def span(self, name):
        """Verify the checksum of a member and return it as a seekable file."""
        self._copy(name, lambda piece: None)
        return super().span(name)

    def extract(self, name, path):
        """Write a member to a path."""
        with open(path, "xb") as out:
            self._copy(name, out.write)

    def seal_of(self, name):
        """Return the SHA-256 that the manifest tells of a member."""
        return self._seals[name]["sha256"]

    def under(self, prefix):
        """Return the names of the members that begin in a way, in order."""
        return sorted(name for name in self._seals if name.startswith(prefix))

    def _copy(self, name, take):
        digest = hashlib.sha256()
        if name not in self._seals:
            raise SavedFileError(f"{self.what} lacks its member {name!r}.")
        with self.open(name) as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
                take(piece)
        if digest.hexdigest() != self._seals[name]["sha256"]:
            raise self._changed(name)


def _writer(manifest):
    told = manifest.get("versions")
    return str(told.get("sk_metaembed", "")) if isinstance(told, dict) else ""


def _check_kind(path):
    with open(path, "rb") as file:
        begin = file.read(4)
    if begin[:2] == b"PK":
        return
    if begin.startswith(_PICKLES):
        raise SavedFileError(
            f"{path}: this looks like a pickle, which sk_metaembed.load does not read: "
            "a pickle can run any code when it is loaded. If you trust who wrote it, "
            "use joblib.load or pickle.load, and save what you get by "
            "sk_metaembed.save."
        )
    raise SavedFileError(f"{path}: this is no file that sk_metaembed.save wrote.")
