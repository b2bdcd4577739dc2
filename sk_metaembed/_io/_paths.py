"""Paths of files that an estimator is saved to or loaded from."""

import os
from pathlib import Path


def file_path(path, caller):
    """Return the Path of a regular file on this machine, or of a file to be created."""
    if not isinstance(path, str | bytes | os.PathLike):
        raise TypeError(f"{caller} requires the path of a file, got {path!r:.80}.")
    given = os.fsdecode(path)
    if "://" in given:
        raise ValueError(
            f"{caller} requires a path on this machine, got the URL {given!r}. Nothing "
            "is downloaded or uploaded: copy the file by other means."
        )
    path = Path(given).expanduser()
    if path.is_dir():
        raise IsADirectoryError(
            f"{caller}: {given!r} is a directory, and an estimator is saved as one "
            f"file. Pass the file's path, such as {str(path / 'model.skm')!r}."
        )
    if path.exists() and not path.is_file():
        # Saving would replace a device or a named pipe by a file.
        raise OSError(f"{caller}: {given!r} is not a regular file. Pass a file's path.")
    return path


def check_parent(path, caller):
    """Raise if the directory that a file is to be written to does not exist."""
    folder = path.parent
    if not folder.is_dir():
        kind = NotADirectoryError if folder.exists() else FileNotFoundError
        raise kind(
            f"{caller}: cannot write {path.name!r}: there is no directory "
            f"{str(folder)!r}. Create it or pass a different path."
        )
