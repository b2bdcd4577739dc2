"""What makes a handle on a store go by reference instead of by value."""

from pathlib import Path

import numpy as np

from ._layout import META
from ._registry import reopen
from ._sound import check_meta, mapped
from ._words import PackedWords

_SHARED = ("_buckets", "_index", "_meta", "_packed", "_path", "_vectors")


class StoreReference:
    """A mapped store that copies to itself and pickles to a path and a fingerprint.

    Parameters
    ----------
    path : str
        Where the store is.
    meta : dict
        What its ``meta.json`` says.
    """

    _kept_as = "vectors"  # in files that `save` writes

    __slots__ = ("__weakref__", *_SHARED)

    def __init__(self, path, meta):
        check_meta(path, meta)
        arrays = mapped(path, meta)
        parts = {
            "_path": path,
            "_meta": meta,
            "_vectors": arrays["vectors"],
            "_packed": PackedWords(arrays["words"], arrays["offsets"]),
            "_index": arrays["index"],
            "_buckets": arrays["buckets"],
        }
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    @property
    def path(self):
        """The store's directory.

        A pickle of the handle holds this path, so that the store must still be there
        when it is read.

        See Also
        --------
        WordVectors.open : Takes this path.
        WordVectors.fingerprint : Is compared when a pickle is read.

        Examples
        --------
        >>> import tempfile
        >>> from sk_metaembed import WordVectors
        >>> folder = tempfile.TemporaryDirectory()
        >>> wv = WordVectors.from_arrays(["tea"], [[1, 2]], cache_dir=folder.name)
        >>> wv.path.startswith(folder.name)
        True
        >>> folder.cleanup()
        """
        return self._path

    @property
    def fingerprint(self):
        """Digest of the content: equal for equal words, vectors and dtype.

        It goes into the keys of caches, and two handles are equal when their
        fingerprints are, wherever the stores lie.

        See Also
        --------
        WordVectors.path : Where the store is.

        Examples
        --------
        >>> import tempfile
        >>> from sk_metaembed import WordVectors
        >>> folder = tempfile.TemporaryDirectory()
        >>> wv = WordVectors.from_arrays(["tea"], [[1, 2]], cache_dir=folder.name)
        >>> same = WordVectors.from_arrays(
        ...     ["tea"], [[1, 2]], path=f"{folder.name}/copy"
        ... )
        >>> same.path == wv.path, same.fingerprint == wv.fingerprint
        (False, True)
        >>> folder.cleanup()
        """
        return self._meta["fingerprint"]

    @property
    def vectors(self):
        """All vectors as a read-only memory map, shape (n_words, dim).

        The system reads the pages that are looked at and shares them between processes,
        so that a large matrix costs memory once at most.

        See Also
        --------
        WordVectors.vectors_for : Copies for given words.
        WordVectors.words : The word of each row.

        Examples
        --------
        >>> import tempfile
        >>> from sk_metaembed import WordVectors
        >>> folder = tempfile.TemporaryDirectory()
        >>> wv = WordVectors.from_arrays(["tea"], [[1, 2]], cache_dir=folder.name)
        >>> wv.vectors[0].tolist(), wv.vectors.flags.writeable
        ([1.0, 2.0], False)
        >>> folder.cleanup()
        """
        return self._vectors

    @property
    def dim(self):
        """Length of a vector.

        It is read from the store's description, without a look at the vectors.

        See Also
        --------
        WordVectors.vectors : The vectors themselves.
        Block.dim : The same of a block.

        Examples
        --------
        >>> import tempfile
        >>> from sk_metaembed import WordVectors
        >>> folder = tempfile.TemporaryDirectory()
        >>> wv = WordVectors.from_arrays(["tea"], [[1, 2]], cache_dir=folder.name)
        >>> wv.dim
        2
        >>> folder.cleanup()
        """
        return self._meta["dim"]

    @property
    def dtype(self):
        """Type of the stored vectors, float32 or float16.

        `vectors` has this type; what is asked for by word comes as float32 whatever is
        stored.

        See Also
        --------
        WordVectors.vectors : As they are stored.
        WordVectors.vectors_for : Always float32.

        Examples
        --------
        >>> import tempfile
        >>> from sk_metaembed import WordVectors
        >>> folder = tempfile.TemporaryDirectory()
        >>> wv = WordVectors.from_arrays(["tea"], [[1, 2]], cache_dir=folder.name)
        >>> wv.dtype
        dtype('float32')
        >>> folder.cleanup()
        """
        return np.dtype(self._meta["dtype"])

    @property
    def has_subwords(self):
        """Whether unseen words get vectors from n-grams.

        Only fastText's models have n-grams: read from ``.bin`` files or from gensim.
        Text files of fastText, ``.vec``, lack them.

        See Also
        --------
        WordVectors.subword_vectors : Vectors of unseen words.
        PretrainedEmbedding : Uses them with ``oov="subword"``.

        Examples
        --------
        >>> import tempfile
        >>> from sk_metaembed import WordVectors
        >>> folder = tempfile.TemporaryDirectory()
        >>> wv = WordVectors.from_arrays(["tea"], [[1, 2]], cache_dir=folder.name)
        >>> wv.has_subwords
        False
        >>> folder.cleanup()
        """
        return self._buckets is not None

    @property
    def repairs(self):
        """What was mended in the source, counted by kind.

        Only what was mended stands there, so that a clean file gives an empty dict. It
        is kept with the store: a file that is converted already tells it again.

        See Also
        --------
        WordVectors.open : Converts files, and mends them.

        Examples
        --------
        >>> import tempfile
        >>> from sk_metaembed import WordVectors
        >>> folder = tempfile.TemporaryDirectory()
        >>> wv = WordVectors.from_arrays(["tea"] * 2, [[1], [2]], cache_dir=folder.name)
        >>> wv.repairs
        {'duplicate_words': 1}
        >>> folder.cleanup()
        """
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

    # pickle and copy go by `__reduce__`; skops reads the state and sets it on a new,
    # empty object, which then shares the arrays of the process's handle.
    def __getstate__(self):
        return self._reference()

    def __setstate__(self, state):
        if hasattr(self, "_meta"):
            raise AttributeError("WordVectors is immutable; its state cannot be set.")
        handle = reopen(state["path"], state["fingerprint"], type(self))
        for name in _SHARED:
            object.__setattr__(self, name, getattr(handle, name))

    def _reference(self):
        """Return the path and fingerprint, by which `reopen` finds the store."""
        return {"path": self._path, "fingerprint": self.fingerprint}

    def _files(self, where):
        """Return the files that a saved file takes in, by name."""
        return {name: Path(self._path, name) for name in (META, *self._meta["files"])}

    def __repr__(self):
        words = "word" if len(self) == 1 else "words"
        return (
            f"{type(self).__name__}({len(self):,} {words}, dim={self.dim}, "
            f"{self.dtype.name}, {self._path!r})"
        )
