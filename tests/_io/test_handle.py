"""Handle: opened once, passed by reference, and not reopened if files changed.

HandleCache: what it keeps, and requests from several threads and forked children.
"""

import copy
import gc
import os
import pickle
import re
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

import sk_metaembed
from sk_metaembed._io import _handle
from sk_metaembed._io._handle import (
    Handle,
    HandleCache,
    drop_unused_handles,
    file_states,
    shared,
)


class TextSpec(NamedTuple):
    path: str
    upper: bool = False


class Text(Handle, keep=1):
    """The text of a file; `opened` counts the times that a file was read."""

    _kind, _Spec, opened = "text", TextSpec, 0

    def __init__(self, spec, path):
        Text.opened += 1
        self._spec = spec
        with open(path, encoding="utf-8") as file:
            self.fingerprint = file.read().upper() if spec.upper else file.read()

    @classmethod
    def _find(cls, spec, local):
        path = os.path.abspath(spec.path)
        return spec._replace(path=path), file_states([path]), path

    def _files(self):
        return {"text.txt": self._spec.path}

    @classmethod
    def _unpacked(cls, spec, folder):
        return spec._replace(path=os.path.join(folder, "text.txt"))


@pytest.fixture
def file(tmp_path):
    Text._handles.clear()
    (tmp_path / "text.txt").write_text("tea", "utf-8")
    return tmp_path / "text.txt"


def test_equal_specs_share_a_handle_until_the_file_changes(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    first = shared(Text, TextSpec("text.txt"))
    n_opened = Text.opened
    assert shared(Text, TextSpec(str(file))) is first
    assert shared(Text, TextSpec(str(file), upper=True)).fingerprint == "TEA"
    assert Text.opened == n_opened + 1
    file.write_text("milk", "utf-8")
    assert shared(Text, TextSpec("text.txt")).fingerprint == "milk"
    assert first.fingerprint == "tea"


def test_copies_and_pickles_are_the_handle(file):
    handle = shared(Text, TextSpec(str(file)))
    assert copy.copy(handle) is copy.deepcopy([handle])[0] is handle
    data = pickle.dumps(handle)
    assert pickle.loads(data) is handle
    file.write_text("milk", "utf-8")
    with pytest.raises(
        ValueError, match="saved text had fingerprint tea, .* have milk"
    ):
        pickle.loads(data)


def test_a_saved_file_refers_to_the_files_or_includes_them(file, tmp_path):
    content = shared(Text, TextSpec(str(file), upper=True))._reference()
    assert content == {"path": str(file), "upper": True, "fingerprint": "TEA"}
    assert Text._from_reference(content) is shared(Text, TextSpec(str(file), True))
    (tmp_path / "bundle").mkdir()
    file.rename(tmp_path / "bundle" / "text.txt")
    again = Text._from_reference({**content, "bundled": "x"}, tmp_path / "bundle")
    assert again.fingerprint == "TEA"
    with pytest.raises(FileNotFoundError):
        Text._from_reference(content)


def test_threads_open_a_file_once(file):
    n_opened = Text.opened
    with ThreadPoolExecutor(8) as pool:
        handles = [*pool.map(lambda _: shared(Text, TextSpec(str(file))), range(8))]
    assert len({*map(id, handles)}) == 1
    assert Text.opened == n_opened + 1


class Opened:
    pass


def is_open(cache, key):
    gc.collect()
    return key in cache._in_use


def test_handles_in_use_are_shared():
    cache = HandleCache(maxsize=1)
    first = cache.get("a", Opened)
    for key in "bcd":
        cache.get(key, Opened)
    assert cache.get("a", Opened) is first is cache.find("a")
    assert cache.find("x") is None


@pytest.mark.parametrize("request_again", ["get", "find"])
def test_the_least_recently_requested_is_forgotten(request_again):
    cache = HandleCache(maxsize=2)
    cache.get("a", Opened)
    cache.get("b", Opened)
    assert is_open(cache, "a")
    assert is_open(cache, "b")
    again = getattr(cache, request_again)("a", *[Opened][: request_again == "get"])
    del again
    cache.get("c", Opened)
    assert [is_open(cache, key) for key in "abc"] == [True, False, True]
    drop_unused_handles()
    assert not any(is_open(cache, key) for key in "abc")


def test_a_failed_attempt_leaves_nothing():
    cache = HandleCache(maxsize=2)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 / 0)
    assert isinstance(cache.get("a", Opened), Opened)
    assert not cache._creating


def test_threads_wait_for_their_own_key_only():
    cache, release, made = HandleCache(maxsize=2), threading.Event(), []

    def slow():
        assert release.wait(60)
        made.append(Opened())
        return made[-1]

    with ThreadPoolExecutor(3) as pool:
        results = pool.map(lambda _: cache.get("slow", slow), range(3))
        assert isinstance(cache.get("other", Opened), Opened)  # does not wait
        release.set()
    assert len(made) == 1
    assert all(result is made[0] for result in results)


def test_a_key_is_opened_once_while_threads_wait_after_a_failure(monkeypatch):
    cache, requested, used = HandleCache(maxsize=2), threading.Semaphore(0), []
    fail, finish, opening = threading.Event(), threading.Event(), threading.Event()

    numbers = count()

    class Lock:
        def __init__(self):
            self.lock, self.number = threading.Lock(), next(numbers)

        def __enter__(self):
            used.append(self.number)
            requested.release()
            self.lock.acquire()

        def __exit__(self, *error):
            self.lock.release()

    monkeypatch.setattr(_handle, "fork_safe_lock", Lock)

    def failing():
        assert fail.wait(60)
        raise OSError

    def slow():
        opening.set()
        assert finish.wait(60)
        return Opened()

    def start(function):
        thread = threading.Thread(target=function)
        thread.start()
        assert requested.acquire(timeout=60)
        return thread

    def attempt():
        with pytest.raises(OSError):
            cache.get("a", failing)

    threads = [start(attempt)]
    threads += [start(lambda: cache.get("a", slow)) for _ in range(2)]
    fail.set()
    assert opening.wait(60)
    threads += [start(lambda: cache.get("a", slow))]
    finish.set()
    for thread in threads:
        thread.join(60)
    assert len(used) == 4
    assert len(set(used)) == 1


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
# Python 3.12 and newer warn about a fork with threads, which is what these tests do.
forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def finishes_in_child(function):
    """Return whether a function returns within seconds in a forked child."""
    child = os.fork()
    if not child:
        try:
            function()
        finally:
            os._exit(0 if sys.exc_info()[0] is None else 1)
    for _ in range(1000):
        finished, status = os.waitpid(child, os.WNOHANG)
        if finished:
            return status == 0
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


@needs_fork
@forks
def test_a_fork_while_a_thread_opens_a_handle():
    cache = HandleCache(maxsize=2)
    begun, release = threading.Event(), threading.Event()

    def slow():
        begun.set()
        assert release.wait(60)
        return Opened()

    thread = threading.Thread(target=cache.get, args=("slow", slow))
    thread.start()
    assert begun.wait(60)
    try:
        assert finishes_in_child(lambda: cache.get("slow", Opened))
        assert finishes_in_child(lambda: cache.get("other", Opened))
    finally:
        release.set()
        thread.join(60)
    assert cache.find("slow") is not None


def test_locks_of_modules_and_models_are_safe():
    package = Path(sk_metaembed.__file__).parent
    plain = [
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        if re.search(r"threading\.R?Lock\(", file.read_text(encoding="utf-8"))
    ]
    assert plain == [str(Path("_io/_handle.py"))]
