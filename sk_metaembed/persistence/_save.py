"""save: an estimator into one file that executes nothing when it is loaded."""

import warnings

from ._graph import ROOT, has_parameters, parts_of
from ._lower import Lowering
from ._manifest import write_sealed
from ._needed import needed_packages
from ._path import check_folder, file_path
from ._restore import asked_for
from ._schema import check_schema, regular

STRUCTURE = "structure.skops"


def save(estimator, path, *, bundle=False):
    """Write an estimator, fitted or not, to one file that holds no code.

    To keep a model, to hand it to others, or to take it to another machine: unlike a
    pickle the file can be loaded without trusting who wrote it. The structure is
    written by skops [1]_, tensors as safetensors, and each part has a checksum.

    Parameters
    ----------
    estimator : estimator
        Of this library or of scikit-learn, alone or put together: a Pipeline, a
        GridSearchCV. Those of LightGBM, XGBoost, CatBoost and imbalanced-learn can be
        among its steps.
    path : str or path-like
        The file. What was there stays until the new file is whole and on the disk.
    bundle : bool, default=False
        Put word vectors, ELMo's files and transformers into the file, so that it can
        be loaded where they are not. False only refers to them, by path and
        fingerprint; then the file is small and they must stay where they are.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    TypeError
        If it is no estimator, or something in it cannot be saved, such as a lambda; the
        message names the step and the parameter or attribute.
    OSError
        If there is no such folder, a folder has the file's name, or the disk is full.
    ImportError
        If skops or safetensors is not installed.

    Warns
    -----
    UserWarning
        If `load` will ask to trust something in the file; the message has the list to
        pass as ``trusted``.

    See Also
    --------
    load : Reads the file.

    Notes
    -----
    The file is a zip file without compression: ``manifest.json`` with the versions of
    what wrote it and the SHA-256 of each member, ``structure.skops``, tensors, and what
    was bundled. Equal estimators give equal files.

    Functions that are parameters go in by name. `load` imports them only if they are
    trusted. Models of LightGBM, XGBoost and CatBoost are kept in their own formats
    (text, UBJSON and cbm), which `load` reads only if their classes are trusted.

    References
    ----------
    .. [1] skops: https://skops.readthedocs.io/en/stable/persistence.html

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sk_metaembed import Tokenizer, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save(Tokenizer(lowercase=False), Path(folder, "tokens.skm"))
    ...     load(path)
    Tokenizer(lowercase=False)

    A function has to be trusted, and `save` says so at once:

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
    needed_packages("skops.io", "safetensors")
    path = file_path(path, "sk_metaembed.save")
    check_folder(path, "sk_metaembed.save")
    _check_estimator(estimator)
    lowering = Lowering(bundle)
    plain = lowering(estimator)
    try:
        structure = _structure(plain)
    except MemoryError:
        raise
    except Exception as error:  # of whichever library an object comes from
        raise _refusal(plain, error) from error
    members = {STRUCTURE: structure, **lowering.members}
    write_sealed(path, members, {"estimator": type(estimator).__name__})
    _warn_of_trust(asked_for(plain, structure), path)
    return path


def _check_estimator(estimator):
    if isinstance(estimator, type):
        raise TypeError(
            f"sk_metaembed.save keeps estimators, got the class {estimator.__name__}. "
            f"Give an object of it: {estimator.__name__}(...)."
        )
    if not has_parameters(estimator):
        raise TypeError(
            "sk_metaembed.save keeps estimators, which have get_params, got "
            f"{type(estimator).__name__}. To keep several, put them into a Pipeline."
        )


def _structure(plain):
    from skops import io as skops_io

    structure = regular(skops_io.dumps(plain))
    check_schema(structure)
    return structure


def _refusal(plain, error):
    """Return the error that names the innermost part that cannot be saved."""
    part, where = _innermost(plain, ROOT)
    return TypeError(
        f"{where} holds {type(part).__name__}, which sk_metaembed.save cannot write "
        f"(pickle or joblib may be able to): {error}"
    )


def _innermost(thing, where):
    for part, place in parts_of(thing, where):
        try:
            _structure(part)
        except Exception:
            return _innermost(part, place)
    return thing, where


def _warn_of_trust(names, path):
    if names:
        warnings.warn(
            f"Loading {path.name} requires explicit trust, since it can run code "
            f"outside this library: load(path, trusted={sorted(names)!r}).",
            stacklevel=3,
        )
