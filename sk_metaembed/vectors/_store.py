"""The public handle on a store of word vectors."""

from ._convert import Options, arrays_store, check_arrays, store_at, store_for
from ._gensim import buckets_of, check, to_keyed_vectors
from ._query import StoreQueries
from ._registry import handle_of


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

        See Also
        --------
        WordVectors.convert : To a place of your choice instead of the cache.
        sk_metaembed.datasets.load_vectors : Opens vectors by name.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sk_metaembed import WordVectors
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = pathlib.Path(folder.name, "tiny.txt")
        >>> _ = file.write_text("tea 0.5 1\ncoffee 2 -1\n")
        >>> wv = WordVectors.open(file, cache_dir=folder.name)
        >>> len(wv), wv.dim
        (2, 2)
        >>> folder.cleanup()
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

        See Also
        --------
        WordVectors.open : Converts into the cache, and opens stores.
        export_vectors : Writes vectors of any embedding.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sk_metaembed import WordVectors
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = pathlib.Path(folder.name, "tiny.txt")
        >>> _ = file.write_text("2 2\ntea 0.5 1\ncoffee 2 -1\n")
        >>> WordVectors.convert(file, file.with_suffix(".store"))
        WordVectors(2 words, dim=2, float32, '...tiny.store')
        >>> folder.cleanup()
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

        See Also
        --------
        WordVectors.from_keyed_vectors : From a model of gensim's.
        WordVectors.open : From a file.

        Examples
        --------
        >>> import tempfile
        >>> from sk_metaembed import WordVectors
        >>> folder = tempfile.TemporaryDirectory()
        >>> wv = WordVectors.from_arrays(
        ...     ["tea", "tea"], [[1.0], [2.0]], cache_dir=folder.name
        ... )
        >>> len(wv), wv.repairs
        (1, {'duplicate_words': 1})
        >>> folder.cleanup()
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

        See Also
        --------
        WordVectors.to_keyed_vectors : The way back.
        WordVectors.open : Reads files that gensim saved.

        Examples
        --------
        >>> import tempfile
        >>> from gensim.models import KeyedVectors
        >>> from sk_metaembed import WordVectors
        >>> kv = KeyedVectors(2)
        >>> kv.add_vectors(["tea", "coffee"], [[1.0, 0.0], [0.0, 1.0]])
        >>> folder = tempfile.TemporaryDirectory()
        >>> wv = WordVectors.from_keyed_vectors(kv, cache_dir=folder.name)
        >>> wv.to_keyed_vectors().index_to_key
        ['tea', 'coffee']
        >>> folder.cleanup()
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

        See Also
        --------
        WordVectors.from_keyed_vectors : The way there.
        export_vectors : A file that gensim reads.

        Examples
        --------
        >>> import tempfile
        >>> from sk_metaembed import WordVectors
        >>> folder = tempfile.TemporaryDirectory()
        >>> wv = WordVectors.from_arrays(["tea"], [[1, 2]], cache_dir=folder.name)
        >>> wv.to_keyed_vectors().get_vector("tea")
        array([1., 2.], dtype=float32)
        >>> folder.cleanup()
        """
        buckets = None
        if self.has_subwords:
            n = self._meta["subwords"]
            buckets = self._buckets, n["min_n"], n["max_n"]
        return to_keyed_vectors(self.words.tolist(), self.vectors, buckets)
