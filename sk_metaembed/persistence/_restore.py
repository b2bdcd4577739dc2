"""From the checked structure of a file to the estimator."""

import numpy as np

from ._asked import untrusted_functions, untrusted_options, untrusted_types
from ._boosters import KINDS, booster_name, booster_of
from ._errors import SavedFileError, told_as_damaged
from ._functions import function_name, function_of, partial_of, scorer_of
from ._graph import Rewriter
from ._kept import keyed_vectors_of, opened
from ._packing import UNPACK, words_of
from ._schema import untrusted_in
from ._stand_in import StandIn, Untold, part
from ._trusted import FUNCTIONS

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
