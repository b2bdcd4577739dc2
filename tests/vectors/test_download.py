"""Downloads: atomic, resumed, checked."""

import hashlib
import subprocess
import sys
import threading
import time

import pytest

from sk_metaembed.vectors._download import download

from ..file_server import FileServer

CONTENT = bytes(range(256)) * 400
OTHER = CONTENT[::-1]


@pytest.fixture
def server():
    server = FileServer()
    server.files["/corpus.zip"] = CONTENT
    yield server
    server.close()


@pytest.fixture
def target(tmp_path):
    return tmp_path / "fetched" / "corpus.zip"


def digest(content):
    return hashlib.sha256(content).hexdigest()


def get(server, target, content=CONTENT, names=("corpus.zip",)):
    urls = [f"{server.url}/{name}" for name in names]
    known = None if content is None else digest(content)
    return download(urls, known, target, caller="fetch_it", hint="Bring it.")


def left(target):
    return sorted(path.name for path in target.parent.iterdir())


@pytest.mark.parametrize("content", [CONTENT, None])
def test_download_is_complete_and_leaves_no_other_file(server, target, content):
    assert get(server, target, content) == digest(CONTENT)
    assert target.read_bytes() == CONTENT
    assert left(target) == ["corpus.zip"]
    get(server, target, content)
    assert len(server.requests) == 1


@pytest.mark.parametrize("content", [CONTENT, None])
def test_interrupted_download_is_resumed(server, target, content):
    server.cut = 1000
    for n in (1, 2):
        message = f"received {n * 1000} of {len(CONTENT)} bytes.*Bring it"
        with pytest.raises(FileNotFoundError, match=message):
            get(server, target, content)
        assert not target.exists()
    server.cut = None
    assert get(server, target, content) == digest(CONTENT)
    assert [expected for _, expected in server.requests] == [
        None,
        "bytes=1000-",
        "bytes=2000-",
    ]
    assert left(target) == ["corpus.zip"]


def cut_off(server, target, content=CONTENT):
    server.cut = 1000
    with pytest.raises(FileNotFoundError):
        get(server, target, content)
    server.cut = None


def test_changed_file_restarts(server, target):
    cut_off(server, target, None)
    server.files["/corpus.zip"] = OTHER
    assert get(server, target, None) == digest(OTHER)
    assert target.read_bytes() == OTHER


def test_server_without_ranges_restarts(server, target):
    cut_off(server, target)
    server.ranges = False
    assert get(server, target) == digest(CONTENT)
    assert server.requests[1][1] == "bytes=1000-"


def test_without_etag_and_checksum_nothing_is_resumed(server, target):
    server.tags = False
    cut_off(server, target, None)
    assert get(server, target, None) == digest(CONTENT)
    assert server.requests[1][1] is None
    target.unlink()
    cut_off(server, target)
    assert get(server, target) == digest(CONTENT)
    assert server.requests[3][1] == "bytes=1000-"


def test_parts_of_two_versions_are_deleted(server, target):
    server.tags = False
    cut_off(server, target)
    server.files["/corpus.zip"] = OTHER
    with pytest.raises(ValueError, match="It was deleted"):
        get(server, target, OTHER)
    assert get(server, target, OTHER) == digest(OTHER)


def test_complete_part_is_accepted(server, target):
    cut_off(server, target)
    target.with_name(".corpus.zip.part").write_bytes(CONTENT)
    assert get(server, target) == digest(CONTENT)


def test_wrong_checksum_leaves_nothing(server, target):
    with pytest.raises(
        ValueError, match=rf"{digest(CONTENT)}; expected {digest(OTHER)}"
    ):
        get(server, target, OTHER)
    assert left(target) == []


def test_missing_file_names_every_url(server, target):
    with pytest.raises(FileNotFoundError, match=r"a.zip cannot .*404.*b.zip cannot"):
        get(server, target, names=("a.zip", "b.zip"))
    assert left(target) == []


def test_mirrors_are_tried_in_order(server, target):
    server.files["/wrong.zip"] = OTHER
    names = ("a.zip", "wrong.zip", "corpus.zip")
    assert get(server, target, names=names) == digest(CONTENT)


def test_error_without_network_says_what_to_do(target):
    with pytest.raises(FileNotFoundError, match=r"fetch_it: http.*refused.*Bring it"):
        download(
            ["http://127.0.0.1:9/x"], None, target, caller="fetch_it", hint="Bring it"
        )


def test_concurrent_callers_download_once(server, target):
    threads = [threading.Thread(target=get, args=(server, target)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert target.read_bytes() == CONTENT
    assert len(server.requests) == 1


KILLED = """
import sys, time
import sk_metaembed.vectors._download as module
from pathlib import Path

class Slow:
    def __init__(self, answer):
        self.answer, self.headers = answer, answer.headers
    def read1(self, n):
        print("came", flush=True)
        time.sleep(0.02)
        return self.answer.read(1024)
    def __enter__(self):
        return self
    def __exit__(self, *args):
        pass

opened = module.urlopen
module.urlopen = lambda *args, **more: Slow(opened(*args, **more))
url, digest, target = sys.argv[1:]
module.download([url], digest, Path(target), caller="it", hint="")
"""


def test_killed_download_is_resumed(server, target):
    url = f"{server.url}/corpus.zip"
    command = [sys.executable, "-c", KILLED, url, digest(CONTENT), str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        for _ in range(20):
            process.stdout.readline()
        process.kill()
    assert not target.exists()
    time.sleep(0.05)
    assert get(server, target) == digest(CONTENT)
    assert int(server.requests[-1][1].removeprefix("bytes=").rstrip("-")) >= 8192
    assert left(target) == ["corpus.zip"]


def test_directory_that_cannot_be_created(server, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Set SK_METAEMBED_CACHE to a writable"):
        get(server, tmp_path / "file" / "corpus.zip")
