"""Atomic writes: the target is complete or unchanged, and nothing else is left."""

import multiprocessing
import os
import signal
import time
from contextlib import ExitStack

import pytest

from sk_metaembed._io._atomic import (
    atomic_path,
    atomic_write,
    exclusive_lock,
    lock_file,
    release_lock,
)

from ..processes import run_script


class Stop(BaseException):
    """Raised in the middle of a write; not an Exception, like Ctrl-C."""


def write_path(target, content):
    with atomic_path(target) as part:
        part.write_bytes(content[:3])
        yield
        part.write_bytes(content)


def write_file(target, content):
    with atomic_write(target) as file:
        file.write(content[:3])
        file.flush()
        yield
        file.write(content[3:])


@pytest.fixture(params=[write_path, write_file])
def write(request):
    """Return a generator function that yields in the middle of a write."""
    return request.param


@pytest.fixture(params=[None, b"old"], ids=["new", "existing"])
def target(request, tmp_path):
    target = tmp_path / "target"
    if request.param is not None:
        target.write_bytes(request.param)
    return target


def content_of(target):
    return target.read_bytes() if target.exists() else None


def test_content_appears_at_once(write, target):
    before = content_of(target)
    steps = write(target, b"content")
    next(steps)
    assert content_of(target) == before
    assert len(list(target.parent.glob(".target.*.part"))) == 1
    next(steps, None)
    assert target.read_bytes() == b"content"
    assert list(target.parent.iterdir()) == [target]


def test_an_error_changes_nothing(write, target):
    before = content_of(target)
    steps = write(target, b"content")
    next(steps)
    with pytest.raises(Stop):
        steps.throw(Stop())
    assert content_of(target) == before
    assert list(target.parent.iterdir()) == ([] if before is None else [target])


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failure_at_the_end_changes_nothing(call, target, monkeypatch):
    before = content_of(target)

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with (
        pytest.raises(OSError, match="No space left") as caught,
        atomic_write(target) as file,
    ):
        file.write(b"content")
    assert caught.value.filename == os.fspath(target)
    assert content_of(target) == before
    assert list(target.parent.iterdir()) == ([] if before is None else [target])


def test_an_error_that_names_another_file_still_does(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, atomic_write(tmp_path / "target"):
        (tmp_path / "missing").read_bytes()
    assert caught.value.filename == os.fspath(tmp_path / "missing")


KILLED = """
import os, signal, sys
from pathlib import Path
from sk_metaembed._io._atomic import atomic_write

with atomic_write(Path(sys.argv[1])) as file:
    file.write(b"con")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
def test_kill_9_changes_nothing(target):
    before = content_of(target)
    run_script(KILLED, target, returncode=-signal.SIGKILL)
    assert content_of(target) == before
    (part,) = target.parent.glob(".target.*.part")
    assert part.read_bytes() == b"con"


def test_a_lock_is_held_once_and_leaves_no_file(tmp_path):
    path = tmp_path / "lock"
    first = lock_file(path, wait=False)
    assert lock_file(path, wait=False) is None
    release_lock(first)
    assert not path.exists()
    release_lock(lock_file(path, wait=True))


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


def test_a_lock_of_another_user_is_waited_for(tmp_path):
    """Its file may be opened by all, so that a folder can be shared."""
    old = os.umask(0o077)
    try:
        lock = lock_file(tmp_path / "lock", wait=True)
    finally:
        os.umask(old)
    assert (tmp_path / "lock").stat().st_mode & 0o666 == 0o666
    release_lock(lock)
