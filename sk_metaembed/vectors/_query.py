"""Asking a store for words: rows, vectors, and vectors of unseen words."""

import numpy as np

from ._ngram import mean_ngrams
from ._reference import StoreReference
from ._sound import check_content
from ._words import FEW, find, pack

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

        See Also
        --------
        WordVectors.lookup : The way back, from words to rows.
        WordVectors.vectors : The vectors in the same order.

        Examples
        --------
        >>> import tempfile
        >>> from sk_metaembed import WordVectors
        >>> folder = tempfile.TemporaryDirectory()
        >>> wv = WordVectors.from_arrays(["tea"], [[1, 2]], cache_dir=folder.name)
        >>> wv.words.tolist()
        ['tea']
        >>> folder.cleanup()
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

        See Also
        --------
        WordVectors.fingerprint : The digest that the content is compared with.

        Examples
        --------
        >>> import tempfile
        >>> from sk_metaembed import WordVectors
        >>> folder = tempfile.TemporaryDirectory()
        >>> wv = WordVectors.from_arrays(["tea"], [[1, 2]], cache_dir=folder.name)
        >>> wv.verify() is wv
        True
        >>> folder.cleanup()
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

        See Also
        --------
        WordVectors.vectors_for : The vectors instead of the rows.
        WordVectors.words : The word of each row.

        Notes
        -----
        The words become one UTF-8 buffer, and compiled code probes the store's hash
        table and compares bytes, so equal hashes never make words equal.

        Examples
        --------
        >>> import tempfile
        >>> from sk_metaembed import WordVectors
        >>> folder = tempfile.TemporaryDirectory()
        >>> wv = WordVectors.from_arrays(["tea"], [[1.0, 2.0]], cache_dir=folder.name)
        >>> wv.lookup(["milk", "tea"])
        array([-1,  0], dtype=int32)
        >>> folder.cleanup()
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

        See Also
        --------
        WordVectors.lookup : The rows instead of the vectors.
        WordVectors.subword_vectors : Vectors of unseen words too.
        PretrainedEmbedding :
            The same as a step, with a choice of what unknown words get.

        Examples
        --------
        >>> import tempfile
        >>> from sk_metaembed import WordVectors
        >>> folder = tempfile.TemporaryDirectory()
        >>> wv = WordVectors.from_arrays(["tea"], [[1.0, 2.0]], cache_dir=folder.name)
        >>> values, known = wv.vectors_for(["tea", "milk"])
        >>> values.tolist(), known.tolist()
        ([[1.0, 2.0], [0.0, 0.0]], [True, False])
        >>> folder.cleanup()
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

        See Also
        --------
        WordVectors.has_subwords : Whether the store can.
        WordVectors.vectors_for : Zeros for unseen words.
        FastTextEmbedding : Learns such vectors from the training fold.

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

        Examples
        --------
        >>> import tempfile
        >>> from gensim.test.utils import datapath
        >>> from sk_metaembed import WordVectors
        >>> folder = tempfile.TemporaryDirectory()
        >>> model = datapath("crime-and-punishment.bin")
        >>> wv = WordVectors.open(model, cache_dir=folder.name)
        >>> "landlady" in wv, "landladies" in wv
        (True, False)
        >>> wv.subword_vectors(["landladies"]).shape
        (1, 5)
        >>> folder.cleanup()
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
