"""PretrainedEmbedding: vectors that somebody has trained already.

Files behind the names that gensim.downloader knows.

Why a store of word vectors knows almost none of the words of some texts.
"""

import os
import re
import unicodedata
import warnings
from collections import Counter
from numbers import Integral
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..sequences._mixins import MISSING_CONSTRAINT
from ..vectors import WordVectors
from ._base import PREPROCESS_CONSTRAINT
from ._gensim_base import quiet_gensim
from ._word_base import OOV_CONSTRAINT, BaseWordEmbedding

_PAGE = "https://github.com/piskvorky/gensim-data"


def file_of(path):
    """Return a path as it is if something is there, else the file of a model's name.

    Parameters
    ----------
    path : str
        A path, or the name of a gensim-downloader model.

    Returns
    -------
    str

    Raises
    ------
    FileNotFoundError
        If there is no such file, and no such model or no way to get it.
    """
    expanded = os.path.expanduser(path)
    if os.path.exists(expanded):
        return expanded
    if os.path.basename(path) != path or "." in path:
        raise FileNotFoundError(
            f"There is no file {path!r} (looked from {os.getcwd()!r}). Give the path "
            "of a vector file or store, or the name of a gensim-downloader model, "
            'such as "glove-wiki-gigaword-50".'
        )
    return _here_already(path) or _downloaded(path)


def _here_already(name):
    from gensim import downloader

    file = os.path.join(downloader.BASE_DIR, name, f"{name}.gz")
    return file if os.path.exists(file) else None


def _downloaded(name):
    from gensim import downloader

    try:
        with quiet_gensim:
            models = downloader.info()["models"]
    except Exception as error:  # gensim and urllib raise many kinds
        raise _out_of_reach(name, error) from error
    if name not in models:
        raise FileNotFoundError(
            f"{name!r} is neither a file (looked from {os.getcwd()!r}) nor a model of "
            f"gensim-downloader, which has {sorted(models)}."
        )
    try:
        with quiet_gensim:
            return downloader.load(name, return_path=True)
    except Exception as error:
        raise _out_of_reach(name, error) from error


def _out_of_reach(name, error):
    from gensim import downloader

    place = os.path.join(downloader.BASE_DIR, name, f"{name}.gz")
    return FileNotFoundError(
        f"{name!r} is no file here (looked from {os.getcwd()!r}), and asking "
        f"gensim-downloader for a model of that name failed ({error}). Without a "
        f"network, bring the file: download {name}.gz from the releases of {_PAGE} "
        f"elsewhere, and pass its path or put it at {place}."
    )


_MOST_FREQUENT = 1000  # unknown words to look at
_SAMPLE = 200_000  # words of the store to look at
_AFFIXES = 5  # to try
# A cause must explain this share of the unknown tokens, and this many words: a single
# word may match by chance.
_ENOUGH = 0.2
_FEWEST = 3
_SHOWN = 5
_LETTERS = re.compile(r"[^\W\d_]+")
_CASES = {
    "lower case": str.lower,
    "title case": str.capitalize,
    "capitals": str.upper,
}


def warn_of_few(tokens, known, store):
    """Warn that a store knows almost none of the tokens, and say why.

    Parameters
    ----------
    tokens : TokenSequences
    known : ndarray of bool, shape (n_types,)
    store : WordVectors
    """
    counts = np.where(known, 0, tokens.type_counts())
    most = np.argsort(-counts, kind="stable")[:_MOST_FREQUENT]
    unknown = {str(tokens.types[i]): int(counts[i]) for i in most if counts[i]}
    share = known[tokens.codes].mean()
    warnings.warn(
        f"PretrainedEmbedding: only {share:.1%} of the training fold's "
        f"{tokens.n_tokens:,} tokens are known to {store!r}. {_cause(unknown, store)}",
        UserWarning,
        stacklevel=2,
    )


def _cause(unknown, store):
    """Return the likely cause as sentences.

    Parameters
    ----------
    unknown : dict of str to int
        Frequent words that the store lacks, and how often they occur.
    store : WordVectors
    """
    total = sum(unknown.values())
    if sum(n for word, n in unknown.items() if len(word.split()) > 1) > total / 2:
        return (
            f"Tokens such as {_shown(unknown)} have spaces in them: they are texts, "
            "not words. Pass texts as str, or split them into lists of words."
        )
    words = _sample(store)
    forms = [("", "", case) for case in _CASES]
    forms += [(*affix, case) for affix in _affixes(unknown, words) for case in _CASES]
    found = [_explained(unknown, store, form) for form in forms]
    tokens = [sum(unknown[word] for word in each) for each in found]
    best = int(np.argmax(tokens))
    few = len(found[best]) < min(_FEWEST, len(unknown))
    if tokens[best] >= _ENOUGH * total and not few:
        return _of_form(found[best][0], forms[best])
    theirs, ours = _script(words), _script(unknown)
    if theirs and ours and theirs != ours:
        return (
            f"The store's words are written in {theirs.title()} letters, such as "
            f"{_shown(words)}, and the texts in {ours.title()} ones. Use vectors of "
            "the texts' language."
        )
    return (
        f"The store has words such as {_shown(words)}, and the texts such as "
        f"{_shown(unknown)}. Are they in the same language, and split alike?"
    )


def _of_form(word, form):
    prefix, suffix, case = form
    example = f"{word!r} is there as {_formed(word, form)!r}"
    if not (prefix or suffix):
        how = (
            "Use case_fallback=True, or Tokenizer(lowercase=True)."
            if case == "lower case"
            else "Convert the tokens, or the words of the store, to its case."
        )
        return f"The store's words are in {case}: {example}. {how}"
    parts = {"prefix": prefix, "suffix": suffix}
    named = " and ".join(f"the {name} {part!r}" for name, part in parts.items() if part)
    return (
        f"The store's words have {named}: {example}. Make a store of the words without "
        "it: WordVectors.from_arrays(words, vectors)."
    )


def _formed(word, form):
    prefix, suffix, case = form
    return f"{prefix}{_CASES[case](word)}{suffix}"


def _explained(unknown, store, form):
    """Return the unknown words that the store has in another form."""
    rows = store.lookup([_formed(word, form) for word in unknown])
    return [word for word, row in zip(unknown, rows, strict=True) if row >= 0]


def _affixes(unknown, words):
    """Return the affixes with which the store has unknown words most often."""
    sought = {word.lower() for word in unknown}
    found = Counter(
        (word[: run.start()], word[run.end() :])
        for word in words
        for run in _LETTERS.finditer(word)
        if run.group().lower() in sought
    )
    found.pop(("", ""), None)
    return [affix for affix, _ in found.most_common(_AFFIXES)]


def _sample(store):
    """Return words of the store, evenly spaced: some are sorted by language."""
    rows = np.unique(np.linspace(0, len(store) - 1, _SAMPLE).astype(np.int64))
    return store._packed.take(rows).to_list()


def _script(words):
    """Return the name of the script that most words are written in, "" for none."""
    firsts = (next((c for c in word if c.isalpha()), "") for word in words)
    names = (unicodedata.name(c, "").partition(" ")[0] for c in firsts if c)
    (name, _), *_ = Counter(names).most_common(1) or [("", 0)]
    return name


def _shown(words):
    shown = [word for word in words if any(c.isalpha() for c in word)] or list(words)
    return ", ".join(repr(word[:40]) for word in shown[:_SHOWN])


_FEW = 0.05  # of the training fold's tokens: fewer known ones are a mistake
# What preprocessing learned, by store and kind.
_LEARNED: WeakKeyDictionary[WordVectors, dict] = WeakKeyDictionary()


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

    def _fit_lookup(self, tokens):
        found = super()._fit_lookup(tokens)
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
