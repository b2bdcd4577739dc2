"""Atomic writes: the target is complete or unchanged, and nothing else is left."""

import multiprocessing
import os
import signal
import time
from contextlib import ExitStack

import numpy as np
import pytest

from sk_metaembed import Pooling, WordVectors, export_vectors, save

from ..processes import run_script


class Stop(BaseException):
    """Raised in the middle of a write; not an Exception, like Ctrl-C."""


def write_file(target):
    save(Pooling(), target)


def write_vectors(target):
    export_vectors({"a": [1.0]}, ["a"], target, format="glove", overwrite=True)


@pytest.fixture(params=[None, b"old"], ids=["new", "existing"])
def target(request, tmp_path):
    target = tmp_path / "target"
    if request.param is not None:
        target.write_bytes(request.param)
    return target


def content_of(target):
    return target.read_bytes() if target.exists() else None


@pytest.mark.parametrize("write", [write_file, write_vectors])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), Stop()])
def test_an_error_at_the_end_changes_nothing(write, error, target, monkeypatch):
    before, replace, parts = content_of(target), os.replace, []

    def failing(source, target):
        parts.extend(target.parent.glob(".target.*.part"))
        assert content_of(target) == before
        raise error

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(type(error)):
        write(target)
    assert len(parts) == 1
    assert content_of(target) == before
    assert list(target.parent.iterdir()) == ([] if before is None else [target])
    monkeypatch.setattr(os, "replace", replace)
    write(target)
    assert content_of(target) not in (before, None)
    assert list(target.parent.iterdir()) == [target]


def test_a_full_disk_is_named(target, monkeypatch):
    def full(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    before = content_of(target)
    with pytest.raises(OSError, match="No space left") as caught:
        write_file(target)
    assert caught.value.filename == os.fspath(target)
    assert content_of(target) == before
    assert list(target.parent.iterdir()) == ([] if before is None else [target])


KILLED = """
import os, signal, sys
from sk_metaembed import Pooling, save

os.fsync = lambda number: os.kill(os.getpid(), signal.SIGKILL)
save(Pooling(), sys.argv[1])
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
def test_kill_9_changes_nothing(target):
    before = content_of(target)
    run_script(KILLED, target, returncode=-signal.SIGKILL)
    assert content_of(target) == before
    assert len(list(target.parent.glob(".target.*.part"))) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_lock_is_open_to_all_and_released_despite_a_forked_child(
    tmp_path, monkeypatch
):
    """Another user who shares the folder may wait for a lock."""
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    save_array, modes = np.save, []

    def save_and_fork(path, array):
        if not modes:
            modes.append((tmp_path / ".a.lock").stat().st_mode)
            process.start()
        save_array(path, array)

    monkeypatch.setattr(np, "save", save_and_fork)
    old = os.umask(0o077)
    with ExitStack() as stack:
        stack.callback(os.umask, old)
        WordVectors.from_arrays(["a"], [[1.0]], path=tmp_path / "a")
        stack.callback(process.join)
        stack.callback(process.kill)
        assert modes[0] & 0o666 == 0o666
        assert [path.name for path in tmp_path.iterdir()] == ["a"]
        export_vectors(
            {"b": [1.0]}, ["b"], tmp_path / "a", format="store", overwrite=True
        )
    assert WordVectors.open(tmp_path / "a").words.tolist() == ["b"]
