"""Save an estimator to one file that runs no code when it is loaded."""

from __future__ import annotations

import io
import json
import sys
import warnings
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import numpy as np

from ._archive import write_saved_file
from ._boosters import encode_booster
from ._codecs import MalformedEntryError, Placeholder, encode_value, encode_words
from ._compiled import encode_compiled
from ._errors import check_packages, check_parent, file_path
from ._functions import encode_function
from ._graph_copy import (
    ROOT,
    GraphCopier,
    attribute_place,
    has_parameters,
    is_plain_object,
    iter_parts,
)
from ._load import required_trust
from ._schema import STRUCTURE, check_schema, normalize

if TYPE_CHECKING:
    from pathlib import Path

    from .._core._typing import StrPath

_BUNDLED = "bundled"


def save(estimator: Any, path: StrPath, *, bundle: bool = False) -> Path:
    """Save an estimator, fitted or not, to one file that contains no code.

    Use it to keep a model, to share it or to move it to another machine. Unlike a
    pickle, the file can be loaded without trusting its author. The structure is
    written with skops [1]_, tensors as safetensors, and each part has a checksum.

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
    ImportError
        If skops or safetensors is not installed.

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
    ``structure.json``, arrays, tensors, and bundled files. Equal estimators give equal
    files.

    Functions that are parameters are saved by name; `load` imports them only if they
    are trusted. Models of LightGBM, XGBoost and CatBoost are stored in the form in
    which these libraries pickle them, without code; `load` reads it only if their
    classes are trusted.

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
    check_packages("skops.io", "safetensors")
    target = file_path(path, "sk_metaembed.save")
    check_parent(target, "sk_metaembed.save")
    _check_estimator(estimator)
    encoder = Encoder(bundle)
    plain = encoder(estimator)
    try:
        schema, arrays = _dump(plain)
    except MemoryError:
        raise
    except Exception as error:  # of whichever library an object comes from
        raise _unsupported(plain, error) from error
    try:
        names = required_trust(plain, schema)
    except MalformedEntryError as error:
        raise TypeError(
            f"sk_metaembed.load would refuse this {type(estimator).__name__}, whose "
            f"attributes were changed after fit: {error}. Fit it again."
        ) from error
    structure = json.dumps(schema, separators=(",", ":")).encode()
    members = {STRUCTURE: structure, **arrays, **encoder.members}
    write_saved_file(target, members, {"estimator": type(estimator).__name__})
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


def _dump(plain):
    import skops.io
    from skops.io._utils import SaveContext, get_state

    # Not `skops.io.dumps`: it indents the schema, which takes ten times as long.
    with ZipFile(io.BytesIO(), "w") as file:
        context = SaveContext(zip_file=file)
        schema = get_state(plain, context)
        context.clear_memo()
        version = {"protocol": context.protocol, "_skops_version": skops.__version__}
        schema, arrays = normalize({**schema, **version}, file)
    check_schema(schema)
    return schema, arrays


def _unsupported(plain, error):
    """Return an error that names the innermost part that cannot be saved."""
    part, where = _innermost(plain, ROOT)
    return TypeError(
        f"{where} holds {type(part).__name__}, which sk_metaembed.save cannot write "
        f"(pickle or joblib may be able to): {error}"
    )


def _innermost(value, where):
    for part, place in iter_parts(value, where):
        try:
            _dump(part)
        except Exception:
            return _innermost(part, place)
    return value, where


class Encoder:
    """Encodes an estimator as a plain structure, and members that hold the rest.

    Parameters
    ----------
    bundle : bool
        Whether to include the files of vectors and models.

    Attributes
    ----------
    members : dict of str to bytes or Path
        Contents of the file other than the structure.
    """

    def __init__(self, bundle):
        self.bundle = bundle
        self.members = {}
        self._bundles = {}

    def __call__(self, estimator):
        """Return the structure of an estimator, which is not modified."""
        return GraphCopier(self._encode)(estimator)

    def _encode(self, value, where, copy):
        if isinstance(value, type):
            return value
        if hasattr(type(value), "_saved_kind"):
            return self._handle(value, where)
        if hasattr(type(value), "_net_parts") and "net_" in vars(value):
            return self._with_net(value, where, copy)
        if _is_pair(value):
            return self._pair(value, where)
        if "sentence_transformers" in sys.modules:
            from ..sources.transformer._sentence_object import encoder_place, is_encoder

            if is_encoder(value):
                return encoder_place(value)
        encoders = self._foreign_model, encode_compiled, encode_value, encode_function
        for encode in encoders:
            new = encode(value, where, copy)
            if new is not NotImplemented:
                return new
        _check_supported(value, where)
        return NotImplemented

    def _handle(self, handle, where):
        """Return a Placeholder with the place of a handle's files, or their bundle."""
        content = dict(handle._reference())
        if self.bundle or not content:
            content[_BUNDLED] = self._bundle(handle, where)
        return Placeholder(handle._saved_kind, **content)

    def _bundle(self, handle, where):
        key = handle._saved_kind, handle.fingerprint
        if key not in self._bundles:
            prefix = f"{handle._saved_kind}/{len(self._bundles)}"
            self._bundles[key] = prefix
            for name, content in handle._files(where).items():
                self.members[f"{prefix}/{name}"] = content
        return self._bundles[key]

    def _pair(self, pair, where):
        """Return a Placeholder for a (model, tokenizer) passed as a parameter."""
        from ..sources.transformer._model import loaded_model

        content = self._handle(loaded_model(*pair), where).content
        return Placeholder("pair", as_list=isinstance(pair, list), **content)

    def _with_net(self, estimator, where, copy):
        from safetensors.torch import save as dump

        plain, tensors = estimator._net_parts()
        new = copy.copy_object(estimator, where, skip=("net_", "history_"))
        plain = copy(plain, attribute_place(estimator, "net_", where))
        # Cloned: safetensors refuses tensors that share memory.
        flat = {k: t.detach().cpu().clone().contiguous() for k, t in tensors.items()}
        member = f"tensors/{len(self.members)}.safetensors"
        self.members[member] = dump(flat)
        new.net_ = Placeholder("net", plain=plain, tensors=member)
        return new

    def _foreign_model(self, value, where, copy):
        """Encode a model of another library, if that library has been imported."""
        new = encode_booster(value, where, copy)
        if new is not NotImplemented:
            return new
        if "gensim" in sys.modules and _is_keyed_vectors(value):
            return _keyed_vectors(value)
        if "torch" in sys.modules:
            from torch.nn import Module

            if isinstance(value, Module):
                raise TypeError(
                    f"{where} is a torch module, {type(value).__name__}, whose code "
                    "cannot be saved. Save its state with safetensors and rebuild it."
                )
        return NotImplemented


def _keyed_vectors(vectors):
    """Return a Placeholder for gensim's KeyedVectors."""
    from ..vectors._gensim import ngram_table

    buckets = ngram_table(vectors)
    return Placeholder(
        "keyed vectors",
        words=encode_words(list(vectors.index_to_key)),
        vectors=np.array(vectors.vectors),
        buckets=None if buckets is None else np.array(buckets[0]),
        n=[] if buckets is None else [int(n) for n in buckets[1:]],
    )


def _is_pair(value):
    if "transformers" not in sys.modules or not isinstance(value, tuple | list):
        return False
    from ..sources.transformer._model_pickle import is_pair

    return is_pair(value)


def _is_keyed_vectors(value):
    models = sys.modules.get("gensim.models")
    return models is not None and isinstance(value, models.KeyedVectors)


def _check_supported(value, where):
    """Raise TypeError for an object that only a pickle can restore."""
    known = (tuple, list, dict, type, slice, np.ndarray, np.generic, np.dtype, np.ufunc)
    theirs = type(value).__module__.partition(".")[0] in ("sklearn", "numpy")
    if theirs or isinstance(value, known) or is_plain_object(value):
        return
    try:
        reduced = value.__reduce_ex__(4)
    except Exception as error:  # of whichever library the object comes from
        raise TypeError(
            f"{where} holds {type(value).__name__}, which cannot be saved: {error}."
        ) from error
    if not isinstance(reduced, tuple) or reduced[0] is not type(value):
        raise TypeError(
            f"{where} holds {type(value).__name__}, which only a pickle can save."
        )
