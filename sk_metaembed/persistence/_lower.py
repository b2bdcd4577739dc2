"""From an estimator to what a file holds: a plain structure and members beside it."""

import sys

import numpy as np

from ._boosters import booster
from ._functions import named
from ._graph import Rewriter, is_plain_object, name_of
from ._packing import packed
from ._stand_in import StandIn

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
        from ..sources._transformer_model import loaded_model

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
        from ._packing import words_stand_in

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
    from ..sources._transformer_options import is_pair

    return is_pair(thing)


def _is_keyed_vectors(thing):
    from gensim.models import KeyedVectors

    return isinstance(thing, KeyedVectors)
