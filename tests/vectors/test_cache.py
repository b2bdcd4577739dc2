import os
import time

import numpy as np
import pytest

from sk_metaembed import WordVectors


@pytest.fixture
def conversions(monkeypatch):
    """The indexes written during the test, one per store."""
    written, save = [], np.save

    def recorded(path, array):
        if path.name == "index.npy":
            written.append(path)
        save(path, array)

    monkeypatch.setattr(np, "save", recorded)
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
    later = time.time_ns() + 10**10
    monkeypatch.setattr(time, "time_ns", lambda: later)
    path = write("x.txt", "a 1 2\n")
    wv = WordVectors.open(path)
    monkeypatch.delattr("hashlib.file_digest")
    assert WordVectors.open(path) == wv


def test_source_modified_during_conversion(write, cache, monkeypatch):
    path = write("x.txt", "a 1 2\n")
    stack = np.stack

    def stack_and_change(rows, **options):
        path.write_text("a 1 2\nb 1 2\n")
        return stack(rows, **options)

    monkeypatch.setattr(np, "stack", stack_and_change)  # of the rows of a block
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
