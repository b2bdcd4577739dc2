"""save: an estimator into one file that executes nothing when it is loaded."""

from ._graph import has_parameters
from ._lower import Lowering
from ._manifest import write_sealed
from ._needed import needed_packages
from ._path import check_folder, file_path
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
        GridSearchCV.
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
        message names the parameter.
    OSError
        If there is no such folder, or a folder has the file's name.
    ImportError
        If skops or safetensors is not installed.

    See Also
    --------
    load : Reads the file.

    Notes
    -----
    The file is a zip file without compression: ``manifest.json`` with the versions of
    what wrote it and the SHA-256 of each member, ``structure.skops``, tensors, and what
    was bundled. Equal estimators give equal files.

    Functions that are parameters go in by name. `load` imports them only if they are
    trusted.

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
    """
    needed_packages("skops.io", "safetensors")
    from skops import io as skops_io

    path = file_path(path, "sk_metaembed.save")
    check_folder(path, "sk_metaembed.save")
    _check_estimator(estimator)
    lowering = Lowering(bundle)
    structure = regular(skops_io.dumps(lowering(estimator)))
    _check_loadable(structure, estimator)
    members = {STRUCTURE: structure, **lowering.members}
    write_sealed(path, members, {"estimator": type(estimator).__name__})
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


def _check_loadable(structure, estimator):
    try:
        check_schema(structure)
    except ValueError as error:
        raise TypeError(
            f"{type(estimator).__name__} has something in it that pickle or joblib can "
            f"keep, and sk_metaembed.save cannot: {error}"
        ) from error
