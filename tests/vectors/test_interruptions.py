"""Conversions that are killed, concurrent or out of disk space, and corrupt stores."""

import contextlib
import errno
import os
import signal
import traceback

import numpy as np
import pytest

from sk_metaembed import WordVectors, export_vectors

from ..compiled import compiled_loops
from ..processes import small_disk

ROOT = os.name == "posix" and os.geteuid() == 0
LINES = "".join(f"w{i} {i}.5 -{i}e-3 7\n" for i in range(3000))


def forked(work):
    """Run a function in a process of its own; return its exit status."""
    child = os.fork()
    if not child:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return child


def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
def test_kill_9_while_converting(write, tmp_path):
    source, target = write("x.txt", LINES), tmp_path / "store"
    save = np.save

    def killing(*args):
        save(*args)
        os.kill(os.getpid(), signal.SIGKILL)

    def work():
        np.save = killing  # of the words and their index, after the vectors
        WordVectors.convert(source, target)

    WordVectors.from_arrays(["a"], np.eye(1))  # compiles
    assert ended(forked(work)) == -signal.SIGKILL
    assert not target.exists()
    assert list(tmp_path.glob(".store.*.part"))
    wv = WordVectors.convert(source, target)
    assert len(wv) == 3000
    wv.verify()
    assert not list(tmp_path.glob(".store*"))


@pytest.mark.skipif(os.name != "posix", reason="forks")
def test_processes_converting_one_file(write, cache):
    path = write("x.txt", LINES)
    WordVectors.from_arrays(["a"], np.eye(1))  # compiles, once for all

    def work():
        assert len(WordVectors.open(path)) == 3000

    children = [forked(work) for _ in range(4)]
    assert [ended(child) for child in children] == [0] * 4
    assert len(list(cache.glob("x.txt-*"))) == 1
    assert not list(cache.glob(".*"))
    WordVectors.open(path).verify()


def test_a_full_disk(write, tmp_path):
    source = write("x.txt", LINES)
    wv = WordVectors.open(source)
    with small_disk(tmp_path / "disk") as disk:
        (disk / "old.vec").write_text("1 1\na 1\n")
        for work in (
            lambda: WordVectors.convert(source, disk / "store"),
            lambda: WordVectors.open(source, cache_dir=disk / "cache"),
            lambda: WordVectors.from_arrays(
                ["a"], np.ones((1, 99999)), path=disk / "b"
            ),
            lambda: export_vectors(wv, wv.words, disk / "old.vec", overwrite=True),
        ):
            with pytest.raises(OSError) as caught:
                work()
            assert caught.value.errno == errno.ENOSPC
        left = [
            p for p in disk.rglob("*") if p.is_file() and p.parent.name != "sources"
        ]
        assert left == [disk / "old.vec"]
        assert (disk / "old.vec").read_text() == "1 1\na 1\n"
        small = write("small.txt", "a 1 2\n")
        assert len(WordVectors.convert(small, disk / "store")) == 1


@pytest.mark.parametrize("name", ["vectors", "words", "offsets", "index"])
def test_flipped_bytes_of_a_store(name, tmp_path):
    """No lookup may crash, both loops find the same, and the check finds every one."""
    words = [f"word {i}" for i in range(60)]
    rng = np.random.default_rng(0)
    WordVectors.from_arrays(words, rng.random((60, 2)), path=tmp_path / "store")
    file = tmp_path / "store" / f"{name}.npy"
    data = file.read_bytes()
    for at in rng.integers(0, len(data), 25):
        changed = bytearray(data)
        changed[at] ^= 1 << rng.integers(8)
        place = tmp_path / f"copy{at}"
        if place.exists():
            continue
        place.mkdir()
        for part in (tmp_path / "store").iterdir():
            (place / part.name).write_bytes(part.read_bytes())
        (place / file.name).write_bytes(changed)
        try:
            wv = WordVectors.open(place)
            results = []
            for use in (False, True):
                with compiled_loops(use):
                    try:
                        results.append(wv.lookup([*words, "unknown"]).tolist())
                    except ValueError as error:
                        results.append(str(error))
            assert results[0] == results[1]
            with pytest.raises(ValueError, match="store is corrupt|out of bounds"):
                wv.verify()
            with contextlib.suppress(ValueError):
                WordVectors.open(place, limit=9)
        except ValueError as error:
            assert "store is corrupt" in str(error)
