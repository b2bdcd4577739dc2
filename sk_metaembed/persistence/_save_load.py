"""Save an estimator to one file, and load it without running code from the file."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .._core._errors import short_repr
from .._core._typing import StrPath
from .._io._atomic import check_parent, file_path
from ._archive import SavedFile, SavedFileError, reading, write_saved_file
from ._structure import (
    ARRAYS,
    STRUCTURE,
    Decoder,
    Encoder,
    has_parameters,
    read_nodes,
)
from ._trust import required_trust, untrusted


def save(estimator: Any, path: StrPath, *, bundle: bool = False) -> Path:
    """Save an estimator, fitted or not, to one file that contains no code.

    Use it to keep a model, to share it or to move it to another machine. Unlike a
    pickle, the file runs no code when it is loaded.

    Parameters
    ----------
    estimator : estimator
        An estimator of this library or of scikit-learn, or a composition of them such
        as a Pipeline or a GridSearchCV. Estimators of LightGBM, XGBoost, CatBoost and
        imbalanced-learn can be among its steps.
    path : str or path-like
        The file to write. An existing file is replaced once the new file is complete
        and on the disk.
    bundle : bool, default=False
        Whether to include word vectors, ELMo files and transformers, so that the file
        can be loaded where these are missing. By default the file refers to them by
        path and fingerprint; it is small, and they must stay where they are.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    TypeError
        If `estimator` is not an estimator, or contains something that cannot be saved,
        such as a lambda. The message says where: ``estimator.steps[0][1].tokenizer``.
    OSError
        If the directory does not exist, a directory has the file's name, or the disk
        is full.

    Warns
    -----
    UserWarning
        If `load` will require explicit trust for something in the file. The message
        contains the list to pass as ``trusted``.

    See Also
    --------
    load : Load the file.

    Notes
    -----
    The file is a zip file without compression. It contains ``manifest.json`` with the
    versions of the libraries that wrote it and the SHA-256 of each member,
    ``structure.json``, ``arrays.bin``, and bundled files. Equal estimators give equal
    files, also in different processes; times that are measured in `fit`, by a network
    or a search, are part of an estimator.

    Functions that are parameters are saved by name; `load` imports them only if they
    are trusted. Models of LightGBM, XGBoost and CatBoost are stored in the form in
    which these libraries pickle them, without code; `load` reads it only if their
    classes are trusted.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sk_metaembed import Tokenizer, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save(Tokenizer(lowercase=False), Path(folder, "tokens.skm"))
    ...     load(path)
    Tokenizer(lowercase=False)

    A function must be trusted when it is loaded, and `save` warns about that:

    >>> import warnings
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with warnings.catch_warnings(record=True, action="always") as caught:
    ...         path = save(Tokenizer(tokenizer=str.split), Path(folder, "split.skm"))
    ...     print(caught[0].message)
    ...     load(path, trusted=["builtins.str.split"])
    Loading split.skm requires explicit trust, since it can run code outside this
    library: load(path, trusted=['builtins.str.split']).
    Tokenizer(tokenizer=<method 'split' of 'str' objects>)
    """
    target = file_path(path, "sk_metaembed.save")
    check_parent(target, "sk_metaembed.save")
    if not has_parameters(estimator):
        raise TypeError(
            "sk_metaembed.save requires one instance of an estimator, with get_params; "
            f"got {short_repr(estimator)}. To save several, put them into a Pipeline."
        )
    encoder = Encoder(bundle)
    encoder(estimator)
    names = set().union(*required_trust(encoder.nodes))
    structure = json.dumps(encoder.nodes, separators=(",", ":")).encode()
    members = {STRUCTURE: structure, ARRAYS: encoder.arrays, **encoder.files}
    write_saved_file(target, members)
    if names:
        warnings.warn(
            f"Loading {target.name} requires explicit trust, since it can run code "
            f"outside this library: load(path, trusted={sorted(names)!r}).",
            stacklevel=2,
        )
    return target


def load(path: StrPath, *, trusted: Iterable[str] | None = ()) -> Any:
    """Load an estimator that was written by `save`, without running code from it.

    Each class in the file is compared with a list of classes that run no code when they
    are created, before any object is created. The numbers of a model are not checked: a
    forged model can predict anything, and crash the process in compiled code.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : sequence of str or None, default=()
        Names that the file may contain in addition to trusted ones, as listed in the
        error message: classes of other libraries, functions, and parameters such as
        "trust_remote_code=True". Pass them only for files whose origin you know.

    Returns
    -------
    estimator
        The saved estimator. Its methods return the same values, bit for bit, with the
        same versions of libraries on the same kind of machine.

    Raises
    ------
    UntrustedError
        If the file needs something that is not trusted; a subclass of ValueError.
    ValueError
        If the file was not written by `save`, is corrupt, has a newer format, or refers
        to vectors or models that were moved or changed.
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
    on their first use. Nothing is downloaded. Bundled vectors and models are written to
    ``bundles`` in the cache, ``$SK_METAEMBED_CACHE`` or ``~/.cache/sk_metaembed``, once
    for all processes and users, and mapped from there. An existing bundle is only read.

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
    if trusted is not None and (
        isinstance(trusted, str) or not isinstance(trusted, Iterable)
    ):
        raise TypeError(
            "trusted must be a list of names, as in the error for a file that needs "
            f"them; got {short_repr(trusted)}."
        )
    path, trusted = file_path(path, "sk_metaembed.load"), {*(trusted or ())}
    with open(path, "rb") as source, reading(path):
        file = SavedFile(source)
        nodes = read_nodes(file.read(STRUCTURE))
        required = [sorted(names - trusted) for names in required_trust(nodes)]
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
