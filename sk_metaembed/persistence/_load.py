"""Load an estimator from a file without running code from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..vectors._cache import cache_root, publish
from ._archive import SavedFile
from ._boosters import decode_booster
from ._codecs import DECODERS, MalformedEntryError, Placeholder, decode_words, entry
from ._compiled import DECODERS as COMPILED
from ._compiled import unchecked_types
from ._errors import (
    SavedFileError,
    check_packages,
    file_path,
    raise_corrupt,
    untrusted,
)
from ._functions import (
    decode_function,
    decode_partial,
    decode_scorer,
    function_name,
)
from ._graph_copy import GraphCopier, has_parameters, iter_parts
from ._schema import STRUCTURE, read_structure, untrusted_names
from ._trusted import FUNCTIONS

if TYPE_CHECKING:
    from .._core._typing import StrPath


def load(path: StrPath, *, trusted: Iterable[str] | None = ()) -> Any:
    """Load an estimator that was written by `save`, without running code of the file.

    The whole file is validated before any object is created: its checksums, and each
    class in it against a list of classes that run no code when they are created.

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
    ImportError
        If safetensors is not installed.

    See Also
    --------
    save : Write the file.

    Notes
    -----
    Only libraries that the estimator uses are imported: a pipeline without a neural
    network does not import torch. Networks of pretrained models are loaded as well, so
    that the first prediction is nearly as fast as later ones, except those of sources
    with a `cache`, which may not need them; an unpickled estimator loads them on their
    first use. Nothing is downloaded. Bundled vectors and models
    are written to ``bundles`` in the cache, ``$SK_METAEMBED_CACHE`` or
    ``~/.cache/sk_metaembed``, once for all processes, and mapped from there.

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
    check_packages("safetensors")
    trusted = _check_names(trusted)
    path = file_path(path, "sk_metaembed.load")
    with SavedFile(path) as file:
        with raise_corrupt(f"{path}, {STRUCTURE!r}"):
            plain, types = read_structure(file, trusted)
            required = TrustRequirements(plain, types)
        required.check(trusted)
        decoder = Decoder(file)
        with raise_corrupt(str(path)):
            estimator = decoder(plain)
    if isinstance(estimator, Placeholder) or not has_parameters(estimator):
        kind = type(estimator).__name__
        raise SavedFileError(f"{path} holds {kind}, which is not an estimator.")
    for source in decoder.with_networks:
        source._load_network()
    return estimator


def _check_names(trusted):
    if trusted is None:
        return ()
    many = isinstance(trusted, Iterable) and not isinstance(trusted, str)
    # Iterated over once: a generator would be empty afterwards.
    trusted = tuple(trusted) if many else trusted
    if not many or not all(isinstance(n, str) for n in trusted):
        raise TypeError(
            "trusted must be a list of names, as in the error message of a file that "
            f"needs them; got {trusted!r}."
        )
    return trusted


class Decoder:
    """Decodes the structure of a SavedFile, the inverse of `Encoder`."""

    def __init__(self, file):
        self.file = file
        self._copy = GraphCopier(self._decode)
        self._opened = {}
        self.with_networks = []  # sources that load a network on their first use

    def __call__(self, structure):
        """Return the estimator of a structure whose requirements are trusted."""
        return self._copy(structure)

    def _decode(self, value, where, copy):
        if isinstance(value, Placeholder):
            return self._placeholder(value, where, copy)
        if hasattr(type(value), "_set_net") and "net_" in vars(value):
            return self._with_net(value, copy)
        if hasattr(type(value), "_load_network"):
            self.with_networks.append(copy.copy_object(value, where))
            return self.with_networks[-1]
        return NotImplemented

    def _placeholder(self, placeholder, where, copy):
        kind = entry(vars(placeholder), "kind", str)
        content = entry(vars(placeholder), "content", dict)
        if kind == "net":
            raise MalformedEntryError("a net is not an attribute of its estimator")
        content = {name: copy(value, where) for name, value in content.items()}
        if kind in _DECODERS:
            return _DECODERS[kind](content)
        return open_handle(kind, content, self.file, self._opened)

    def _with_net(self, estimator, copy):
        from safetensors.torch import load as load_tensors

        net = vars(estimator)["net_"]
        if not isinstance(net, Placeholder) or net.kind != "net":
            raise MalformedEntryError("net_ is not a net")
        new = copy.copy_object(estimator, "", skip=("net_",))
        tensors = load_tensors(self.file.read(entry(net.content, "tensors", str)))
        new._set_net(copy(entry(net.content, "plain", dict)), tensors)
        return new


def _keyed_vectors(content):
    """Return gensim's KeyedVectors from words and arrays."""
    from ..vectors._gensim import to_keyed_vectors

    words, vectors = (
        entry(content, "words", list),
        entry(content, "vectors", np.ndarray),
    )
    if vectors.ndim != 2 or len(vectors) != len(words):
        raise MalformedEntryError("the numbers of vectors and words differ")
    buckets = entry(content, "buckets", np.ndarray, type(None))
    if buckets is not None:
        buckets = buckets, *entry(content, "n", list)
    return to_keyed_vectors(words, vectors, buckets)


_DECODERS = {
    **DECODERS,
    **COMPILED,
    "function": decode_function,
    "partial": decode_partial,
    "scorer": decode_scorer,
    "booster": decode_booster,
    "keyed vectors": _keyed_vectors,
}


# Parameters that let an estimator run code that comes with a model or a pickle;
# scikit-learn keeps pickles in the folder that `memory` names.
_UNSAFE_OPTIONS = ("trusted", "trust_remote_code", "memory")
# Types of the values that a search tries.
_CHOICES = (list, tuple, np.ndarray, Placeholder)


class TrustRequirements:
    """Collects the names for which a structure needs trust; creates no object.

    Parameters
    ----------
    structure : object
        An encoded estimator.
    types : set of str
        Types in it that are not trusted.
    """

    def __init__(self, structure, types):
        self.types, self.functions, self.options = {*types}, set(), set()
        GraphCopier(self)(structure)

    def check(self, trusted):
        """Raise one UntrustedError for all names that are not in `trusted`."""
        groups = self.types, self.functions - FUNCTIONS, self.options
        missing = [sorted(names - {*trusted}) for names in groups]
        if any(missing):
            raise untrusted(*missing)

    def __call__(self, value, where, copy):
        """Collect the names of one object; called by a `GraphCopier`."""
        if isinstance(value, Placeholder):
            content = entry(vars(value), "content", dict)
            if value.kind == "function":
                self.functions.add(function_name(content))
            if value.kind == "booster":
                self.types.add(function_name(content))
            if value.kind == "mapping":
                self._add_choices(_items(content))
            self._add_options(content)
        elif isinstance(value, dict):
            self._add_choices(value.items())
        elif hasattr(value, "__dict__") and not isinstance(value, type):
            self._add_options(vars(value))
        self.types |= unchecked_types(value, [p for p, _ in iter_parts(value, where)])
        return NotImplemented

    def _add_choices(self, items):
        """Add what a search would set, as in ``{"embed__trusted": [True]}``."""
        for name, values in items:
            last = name.rpartition("__")[2] if isinstance(name, str) else ""
            if last not in _UNSAFE_OPTIONS or not isinstance(values, _CHOICES):
                continue
            plain = isinstance(values, list | tuple)
            if not plain or any(v is not None and v is not False for v in values):
                self.options.add(f"{name}={values if plain else type(values).__name__}")

    def _add_options(self, attributes):
        for name in _UNSAFE_OPTIONS:
            value = attributes.get(name)
            # Numbers and arrays could be true as well.
            if value is not None and value is not False:
                plain = isinstance(value, str | bool)
                self.options.add(f"{name}={value if plain else type(value).__name__}")


def _items(content):
    """Return the items of an encoded dictionary, before it is decoded."""
    keys, values = content.get("keys"), content.get("values")
    if isinstance(keys, Placeholder) and keys.kind == "words":
        keys = decode_words(keys.content)
    both = isinstance(keys, list) and isinstance(values, list)
    return zip(keys, values, strict=False) if both else ()


def required_trust(plain, schema):
    """Return the names that `load` requires trust for.

    Takes an encoded estimator and the schema it was dumped to.
    """
    required = TrustRequirements(plain, untrusted_names(schema))
    return required.types | (required.functions - FUNCTIONS) | required.options


# Modules that open each kind of handle.
_MODULES = {
    "vectors": "sk_metaembed.vectors._word_vectors",
    "elmo": "sk_metaembed.sources._elmo_model",
    "static": "sk_metaembed.sources.static_subword._model",
    "transformer": "sk_metaembed.sources.transformer._model",
    "loaded": "sk_metaembed.sources.transformer._model",
}
_BUNDLES = "bundles"


def open_handle(kind, content, file, opened):
    """Return the handle of a placeholder, opened by reference or from its bundle.

    `opened` maps (kind, prefix) to handles of bundles of this file. Raises
    SavedFileError if the files it refers to were moved or changed.
    """
    if kind == "pair":
        handle = open_handle("loaded", content, file, opened)
        pair = handle.module, handle.tokenizer
        return list(pair) if content.get("as_list") is True else pair
    if kind not in _MODULES:
        raise MalformedEntryError(f"the kind {kind!r} is not known")
    module = import_module(_MODULES[kind])
    if "bundled" not in content:
        return _open_reference(module, kind, content, file)
    prefix = entry(content, "bundled", str)
    if (kind, prefix) not in opened:
        opened[kind, prefix] = _open_bundle(module, kind, content, file, prefix)
    return opened[kind, prefix]


def _open_reference(module, kind, content, file):
    try:
        return module.from_reference(kind, content)
    except (OSError, ValueError, ImportError) as error:
        raise SavedFileError(
            f"{file.label} refers to files of the {kind} that were moved or changed: "
            f"{error} Restore them, or save again with bundle=True."
        ) from error


def _open_bundle(module, kind, content, file, prefix):
    folder = unpack(file, prefix)
    try:
        return module.from_files(kind, content, folder)
    except Exception as error:  # readers raise errors without a common base class
        if _is_intact(file, prefix, folder):
            raise
        raise SavedFileError(
            f"{file.label} is intact, but its {kind}, unpacked to {folder}, was "
            "modified or corrupted there. Delete that folder and load again."
        ) from error


def _is_intact(file, prefix, folder):
    """Return whether the files of a bundle are as they were unpacked."""
    try:
        for name in file.names_under(f"{prefix}/"):
            with open(folder / name.removeprefix(f"{prefix}/"), "rb") as unpacked:
                digest = hashlib.file_digest(unpacked, "sha256").hexdigest()
            if digest != file.digest(name):
                return False
    except OSError:
        return False
    return True


def unpack(file, prefix):
    """Return the folder with the members of a bundle, written if it does not exist.

    It is in the cache and named by a digest of its contents, so that processes and
    pickles share it. The checksum of each member is verified when it is written.
    """
    names = file.names_under(f"{prefix}/")
    if not names:
        raise SavedFileError(f"{file.label}: the bundle {prefix!r} is missing.")
    root = cache_root().parent / _BUNDLES
    root.mkdir(parents=True, exist_ok=True)
    places = {name: name.removeprefix(f"{prefix}/") for name in names}
    digests = sorted((place, file.digest(name)) for name, place in places.items())
    key = hashlib.sha256(json.dumps(digests).encode()).hexdigest()[:32]

    def extract(folder):
        for name, place in places.items():
            path = Path(folder, place)
            path.parent.mkdir(parents=True, exist_ok=True)
            file.extract(name, path)

    publish(root / key, extract)
    return root / key
