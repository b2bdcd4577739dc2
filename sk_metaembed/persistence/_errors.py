"""Errors of `save` and `load`, and checks of their path."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class SavedFileError(ValueError):
    """A saved file cannot be loaded.

    It is corrupt, was not written by `save`, or needs types or functions that the
    caller does not trust. Catch it when loading files from others.

    See Also
    --------
    UntrustedError : The file may be loaded once the names in the error are trusted.
    sk_metaembed.load : Raises it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sk_metaembed import load
    >>> from sk_metaembed.persistence import SavedFileError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "notes.txt")
    ...     _ = path.write_text("tea 0.5 1")
    ...     try:
    ...         load(path)
    ...     except SavedFileError as error:
    ...         print(str(error).partition("notes.txt: ")[2].partition(". ")[0])
    the file was not written by sk_metaembed.save
    """


class UntrustedError(SavedFileError):
    """A saved file contains types, functions or options that are not trusted.

    Read the names before passing them to ``load(path, trusted=...)``: what they refer
    to can run code.

    Parameters
    ----------
    message : str
        The error message.
    names : iterable of str
        Names to pass as ``trusted`` to `sk_metaembed.load`.

    Attributes
    ----------
    names : tuple of str
        The same names, sorted.

    See Also
    --------
    SavedFileError : The base class, raised for any file that cannot be loaded.
    sk_metaembed.load : Raises it; its parameter `trusted` takes the names.

    Examples
    --------
    >>> from sk_metaembed.persistence import UntrustedError
    >>> UntrustedError("The file contains a function.", ["mylib.split"]).names
    ('mylib.split',)
    """

    def __init__(self, message: str, names: Iterable[str]) -> None:
        super().__init__(message)
        self.names = tuple(sorted(names))

    def __reduce__(self):
        return type(self), (str(self), self.names)


@contextmanager
def reading(path):
    """Re-raise any error of reading an untrusted file as a SavedFileError."""
    try:
        yield
    except UntrustedError:
        raise
    # Malformed files make libraries raise errors without a common base class.
    except Exception as error:
        raise SavedFileError(f"{path}: {_reason(error)}") from error


def _reason(error):
    if isinstance(error, SavedFileError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        return f"the package {error.name!r} is required and is not installed."
    text = " ".join(str(error).split()).rstrip(".")
    text = text if len(text) <= 200 else f"{text[:200]}..."
    return (
        "the content is corrupt or was not written by sk_metaembed.save "
        f"({type(error).__name__}: {text})."
    )


_BOOSTERS = {"lightgbm", "xgboost", "catboost"}
_BOOSTER_RISK = (
    " LightGBM, XGBoost and CatBoost do not validate all of a model's numbers, so a "
    "forged model could crash the process or read memory outside the model."
)


def untrusted(types, functions, options):
    """Return the error for lists of names that are not trusted."""
    is_booster = {name.partition(".")[0] for name in types} & _BOOSTERS
    kinds = {
        "objects of types that are not trusted: {}. Creating and using them can run "
        f"code outside this library.{_BOOSTER_RISK if is_booster else ''}": types,
        "functions to be imported and called: {}.": functions,
        "estimators with {}, which allows them to run code that comes with a model or "
        "a pickle.": options,
    }
    found = [text.format(", ".join(names)) for text, names in kinds.items() if names]
    names = [*types, *functions, *options]
    return UntrustedError(
        f"The file contains {' It contains '.join(found)} If you know where the file "
        f"comes from and what this does, pass trusted={names!r} to sk_metaembed.load.",
        names,
    )


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
