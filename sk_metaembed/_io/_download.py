"""Downloads into the cache: verified, atomic, once for several processes."""

import hashlib
import os
import re
import shutil
import warnings
from http.client import HTTPException
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

from ._atomic import cache_home, exclusive_lock

_SHA256 = re.compile(r"sha256=([0-9a-f]{64})", re.IGNORECASE)
_TIMEOUT = 60  # seconds without receiving data


def local_file(place):
    """Return the local path of a path or URL; a URL is downloaded once into the cache.

    A URL may end in ``#sha256=`` and 64 hexadecimal digits; Raises ValueError if the
    file has another checksum, and FileNotFoundError if the download fails.
    """
    place = os.fspath(place)
    if not _is_url(place):
        return Path(place).expanduser()
    url, fragment, digest = _split_checksum(place)
    if fragment and not digest:
        raise ValueError(
            f"The fragment of {place!r} must be sha256= and the SHA-256 of "
            "the file, 64 hexadecimal digits."
        )
    target = cached_path(place)
    if not target.is_file():
        hint = "Without network access, copy the file from elsewhere and pass its path."
        actual = download([url], digest, target, hint=hint)
        if digest is None:
            warnings.warn(
                f"Downloaded {url} without a checksum. Its SHA-256 is {actual}: use "
                f"'{url}#sha256={actual}' to get the same file everywhere.",
                stacklevel=2,
            )
    return target


def _is_url(place):
    return place.lower().startswith(("http://", "https://"))


def _split_checksum(place):
    """Return the URL, its fragment, and the SHA-256 in the fragment or None."""
    url, _, fragment = place.partition("#")
    match = _SHA256.fullmatch(fragment)
    return url, fragment, match[1].lower() if match else None


def cached_path(place):
    """Return the local path of a path or URL, whether it is downloaded or not."""
    if not _is_url(place):
        return Path(place).expanduser()
    url, _, digest = _split_checksum(place)
    key = hashlib.blake2b(f"{url}#{digest}".encode(), digest_size=8).hexdigest()
    return downloads_root() / f"{key}-{url_name(url)}"


def downloads_root():
    """Return the directory of downloads in the cache."""
    return cache_home() / "fetched"


def url_name(url):
    """Return the file name in a URL, ``a b.zip`` for ``https://c.org/a%20b.zip?d=1``."""
    return Path(unquote(urlsplit(url).path)).name or "file"


def download(urls, digest, target, *, hint):
    """Download a file from the first mirror that has it, and return its SHA-256.

    One of several processes downloads; the others wait for it. `target` exists only
    when the file is complete. Raises FileNotFoundError, or ValueError if the file does
    not have the checksum `digest`; `hint` is the end of the message.
    """
    failures, last, kind = [], None, FileNotFoundError
    with exclusive_lock(target):
        if target.is_file():
            return sha256(target)
        part = target.with_name(f".{target.name}.part")
        for url in urls:
            try:
                actual = _fetch(url, part)
            except (OSError, HTTPException, ValueError) as error:
                failures.append(f"{url} cannot be downloaded ({error}).")
                last = error
                continue
            if digest in (None, actual):
                os.replace(part, target)
                return actual
            failures.append(
                f"The file at {url} has SHA-256 {actual}; expected {digest}. It was "
                "deleted. Check that it is the right file and complete."
            )
            kind = ValueError
        part.unlink(missing_ok=True)
    raise kind(f"{' '.join(failures)} {hint}") from last


def _fetch(url, path):
    """Download a file to a path, replacing what is there, and return its SHA-256."""
    request = Request(url, headers={"User-Agent": "sk_metaembed"})
    with urlopen(request, timeout=_TIMEOUT) as response, open(path, "wb") as file:
        shutil.copyfileobj(response, file)
        expected = response.headers.get("Content-Length")
    received = path.stat().st_size
    if expected is not None and received != int(expected):
        raise OSError(f"received {received} of {expected} bytes")
    return sha256(path)


def sha256(path):
    """Return the SHA-256 of a file as hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
