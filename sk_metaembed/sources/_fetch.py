"""Files behind URLs, fetched once, whole or not at all."""

import hashlib
import os
import re
import tempfile
import warnings
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

from ..vectors._cache import default_root

_SHA256 = re.compile(r"sha256=([0-9a-f]{64})", re.IGNORECASE)
_TIMEOUT = 60  # seconds without a byte


def local_file(place, *, whose):
    """Return the path of a file that a path or a URL names.

    What a URL names is fetched once and kept, below ``$SK_METAEMBED_CACHE`` or
    ``~/.cache/sk_metaembed``.

    Parameters
    ----------
    place : str or path-like
        A URL can end in ``#sha256=`` and 64 hexadecimal digits: another file than that
        is refused.
    whose : str
        Begins the error messages.

    Returns
    -------
    Path
        A local path is not looked at.

    Raises
    ------
    FileNotFoundError
        If the URL cannot be fetched.
    ValueError
        If it has something else behind ``#``, or the file has another checksum.

    Examples
    --------
    >>> local_file("models/options.json", whose="ElmoEmbedding").name
    'options.json'
    """
    place = os.fspath(place)
    if not place.lower().startswith(("http://", "https://")):
        return Path(place).expanduser()
    url, _, fragment = place.partition("#")
    told = _SHA256.fullmatch(fragment)
    if fragment and not told:
        raise ValueError(
            f"{whose}: behind '#' in {place!r} must stand sha256= and the file's "
            "SHA-256, 64 hexadecimal digits."
        )
    digest = told[1].lower() if told else None
    name = Path(unquote(urlsplit(url).path)).name or "file"
    key = hashlib.blake2b(f"{url}#{digest}".encode(), digest_size=8).hexdigest()
    target = default_root().parent / "fetched" / f"{key}-{name}"
    if not target.is_file():
        _fetch(url, digest, target, whose)
    return target


def _fetch(url, digest, target, whose):
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=target.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            found = _download(url, file, whose)
        if digest not in (None, found):
            raise ValueError(
                f"{whose}: the file at {url} has the SHA-256 {found}, but {digest} was "
                "asked for. It is not kept. Is it the right file, and whole?"
            )
        os.replace(part, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(part)
    if digest is None:
        warnings.warn(
            f"{whose}: fetched {url} without a checksum. Its SHA-256 is {found}: use "
            f"'{url}#sha256={found}' to be sure to have this file elsewhere too.",
            UserWarning,
            stacklevel=2,
        )


def _download(url, file, whose):
    """Write what a URL gives to a file, and return its SHA-256."""
    whole, size = hashlib.sha256(), 0
    try:
        request = Request(url, headers={"User-Agent": "sk_metaembed"})
        with urlopen(request, timeout=_TIMEOUT) as answer:  # http and https only
            expected = answer.headers.get("Content-Length")
            while chunk := answer.read(2**20):
                file.write(chunk)
                whole.update(chunk)
                size += len(chunk)
        if expected is not None and size != int(expected):
            raise OSError(f"{size} of {expected} bytes came")
    except (OSError, HTTPException, ValueError) as error:
        raise FileNotFoundError(
            f"{whose}: {url} could not be fetched ({error}). Without a network, bring "
            "the file from elsewhere and give its path."
        ) from error
    return whole.hexdigest()
