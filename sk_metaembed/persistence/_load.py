"""Load an estimator from a file without running code from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._core._typing import StrPath
from .._io._atomic import file_path
from ._archive import SavedFile
from ._errors import SavedFileError, reading, untrusted
from ._requirements import required_trust
from ._structure import STRUCTURE, Decoder, has_parameters, read_nodes


def load(path: StrPath, *, trusted: Iterable[str] | None = ()) -> Any:
    """Load an estimator that was written by `save`, without running code of the file.

    Each class in the file is compared with a list of classes that run no code when they
    are created, before any object is created. The numbers of a model are not checked: a
    forged model can predict anything, and crash the process in compiled code.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : sequence of str or None, default=()
        Names that the file may contain in addition to this list, as listed in the error
        message: classes of other libraries, functions, and parameters such as
        "trust_remote_code=True". Pass them only for files whose origin you know.

    Returns
    -------
    estimator
        The saved estimator. Its methods return the same values, bit for bit, with the
        same versions of libraries on the same kind of machine.

    Raises
    ------
    UntrustedError
        If the file needs something that is not trusted.
    SavedFileError
        If the file was not written by `save`, is corrupt, has a newer format, or refers
        to vectors or models that were moved or changed. Both are subclasses of
        ValueError.
    OSError
        If the file cannot be opened, or a bundle can be neither read from the cache nor
        unpacked there. The message names the user and ``SK_METAEMBED_CACHE``.

    See Also
    --------
    save : Write the file.

    Notes
    -----
    Only libraries that the estimator uses are imported: a pipeline without a neural
    network does not import torch. Networks of pretrained models are loaded as well, so
    that the first prediction is nearly as fast as later ones, but not the networks of
    sources with a `cache`, which may not need them; an unpickled estimator loads them
    on their first use. Nothing is downloaded. Bundled vectors and models
    are written to ``bundles`` in the cache, ``$SK_METAEMBED_CACHE`` or
    ``~/.cache/sk_metaembed``, once for all processes and users, and mapped from there.
    A bundle that is there already is only read.

    Parameters are restored as they were saved, including paths such as the directory of
    ``cache``, to which `transform` writes. Check ``estimator.get_params()`` before
    using an estimator from someone else.

    Examples
    --------
    >>> import tempfile
    >>> import warnings
    >>> from pathlib import Path
    >>> from sk_metaembed import Tokenizer, load, save
    >>> from sk_metaembed.persistence import UntrustedError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with warnings.catch_warnings(action="ignore"):  # the file needs trust
    ...         path = save(Tokenizer(tokenizer=str.split), Path(folder, "tokens.skm"))
    ...     try:
    ...         load(path)
    ...     except UntrustedError as error:
    ...         print(error.names)
    ...     load(path, trusted=["builtins.str.split"]).transform(["a cup of tea"])
    ('builtins.str.split',)
    TokenSequences(1 sequences, 4 tokens, 4 types)
    """
    trusted = _check_names(trusted)
    path = file_path(path, "sk_metaembed.load")
    with open(path, "rb") as source, reading(path):
        file = SavedFile(source)
        nodes = read_nodes(file.read(STRUCTURE))
        required = [sorted(names - {*trusted}) for names in required_trust(nodes)]
        if any(required):
            raise untrusted(*required)
        decoder = Decoder(file)
        estimator = decoder(nodes)
        if not has_parameters(estimator):
            kind = type(estimator).__name__
            raise SavedFileError(f"the file holds {kind}, which is not an estimator.")
        for part in decoder.objects:
            if hasattr(type(part), "_load_network"):
                part._load_network()
    return estimator


def _check_names(trusted):
    names = () if trusted is None else trusted
    if isinstance(names, Iterable) and not isinstance(names, str):
        names = tuple(names)  # a generator would be empty afterwards
        if all(isinstance(name, str) for name in names):
            return names
    raise TypeError(
        "trusted must be a list of names, as in the error message of a file that "
        f"needs them; got {names!r}."
    )
