"""Windows' rules for open files, simulated on Linux.

Windows neither replaces, renames nor removes a file that a process has open or mapped,
nor a directory that contains one, and its locks are not those of POSIX.
"""

import os
import shutil
from pathlib import Path


def refuse_files_in_use(monkeypatch):
    """Let functions of `os` refuse what Windows refuses, for files of this process."""

    def wrap(name, n_paths):
        function = getattr(os, name)

        def checked(*paths, **options):
            for path in paths[:n_paths]:
                # `shutil.rmtree` names files relative to an open directory.
                if options.get("dir_fd") is None:
                    refuse(path)
            return function(*paths, **options)

        monkeypatch.setattr(os, name, checked)

    for name, n_paths in [("replace", 2), ("rename", 2), ("unlink", 1), ("remove", 1)]:
        wrap(name, n_paths)
    rmtree = shutil.rmtree

    def checked_rmtree(path, ignore_errors=False, **options):
        if any(map(is_in_use, Path(path).rglob("*"))) and ignore_errors:
            return
        rmtree(path, ignore_errors, **options)

    monkeypatch.setattr(shutil, "rmtree", checked_rmtree)


def refuse(path):
    """Raise PermissionError if a file, or one in a directory, is open or mapped."""
    if is_in_use(path):
        raise PermissionError(
            13, "The file is used by another process", os.fspath(path)
        )


def is_in_use(path):
    """Return whether this process has a file, or one in a directory, open or mapped."""
    path = os.path.realpath(path)
    # filelock removes its files on Windows after they are closed.
    if path.endswith("lock") or not os.path.exists(path):
        return False
    return any(used == path or used.startswith(f"{path}/") for used in _used_files())


def _used_files():
    for number in os.listdir("/proc/self/fd"):
        try:
            name = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if not os.path.isdir(name):
            yield name
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            yield line.rstrip("\n")[73:]
