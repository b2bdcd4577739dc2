import multiprocessing
import os
import time
from contextlib import ExitStack

import numpy as np
import pytest

from sk_metaembed import WordVectors
from sk_metaembed._io._atomic import exclusive_lock, lock_file, release_lock
from sk_metaembed.vectors import _convert


@pytest.fixture
def conversions(monkeypatch):
    """The stores written during the test."""
    written = []
    original = _convert.write_store

    def write_store(source, fmt, options, folder):
        written.append(folder)
        original(source, fmt, options, folder)

    monkeypatch.setattr(_convert, "write_store", write_store)
    return written


def test_a_file_is_converted_once(write, conversions):
    path = write("x.txt", "a 1 2\n")
    wv = WordVectors.open(path)
    assert WordVectors.open(path) is wv
    assert WordVectors.open(str(path)) is wv
    assert len(conversions) == 1


def test_options_are_part_of_the_key(write, conversions):
    path = write("x.txt", "a 1 2\nb 1 2\n")
    stores = {
        WordVectors.open(path, **kwargs).path
        for kwargs in ({}, {"limit": 1}, {"dtype": "float16"})
    }
    assert len(stores) == len(conversions) == 3
    WordVectors.open(path, dtype=np.float32)
    assert len(conversions) == 3


def test_changed_content_is_noticed(write, conversions):
    path = write("x.txt", "a 1 2\n")
    old = WordVectors.open(path)
    write("x.txt", "a 3 4\n")
    os.utime(path, (time.time() - 30,) * 2)
    new = WordVectors.open(path)
    assert new["a"].tolist() == [3, 4] and new != old
    assert old["a"].tolist() == [1, 2]  # an open handle keeps its store
    assert len(conversions) == 2


def test_change_within_a_clock_tick_is_noticed(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("a 1 2\n")
    stat = path.stat()
    WordVectors.open(path)
    path.write_text("a 3 4\n")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert WordVectors.open(path)["a"].tolist() == [3, 4]


def test_settled_file_is_not_read_again(write, cache, monkeypatch):
    monkeypatch.setattr(_convert, "_SETTLED_NS", -1)
    path = write("x.txt", "a 1 2\n")
    wv = WordVectors.open(path)
    monkeypatch.delattr("hashlib.file_digest")
    assert WordVectors.open(path) == wv


def test_source_modified_during_conversion(write, cache, monkeypatch):
    path = write("x.txt", "a 1 2\n")
    read = _convert._read

    def read_and_change(*args):
        read(*args)
        path.write_text("a 1 2\nb 1 2\n")

    monkeypatch.setattr(_convert, "_read", read_and_change)
    with pytest.raises(ValueError, match="modified during the conversion"):
        WordVectors.open(path)
    assert [p.name for p in cache.iterdir()] in ([], ["sources"])


def test_cache_dir_that_cannot_be_created(write, tmp_path):
    path = write("x.txt", "a 1 2\n")
    with pytest.raises(OSError, match="SK_METAEMBED_CACHE"):
        WordVectors.open(path, cache_dir=path / "below a file")


def test_unusual_file_names(write):
    path = write("vektoren é 日本 " + "x" * 150 + ".txt", "a 1 2\n")
    assert len(WordVectors.open(path)) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_lock_is_released_despite_a_forked_child(tmp_path):
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    with ExitStack() as stack:
        with exclusive_lock(tmp_path / "a"):
            process.start()
            stack.callback(process.join)
            stack.callback(process.kill)
        release_lock(lock_file(tmp_path / ".a.lock", wait=False))
