"""Save an estimator to one file that runs no code when it is loaded."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

from .._core._typing import StrPath
from .._io._atomic import check_parent, file_path
from ._archive import write_saved_file
from ._requirements import required_trust
from ._structure import ARRAYS, STRUCTURE, Encoder, has_parameters


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
        such as a lambda. The message names the step and the parameter or attribute.
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
    _check_estimator(estimator)
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


def _check_estimator(estimator):
    if isinstance(estimator, type):
        raise TypeError(
            f"sk_metaembed.save requires an estimator, got the class "
            f"{estimator.__name__}. Pass an instance: {estimator.__name__}(...)."
        )
    if not has_parameters(estimator):
        raise TypeError(
            "sk_metaembed.save requires an estimator with get_params, got "
            f"{type(estimator).__name__}. To save several, put them into a Pipeline."
        )
