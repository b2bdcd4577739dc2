"""From the checked structure of a file to the estimator.

Vectors and models that files hold by reference, or whole in a bundle.
"""

import hashlib
import json
from importlib import import_module
from pathlib import Path

import numpy as np

from ..vectors._cache import cache_root, publish
from ._boosters import KINDS, booster_name, booster_of
from ._codecs import UNPACK, StandIn, Untold, part, words_of
from ._errors import (
    SavedFileError,
    told_as_damaged,
    untrusted_functions,
    untrusted_options,
    untrusted_types,
)
from ._functions import (
    function_name,
    function_of,
    partial_of,
    scorer_of,
)
from ._graph_copy import Rewriter
from ._schema import untrusted_in
from ._trusted import FUNCTIONS

# Where each kind of handle is opened: the room that it lives in knows how.
_HOMES = {
    "vectors": "sk_metaembed.vectors._word_vectors",
    "elmo": "sk_metaembed.sources._elmo_model",
    "transformer": "sk_metaembed.sources.transformer._model",
    "loaded": "sk_metaembed.sources.transformer._model",
}
_BUNDLES = "bundles"


def opened(kind, content, file, known):
    """Return the handle that a stand-in tells of.

    Parameters
    ----------
    kind : str
    content : dict
    file : SealedFile
    known : dict
        What this file's bundles were opened as.

    Raises
    ------
    SavedFileError
        If what it refers to is not there, or is something else by now.
    """
    if kind == "pair":
        handle = opened("loaded", content, file, known)
        pair = handle.network, handle.tokenizer
        return list(pair) if content.get("as_list") is True else pair
    if kind not in _HOMES:
        raise Untold(f"no such kind as {kind!r}")
    home = import_module(_HOMES[kind])
    if "bundled" not in content:
        return _by_reference(home, kind, content, file)
    prefix = part(content, "bundled", str)
    if (kind, prefix) not in known:
        known[kind, prefix] = _from_bundle(home, kind, content, file, prefix)
    return known[kind, prefix]


def _from_bundle(home, kind, content, file, prefix):
    folder = unpacked(file, prefix)
    try:
        return home.from_files(kind, content, folder)
    except Exception as error:  # what readers of files raise has no base class
        if _is_whole(file, prefix, folder):
            raise
        raise SavedFileError(
            f"{file.what} is not at fault, but its {kind}, unpacked to {folder}, was "
            "changed or damaged there. Delete that folder and load again."
        ) from error


def _is_whole(file, prefix, folder):
    """Tell whether the files of a bundle are as they were unpacked."""
    try:
        for name in file.under(f"{prefix}/"):
            with open(folder / name.rpartition("/")[2], "rb") as held:
                digest = hashlib.file_digest(held, "sha256").hexdigest()
            if digest != file.seal_of(name):
                return False
    except OSError:
        return False
    return True


def _by_reference(home, kind, content, file):
    try:
        return home.from_reference(kind, content)
    except (OSError, ValueError, ImportError) as error:
        raise SavedFileError(
            f"{file.what} holds no {kind} itself but refers to files, and these are "
            f"not as they were: {error} Or save again with bundle=True, where they are."
        ) from error


def unpacked(file, prefix):
    """Return the folder with the members of a bundle, written if it is not there.

    It lies in the cache under a digest of what it holds, so that processes and pickles
    share it, and each member was held against its checksum when it was written.
    """
    names = file.under(f"{prefix}/")
    if not names:
        raise SavedFileError(f"{file.what} lacks its bundle {prefix!r}.")
    root = cache_root().parent / _BUNDLES
    root.mkdir(parents=True, exist_ok=True)
    target = root / _digest({n.rpartition("/")[2]: file.seal_of(n) for n in names})
    publish(target, lambda folder: _write(file, names, folder))
    return target


def _write(file, names, folder):
    for name in names:
        file.extract(name, Path(folder, name.rpartition("/")[2]))


def _digest(seals):
    return hashlib.sha256(json.dumps(sorted(seals.items())).encode()).hexdigest()[:32]


def keyed_vectors_of(content, file):
    """Return gensim's KeyedVectors from words and tensors."""
    from safetensors.torch import load

    from ..vectors._gensim import to_keyed_vectors

    tensors = load(file.read(part(content, "tensors", str)))
    words, n = part(content, "words", list), part(content, "n", list)
    vectors = tensors["vectors"].numpy()
    if vectors.ndim != 2 or len(vectors) != len(words):
        raise Untold("there are not as many vectors as words")
    buckets = (tensors["buckets"].numpy(), *n) if n else None
    return to_keyed_vectors(words, vectors, buckets)


# Parameters that let an estimator run what comes with a model or a pickle; scikit-learn
# keeps pickles in the folder that `memory` names.
_ALLOWING = ("trusted", "trust_remote_code", "memory")
# What a search takes a parameter's values from.
_CHOICES = (list, tuple, np.ndarray, StandIn)


class Restoring:
    """What a structure becomes on its way out of a file.

    Parameters
    ----------
    file : SealedFile
    trusted : collection of str
        What the user trusts beyond the lists.
    """

    def __init__(self, file, trusted):
        self.file, self.trusted = file, trusted
        self._rewrite = Rewriter(self._swap)
        self._opened = {}

    def __call__(self, structure):
        """Return the estimator.

        Raises
        ------
        UntrustedError
            If it names functions, or has parameters, that run code, or has models of
            other libraries.
        """
        self._check_asked(structure)
        with told_as_damaged(self.file.what):
            return self._rewrite(structure)

    def _check_asked(self, structure):
        """See that all is trusted before anything is imported or opened."""
        asked = Asked()
        with told_as_damaged(self.file.what):
            Rewriter(asked)(structure)
        for names, refuse in (
            (asked.boosters, untrusted_types),
            (asked.functions - FUNCTIONS, untrusted_functions),
            (asked.options, untrusted_options),
        ):
            if names - {*self.trusted}:
                raise refuse(names - {*self.trusted})

    def _swap(self, thing, where, rewrite):
        if isinstance(thing, StandIn):
            return self._made(thing, where, rewrite)
        if hasattr(type(thing), "_set_net") and "net_" in vars(thing):
            return self._with_net(thing, rewrite)
        return NotImplemented

    def _made(self, thing, where, rewrite):
        kind, content = (
            part(vars(thing), "kind", str),
            part(vars(thing), "content", dict),
        )
        if kind == "net":
            raise Untold("a net stands where no estimator trains one")
        content = {name: rewrite(value, where) for name, value in content.items()}
        if kind in _MAKE:
            return _MAKE[kind](content)
        if kind in KINDS:
            return booster_of(kind, content, self.file)
        if kind == "keyed vectors":
            return keyed_vectors_of(content, self.file)
        return opened(kind, content, self.file, self._opened)

    def _with_net(self, estimator, rewrite):
        from safetensors.torch import load

        net = vars(estimator)["net_"]
        if not isinstance(net, StandIn) or net.kind != "net":
            raise Untold("net_ is no net")
        new = rewrite.attributes(estimator, "", but=("net_",))
        tensors = load(self.file.read(part(net.content, "tensors", str)))
        new._set_net(rewrite(part(net.content, "plain", dict)), tensors)
        return new


_MAKE = {**UNPACK, "function": function_of, "partial": partial_of, "scorer": scorer_of}


class Asked:
    """Collects what a structure needs to be trusted for, and makes nothing."""

    def __init__(self):
        self.functions, self.options, self.boosters = set(), set(), set()

    def __call__(self, thing, where, rewrite):
        if isinstance(thing, StandIn):
            content = part(vars(thing), "content", dict)
            if thing.kind == "function":
                self.functions.add(function_name(content))
            if thing.kind in KINDS:
                self.boosters.add(booster_name(thing.kind, content))
            if thing.kind == "mapping":
                self._note_choices(_pairs(content))
            self._note(content)
        elif isinstance(thing, dict):
            self._note_choices(thing.items())
        elif hasattr(thing, "__dict__") and not isinstance(thing, type):
            self._note(vars(thing))
        return NotImplemented

    def _note_choices(self, pairs):
        """Note what a search would set, as in ``{"embed__trusted": [True]}``."""
        for name, values in pairs:
            last = name.rpartition("__")[2] if isinstance(name, str) else ""
            if last not in _ALLOWING or not isinstance(values, _CHOICES):
                continue
            plain = isinstance(values, list | tuple)
            if not plain or any(v is not None and v is not False for v in values):
                self.options.add(f"{name}={values if plain else type(values).__name__}")

    def _note(self, attributes):
        for name in _ALLOWING:
            value = attributes.get(name)
            # Numbers and arrays could pass for True as well.
            if value is not None and value is not False:
                told = value if isinstance(value, str | bool) else type(value).__name__
                self.options.add(f"{name}={told}")


def asked_for(plain, structure):
    """Return the names that `load` asks to trust before it reads a structure.

    Parameters
    ----------
    plain : object
        What the structure was written from.
    structure : bytes

    Returns
    -------
    set of str
    """
    asked = Asked()
    Rewriter(asked)(plain)
    names = asked.boosters | (asked.functions - FUNCTIONS) | asked.options
    return names | untrusted_in(structure)


def _pairs(content):
    """Return keys and values of a dictionary that is a stand-in, none made yet."""
    keys, values = content.get("keys"), content.get("values")
    if isinstance(keys, StandIn) and keys.kind == "words":
        keys = words_of(keys.content)
    both = isinstance(keys, list) and isinstance(values, list)
    return zip(keys, values, strict=False) if both else ()


def check_estimator(thing, what):
    """See that what was read is an estimator.

    Raises
    ------
    SavedFileError
        If it is something else.
    """
    if isinstance(thing, StandIn) or not hasattr(thing, "get_params"):
        raise SavedFileError(f"{what} holds {type(thing).__name__}, and no estimator.")
    return thing
