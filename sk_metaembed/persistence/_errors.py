"""What saving and loading refuse with.

What a file needs that only its user can allow, and how that is said.

Where a file is, or is to be: told in sentences if it cannot be there.

The packages of the extra `files`.
"""

import os
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from ._boosters import KINDS


class SavedFileError(ValueError):
    """A saved file that cannot be read, or must not be.

    Catch it where files come from others: it covers damage, files of other kinds, and
    what a file asks for and nobody allowed. It is a ValueError.

    See Also
    --------
    UntrustedError : The part of it that naming what is trusted can settle.
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
    ...         print(str(error).partition(": ")[2])
    this is no file that sk_metaembed.save wrote.
    """


class UntrustedError(SavedFileError):
    """A saved file with types or functions that nobody has said to trust.

    Its names are what to look at before going on: to pass them on unread would be to
    trust anybody.

    Parameters
    ----------
    message : str
        The sentence.
    names : sequence of str
        What `sk_metaembed.load` would have to be told to trust.

    Attributes
    ----------
    names : tuple of str
        The same.

    See Also
    --------
    SavedFileError : What it is a kind of.
    sk_metaembed.load : Raises it; its `trusted` takes the names.

    Examples
    --------
    >>> from sk_metaembed.persistence import UntrustedError
    >>> UntrustedError("It holds a function.", ["mylib.split"]).names
    ('mylib.split',)
    """

    def __init__(self, message, names):
        super().__init__(message)
        self.names = tuple(sorted(names))

    def __reduce__(self):
        return type(self), (str(self), self.names)


@contextmanager
def told_as_damaged(what):
    """Turn any error of reading what strangers wrote into one sentence."""
    try:
        yield
    except SavedFileError:
        raise
    except ModuleNotFoundError as error:
        raise SavedFileError(
            f"{what}: it needs the package {error.name!r}, which is not installed here."
        ) from error
    # What a file made by hand makes libraries raise has no base class in common.
    except Exception as error:
        raise SavedFileError(
            f"{what}: the content is damaged, or was not written by sk_metaembed.save "
            f"({type(error).__name__}: {_short(error)})."
        ) from error


def _short(error):
    text = " ".join(str(error).split()).rstrip(".")
    return text if len(text) <= 200 else f"{text[:200]}..."


_OF_BOOSTERS = (
    " LightGBM, XGBoost and CatBoost do not validate all of a model's numbers, so a "
    "forged model could crash the process or read memory outside the model."
)

_TODO = (
    "If you know where the file comes from and what this does, pass trusted={names!r}."
)


def untrusted_types(names):
    """Return the error for types that are on no list."""
    reasons = {}
    with suppress(ImportError):  # loading does not require skops
        from skops.io.exceptions import UNTRUSTED_TYPE_REASONS as reasons

    names = sorted(names)
    why = "".join(f" {reasons[name]}" for name in names if name in reasons)
    if {name.partition(".")[0] for name in names} & {*KINDS}:
        why += _OF_BOOSTERS
    return UntrustedError(
        f"The file holds objects of types that are not trusted: {', '.join(names)}. "
        "Making and using them can run code that is not this library's." + why + " "
        f"{_TODO.format(names=names)}",
        names,
    )


def untrusted_functions(names):
    """Return the error for functions that are on no list."""
    names = sorted(names)
    return UntrustedError(
        f"The file names functions to be imported and called: {', '.join(names)}. "
        f"{_TODO.format(names=names)}",
        names,
    )


def untrusted_options(names):
    """Return the error for parameters that let an estimator run code."""
    names = sorted(names)
    return UntrustedError(
        f"The file holds estimators with {', '.join(names)}, which lets them run code "
        f"that comes with a model or a pickle. {_TODO.format(names=names)}",
        names,
    )


def file_path(path, caller):
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
        raise TypeError(f"{caller} takes the path of a file, got {path!r:.80}.")
    told = os.fsdecode(path)
    if "://" in told:
        raise ValueError(
            f"{caller} takes the path of a file on this machine, got {told!r}. Nothing "
            "is fetched or sent: download the file, or copy it there, by other means."
        )
    path = Path(told).expanduser()
    if path.is_dir():
        raise IsADirectoryError(
            f"{caller}: {told!r} is a folder, and an estimator is one file. Give the "
            f"file's path, such as {str(path / 'model.skm')!r}."
        )
    if path.exists() and not path.is_file():
        # Saving would replace it by a file.
        raise OSError(f"{caller}: {told!r} is not a regular file. Pass a file's path.")
    return path


def check_folder(path, caller):
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
            f"{caller}: there is no folder {str(folder)!r} to write {path.name!r} to. "
            "Make it, or give another path."
        )


def needed_packages(*names):
    """Import what files are written or read with.

    Parameters
    ----------
    *names : str
        Modules.

    Raises
    ------
    ImportError
        If something is not.
    """
    for name in names:
        try:
            import_module(name)
        except ImportError as error:
            raise ImportError(
                f"Saving and loading need {name.partition('.')[0]}: pip install "
                "'sk_metaembed[files]'."
            ) from error
