"""Downloads: atomic and checked."""

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from sk_metaembed._io._download import download

CONTENT = bytes(range(256)) * 400
OTHER = CONTENT[::-1]


@pytest.fixture
def server(server):
    server.files["/corpus.zip"] = CONTENT
    return server


@pytest.fixture
def target(tmp_path):
    return tmp_path / "fetched" / "corpus.zip"


def digest(content):
    return hashlib.sha256(content).hexdigest()


def get(server, target, content=CONTENT, names=("corpus.zip",)):
    urls = [f"{server.url}/{name}" for name in names]
    known = None if content is None else digest(content)
    return download(urls, known, target, hint="Bring it.")


def left(target):
    return sorted(path.name for path in target.parent.iterdir())


@pytest.mark.parametrize("content", [CONTENT, None])
def test_download_is_complete_and_leaves_no_other_file(server, target, content):
    assert get(server, target, content) == digest(CONTENT)
    assert target.read_bytes() == CONTENT
    assert left(target) == ["corpus.zip"]
    get(server, target, content)
    assert len(server.requests) == 1


def test_interrupted_download_leaves_nothing(server, target):
    server.cut = 1000
    with pytest.raises(FileNotFoundError, match="received 1000 of .* bytes.*Bring it"):
        get(server, target)
    assert left(target) == []
    server.cut = None
    assert get(server, target) == digest(CONTENT)


def test_missing_file_names_every_url(server, target):
    with pytest.raises(FileNotFoundError, match=r"a.zip cannot .*404.*b.zip cannot"):
        get(server, target, names=("a.zip", "b.zip"))
    assert left(target) == []


def test_mirrors_are_tried_in_order(server, target):
    server.files["/wrong.zip"] = OTHER
    names = ("a.zip", "wrong.zip", "corpus.zip")
    assert get(server, target, names=names) == digest(CONTENT)


def test_concurrent_callers_download_once(server, target):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: get(server, target), range(4)))
    assert target.read_bytes() == CONTENT
    assert len(server.requests) == 1


def test_directory_that_cannot_be_created(server, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Set SK_METAEMBED_CACHE to a writable"):
        get(server, tmp_path / "file" / "corpus.zip")
