"""The zip file of a saved estimator: written atomically, validated before it is read.

Members are stored without compression, so that reading cannot produce more bytes than
the file has. The manifest holds the SHA-256 of every member, in addition to the CRC-32
of zip files: the folder that a bundle is unpacked to is named by these digests. A
CRC-32 can be forged to put other vectors under that name, and without digests in the
manifest each `load` would read a bundle in full to find its folder (1 GB/s).
"""

import contextlib
import hashlib
import io
import json
import os
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from .._io._atomic import atomic_write
from .._version import __version__
from ._errors import SavedFileError, raise_corrupt

FORMAT, VERSION = "sk_metaembed estimator", 1
MANIFEST = "manifest.json"
_MAX_MANIFEST_SIZE = 1 << 26  # bytes
_PACKAGES = ("scikit-learn", "numpy", "torch")
_NAME = re.compile(r"(?:[\w-][\w.-]*/){0,5}[\w-][\w.-]*", re.ASCII)
_CHUNK = 1 << 20
_ENCRYPTED = 1


def write_saved_file(path, members, info):
    """Write members (name -> bytes or Path) and a manifest with `info`, atomically."""
    with atomic_write(path) as out, ZipFile(out, "w") as file:
        seals = {name: _write(file, name, members[name]) for name in sorted(members)}
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "versions": _versions(),
            **info,
            "members": seals,
        }
        _write(file, MANIFEST, json.dumps(manifest, indent=1).encode())


def _write(file, name, content):
    """Store bytes or the file at a Path, without a date; return size and SHA-256."""
    entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type, entry.external_attr = ZIP_STORED, 0o644 << 16
    is_path = isinstance(content, Path)
    digest, size = hashlib.sha256(), 0
    with (
        open(content, "rb") if is_path else io.BytesIO(content) as source,
        file.open(entry, "w", force_zip64=True) as out,
    ):
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
            out.write(chunk)
    return {"size": size, "sha256": digest.hexdigest()}


def _versions():
    """Return the installed versions of what a saved estimator depends on."""
    installed = {"sk_metaembed": __version__}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed


class SavedFile:
    """A file written by `write_saved_file`, which may be malformed or malicious.

    Raises SavedFileError if it is another kind of file, is from a newer version, has
    members that `write_saved_file` does not write (compressed or encrypted ones,
    duplicate names, names that lead out of a folder, sizes larger than the file), or
    if its members are not those of its manifest. Each member that is read matches its
    checksum.
    """

    def __init__(self, path):
        self.label = str(path)
        _check_kind(path)
        with raise_corrupt(self.label):
            self._zip = ZipFile(path)
        try:
            infos = self._zip.infolist()
            self._infos = {info.filename: info for info in infos}
            self._check_infos(infos)
            self._seals = self._read_manifest()
            self._check_members()
        except BaseException:
            self.close()
            raise

    def _check_infos(self, infos):
        if MANIFEST not in self._infos:
            raise SavedFileError(
                f"{self.label}: {MANIFEST} is missing: the file is truncated or was "
                "not written by sk_metaembed.save. Use skops.io.load, torch.load or "
                "numpy.load for files written by those libraries."
            )
        if len(self._infos) < len(infos):
            raise SavedFileError(f"{self.label} has two members with the same name.")
        for info in infos:
            if not _NAME.fullmatch(info.filename):
                raise SavedFileError(
                    f"{self.label} has a member with the invalid name "
                    f"{info.filename!r}, which could lead out of a folder."
                )
            stored = info.compress_type == ZIP_STORED
            if not stored or info.flag_bits & _ENCRYPTED:
                raise SavedFileError(
                    f"{self.label} has a compressed or encrypted member "
                    f"{info.filename!r}. sk_metaembed.save writes neither; a small "
                    "compressed member can expand to fill memory."
                )
        size = self._zip.fp.seek(0, os.SEEK_END)
        declared = sum(max(info.file_size, info.compress_size) for info in infos)
        if declared > size:
            raise SavedFileError(
                f"{self.label} declares {declared:,} bytes but contains {size:,}: the "
                "file is truncated or malicious."
            )

    def _read_manifest(self):
        """Return size and checksum of each member."""
        if self._infos[MANIFEST].file_size > _MAX_MANIFEST_SIZE:
            raise SavedFileError(
                f"{self.label}: {MANIFEST} is larger than {_MAX_MANIFEST_SIZE:,} bytes."
            )
        with raise_corrupt(f"{self.label}, {MANIFEST!r}"):
            manifest = json.loads(self._zip.read(MANIFEST))
            kind, number = manifest["format"], manifest["version"]
            seals = {
                name: (seal["size"], seal["sha256"])
                for name, seal in manifest["members"].items()
            }
        if kind != FORMAT or type(number) is not int or number < 1:
            raise SavedFileError(
                f"{self.label}: {MANIFEST} declares the format {kind!r}, version "
                f"{number!r}, which sk_metaembed.save does not write."
            )
        if number > VERSION:
            versions = manifest.get("versions")
            writer = versions.get("sk_metaembed") if isinstance(versions, dict) else ""
            raise SavedFileError(
                f"{self.label} has format version {number}; this release, "
                f"{__version__}, reads up to {VERSION}. It was written by sk_metaembed "
                f"{writer}: install that version or a newer one."
            )
        return seals

    def _check_members(self):
        present, listed = {*self._infos} - {MANIFEST}, {*self._seals}
        if present != listed:
            missing, extra = sorted(listed - present), sorted(present - listed)
            problem = f"lacks {missing[0]!r}" if missing else f"also has {extra[0]!r}"
            raise SavedFileError(
                f"{self.label} {problem}, contrary to its manifest: the file was "
                "modified after it was saved. Get an intact copy."
            )
        for name, (size, _) in self._seals.items():
            if size != self.size(name):
                raise self._corrupt(name)

    def _corrupt(self, name):
        return SavedFileError(
            f"{self.label}: the checksum of {name!r} does not match the manifest. The "
            "file is corrupt or was modified after it was saved. Get an intact copy."
        )

    def size(self, name):
        """Return the number of bytes of a member."""
        return self._infos[name].file_size

    def digest(self, name):
        """Return the SHA-256 of a member, as the manifest declares it."""
        return self._seals[name][1]

    def names_under(self, prefix):
        """Return the names of the members that start with a prefix, sorted."""
        return sorted(name for name in self._seals if name.startswith(prefix))

    def read(self, name):
        """Return a member's bytes."""
        data = bytearray()
        self._verify(name, data.extend)
        return data

    def extract(self, name, path):
        """Write a member to a path."""
        with open(path, "xb") as out:
            self._verify(name, out.write)

    def _verify(self, name, consume):
        """Pass a member to `consume` in chunks; raise if its checksum is wrong."""
        if name not in self._seals:
            raise SavedFileError(f"{self.label}: the member {name!r} is missing.")
        digest = hashlib.sha256()
        readable = raise_corrupt(f"{self.label}, {name!r}")
        with readable, self._zip.open(self._infos[name]) as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                consume(chunk)
        if digest.hexdigest() != self.digest(name):
            raise self._corrupt(name)

    def close(self):
        """Close the zip file."""
        self._zip.close()


def _check_kind(path):
    with open(path, "rb") as file:
        start = file.read(2)
    if start != b"PK":
        raise SavedFileError(
            f"{path} was not written by sk_metaembed.save. A pickle, which can run any "
            "code when it is loaded, is not read: if you trust its author, use "
            "joblib.load or pickle.load, and save the estimator with sk_metaembed.save."
        )
