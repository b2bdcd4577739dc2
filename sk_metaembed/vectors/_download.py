"""Files behind URLs, fetched once, whole or not at all; what was cut off goes on."""

import hashlib
import json
import os
import re
import secrets
import warnings
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

from .._io._atomic import cache_home
from ._cache import exclusive_lock

_SHA256 = re.compile(r"sha256=([0-9a-f]{64})", re.IGNORECASE)
_TIMEOUT = 60  # seconds without a byte


def local_file(place, *, caller):
    """Return the path of a file that a path or a URL names.

    What a URL names is fetched once and kept, below ``$SK_METAEMBED_CACHE`` or
    ``~/.cache/sk_metaembed``.

    Parameters
    ----------
    place : str or path-like
        A URL can end in ``#sha256=`` and 64 hexadecimal digits: another file than that
        is refused.
    caller : str
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
    >>> local_file("models/options.json", caller="ElmoEmbedding").name
    'options.json'
    """
    place = os.fspath(place)
    if not _is_url(place):
        return Path(place).expanduser()
    url, _, fragment = place.partition("#")
    told = _SHA256.fullmatch(fragment)
    if fragment and not told:
        raise ValueError(
            f"{caller}: behind '#' in {place!r} must stand sha256= and the file's "
            "SHA-256, 64 hexadecimal digits."
        )
    digest = told[1].lower() if told else None
    target = kept_at(place)
    if not target.is_file():
        todo = "Without a network, bring the file from elsewhere and give its path."
        found = fetch([url], digest, target, caller=caller, todo=todo)
        if digest is None:
            warnings.warn(
                f"{caller}: fetched {url} without a checksum. Its SHA-256 is {found}: "
                f"use '{url}#sha256={found}' to be sure to have this file elsewhere "
                "too.",
                UserWarning,
                stacklevel=2,
            )
    return target


def _is_url(place):
    return place.lower().startswith(("http://", "https://"))


def kept_at(place):
    """Return the path of what a path or a URL names, fetched or not."""
    if not _is_url(place):
        return Path(place).expanduser()
    url, _, fragment = place.partition("#")
    told = _SHA256.fullmatch(fragment)
    digest = told[1].lower() if told else None
    key = hashlib.blake2b(f"{url}#{digest}".encode(), digest_size=8).hexdigest()
    return fetched_root() / f"{key}-{url_name(url)}"


def fetched_root():
    """Return the folder of what was fetched, in the cache."""
    return cache_home() / "fetched"


def url_name(url):
    """Return the name of the file that a URL names.

    >>> url_name("https://example.org/a%20b/corpus-1.0.zip?download=1")
    'corpus-1.0.zip'
    """
    return Path(unquote(urlsplit(url).path)).name or "file"


def fetch(urls, digest, target, *, caller, todo):
    """Fetch a file from the first of some URLs that has it.

    A download that ends early leaves what came beside the target, and the next one
    goes on from there. Of several processes one fetches and the others wait.

    Parameters
    ----------
    urls : sequence of str
        Of the same file.
    digest : str or None
        Its SHA-256; None takes what comes.
    target : Path
        Is there when the file is whole, and not before.
    caller : str
        Begins the error messages.
    todo : str
        Ends them.

    Returns
    -------
    str
        The SHA-256 of the target.

    Raises
    ------
    FileNotFoundError
        If no URL can be fetched.
    ValueError
        If the file has another checksum. It is not kept.
    OSError
        If there is no writing beside the target.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"{caller}: the folder {target.parent} cannot be made ({error}). Set "
            "SK_METAEMBED_CACHE to a folder that can be written."
        ) from error
    with exclusive_lock(target) as locked:
        if target.is_file():
            return sha256(target)
        # Without a lock nobody else may write to the same file.
        token = "" if locked else f".{secrets.token_hex(4)}"
        part = target.with_name(f".{target.name}{token}.part")
        failures, last, kind = [], None, FileNotFoundError
        for url in urls:
            try:
                _download(url, part, checked=digest is not None)
            except (OSError, HTTPException, ValueError) as error:
                failures.append(f"{url} could not be fetched ({error}).")
                last = error
                continue
            found = sha256(part)
            _note_of(part).unlink(missing_ok=True)
            if digest in (None, found):
                os.replace(part, target)
                return found
            part.unlink()
            failures.append(
                f"the file at {url} has the SHA-256 {found}, but {digest} was asked "
                "for. It is not kept. Is it the right file, and whole?"
            )
            kind = ValueError
    raise kind(f"{caller}: {' '.join(failures)} {todo}") from last


def sha256(path):
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _note_of(part):
    """Return the path of what tells where a part is from."""
    return part.with_name(f"{part.name}.from")


def _download(url, part, *, checked):
    """Write what a URL gives to a file, behind what is there of it already."""
    have, validator = _begun(url, part, checked)
    headers = {"User-Agent": "sk_metaembed"}
    if have:
        headers["Range"] = f"bytes={have}-"
        if validator:  # otherwise the checksum tells whether both halves fit
            headers["If-Range"] = validator
    try:
        answer = urlopen(Request(url, headers=headers), timeout=_TIMEOUT)
    except HTTPError as error:
        error.close()
        if error.code != 416 or not have:
            raise
        part.unlink()  # nothing is behind it: it is none of this file, or all of it
        return _download(url, part, checked=checked)
    with answer:
        begin = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range") or "")
        if begin and int(begin[1]) != have:
            raise OSError(f"another part came than the one from byte {have} on")
        _write(answer, part, have if begin else 0, url)


def _begun(url, part, checked):
    """Return how much there is already, and what tells that the file is the same."""
    try:
        note = json.loads(_note_of(part).read_text("utf-8"))
        size = part.stat().st_size
    except (OSError, ValueError):
        return 0, None
    same = isinstance(note, list) and len(note) == 2 and note[0] == url
    if not same or not (note[1] or checked):
        return 0, None
    return size, note[1]


def _write(answer, part, have, url):
    expected = answer.headers.get("Content-Length")
    tag = answer.headers.get("ETag") or "W/"
    validator = answer.headers.get("Last-Modified") if tag.startswith("W/") else tag
    if not have:
        part.unlink(missing_ok=True)
    _note_of(part).write_text(json.dumps([url, validator]), "utf-8")
    size = 0
    with open(part, "ab") as file:
        # read1 hands on what has come: a connection that breaks loses none of it.
        while chunk := answer.read1(2**20):
            file.write(chunk)
            size += len(chunk)
    if expected is not None and size != int(expected):
        raise OSError(f"{have + size} of {have + int(expected)} bytes came")
