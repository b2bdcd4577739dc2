"""Errors of `save` and `load`."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import contextmanager


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
    """Re-raise any error of reading an untrusted file as a SavedFileError.

    Errors of other files, such as those of a bundle in the cache, are not the file's.
    """
    try:
        yield
    except UntrustedError:
        raise
    # Malformed files make libraries raise errors without a common base class.
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
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


def untrusted(types, functions, options):
    """Return the error for lists of names that are not trusted."""
    kinds = {
        "objects of types that are not trusted: {}. Creating and using them can run "
        "code outside this library.": types,
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
