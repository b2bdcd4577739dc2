"""A disk that is soon full."""

import contextlib
import os
import subprocess

import pytest


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
