"""What makes a handle on a store go by reference instead of by value."""

import numpy as np

from ._layout import map_array
from ._registry import reopen
from ._words import PackedWords


class StoreReference:
    """A mapped store that copies to itself and pickles to a path and a fingerprint.

    Parameters
    ----------
    path : str
        Where the store is.
    meta : dict
        What its ``meta.json`` says.
    """

    __slots__ = (
        "__weakref__",
        "_buckets",
        "_index",
        "_meta",
        "_packed",
        "_path",
        "_vectors",
    )

    def __init__(self, path, meta):
        arrays = map_array(path, "words"), map_array(path, "offsets")
        parts = {
            "_path": path,
            "_meta": meta,
            "_vectors": map_array(path, "vectors"),
            "_packed": PackedWords(*arrays),
            "_index": map_array(path, "index"),
            "_buckets": map_array(path, "buckets") if meta["subwords"] else None,
        }
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    @property
    def path(self):
        """The store's directory."""
        return self._path

    @property
    def fingerprint(self):
        """Digest of the content: equal for equal words, vectors and dtype."""
        return self._meta["fingerprint"]

    @property
    def vectors(self):
        """All vectors as a read-only memory map, shape (n_words, dim)."""
        return self._vectors

    @property
    def dim(self):
        """Length of a vector."""
        return self._meta["dim"]

    @property
    def dtype(self):
        """Type of the stored vectors, float32 or float16."""
        return np.dtype(self._meta["dtype"])

    @property
    def has_subwords(self):
        """Whether unseen words get vectors from n-grams."""
        return self._buckets is not None

    @property
    def repairs(self):
        """What was mended in the source, counted by kind."""
        return dict(self._meta["repairs"])

    def __len__(self):
        return self._meta["count"]

    def __setattr__(self, name, value):
        raise AttributeError(f"WordVectors is immutable; {name!r} cannot be set.")

    def __delattr__(self, name):
        raise AttributeError(f"WordVectors is immutable; {name!r} cannot be deleted.")

    def __eq__(self, other):
        if not isinstance(other, StoreReference):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self):
        return hash(self.fingerprint)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __sklearn_clone__(self):
        return self

    def __reduce__(self):
        return reopen, (self._path, self.fingerprint, type(self))

    def __repr__(self):
        words = "word" if len(self) == 1 else "words"
        return (
            f"{type(self).__name__}({len(self):,} {words}, dim={self.dim}, "
            f"{self.dtype.name}, {self._path!r})"
        )
