"""The public handle on a store of word vectors.

Asking a store for words: rows, vectors, and vectors of unseen words.

What makes a handle on a store go by reference instead of by value.

One handle a store a process, so that all who use it share one map.

How stores come back from files that `save` wrote: a path, or a folder of theirs.
"""

import os
from pathlib import Path

import numpy as np

from .._io._handle_cache import HandleCache
from ._cache import default_root
from ._convert import (
    Options,
    arrays_store,
    check_arrays,
    store_at,
    store_for,
)
from ._gensim import buckets_of, check, to_keyed_vectors
from ._integrity import check_content, check_meta, mapped
from ._ngram_hash import mean_ngrams
from ._store_files import META, is_store, read_meta
from ._word_index import FEW, PackedWords, find, pack

_handles = HandleCache(maxsize=16)


def handle_of(path, make):
    """Return the process's handle on a store, made by ``make(path, meta)`` if new."""
    path = os.path.realpath(path)
    meta = read_meta(path)
    return _handles.get((path, meta["fingerprint"]), lambda: make(path, meta))


def reopen(path, fingerprint, make):
    """Return the handle that a pickle or a file of skops refers to.

    A store that is no longer at its path is looked for, under its own name, in the
    cache directory of this process, so that a file may cross machines.

    Raises
    ------
    FileNotFoundError
        If the store is in neither place.
    ValueError
        If what is there has another fingerprint.
    """
    handle = _handles.find((path, fingerprint))
    if handle is not None:
        return handle
    other = os.path.join(default_root(), os.path.basename(path))
    found = [place for place in (path, other) if is_store(place)]
    for place in found:
        if read_meta(place)["fingerprint"] == fingerprint:
            return handle_of(place, make)
    if found:
        raise ValueError(
            f"The word vectors saved here had fingerprint {fingerprint}, but the "
            f"store at {found[0]} now has {read_meta(found[0])['fingerprint']}: it was "
            f"made from something else. Bring back the directory that was there."
        )
    raise FileNotFoundError(
        f"Saved models hold word vectors by reference, and the store is missing: "
        f"the directory {path} (fingerprint {fingerprint}). Bring it to that place, or "
        f"put it at {other}."
    )


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

    _saved_kind = "vectors"  # in files that `save` writes

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
        """
        return self._path

    @property
    def fingerprint(self):
        """Digest of the content: equal for equal words, vectors and dtype.

        It goes into the keys of caches, and two handles are equal when their
        fingerprints are, wherever the stores lie.
        """
        return self._meta["fingerprint"]

    @property
    def vectors(self):
        """All vectors as a read-only memory map, shape (n_words, dim).

        The system reads the pages that are looked at and shares them between processes,
        so that a large matrix costs memory once at most.
        """
        return self._vectors

    @property
    def dim(self):
        """Length of a vector.

        It is read from the store's description, without a look at the vectors.
        """
        return self._meta["dim"]

    @property
    def dtype(self):
        """Type of the stored vectors, float32 or float16.

        `vectors` has this type; what is asked for by word comes as float32 whatever is
        stored.
        """
        return np.dtype(self._meta["dtype"])

    @property
    def has_subwords(self):
        """Whether unseen words get vectors from n-grams.

        Only fastText's models have n-grams: read from ``.bin`` files or from gensim.
        Text files of fastText, ``.vec``, lack them.
        """
        return self._buckets is not None

    @property
    def repairs(self):
        """What was mended in the source, counted by kind.

        Only what was mended stands there, so that a clean file gives an empty dict. It
        is kept with the store: a file that is converted already tells it again.
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


_CHUNK_WORDS = 1 << 14
# Words whose rows a handle keeps, a few megabytes: most of a text are frequent words.
_KEPT = 1 << 15


class StoreQueries(StoreReference):
    """A mapped store that looks up many words at once."""

    __slots__ = ("_rows", "_words")

    @property
    def words(self):
        """All words in row order.

        They are decoded at the first call and kept, which takes time and memory for
        millions of words: `lookup`, and ``word in store``, do without.
        """
        if not hasattr(self, "_words"):
            words = np.empty(len(self), object)
            words[:] = self._packed.to_list()
            words.setflags(write=False)
            object.__setattr__(self, "_words", words)
        return self._words

    def verify(self):
        """Read the whole store, and raise if a byte of it is not as it was written.

        Opening looks at sizes and shapes alone, so that it takes no time. Call this
        after copying a store, or for one from a disk that is in doubt: a flipped bit
        gives another vector, or a word that is not found, and no error.

        Returns
        -------
        WordVectors
            The handle itself.

        Raises
        ------
        ValueError
            If the store is damaged.
        """
        check_content(self._path, self.fingerprint)
        return self

    def lookup(self, words):
        """Return the row of each word, all at once.

        The rows serve to index `vectors` or anything else that is kept by row. It takes
        far less time than asking for each word by itself.

        Parameters
        ----------
        words : sequence of str, length n
            Any words, a word any number of times.

        Returns
        -------
        ndarray of int32, shape (n,)
            Rows of `vectors`, -1 for a word that is not there.

        Raises
        ------
        TypeError
            If a word is not a str; the message says which.

        Notes
        -----
        The words become one UTF-8 buffer, and compiled code probes the store's hash
        table and compares bytes, so equal hashes never make words equal.
        """
        if isinstance(words, np.ndarray) and words.ndim == 1:
            words = words.tolist()
        if (
            isinstance(words, list)
            and len(words) <= FEW
            and {*map(type, words)} == {str}
        ):
            return self._lookup_few(words)
        return find(pack(words), self._packed, self._index)

    def _lookup_few(self, words):
        """Look up a list of str, whose rows are often known from earlier calls."""
        if not hasattr(self, "_rows") or len(self._rows) > _KEPT:
            # Replaced, not emptied: other threads may be reading it.
            object.__setattr__(self, "_rows", {})
        kept = self._rows
        new = [word for word in words if word not in kept]
        if new:
            rows = find(pack(new), self._packed, self._index)
            kept.update(zip(new, rows.tolist(), strict=True))
        return np.array([kept[word] for word in words], np.int32)

    def vectors_for(self, words):
        """Return the vectors of words, zeros for those that are not there.

        The flags tell a word that is not there from one whose vector is zero. Only what
        is asked for is read from disk.

        Parameters
        ----------
        words : sequence of str, length n
            Any words, a word any number of times.

        Returns
        -------
        values : ndarray of float32, shape (n, dim)
            A copy, also of a float16 store.
        known : ndarray of bool, shape (n,)
            Whether the store has the word.
        """
        rows = self.lookup(words)
        known = rows >= 0
        values = np.take(np.asarray(self.vectors), np.maximum(rows, 0), axis=0)
        values = values.astype(np.float32, copy=False)
        values[~known] = 0
        return values, known

    def subword_vectors(self, words):
        r"""Return fastText's vector of any word, also of unseen ones.

        What a word is spelled with gives it a vector near to those of its kin:
        inflected and misspelled forms get one that makes sense. Only fastText's models
        hold what that takes.

        Parameters
        ----------
        words : sequence of str, length n
            Any words, a word any number of times.

        Returns
        -------
        ndarray of float32, shape (n, dim)
            A word of the store has its own vector; zeros for a word too short to
            have any n-gram.

        Raises
        ------
        ValueError
            If the store has no n-gram vectors.

        Notes
        -----
        An unseen word is the mean of its n-grams' vectors,
        :math:`\frac{1}{|G_w|} \sum_{g \in G_w} z_{h(g)}`, where :math:`G_w` are the
        n-grams of ``<word>`` on code points and :math:`h` is 32-bit FNV-1a modulo
        the number of buckets [1]_.

        References
        ----------
        .. [1] Bojanowski, Grave, Joulin and Mikolov (2017), "Enriching word vectors
           with subword information", TACL 5.
        """
        if not self.has_subwords:
            raise ValueError(
                f"{self!r} has no n-gram vectors, so unseen words have none. Only "
                f"fastText models (.bin, or gensim's FastText) have them."
            )
        packed = pack(words)
        rows = find(packed, self._packed, self._index)
        values = np.zeros((packed.n_words, self.dim), np.float32)
        known = rows >= 0
        values[known] = self.vectors[rows[known]]
        unseen = np.flatnonzero(~known)
        n = self._meta["subwords"]
        for start in range(0, len(unseen), _CHUNK_WORDS):
            chunk = unseen[start : start + _CHUNK_WORDS]
            means = np.zeros((len(chunk), self.dim), np.float32)
            mean_ngrams(
                packed.take(chunk), self._buckets, n["min_n"], n["max_n"], means
            )
            values[chunk] = means
        return values

    def __iter__(self):
        return iter(self.words)

    def __contains__(self, word):
        return isinstance(word, str) and self.lookup([word])[0] >= 0

    def __getitem__(self, word):
        if not isinstance(word, str):
            raise TypeError(
                f"A single word is a str, got {type(word).__name__}. For many words "
                f"use vectors_for, for rows the attribute vectors."
            )
        row = self.lookup([word])[0]
        if row < 0:
            raise KeyError(f"{word!r} is not among the {len(self):,} words")
        return np.array(self.vectors[row], np.float32)


class WordVectors(StoreQueries):
    r"""Words and their vectors in an immutable store on disk, mapped into memory.

    Use it wherever vectors are shared: as a parameter of an estimator, in a grid
    search, among worker processes. The handle goes by reference. Cloning and
    copying return the handle itself, a pickle holds the store's path and
    fingerprint, and each process maps a store once, so that a machine holds one
    copy of the matrix however many candidates and workers use it.

    Make one with `open`, `convert`, `from_arrays` or `from_keyed_vectors`; the
    constructor is not for use.

    Parameters
    ----------
    path : str
        Where the store is.
    meta : dict
        What its ``meta.json`` says.

    Attributes
    ----------
    path : str
        The store's directory.
    fingerprint : str
        Digest of the content: equal for equal words, vectors and dtype.
    dim : int
        Length of a vector.
    dtype : numpy.dtype
        float32 or float16, as stored.
    words : ndarray of str, shape (n_words,)
        All words in row order, decoded when first asked for.
    vectors : numpy.memmap, shape (n_words, dim)
        All vectors, read-only.
    has_subwords : bool
        Whether unseen words get vectors from n-grams (fastText models).
    repairs : dict of str to int
        What was mended in the source, counted; see Notes.

    See Also
    --------
    PretrainedEmbedding : The step that embeds with a store.
    export_vectors : Writes stores, and files for other programs.

    Notes
    -----
    Repairs, each counted under its name:

    ``duplicate_words``
        Later rows of a word that had a row already; the first is kept.
    ``undecodable_words``
        Words that are not UTF-8; each bad byte is spelled out, as in ``caf\xe9``.
    ``not_finite_rows``
        Words left out, with a warning, for NaN or infinite values.
    ``rows_beyond_header``
        Rows read although the header announced fewer.
    ``blank_lines``
        Lines without content, passed over.

    Everything else is an error that names the line or byte: a wrong number of
    columns, something that is no number, a file that ends early or has fewer
    rows than its header announces.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sk_metaembed import WordVectors
    >>> folder = tempfile.TemporaryDirectory()
    >>> wv = WordVectors.from_arrays(
    ...     ["tea", "coffee"], np.eye(2), cache_dir=folder.name
    ... )
    >>> wv.lookup(["coffee", "milk", "tea"])
    array([ 1, -1,  0], dtype=int32)
    >>> wv["tea"]
    array([1., 0.], dtype=float32)
    >>> from sklearn.base import clone
    >>> clone(wv, safe=False) is wv
    True
    >>> folder.cleanup()
    """

    __slots__ = ()

    @classmethod
    def open(
        cls,
        path,
        *,
        limit=None,
        words=None,
        dtype=None,
        cache_dir=None,
        trusted=False,
        verbose=0,
    ):
        r"""Open a vector file or a store; a file is converted once and cached.

        The format is told from the content: word2vec text and binary, GloVe text,
        fastText ``.vec`` and ``.bin`` (each also gzip, bzip2 or xz compressed), files
        saved by gensim, and stores. A file is converted again when its content
        changes; the older store stays in the cache, for the pickles that refer to it.

        Parameters
        ----------
        path : str or path-like
            A file, or the directory of a store.
        limit : int, default=None
            Use the first rows of the file only, so many.
        words : collection of str, default=None
            Keep these words only.
        dtype : {"float32", "float16"}, default=None
            Type to store vectors in. None means float32 for a file, and for a store
            whatever it has. float16 halves the size; values are rounded to 3 digits.
        cache_dir : str or path-like, default=None
            Where converted stores are kept. None means ``vectors`` below
            ``$SK_METAEMBED_CACHE``, or below ``~/.cache/sk_metaembed``.
        trusted : bool, default=False
            Allow gensim's pickles, which can run any code; text formats cannot.
        verbose : int, default=0
            Whether to show a progress bar while converting.

        Returns
        -------
        WordVectors
            The process's one handle on the store.

        Raises
        ------
        FileNotFoundError
            If nothing is at ``path``.
        ValueError
            If the content is damaged, empty, of no known format, or an untrusted
            pickle.
        """
        options = Options.of(limit, words, dtype, trusted, verbose)
        return handle_of(store_for(path, options, cache_dir), cls)

    @classmethod
    def convert(
        cls,
        source,
        path,
        *,
        limit=None,
        words=None,
        dtype=None,
        trusted=False,
        verbose=0,
    ):
        r"""Convert a vector file into a store at a place of your choice.

        For a store to ship or to keep; `open` with the store's path needs neither
        the file nor the cache any more. Nothing is left at ``path`` if the
        conversion fails or is killed.

        Parameters
        ----------
        source : str or path-like
            What `open` takes.
        path : str or path-like
            The directory to make; it must not exist yet.
        limit : int, default=None
            As for `open`, like all that follow.
        words : collection of str, default=None
            Keep these words only.
        dtype : {"float32", "float16"}, default=None
            Type to store vectors in.
        trusted : bool, default=False
            Allow gensim's pickles.
        verbose : int, default=0
            Whether to show a progress bar.

        Returns
        -------
        WordVectors
            The process's one handle on the store.

        Raises
        ------
        FileExistsError
            If there is something at ``path``.
        """
        options = Options.of(limit, words, dtype, trusted, verbose)
        return handle_of(store_at(source, path, options), cls)

    @classmethod
    def from_arrays(cls, words, matrix, *, path=None, cache_dir=None, dtype="float32"):
        """Make a store of words and a matrix in memory.

        For vectors that come from elsewhere than a file. The arrays are written to disk
        once and mapped, so that searches and workers share them as they share a
        converted file.

        Parameters
        ----------
        words : sequence of str, length n_words
            Of a word given twice the first row is kept.
        matrix : array-like of shape (n_words, dim)
            Real numbers.
        path : str or path-like, default=None
            Directory to make. None puts the store into the cache under a digest of
            the arrays, so that the same arrays are written once.
        cache_dir : str or path-like, default=None
            As for `open`.
        dtype : {"float32", "float16"}, default="float32"
            Type to store vectors in.

        Returns
        -------
        WordVectors
            The process's one handle on the store.

        Raises
        ------
        TypeError
            If a word is not a str.
        ValueError
            If the shapes do not fit or nothing is left to store.
        """
        packed, matrix = check_arrays(words, matrix)
        name = Options.of(None, None, dtype).dtype or "float32"
        place = arrays_store(packed, matrix, dtype=name, path=path, root=cache_dir)
        return handle_of(place, cls)

    @classmethod
    def from_keyed_vectors(cls, kv, *, path=None, cache_dir=None, dtype="float32"):
        """Make a store of gensim's KeyedVectors; fastText's n-grams come along.

        A search copies KeyedVectors for every candidate, and a worker gets a copy of
        its own; of a store a machine holds one, whoever uses it.

        Parameters
        ----------
        kv : gensim.models.KeyedVectors
            Or anything with ``index_to_key`` and ``vectors``.
        path : str or path-like, default=None
            Directory to make. None puts the store into the cache.
        cache_dir : str or path-like, default=None
            As for `open`.
        dtype : {"float32", "float16"}, default="float32"
            Type to store vectors in.

        Returns
        -------
        WordVectors
            The process's one handle on the store.

        Raises
        ------
        TypeError
            If ``kv`` is something else, or has keys that are not str.
        """
        kv = check(kv)
        packed, matrix = check_arrays(kv.index_to_key, kv.vectors)
        name = Options.of(None, None, dtype).dtype or "float32"
        more = {"dtype": name, "buckets": buckets_of(kv), "path": path}
        return handle_of(arrays_store(packed, matrix, **more, root=cache_dir), cls)

    def to_keyed_vectors(self):
        """Return gensim KeyedVectors holding a copy of everything in memory.

        For gensim's own functions, such as ``most_similar``. The copy takes the memory
        that the store spares.

        Returns
        -------
        gensim.models.KeyedVectors
            FastTextKeyedVectors where the store has n-gram vectors.
        """
        buckets = None
        if self.has_subwords:
            n = self._meta["subwords"]
            buckets = self._buckets, n["min_n"], n["max_n"]
        return to_keyed_vectors(self.words.tolist(), self.vectors, buckets)


def from_reference(kind, content):
    """Return the handle on the store at a path.

    Raises
    ------
    FileNotFoundError
        If there is none.
    ValueError
        If it holds something else by now.
    """
    return reopen(content["path"], content["fingerprint"], WordVectors)


def from_files(kind, content, folder):
    """Return the handle on a store that came in a file.

    Raises
    ------
    ValueError
        If it is not what it says, or would lead compiled code astray.
    """
    check_content(folder, content["fingerprint"])
    return handle_of(folder, WordVectors)
