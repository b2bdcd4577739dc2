"""Where a file is, or is to be: told in sentences if it cannot be there."""

import os
from pathlib import Path


def file_path(path, whose):
    """Return the path of a regular file on this machine, or of none yet.

    Raises
    ------
    TypeError
        If it is no path.
    ValueError
        If it is a URL.
    IsADirectoryError
        If there is a folder.
    OSError
        If there is a device or a pipe.
    """
    if not isinstance(path, str | bytes | os.PathLike):
        raise TypeError(f"{whose} takes the path of a file, got {path!r:.80}.")
    told = os.fsdecode(path)
    if "://" in told:
        raise ValueError(
            f"{whose} takes the path of a file on this machine, got {told!r}. Nothing "
            "is fetched or sent: download the file, or copy it there, by other means."
        )
    path = Path(told).expanduser()
    if path.is_dir():
        raise IsADirectoryError(
            f"{whose}: {told!r} is a folder, and an estimator is one file. Give the "
            f"file's path, such as {str(path / 'model.skm')!r}."
        )
    if path.exists() and not path.is_file():
        # Saving would replace it by a file.
        raise OSError(f"{whose}: {told!r} is not a regular file. Pass a file's path.")
    return path


def check_folder(path, whose):
    """See that there is a folder that a file can be written to.

    Raises
    ------
    FileNotFoundError, NotADirectoryError
        If there is none.
    """
    folder = path.parent
    if not folder.is_dir():
        kind = NotADirectoryError if folder.exists() else FileNotFoundError
        raise kind(
            f"{whose}: there is no folder {str(folder)!r} to write {path.name!r} to. "
            "Make it, or give another path."
        )
