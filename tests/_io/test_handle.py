"""Handles: opened once per process, kept for a while, and free in a forked child."""

import gc
import os
import re
import signal
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import sk_metaembed
from sk_metaembed import WordVectors

from ..handles import clear_handles


@pytest.fixture
def stores(tmp_path):
    """Return the paths of 20 stores, none of which is open."""
    paths = [tmp_path / str(i) for i in range(20)]
    for i, path in enumerate(paths):
        WordVectors.from_arrays(["a"], [[i + 1.0]], path=path)
    clear_handles()
    return paths


def slowed(monkeypatch, work):
    """Call a function whenever a store is opened, and return the paths opened."""
    opened, load = [], np.load

    def slow(path, **options):
        if path.endswith("words.npy"):
            opened.append(path)
            work()
        return load(path, **options)

    monkeypatch.setattr(np, "load", slow)
    return opened


def test_threads_open_a_store_once(stores, monkeypatch):
    opened = slowed(monkeypatch, lambda: time.sleep(0.02))
    with ThreadPoolExecutor(8) as pool:
        handles = [*pool.map(WordVectors.open, [stores[0]] * 8)]
    assert len({*map(id, handles)}) == len(opened) == 1


def test_the_last_sixteen_stay_open_without_a_user(stores):
    refs = [weakref.ref(WordVectors.open(path)) for path in stores[:16]]
    assert WordVectors.open(stores[0]) is refs[0]()  # requested again
    in_use = WordVectors.open(stores[1])
    for path in stores[16:]:
        WordVectors.open(path)
    gc.collect()
    is_open = [ref() is not None for ref in refs]
    assert is_open == [True, True, *[False] * 4, *[True] * 10]
    assert WordVectors.open(stores[1]) is in_use


def test_a_failed_attempt_leaves_nothing(stores, monkeypatch):
    with monkeypatch.context() as patch:
        slowed(patch, lambda: 1 / 0)
        with pytest.raises(ValueError, match="ZeroDivisionError"):
            WordVectors.open(stores[0])
    assert WordVectors.open(stores[0])["a"].tolist() == [1]


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
# Python 3.12 and newer warn about a fork with threads, which is what this test does.
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_while_a_thread_opens_a_handle(stores, monkeypatch):
    begun, release = threading.Event(), threading.Event()

    def wait():
        begun.set()
        assert os.getpid() != parent or release.wait(60)

    parent = os.getpid()
    slowed(monkeypatch, wait)
    thread = threading.Thread(target=WordVectors.open, args=(stores[0],))
    thread.start()
    assert begun.wait(60)
    try:
        assert finishes_in_child(lambda: WordVectors.open(stores[0]))
        assert finishes_in_child(lambda: WordVectors.open(stores[1]))
    finally:
        release.set()
        thread.join(60)
    np.testing.assert_array_equal(WordVectors.open(stores[0])["a"], [1])


def test_locks_of_modules_and_models_are_safe():
    package = Path(sk_metaembed.__file__).parent
    plain = [
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        if re.search(r"threading\.R?Lock\(", file.read_text(encoding="utf-8"))
    ]
    assert plain == [str(Path("_io/_handle.py"))]
