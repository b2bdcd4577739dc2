"""What saving and loading refuse with."""

from contextlib import contextmanager


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
