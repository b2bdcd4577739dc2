"""Checkpoint files: complete or unchanged when written, intact or refused when read."""

import os
import signal
import subprocess
import sys

import pytest
import torch

from sk_metaembed._training._checkpoint_file import (
    CorruptCheckpointError,
    read_checkpoint,
    write_checkpoint,
)

CONTENT = {"done": 2, "weights": torch.arange(2000.0)}


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "fit.pt"
    write_checkpoint(file, CONTENT)
    return file


def assert_intact(file):
    content = read_checkpoint(file, "cpu")
    assert content["done"] == 2
    assert torch.equal(content["weights"], CONTENT["weights"])


def test_it_is_read_as_written(file):
    assert_intact(file)
    assert list(file.parent.iterdir()) == [file]
    write_checkpoint(file, {**CONTENT, "done": 3})
    assert read_checkpoint(file, "cpu")["done"] == 3


KILLED = """
import os, signal, sys
from sk_metaembed._training._checkpoint_file import write_checkpoint

class Killing:
    def __reduce__(self):
        os.kill(os.getpid(), signal.SIGKILL)

write_checkpoint(sys.argv[1], {"done": Killing()})
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
def test_kill_9_keeps_the_old_file(file):
    run = [sys.executable, "-c", KILLED, str(file)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(run, env=env).returncode == -signal.SIGKILL
    assert_intact(file)


@pytest.mark.parametrize("cut", [0, 16, -1, -16])
def test_a_truncated_file_is_refused(cut, file):
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(CorruptCheckpointError):
        read_checkpoint(file, "cpu")


@pytest.mark.parametrize("place", [0.0, 0.5, 0.999])
def test_a_flipped_bit_is_refused(place, file):
    data = bytearray(file.read_bytes())
    data[int(place * (len(data) - 1))] ^= 8
    file.write_bytes(data)
    with pytest.raises(CorruptCheckpointError, match="checksum does not match"):
        read_checkpoint(file, "cpu")
