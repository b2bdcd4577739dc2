"""save: an estimator into one file that executes nothing when it is loaded.

From an estimator to what a file holds: a plain structure and members beside it.
"""

import sys
import warnings

import numpy as np

from ._archive import write_sealed
from ._boosters import booster
from ._codecs import StandIn, packed
from ._decode import asked_for
from ._errors import check_folder, file_path, needed_packages
from ._functions import named
from ._graph_copy import (
    ROOT,
    Rewriter,
    has_parameters,
    is_plain_object,
    name_of,
    parts_of,
)
from ._schema import check_schema, regular

_BUNDLED = "bundled"


class Lowering:
    """What an estimator becomes on its way into a file.

    Parameters
    ----------
    bundle : bool
        Whether vectors and models that are files go along.

    Attributes
    ----------
    members : dict of str to bytes or Path
        What stands beside the structure.
    """

    def __init__(self, bundle):
        self.bundle = bundle
        self.members = {}
        self._folders = {}

    def __call__(self, estimator):
        """Return the structure: nothing of the estimator is changed."""
        return Rewriter(self._swap)(estimator)

    def _swap(self, thing, where, rewrite):
        if isinstance(thing, type):
            return thing
        if hasattr(type(thing), "_kept_as"):
            return self._elsewhere(thing, where)
        if hasattr(type(thing), "_net_parts") and "net_" in vars(thing):
            return self._with_net(thing, where, rewrite)
        if _is_pair(thing):
            return self._pair(thing, where)
        for change in (self._models, packed, named):
            new = change(thing, where, rewrite)
            if new is not NotImplemented:
                return new
        check_keepable(thing, where)
        return NotImplemented

    def _elsewhere(self, thing, where):
        """Return where a handle's files are, or where they are in the file."""
        content = dict(thing._reference())
        if self.bundle or not content:
            content[_BUNDLED] = self._folder(thing, where)
        return StandIn(thing._kept_as, **content)

    def _folder(self, thing, where):
        key = thing._kept_as, thing.fingerprint
        if key not in self._folders:
            prefix = self._folders[key] = f"{thing._kept_as}/{len(self._folders)}"
            for name, content in thing._files(where).items():
                self.members[f"{prefix}/{name}"] = content
        return self._folders[key]

    def _pair(self, thing, where):
        """Return what tells of a model and its tokenizer, given as a parameter."""
        from ..sources.transformer._model import loaded_model

        content = vars(self._elsewhere(loaded_model(*thing), where))["content"]
        return StandIn("pair", as_list=isinstance(thing, list), **content)

    def _with_net(self, estimator, where, rewrite):
        plain, tensors = estimator._net_parts()
        new = rewrite.attributes(estimator, where, but=("net_", "history_"))
        place = name_of(estimator, "net_", where)
        new.net_ = StandIn(
            "net", plain=rewrite(plain, place), tensors=self._tensors(tensors)
        )
        return new

    def _tensors(self, tensors):
        """Return the name of the member that tensors are in."""
        from safetensors.torch import save

        # Clones: of tensors that share memory, each is written.
        flat = {k: t.detach().cpu().clone().contiguous() for k, t in tensors.items()}
        return self._member("tensors", save(flat), "safetensors")

    def _booster(self, content, suffix):
        """Return the name of the member that a booster's model is in."""
        return self._member("boosters", content, suffix)

    def _member(self, folder, content, suffix):
        number = sum(name.startswith(f"{folder}/") for name in self.members)
        name = f"{folder}/{number}.{suffix}"
        self.members[name] = content
        return name

    def _models(self, thing, where, rewrite):
        """Take in models of other libraries, of which there may be none yet."""
        new = booster(thing, where, rewrite, self._booster)
        if new is not NotImplemented:
            return new
        if "gensim" in sys.modules and _is_keyed_vectors(thing):
            return self._keyed_vectors(thing)
        if "torch" not in sys.modules:
            return NotImplemented
        import torch

        if isinstance(thing, torch.nn.Module):
            raise TypeError(
                f"{where} is a torch module, {type(thing).__name__}, whose code does "
                "not go into files. Save its state by safetensors, and build it anew."
            )
        return NotImplemented

    def _keyed_vectors(self, vectors):
        import torch

        from ..vectors._gensim import buckets_of
        from ._codecs import words_stand_in

        buckets = buckets_of(vectors)
        arrays = {"vectors": vectors.vectors}
        if buckets is not None:
            arrays["buckets"] = buckets[0]
        tensors = {k: torch.from_numpy(v.copy()) for k, v in arrays.items()}
        n = [] if buckets is None else [int(n) for n in buckets[1:]]
        return StandIn(
            "keyed vectors",
            words=words_stand_in(list(vectors.index_to_key)),
            tensors=self._tensors(tensors),
            n=n,
        )


def check_keepable(thing, where):
    """See that skops can put together again what it takes apart.

    Raises
    ------
    TypeError
        If only a pickle can.
    """
    known = (tuple, list, dict, type, slice, np.ndarray, np.generic, np.dtype, np.ufunc)
    ours = type(thing).__module__.partition(".")[0] in ("sklearn", "numpy")
    if ours or isinstance(thing, known) or is_plain_object(thing):
        return
    try:
        reduced = thing.__reduce_ex__(4)
    except Exception as error:  # of whichever library the object comes from
        raise TypeError(
            f"{where} holds {type(thing).__name__}, which cannot be saved: {error}."
        ) from error
    if not isinstance(reduced, tuple) or reduced[0] is not type(thing):
        raise TypeError(
            f"{where} holds {type(thing).__name__}, which only a pickle can keep."
        )


def _is_pair(thing):
    if "transformers" not in sys.modules or not isinstance(thing, tuple | list):
        return False
    from ..sources.transformer._options import is_pair

    return is_pair(thing)


def _is_keyed_vectors(thing):
    from gensim.models import KeyedVectors

    return isinstance(thing, KeyedVectors)


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
