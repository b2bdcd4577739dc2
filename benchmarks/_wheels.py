"""Files of wheels in the folder ``BENCHMARK_WHEELS``, which are not installed."""

import os
import zipfile
from fnmatch import fnmatch
from pathlib import Path


def wheel_files(package, pattern, command):
    """Return ``{path: content}`` of the files of a wheel that match a pattern, sorted.

    `command` is the download that the error of a missing wheel names.
    """
    folder = Path(os.environ.get("BENCHMARK_WHEELS", "wheels"))
    wheel = next(iter(sorted(folder.glob(f"{package}-*.whl"))), None)
    if wheel is None:
        raise FileNotFoundError(
            f"no wheel of {package} in {folder}. Set BENCHMARK_WHEELS=FOLDER and run: "
            f"{command} -d FOLDER"
        )
    with zipfile.ZipFile(wheel) as archive:
        paths = sorted(path for path in archive.namelist() if fnmatch(path, pattern))
        return {path: archive.read(path) for path in paths}


def wheel_file(package, path, command):
    """Return the text of one file of a wheel."""
    return wheel_files(package, path, command)[path].decode("utf-8", errors="replace")
