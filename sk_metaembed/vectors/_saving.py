"""How stores come back from files that `save` wrote: a path, or a folder of theirs."""

from ._registry import handle_of, reopen
from ._sound import check_content
from ._store import WordVectors


def from_reference(kind, content):
    """Return the handle on the store at a path.

    Raises
    ------
    FileNotFoundError
        If there is none.
    ValueError
        If it holds something else by now.
    """
    return reopen(content["path"], content["fingerprint"], WordVectors)


def from_files(kind, content, folder):
    """Return the handle on a store that came in a file.

    Raises
    ------
    ValueError
        If it is not what it says, or would lead compiled code astray.
    """
    check_content(folder, content["fingerprint"])
    return handle_of(folder, WordVectors)
