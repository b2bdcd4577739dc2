"""Processes, users and disks that are not those of the tests."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

NOBODY = 12345  # has no entry in the password database, like the users of OpenShift


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
def shared_folder():
    """Yield a temporary folder that other users may read, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


# Without rights other than to read, for a Python in the home directory of root.
READS = "-all,+dac_read_search"
AS_NOBODY = (
    *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
    *(f"--inh-caps={READS}", f"--ambient-caps={READS}", f"--bounding-set={READS}"),
)
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


def restricted(folder, user, disk):
    """Return the beginning of a command for another user, or with a read-only disk."""
    command = ["unshare", "--mount", "sh", "-c", READ_ONLY, str(folder)] * disk
    command += AS_NOBODY * user
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    if subprocess.run([*command, "test", "!", "-w", str(folder)]).returncode:
        pytest.skip(f"{command[0]} is not allowed")
    return command


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
