"""Downloads into the cache: verified, atomic, and resumed after an interruption.

pooch restarts an interrupted download, supports one URL per file, and downloads a file
once per process that needs it; it would save 75 lines and add up to eight packages.
"""

import hashlib
import json
import os
import re
import warnings
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

from .._io._atomic import cache_home, replace
from ._cache import exclusive_lock

_SHA256 = re.compile(r"sha256=([0-9a-f]{64})", re.IGNORECASE)
_TIMEOUT = 60  # seconds without a byte


def local_file(place, *, caller):
    """Return the local path of a path or URL; a URL is downloaded once into the cache.

    Parameters
    ----------
    place : str or path-like
        A URL may end in ``#sha256=`` and 64 hexadecimal digits; a file with another
        checksum is refused. Local paths are returned without a check.
    caller : str
        Prefix of the error messages.

    Raises
    ------
    FileNotFoundError
        If the download fails.
    ValueError
        If the fragment of the URL is invalid or the checksum does not match.

    Examples
    --------
    >>> local_file("models/options.json", caller="ElmoEmbedding").name
    'options.json'
    """
    place = os.fspath(place)
    if not _is_url(place):
        return Path(place).expanduser()
    url, fragment, digest = _split_checksum(place)
    if fragment and not digest:
        raise ValueError(
            f"{caller}: the fragment of {place!r} must be sha256= and the SHA-256 of "
            "the file, 64 hexadecimal digits."
        )
    target = cached_path(place)
    if not target.is_file():
        hint = "Without network access, copy the file from elsewhere and pass its path."
        actual = download([url], digest, target, caller=caller, hint=hint)
        if digest is None:
            warnings.warn(
                f"{caller}: downloaded {url} without a checksum. Its SHA-256 is "
                f"{actual}: use '{url}#sha256={actual}' to get the same file "
                "everywhere.",
                UserWarning,
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
    """Return the file name in a URL.

    >>> url_name("https://example.org/a%20b/corpus-1.0.zip?download=1")
    'corpus-1.0.zip'
    """
    return Path(unquote(urlsplit(url).path)).name or "file"


def download(urls, digest, target, *, caller, hint):
    """Download a file from the first URL that has it, and return its SHA-256.

    The bytes of an interrupted download stay next to the target, and the next call
    resumes it. One of several processes downloads; the others wait for it.

    Parameters
    ----------
    urls : sequence of str
        Mirrors of one file.
    digest : str or None
        Expected SHA-256; None accepts any file.
    target : Path
        Exists only when the file is complete.
    caller, hint : str
        Prefix and end of the error messages.

    Raises
    ------
    FileNotFoundError
        If no URL can be downloaded.
    ValueError
        If the checksum does not match; the file is deleted.
    OSError
        If the directory of the target is not writable.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"{caller}: the directory {target.parent} cannot be created ({error}). Set "
            "SK_METAEMBED_CACHE to a writable directory."
        ) from error
    with exclusive_lock(target):
        if target.is_file():
            return sha256(target)
        part = target.with_name(f".{target.name}.part")
        failures, last, kind = [], None, FileNotFoundError
        for url in urls:
            try:
                _fetch(url, part, has_checksum=digest is not None)
            except (OSError, HTTPException, ValueError) as error:
                failures.append(f"{url} cannot be downloaded ({error}).")
                last = error
                continue
            actual = sha256(part)
            _origin_file(part).unlink(missing_ok=True)
            if digest in (None, actual):
                replace(part, target)
                return actual
            part.unlink()
            failures.append(
                f"the file at {url} has SHA-256 {actual}; expected {digest}. It was "
                "deleted. Check that it is the right file and complete."
            )
            kind = ValueError
    raise kind(f"{caller}: {' '.join(failures)} {hint}") from last


def sha256(path):
    """Return the SHA-256 of a file as hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _origin_file(part):
    """Return the path of the file that records the origin of a partial download."""
    return part.with_name(f"{part.name}.from")


def _fetch(url, part, *, has_checksum):
    """Append the content at a URL to the partial download of it, if there is one."""
    size, validator = _partial_size(url, part, has_checksum)
    headers = {"User-Agent": "sk_metaembed"}
    if size:
        headers["Range"] = f"bytes={size}-"
        if validator:  # otherwise the checksum shows whether both parts fit
            headers["If-Range"] = validator
    try:
        response = urlopen(Request(url, headers=headers), timeout=_TIMEOUT)
    except HTTPError as error:
        error.close()
        if error.code != 416 or not size:
            raise
        part.unlink()  # nothing follows: the part is complete, or of another file
        return _fetch(url, part, has_checksum=has_checksum)
    with response:
        start = re.match(r"bytes (\d+)-", response.headers.get("Content-Range") or "")
        if start and int(start[1]) != size:
            raise OSError(f"the server sent another range than from byte {size} on")
        _append(response, part, size if start else 0, url)


def _partial_size(url, part, has_checksum):
    """Return the size and validator of a partial download that can be resumed, or 0."""
    try:
        origin = json.loads(_origin_file(part).read_text("utf-8"))
        size = part.stat().st_size
    except (OSError, ValueError):
        return 0, None
    same = isinstance(origin, list) and len(origin) == 2 and origin[0] == url
    if not same or not (origin[1] or has_checksum):
        return 0, None
    return size, origin[1]


def _append(response, part, size, url):
    expected = response.headers.get("Content-Length")
    tag = response.headers.get("ETag") or "W/"
    validator = response.headers.get("Last-Modified") if tag.startswith("W/") else tag
    if not size:
        part.unlink(missing_ok=True)
    _origin_file(part).write_text(json.dumps([url, validator]), "utf-8")
    received = 0
    with open(part, "ab") as file:
        # read1 returns what has arrived: a connection that breaks loses none of it.
        while chunk := response.read1(2**20):
            file.write(chunk)
            received += len(chunk)
    if expected is not None and received != int(expected):
        raise OSError(f"received {size + received} of {size + int(expected)} bytes")
