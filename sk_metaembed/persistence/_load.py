"""load: an estimator from a file, and nothing of the file is executed."""

from collections.abc import Iterable

from ._archive import SealedFile
from ._decode import Restoring, check_estimator
from ._errors import file_path, needed_packages, told_as_damaged
from ._save import STRUCTURE
from ._schema import read_structure


def load(path, *, trusted=()):
    """Read an estimator that `save` wrote; nothing that is in the file is executed.

    The whole file is checked before anything is made of it: its checksums, and every
    class in it against a list of classes that run nothing when they are made.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : sequence of str, default=()
        What the file may hold beyond the list, by the names that the error message
        tells: classes of other libraries, functions, and parameters such as
        "trust_remote_code=True". Only for files whose origin you know.

    Returns
    -------
    estimator
        As it was saved. Its methods give the same, bit for bit, on a machine and with
        libraries like those it was saved with.

    Raises
    ------
    UntrustedError
        If it needs something that is not trusted.
    SavedFileError
        If it is no such file, damaged, from a newer version of the format, or refers
        to vectors or models that moved or changed. Both errors are a ValueError.
    ImportError
        If safetensors is not installed.

    See Also
    --------
    save : Writes the file.

    Notes
    -----
    Only the libraries that the estimator uses are imported: a pipeline without a
    network does not import torch. Nothing is fetched from a network. Bundled vectors
    and models are written to ``bundles`` in the cache, below ``$SK_METAEMBED_CACHE``
    or ``~/.cache/sk_metaembed``, once for all processes, and mapped from there.

    Parameters come as they were saved, paths among them, such as the folder of
    ``cache``, to which transforming writes: look at ``estimator.get_params()`` before
    using an estimator from somebody else.

    Examples
    --------
    >>> import tempfile
    >>> import warnings
    >>> from pathlib import Path
    >>> from sk_metaembed import Tokenizer, load, save
    >>> from sk_metaembed.persistence import UntrustedError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with warnings.catch_warnings(action="ignore"):  # that it asks for trust
    ...         path = save(Tokenizer(tokenizer=str.split), Path(folder, "tokens.skm"))
    ...     try:
    ...         load(path)
    ...     except UntrustedError as error:
    ...         print(error.names)
    ...     load(path, trusted=["builtins.str.split"]).transform(["a cup of tea"])
    ('builtins.str.split',)
    TokenSequences(1 sequences, 4 tokens, 4 types)
    """
    needed_packages("safetensors")
    trusted = _checked(trusted)
    path = file_path(path, "sk_metaembed.load")
    with SealedFile(path) as file:
        structure = file.span(STRUCTURE)
        with told_as_damaged(f"{path}, {STRUCTURE!r}"):
            plain = read_structure(structure, trusted)
        return check_estimator(Restoring(file, trusted)(plain), str(path))


def _checked(trusted):
    if trusted is None:
        return ()
    many = isinstance(trusted, Iterable) and not isinstance(trusted, str)
    # Looked through once: a generator would be empty afterwards.
    trusted = tuple(trusted) if many else trusted
    if not many or not all(isinstance(n, str) for n in trusted):
        raise TypeError(
            "trusted takes a list of names, such as those in the error message of a "
            f"file that needs them, got {trusted!r}."
        )
    return trusted
