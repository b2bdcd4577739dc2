"""Processes and disks that are not those of the tests."""

import contextlib
import os
import subprocess
import sys
import textwrap

import pytest


def run_script(script, *arguments, returncode=0, prefix=(), **variables):
    """Return what a script prints that finds the modules of this process.

    `variables` are added to its environment; those that are None are removed. `prefix`
    is a command that runs Python.
    """
    command = [
        *prefix,
        sys.executable,
        "-c",
        textwrap.dedent(script),
        *map(str, arguments),
    ]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    env = {name: value for name, value in env.items() if value is not None}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == returncode, done.stderr
    return done.stdout


@contextlib.contextmanager
def small_disk(folder, size="64k"):
    """Mount a disk that is soon full; skips where that is not allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    is_root = os.name == "posix" and os.geteuid() == 0
    if not is_root or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this system lets us mount no tmpfs")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
