"""`WordVectors`: words and their vectors in an immutable, memory-mapped store.

Handles are passed by reference: a copy or clone is the handle itself, and a pickle has
the path and fingerprint of the store. A process has one handle per store, so that all
users share one memory map.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core._arrays import Immutable
from .._core._typing import StrPath
from .._io._atomic import this_user
from .._io._handle import Handle, shared_handle
from ._convert import cache_root, store_arrays, store_file
from ._gensim import check_keyed_vectors, filled_rows, import_gensim, ngram_table
from ._store import (
    META,
    PackedWords,
    Subwords,
    check_content,
    find,
    is_store,
    map_arrays,
    pack,
    read_meta,
)
from ._subwords import compose

_CHUNK_WORDS = 1 << 14
_PUBLIC_STATE = ("path", "fingerprint", "dim", "dtype", "vectors")
_STATE = (*_PUBLIC_STATE, "_subwords", "_composes_all", "_meta", "_packed", "_slots")


class StoreSpec(NamedTuple):
    """The directory of a store."""

    path: str


class WordVectors(Handle, Immutable, keep=16):
    r"""Words and their vectors in an immutable store on disk, memory-mapped.

    Use it wherever vectors are shared: as a parameter of an estimator, in a grid
    search, among worker processes. The handle is passed by reference: cloning and
    copying return the handle itself, a pickle contains the path and fingerprint of the
    store, and each process maps a store once. A machine thus has one copy of the
    matrix, whatever the number of candidates and workers.

    Create one with `open`, `convert`, `from_arrays` or `from_keyed_vectors`; do not
    call the constructor.

    Parameters
    ----------
    spec : StoreSpec
        Directory of the store.
    meta : dict
        Content of its ``meta.json``.

    Attributes
    ----------
    path : str
        Directory of the store; a pickle of the handle refers to it.
    fingerprint : str
        Digest of the content: equal for equal words, vectors and dtype. Handles with
        equal fingerprints are equal, wherever their stores are.
    dim : int
        Length of a vector.
    dtype : numpy.dtype
        float32 or float16, as stored; lookups by word return float32.
    words : ndarray of str, shape (n_words,)
        All words in row order, decoded on first access.
    vectors : numpy.memmap, shape (n_words, dim)
        All vectors, read-only. The system reads the pages in use and shares them
        between processes.
    has_subwords : bool
        Whether unknown words get vectors from n-grams (fastText models, floret).
    repairs : dict of str to int
        Number of repairs in the source by kind; see Notes.

    See Also
    --------
    PretrainedEmbedding : Embeds sequences with the vectors of a store.
    export_vectors : Writes the vectors of any embedding to a file.
    sk_metaembed.datasets.load_glove_6b_50d : Opens the GloVe vectors of a pip package.

    Notes
    -----
    Repairs, each counted under its name:

    ``duplicate_words``
        Later rows of a word; the first row is used.
    ``undecodable_words``
        Words that are not UTF-8; invalid bytes are escaped, as in ``caf\xe9``. There is
        a warning if there are many, as in a file of another encoding.
    ``not_finite_rows``
        Words dropped, with a warning, for NaN or infinite values.
    ``rows_beyond_header``
        Rows read in excess of the number in the header.
    ``blank_lines``
        Blank lines, skipped.
    ``rows_without_word``
        Rows of gensim's KeyedVectors that have no word, skipped.
    ``words_without_text``
        Vectors of spaCy whose words are not in its file of strings, dropped with a
        warning.

    Everything else is an error that names the line or byte: a wrong number of
    columns, a field that is not a number, a truncated file, or fewer rows than the
    header states.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from sk_metaembed import WordVectors
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "tiny.txt")
    >>> _ = file.write_text("tea 1 0\ncoffee 0 1\ntea 5 5\n")
    >>> wv = WordVectors.open(file, cache_dir=folder.name)
    >>> len(wv), wv.dim, wv.repairs
    (2, 2, {'duplicate_words': 1})
    >>> wv["tea"]
    array([1., 0.], dtype=float32)
    >>> wv.lookup(["coffee", "milk", "tea"])
    array([ 1, -1,  0], dtype=int32)
    >>> values, known = wv.vectors_for(["tea", "milk"])
    >>> values.tolist(), known.tolist()
    ([[1.0, 0.0], [0.0, 0.0]], [True, False])

    A store can be written to a directory of your choice, and made from arrays or from
    gensim's KeyedVectors. Equal content has an equal fingerprint:

    >>> WordVectors.convert(file, file.with_suffix(".store"))
    WordVectors(2 words, dim=2, float32, '...tiny.store')
    >>> same = WordVectors.from_arrays(
    ...     ["tea", "coffee"], np.eye(2), cache_dir=folder.name
    ... )
    >>> same == wv, same.path == wv.path
    (True, False)
    >>> kv = wv.to_keyed_vectors()
    >>> WordVectors.from_keyed_vectors(kv, cache_dir=folder.name) == wv
    True
    >>> from sklearn.base import clone
    >>> clone(wv, safe=False) is wv
    True

    Models of fastText have vectors for unknown words:

    >>> from gensim.test.utils import datapath
    >>> path = datapath("crime-and-punishment.bin")
    >>> model = WordVectors.open(path, cache_dir=folder.name)
    >>> "landlady" in model, "landladies" in model
    (True, False)
    >>> model.subword_vectors(["landladies"]).shape
    (1, 5)
    >>> folder.cleanup()
    """

    _kind, _Spec = "word vectors", StoreSpec

    __slots__ = ("__weakref__", "_words", *_STATE)

    path: str
    fingerprint: str
    dim: int
    dtype: np.dtype[Any]
    vectors: NDArray[Any]
    _subwords: Subwords | None
    _composes_all: bool
    _meta: dict[str, Any]
    _packed: PackedWords
    _slots: NDArray[np.uint64]
    _words: NDArray[np.object_]

    def __init__(self, spec: StoreSpec, meta: dict[str, Any]) -> None:
        packed, slots, vectors, subwords = map_arrays(spec.path, meta)
        self._assign(
            path=spec.path,
            fingerprint=meta["fingerprint"],
            dim=meta["dim"],
            dtype=np.dtype(meta["dtype"]),
            vectors=vectors,
            _subwords=subwords,
            # floret composes all words, so none has a row
            _composes_all=subwords is not None and subwords.floret is not None,
            _meta=meta,
            _packed=packed,
            _slots=slots,
        )

    @classmethod
    def open(
        cls,
        path: StrPath,
        *,
        limit: int | None = None,
        dtype: Literal["float32", "float16"] | None = None,
        cache_dir: StrPath | None = None,
        verbose: int = 0,
    ) -> Self:
        """Open a vector file or a store; a file is converted once and cached.

        The format is detected from the content: word2vec text and binary, GloVe text,
        fastText ``.vec`` and ``.bin``, floret (each also compressed by gzip, bzip2 or
        xz), files of gensim's ``save``, spaCy's vectors, and stores. The files of
        gensim are pickles: their data is read, and no code is run. A file is converted
        again when its content changes; the previous store stays in the cache for the
        pickles that refer to it. To keep only some words, write them to a store with
        `export_vectors` and ``format="store"``.

        Parameters
        ----------
        path : str or path-like
            A file, the directory of a store, or a pipeline of spaCy.
        limit : int, default=None
            Number of rows to read from the start of the file. None reads all.
        dtype : {"float32", "float16"}, default=None
            Type of the stored vectors. None means float32 for a file, and the type of
            its vectors for a store. float16 halves the size and rounds values to 3
            digits.
        cache_dir : str or path-like, default=None
            Directory of converted stores. None means ``vectors`` below
            ``$SK_METAEMBED_CACHE``, or below ``~/.cache/sk_metaembed``.
        verbose : int, default=0
            Whether to show a progress bar during conversion.

        Returns
        -------
        WordVectors
            The handle on the store, one per process.

        Raises
        ------
        FileNotFoundError
            If `path` does not exist.
        ValueError
            If the content is corrupt, empty or of unknown format.
        """
        store = store_file(
            path, limit=limit, dtype=dtype, cache_dir=cache_dir, verbose=verbose
        )
        return shared_handle(cls, StoreSpec(store))

    @classmethod
    def convert(
        cls,
        source: StrPath,
        path: StrPath,
        *,
        limit: int | None = None,
        dtype: Literal["float32", "float16"] | None = None,
        verbose: int = 0,
    ) -> Self:
        """Convert a vector file into a store in a directory of your choice.

        Use it for a store to distribute or to keep: `open` with the path of the store
        needs neither the file nor the cache. If the conversion fails or is killed,
        nothing is left at ``path``.

        Parameters
        ----------
        source : str or path-like
            As for `open`.
        path : str or path-like
            The directory to create; it must not exist.
        limit : int, default=None
            As for `open`, like the following parameters.
        dtype : {"float32", "float16"}, default=None
            Type of the stored vectors.
        verbose : int, default=0
            Whether to show a progress bar.

        Returns
        -------
        WordVectors
            The handle on the store, one per process.

        Raises
        ------
        FileExistsError
            If ``path`` exists.
        """
        store = store_file(
            source, limit=limit, dtype=dtype, path=Path(path), verbose=verbose
        )
        return shared_handle(cls, StoreSpec(store))

    @classmethod
    def from_arrays(
        cls,
        words: Sequence[str] | NDArray[Any],
        matrix: ArrayLike,
        *,
        path: StrPath | None = None,
        cache_dir: StrPath | None = None,
        dtype: Literal["float32", "float16"] = "float32",
    ) -> Self:
        """Create a store from words and a matrix in memory.

        The arrays are written to disk once and memory-mapped, so that searches and
        workers share them like a converted file.

        Parameters
        ----------
        words : sequence of str, length n_words
            The first row of a repeated word is used.
        matrix : array-like of shape (n_words, dim)
            Real numbers.
        path : str or path-like, default=None
            Directory to create. None means the cache, under a digest of the arrays, so
            that equal arrays are written once.
        cache_dir : str or path-like, default=None
            As for `open`.
        dtype : {"float32", "float16"}, default="float32"
            Type of the stored vectors.

        Returns
        -------
        WordVectors
            The handle on the store, one per process.

        Raises
        ------
        TypeError
            If a word is not a str.
        ValueError
            If the shapes disagree, no usable row is left, or a word has a lone
            surrogate.
        """
        store = store_arrays(words, matrix, dtype=dtype, path=path, cache_dir=cache_dir)
        return shared_handle(cls, StoreSpec(store))

    @classmethod
    def from_keyed_vectors(
        cls,
        kv: Any,
        *,
        path: StrPath | None = None,
        cache_dir: StrPath | None = None,
        dtype: Literal["float32", "float16"] = "float32",
    ) -> Self:
        """Create a store from gensim's KeyedVectors, n-grams of fastText included.

        A search copies KeyedVectors for every candidate, and every worker gets its own
        copy; a store exists once per machine.

        Parameters
        ----------
        kv : gensim.models.KeyedVectors
            KeyedVectors, or any object with ``index_to_key`` and ``vectors``.
        path : str or path-like, default=None
            As for `from_arrays`, like the following parameters.
        cache_dir : str or path-like, default=None
            Directory of converted stores.
        dtype : {"float32", "float16"}, default="float32"
            Type of the stored vectors.

        Returns
        -------
        WordVectors
            The handle on the store, one per process.

        Raises
        ------
        TypeError
            If ``kv`` is another object, has keys that are not str, or has matrices that
            are not arrays, like compressed models of other packages.
        """
        check_keyed_vectors(kv)
        words, matrix, n_unused = filled_rows(kv.index_to_key, kv.vectors)
        store = store_arrays(
            words,
            matrix,
            subwords=ngram_table(kv),
            repairs={"rows_without_word": n_unused},
            path=path,
            cache_dir=cache_dir,
            dtype=dtype,
        )
        return shared_handle(cls, StoreSpec(store))

    def to_keyed_vectors(self) -> Any:
        """Return gensim KeyedVectors with a copy of words and vectors in memory.

        Use it for functions of gensim, such as ``most_similar``. The result has no
        n-grams.

        Returns
        -------
        gensim.models.KeyedVectors
            Vectors in float32, in row order.
        """
        kv = import_gensim("to_keyed_vectors").models.KeyedVectors(self.dim)
        kv.add_vectors(self.words.tolist(), np.array(self.vectors, np.float32))
        return kv

    @property
    def words(self) -> NDArray[np.object_]:
        """All words in row order, decoded on first access.

        Decoding millions of words takes time and memory; `lookup` and ``word in store``
        do not need it.
        """
        if not hasattr(self, "_words"):
            words = np.fromiter(self._packed.to_list(), object)
            words.setflags(write=False)
            self._assign(_words=words)
        return self._words

    @property
    def has_subwords(self) -> bool:
        """Whether unknown words get vectors from n-grams.

        fastText models from ``.bin`` files or gensim have n-grams, but the text files
        of fastText, ``.vec``, do not. Tables of floret have only n-grams: `words` is
        empty, and every word is known.
        """
        return self._subwords is not None

    @property
    def repairs(self) -> dict[str, int]:
        """Number of repairs in the source by kind; empty for a clean file.

        The counts are stored, so that a file from the cache reports them too.
        """
        return dict(self._meta["repairs"])

    def verify(self) -> Self:
        """Read the whole store and check that every byte is as written.

        `open` checks only sizes and shapes, which takes no time. Call this after
        copying a store, or for a store on an unreliable disk: a flipped bit changes a
        vector, or hides a word, without an error.

        Returns
        -------
        WordVectors
            The handle itself.

        Raises
        ------
        ValueError
            If the store is corrupt.
        """
        check_content(self.path, self.fingerprint)
        return self

    def lookup(self, words: Sequence[str] | NDArray[Any]) -> NDArray[np.int32]:
        """Return the row of each word.

        The rows index `vectors` or any other array in row order. One call for many
        words is much faster than a call per word.

        Parameters
        ----------
        words : sequence of str, length n
            Words, with or without repetitions.

        Returns
        -------
        ndarray of int32, shape (n,)
            Rows of `vectors`, -1 for unknown words.

        Raises
        ------
        TypeError
            If a word is not a str; the message names the first.
        """
        return find(pack(words), self._packed, self._slots)

    def vectors_for(
        self, words: Sequence[str] | NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return the vector of each word, and which words are known.

        Only the rows of the given words are read from disk.

        Parameters
        ----------
        words : sequence of str, length n
            Words, with or without repetitions.

        Returns
        -------
        values : ndarray of float32, shape (n, dim)
            A copy; zeros for unknown words.
        known : ndarray of bool, shape (n,)
            Whether the store has the word.
        """
        if self._composes_all:
            values = self.subword_vectors(words)
            return values, np.any(values, axis=1)
        rows = self.lookup(words)
        known = rows >= 0
        values = np.take(np.asarray(self.vectors), np.maximum(rows, 0), axis=0)
        values = values.astype(np.float32, copy=False)
        values[~known] = 0
        return values, known

    def subword_vectors(
        self, words: Sequence[str] | NDArray[Any]
    ) -> NDArray[np.float32]:
        r"""Return the vector of each word, composed of n-grams if it is unknown.

        In fastText, the vector of an unknown word is the mean of the vectors of its
        n-grams, :math:`\frac{1}{|G_w|} \sum_{g \in G_w} z_{h(g)}`, where :math:`G_w`
        are the n-grams of ``<word>`` on code points and :math:`h` is 32-bit FNV-1a
        modulo the number of buckets. Inflected and misspelled forms thus get vectors
        close to the vectors of the words they resemble. In tables of floret,
        MurmurHash3 selects one to four rows per n-gram, and the word itself counts as
        one more n-gram.

        Parameters
        ----------
        words : sequence of str, length n
            Words, with or without repetitions.

        Returns
        -------
        ndarray of float32, shape (n, dim)
            The stored vector of a known word; zeros for a word too short to have an
            n-gram.

        Raises
        ------
        ValueError
            If the store has no n-gram vectors.

        References
        ----------
        Bojanowski, Grave, Joulin and Mikolov (2017), "Enriching word vectors with
        subword information", TACL 5.
        """
        if self._subwords is None:
            raise ValueError(
                f"{self!r} has no n-gram vectors, so unknown words have no vector. "
                f"Only fastText models (.bin, or gensim's FastText) and floret have "
                f"them."
            )
        packed = pack(words)
        rows = find(packed, self._packed, self._slots)
        values = np.zeros((packed.n_words, self.dim), np.float32)
        known = rows >= 0
        values[known] = self.vectors[rows[known]]
        unknown = np.flatnonzero(~known)
        for start in range(0, len(unknown), _CHUNK_WORDS):
            chunk = unknown[start : start + _CHUNK_WORDS]
            means = np.zeros((len(chunk), self.dim), np.float32)
            compose(packed.take(chunk), self._subwords, means)
            values[chunk] = means
        return values

    def __len__(self) -> int:
        return self._meta["count"]

    def __contains__(self, word: object) -> bool:
        if not isinstance(word, str):
            return False
        if self._composes_all:
            return bool(self.vectors_for([word])[1][0])
        return bool(self.lookup([word])[0] >= 0)

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        if not isinstance(word, str):
            raise TypeError(
                f"The key must be a str; got {type(word).__name__}. For many words use "
                f"vectors_for, for rows the attribute vectors."
            )
        values, known = self.vectors_for([word])
        if not known[0]:
            raise KeyError(f"{word!r} is not among the {len(self):,} words")
        return values[0]

    def __eq__(self, other):
        if not isinstance(other, WordVectors):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self):
        return hash(self.fingerprint)

    def __repr__(self):
        words = f"{len(self):,} " + ("word" if len(self) == 1 else "words")
        if self._composes_all:
            words = f"all words by {len(self._subwords.table):,} rows of n-grams"
        return (
            f"{type(self).__name__}({words}, dim={self.dim}, "
            f"{self.dtype.name}, {self.path!r})"
        )

    @property
    def _spec(self):
        return StoreSpec(self.path)

    @classmethod
    def _find(cls, spec, local):
        spec = StoreSpec(os.path.realpath(spec.path))
        meta = read_meta(spec.path)
        return spec, meta["fingerprint"], meta

    @classmethod
    def _reopen(cls, spec, fingerprint, *, local=False):
        """Return the handle on a store that a pickle or saved file refers to.

        A store that is not at its path is looked up under its own name in the cache
        directory of this process, so that a file may be used on another machine.
        """
        path = spec.path
        other = os.path.join("$SK_METAEMBED_CACHE/vectors", os.path.basename(path))
        with suppress(FileNotFoundError):  # a user without a home directory
            other = os.path.join(cache_root(), os.path.basename(path))
        stores = [place for place in (path, other) if is_store(place)]
        found = [read_meta(place)["fingerprint"] for place in stores]
        if fingerprint in found:
            return shared_handle(cls, StoreSpec(stores[found.index(fingerprint)]))
        if stores:
            raise cls._changed(stores[0], fingerprint, found[0])
        raise FileNotFoundError(
            f"Saved models refer to word vectors by path, and for {this_user()} the "
            f"store is missing: the directory {path} (fingerprint {fingerprint}). "
            f"Restore it there, or copy it to {other}."
        )

    def _files(self):
        """Return the files that a saved file may include, by name."""
        return {name: Path(self.path, name) for name in (META, *self._meta["files"])}

    @classmethod
    def _unpacked(cls, spec, folder):
        # An index that points out of bounds would mislead compiled code.
        check_content(folder, read_meta(folder)["fingerprint"])
        return StoreSpec(os.path.realpath(folder))

    # pickle, copy and clone use `__reduce__`; skops reads the state and sets it on a
    # new, empty object, which then shares the arrays of the process's handle.
    __getstate__ = Handle._reference

    def __setstate__(self, state):
        if hasattr(self, "_meta"):
            raise AttributeError("WordVectors is immutable; its state cannot be set.")
        handle = self._from_reference(state)
        self._assign(**{name: getattr(handle, name) for name in _STATE})
