"""The manifest of a saved file: what wrote it, and the checksum of every member."""

import contextlib
import hashlib
import json
from importlib.metadata import PackageNotFoundError, version
from zipfile import ZipFile

from .._version import __version__
from ..sequences._new_file import new_file
from ._container import Entries, put
from ._errors import SavedFileError, told_as_damaged

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
    with new_file(path) as out, ZipFile(out, "w") as file:
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
