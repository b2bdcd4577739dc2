"""PretrainedEmbedding: vectors that somebody has trained already."""

import os
from numbers import Integral
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..sequences._estimator import MISSING_CONSTRAINT
from ..vectors import WordVectors
from ._base import PREPROCESS_CONSTRAINT
from ._downloader import file_of
from ._unknown_words import warn_of_few
from ._words import OOV_CONSTRAINT, BaseWordEmbedding

_FEW = 0.05  # of the training fold's tokens: fewer known ones are a mistake
_LEARNED = WeakKeyDictionary()  # what preprocessing learned, by store and kind


class PretrainedEmbedding(BaseWordEmbedding):
    r"""Embed with pretrained word vectors, from a file, a store, gensim or a name.

    Vectors are mapped from disk and read where they are needed: candidates of a grid
    search and its workers share one copy. Each distinct word is looked up once.

    Parameters
    ----------
    vectors : str, path-like, WordVectors or gensim KeyedVectors
        A path to whatever `WordVectors.open` reads; a store that is open; vectors in
        memory; or a name that `gensim.downloader` knows, such as
        "glove-wiki-gigaword-50" (taken for a name if there is no such file). Prefer a
        path or a WordVectors: scikit-learn copies KeyedVectors, and fit writes them
        into the cache once.
    oov : {"zero", "mean", "random", "subword", "error"}, default="zero"
        Vector of a word that is not there, after `case_fallback`:

        - "zero": zeros;
        - "mean": the mean of the frequent words;
        - "random": drawn by the word's hash, the same everywhere, at the scale of the
          frequent words;
        - "subword": the mean of its n-grams' vectors, where the store has any
          (fastText's .bin); zeros if the word is too short for one;
        - "error": an error that names the word.

        A word that gets zeros is unknown, and later steps leave it out. A mean,
        random or n-gram vector makes it known and is used like any other.
    case_fallback : bool, default=True
        Look up a word that is not there once more in lower case.
    preprocess : {"unit", "centre", "unit-centre-unit", "all-but-the-top"}, default=None
        What is done to the vectors, learned from the first 100,000 words of the store
        (files have the most frequent words first).
    missing : {"raise", "empty"}, default="raise"
        What to do with missing rows (None, NaN, null): raise an error, or take them as
        empty sequences. A TokenSequences is taken as it is.
    limit : int, default=None
        Use the first rows only, so many.
    dtype : {"float32", "float16"}, default=None
        Type of the vectors. None means float32, or for a store whatever it has.
    cache_dir : str or path-like, default=None
        Where converted files are kept, see `WordVectors.open`.
    trusted : bool, default=False
        Allow files that are gensim's pickles, which can run any code.
    verbose : int, default=0
        Show a progress bar while converting.

    Attributes
    ----------
    vectors_ : WordVectors
        The open store.
    coverage_ : dict
        Share of the training data's ``"types"`` and ``"tokens"`` that are known.
        Words that ``oov="mean"`` or ``"random"`` gave a vector do not count.
    dims_ : dict of str to int
        Dimension of the block, by its name.
    n_missing_ : int
        Number of missing rows in the data of `fit`.

    Raises
    ------
    FileNotFoundError
        If `vectors` is no file, and no name that can be reached.
    TypeError
        If `vectors` is something else.

    Warns
    -----
    UserWarning
        If fewer than 5 % of the training fold's tokens are known, with the likely
        cause: case, a prefix or suffix of the store's words, or another language.

    See Also
    --------
    WordVectors : The store behind it.
    Word2VecEmbedding : Trains vectors on the training fold.

    Notes
    -----
    All-but-the-top subtracts the mean and the projections on the first
    ``D = max(1, dim // 100)`` principal components [1]_.

    References
    ----------
    .. [1] Mu and Viswanath (2018). All-but-the-top: simple and effective
       postprocessing for word representations. ICLR.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sk_metaembed import PretrainedEmbedding
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "tiny.txt")
    >>> _ = file.write_text("tea 0.5 1\ncoffee 2 -1\n")
    >>> source = PretrainedEmbedding(file, cache_dir=folder.name)
    >>> source.fit_transform([["Tea", "and", "coffee"]])[0]
    array([[ 0.5,  1. ],
           [ 0. ,  0. ],
           [ 2. , -1. ]], dtype=float32)
    >>> round(source.coverage_["types"], 2)
    0.67
    >>> folder.cleanup()
    """

    _parameter_constraints: dict = {
        "vectors": "no_validation",
        "oov": OOV_CONSTRAINT,
        "case_fallback": ["boolean"],
        "preprocess": PREPROCESS_CONSTRAINT,
        "missing": MISSING_CONSTRAINT,
        "limit": [Interval(Integral, 1, None, closed="left"), None],
        "dtype": [StrOptions({"float32", "float16"}), None],
        "cache_dir": [str, os.PathLike, None],
        "trusted": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        vectors,
        *,
        oov="zero",
        case_fallback=True,
        preprocess=None,
        missing="raise",
        limit=None,
        dtype=None,
        cache_dir=None,
        trusted=False,
        verbose=0,
    ):
        self.vectors = vectors
        self.oov = oov
        self.case_fallback = case_fallback
        self.preprocess = preprocess
        self.missing = missing
        self.limit = limit
        self.dtype = dtype
        self.cache_dir = cache_dir
        self.trusted = trusted
        self.verbose = verbose

    def _fit_vectors(self, tokens, y):
        store = self.vectors
        if isinstance(store, str | os.PathLike):
            self.vectors_ = self._opened(file_of(os.fspath(store)))
            return
        if not isinstance(store, WordVectors):
            store = self._converted(store)
        wanted = (self.limit or len(store), self.dtype or store.dtype.name)
        same = wanted[0] >= len(store) and wanted[1] == store.dtype.name
        self.vectors_ = store if same else self._opened(store.path)

    def _settle(self, tokens):
        found = super()._settle(tokens)
        if tokens.n_tokens and self.coverage_["tokens"] < _FEW:
            warn_of_few(tokens, found.known, self.vectors_)
        return found

    def _opened(self, path):
        return WordVectors.open(
            path,
            limit=self.limit,
            dtype=self.dtype,
            cache_dir=self.cache_dir,
            trusted=self.trusted,
            verbose=self.verbose,
        )

    def _converted(self, vectors):
        if not (hasattr(vectors, "index_to_key") and hasattr(vectors, "vectors")):
            raise TypeError(
                "PretrainedEmbedding: vectors must be a path, a WordVectors, gensim "
                "KeyedVectors or the name of a gensim-downloader model, got "
                f"{type(vectors).__name__}. "
                + (
                    "Pass its attribute wv."
                    if hasattr(vectors, "wv")
                    else "For words and a matrix use WordVectors.from_arrays(words, "
                    "matrix)."
                )
            )
        return WordVectors.from_keyed_vectors(vectors, cache_dir=self.cache_dir)

    def _table(self):
        return self.vectors_.vectors

    def _learn_preprocessing(self, frequent):
        # A store never changes: a grid search need not learn from it at every fit.
        learned = _LEARNED.setdefault(self.vectors_, {})
        if self.preprocess not in learned:
            learned[self.preprocess] = super()._learn_preprocessing(frequent)
        return learned[self.preprocess]

    def _find(self, words):
        rows = self.vectors_.lookup(words)
        missing = np.flatnonzero(rows < 0)
        if self.case_fallback and len(missing):
            lowered = [word.lower() for word in words[missing].tolist()]
            rows[missing] = self.vectors_.lookup(lowered)
        return rows

    def _compose(self, words):
        if not self.vectors_.has_subwords:
            return super()._compose(words)
        values = self.vectors_.subword_vectors(words)
        return values, values.any(axis=1)
