"""PretrainedEmbedding: word vectors from a file, a store, gensim or a model name."""

from __future__ import annotations

import os
import warnings
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np

from ..._core._inherited_docs import inherit_docs
from ..._core._sklearn import COUNT, StrOptions
from ..._core._typing import StrPath
from ...sequences._api import canonical_words
from ...vectors import WordVectors
from ...vectors._api import import_gensim
from .._base import Preprocess, SourceDocs
from .._model_folder import hint_of_folder
from ._base import OOV, BaseWordEmbedding

_GENSIM_DATA = "https://github.com/piskvorky/gensim-data"
# Fitted preprocessing, by store and kind.
_PREPROCESSINGS: WeakKeyDictionary[WordVectors, dict] = WeakKeyDictionary()

_HEAD = 10_000  # words of a store that are examined for capitals
_FEW_CAPITALS = 0.01  # share of them

_LOW_COVERAGE = 0.05  # known share of the training tokens below which to warn
_N_UNKNOWN = 1000  # most frequent unknown words to examine
_SHOWN = 5


def resolve_path(path):
    """Return an existing path as it is, else the file of a gensim-downloader model."""
    expanded = os.path.expanduser(path)
    if os.path.exists(expanded):
        return expanded
    if os.path.basename(path) != path or "." in path:
        raise FileNotFoundError(
            f"No such file: {path!r} (in {os.getcwd()!r}). Pass the path of a vector "
            "file or store, or the name of a gensim-downloader model, such as "
            '"glove-wiki-gigaword-50".'
        )
    import_gensim(f"The model {path!r}, which is not a file in {os.getcwd()!r},")
    from gensim import downloader

    file = os.path.join(downloader.BASE_DIR, path, f"{path}.gz")
    if os.path.exists(file):
        return file
    try:
        return downloader.load(path, return_path=True)
    except Exception as error:  # gensim and urllib raise many error types
        raise FileNotFoundError(
            f"{path!r} is not a file (in {os.getcwd()!r}), and gensim-downloader has "
            f"no model of that name or cannot be reached ({error}). Without network "
            f"access, download {path}.gz from the releases of {_GENSIM_DATA} on "
            f"another machine, and pass its path or save it as {file}."
        ) from error


def warn_low_coverage(tokens, known, store):
    """Warn that a store knows very few of the tokens, and say what to check."""
    counts = np.where(known, 0, tokens.type_counts())
    most = np.argsort(-counts, kind="stable")[:_N_UNKNOWN]
    unknown = [str(tokens.types[i]) for i in most if counts[i]]
    share = known[tokens.codes].mean()
    warnings.warn(
        f"PretrainedEmbedding: only {share:.1%} of the {tokens.n_tokens:,} training "
        f"tokens are in {store!r}. {_cause(unknown, store)}",
        stacklevel=2,
    )


def _cause(unknown, store):
    """Return what to check, given the most frequent unknown words."""
    shown = [word[:40] for word in unknown[:_SHOWN]]
    if sum(len(word.split()) > 1 for word in unknown) > len(unknown) / 2:
        return (
            f"Tokens such as {shown} contain spaces: they are texts, not words. Pass "
            "texts as str, or split them into lists of words."
        )
    rows = np.unique(np.linspace(0, len(store) - 1, _SHOWN).astype(np.int64))
    words = store._packed.take(rows).to_list()
    return (
        f"The store has words such as {words}, and the "
        f"texts have words such as {shown}. Check that both are in the same language, "
        "case and form, with the same prefixes, and tokenized in the same way."
    )


def _way_in(model):
    """Return how to pass the vectors of an object that is not accepted."""
    package = type(model).__module__.partition(".")[0]
    if package == "spacy":
        return "Save the pipeline with nlp.to_disk(folder), and pass the folder."
    if package in ("fasttext", "floret"):
        return "Save the model with model.save_model(file), and pass the file."
    return "For words and a matrix, use WordVectors.from_arrays(words, matrix)."


def _is_capitalized(word):
    """Return whether a word consists of letters, with the first or all in capitals."""
    (word,) = canonical_words([word])
    letters = word.replace("'", "").replace("\u2019", "")
    is_title = word.istitle() or letters.istitle()  # "O'Neill" or "Don't"
    return (is_title or word.isupper()) and letters.isalpha() and len(letters) > 1


@inherit_docs(SourceDocs)
class PretrainedEmbedding(BaseWordEmbedding):
    r"""Embed words with pretrained vectors.

    Vectors are memory-mapped and read only where they are needed, so the candidates and
    workers of a grid search share one copy. Each distinct word is looked up once.

    Parameters
    ----------
    vectors : str, path-like, WordVectors or gensim KeyedVectors
        A path to any file that `WordVectors.open` reads, an open store, or vectors in
        memory. A name such as "glove-wiki-gigaword-50" is looked up in
        `gensim.downloader` if there is no such file. Prefer a path or a WordVectors:
        scikit-learn copies KeyedVectors, and fit writes them to the cache once.
    oov : {"zero", "mean", "subword", "error"}, default="zero"
        Vector of a word that is not in the store, after `case_fallback`:

        - "zero": zeros;
        - "mean": the mean of the frequent words;
        - "subword": the mean of its n-gram vectors if the store has any (fastText's
          .bin); zeros if the word is too short to have one;
        - "error": an error that names the word.

        Tables of floret compose all words from n-grams, whatever the policy.
        A word with zeros is unknown and later steps skip it. A mean or n-gram vector
        makes the word known and is used like any other.
    case_fallback : bool, default=True
        Look up a word in lower case if it is not in the store. If words of the store
        have capitals, so that their case has a meaning, this applies only to words of
        two or more letters, the first or all of them capitals, as at the beginning of a
        sentence: not to "C", "A-1" or "pH". Words with accents are always looked up in
        both Unicode forms, NFC and NFD.
    preprocess : {"unit", "center", "unit-center-unit", "all-but-the-top"}, default=None
        Preprocessing of the vectors, learned from the first 100,000 words of the store
        (files list the most frequent words first).
    limit : int, default=None
        Maximum number of rows to use, from the first.
    dtype : {"float32", "float16"}, default=None
        Type of the vectors. None means float32, or the type of an open store.
    cache_dir : str or path-like, default=None
        Directory for converted files, see `WordVectors.open`.
    verbose : int, default=0
        Show a progress bar while converting.

    Attributes
    ----------
    vectors_ : WordVectors
        The open store.
    coverage_ : dict
        Share of the training data's ``"types"`` and ``"tokens"`` that are known. Words
        with a vector from ``oov="mean"`` do not count.

    Raises
    ------
    FileNotFoundError
        If `vectors` is neither a file nor the name of a model that can be downloaded.
    TypeError
        If `vectors` has another type.

    Warns
    -----
    UserWarning
        If fewer than 5 % of the training data's tokens are known. The message suggests
        a cause.

    See Also
    --------
    WordVectors : The store of vectors.
    Word2VecEmbedding : Trains vectors on the training data.

    Notes
    -----
    All-but-the-top subtracts the mean and the projections on the first
    ``D = max(1, dim // 100)`` principal components [1]_. With few words, it leaves the
    last component in which they vary.

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
        "case_fallback": ["boolean"],
        "limit": [COUNT, None],
        "dtype": [StrOptions({"float32", "float16"}), None],
        "cache_dir": [str, os.PathLike, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        vectors: Any,
        *,
        oov: OOV = "zero",
        case_fallback: bool = True,
        preprocess: Preprocess | None = None,
        missing: Literal["raise", "empty"] = "raise",
        limit: int | None = None,
        dtype: Literal["float32", "float16"] | None = None,
        cache_dir: StrPath | None = None,
        verbose: int = 0,
    ) -> None:
        self.vectors = vectors
        self.oov = oov
        self.case_fallback = case_fallback
        self.preprocess = preprocess
        self.missing = missing
        self.limit = limit
        self.dtype = dtype
        self.cache_dir = cache_dir
        self.verbose = verbose

    def _fit_vectors(self, tokens, y):
        vectors, is_ready = self.vectors, False
        if isinstance(vectors, str | os.PathLike):
            path = resolve_path(os.fspath(vectors))
            is_folder = os.path.isdir(path)
            if is_folder and (hint := hint_of_folder(path, "PretrainedEmbedding")):
                raise ValueError(f"{path} has no vectors.{hint}")
        else:
            if not isinstance(vectors, WordVectors):
                vectors = self._of_keyed_vectors(vectors)
            has_all = self.limit is None or self.limit >= len(vectors)
            is_ready = has_all and self.dtype in (None, vectors.dtype.name)
            path = vectors.path
        if not is_ready:
            vectors = WordVectors.open(
                path,
                limit=self.limit,
                dtype=self.dtype,
                cache_dir=self.cache_dir,
                verbose=self.verbose,
            )
        self.vectors_ = vectors
        self._composes_all = vectors._composes_all
        # Case has a meaning if words have capitals, beyond a few marks and errors.
        words = vectors._packed.head(_HEAD).to_list("replace")
        n_cased = sum(word != word.lower() for word in words)
        self._fitted_case_fallback = self.case_fallback
        if self.case_fallback and n_cased > _FEW_CAPITALS * len(words):
            self._fitted_case_fallback = "words"

    def _of_keyed_vectors(self, vectors):
        if not hasattr(vectors, "index_to_key"):
            raise TypeError(
                "vectors must be a path, a WordVectors, gensim KeyedVectors (a "
                "model's attribute wv) or the name of a gensim-downloader model; "
                f"got {type(vectors).__name__}. {_way_in(vectors)}"
            )
        return WordVectors.from_keyed_vectors(vectors, cache_dir=self.cache_dir)

    def _learn(self, tokens, y):
        blocks = super()._learn(tokens, y)
        if tokens.n_tokens and self.coverage_["tokens"] < _LOW_COVERAGE:
            warn_low_coverage(tokens, self._look_up(tokens).known, self.vectors_)
        return blocks

    def _fit_preprocessing(self, kind, frequent):
        if self._composes_all:  # learned from words of the training data
            return super()._fit_preprocessing(kind, frequent)
        # A store is immutable, so a grid search learns from it once.
        fitted = _PREPROCESSINGS.setdefault(self.vectors_, {})
        if kind not in fitted:
            fitted[kind] = super()._fit_preprocessing(kind, frequent)
        return fitted[kind]

    def _table(self):
        return self.vectors_.vectors

    def _find(self, words):
        rows = self.vectors_.lookup(words)
        case = self._fitted_case_fallback
        if case:  # "words": only for tokens that are capitalized words
            absent = [
                i
                for i in np.flatnonzero(rows < 0)
                if words[i] != words[i].lower()
                and (case != "words" or _is_capitalized(words[i]))
            ]
            rows[absent] = self.vectors_.lookup([words[i].lower() for i in absent])
        return rows

    def _compose(self, words):
        if not self.vectors_.has_subwords:
            return super()._compose(words)
        values = self.vectors_.subword_vectors(words)
        return values, values.any(axis=1)
