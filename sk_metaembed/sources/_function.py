"""FunctionEmbedding: any callable as a source."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from typing import Any, Literal

import numpy as np

from .._core._errors import short_repr
from .._core._inherited_docs import inherit_docs
from .._core._sklearn import COUNT, StrOptions
from .._core._typing import StrPath
from .._io._atomic import exclusive_lock
from ..sequences import Block
from ._base import BaseEmbedding, Preprocess, SourceDocs, no_tokens_error
from ._cache import SentenceCache
from ._fingerprint import fingerprint_of
from ._sentences import OriginalText, distinct_sentences, nonempty_texts


@inherit_docs(SourceDocs)
class FunctionEmbedding(BaseEmbedding):
    """Use any callable as a source: a sentence encoder, a lexicon, computed features.

    This is the simplest way to add other vectors to a union. For a source with
    parameters, derive from `BaseEmbedding`.

    Parameters
    ----------
    func : callable
        Takes a list of distinct entries and returns one result per entry, in the same
        order:

        - ``level="type"``: takes distinct tokens (str), returns an array of shape
          (n, dim);
        - ``level="sequence"``: takes sequences, as lists of tokens or as strings (see
          `as_text`), returns an array of shape (n, dim);
        - ``level="token"``: takes sequences likewise, returns one array of shape
          (n_tokens of the sequence, dim) per sequence.

        An array of (n, dim) may be sparse, or a DataFrame. A result of None means that
        the entry has no vector: its rows are zero and unknown. To pickle the source,
        use a function defined in a module.
    level : {"type", "token", "sequence"}, default="type"
        Unit that a row of vectors represents. At "type" each distinct token is embedded
        once, regardless of context.
    as_text : bool, default=False
        Pass sequences to `func` as strings: the original texts at ``level="sequence"``,
        and tokens joined by spaces at ``level="token"`` or if there are no texts.
    dim : int, default=None
        Dimension of the vectors. None infers it from the results in fit.
    batch_size : int, default=None
        Maximum number of entries per call, None for a single call.
    cache : path-like, default=None
        Directory of a sentence cache: each entry is passed to `func` once, for all
        folds, candidates, processes and runs. `func` must then have an attribute
        `cache_key`, a str that changes whenever its results do; see Notes.

    Raises
    ------
    ValueError
        If results are not finite or have inconsistent shapes; the message names the
        entry. If there is a `cache`, and `func` has no `cache_key`.

    See Also
    --------
    EmbeddingCache : Content and size of a cache.
    BaseEmbedding : Base class for sources with parameters of their own.
    EstimatorEmbedding : A source made from a scikit-learn transformer.

    Notes
    -----
    Fitting calls `func` on the training data to learn the dimension, `preprocess` and
    `coverage_`; ``fit_transform`` calls it once for both. Sequences without tokens, and
    original texts that are empty or only whitespace, are not passed to `func`: their
    vectors are zero and unknown.

    With `cache`, results are stored as float32. The key of an entry consists of
    ``func.cache_key``, `level`, `as_text` and the entry. ``cache_key`` should identify
    what `func` computes, for example a model and its options, which cannot be found
    from the code of a function. The results of each call are stored when it returns, so
    an error or a killed process loses at most one call: set `batch_size` accordingly.
    Processes with the same cache take turns, so that no call is repeated.

    Examples
    --------
    >>> from sk_metaembed import FunctionEmbedding
    >>> def lengths(words):
    ...     return [[len(word)] for word in words]
    >>> FunctionEmbedding(lengths).fit_transform(["to be", "or not"])[1]
    array([[2.],
           [3.]], dtype=float32)
    >>> def exclamations(texts):
    ...     return [[text.count("!"), len(text)] for text in texts]
    >>> source = FunctionEmbedding(exclamations, level="sequence", as_text=True)
    >>> source.fit_transform([["oh", "!"], ["well"]]).block("function").values
    array([[1., 4.],
           [0., 4.]], dtype=float32)

    With a cache:

    >>> import tempfile
    >>> def slow(words):
    ...     print(f"called with {words}")
    ...     return [[len(word)] for word in words]
    >>> slow.cache_key = "length, version 1"
    >>> folder = tempfile.TemporaryDirectory()
    >>> source = FunctionEmbedding(slow, cache=folder.name).fit(["to be"])
    called with ['to', 'be']
    >>> source.transform(["be or not to be"]).tokens.n_tokens
    called with ['or', 'not']
    5
    >>> folder.cleanup()
    """

    _parameter_constraints: dict = {
        "func": [callable],
        "level": [StrOptions({"type", "token", "sequence"})],
        "as_text": ["boolean"],
        "dim": [COUNT, None],
        "batch_size": [COUNT, None],
        "cache": [str, os.PathLike, None],
    }

    def __init__(
        self,
        func: Callable[[list[Any]], Any],
        level: Literal["type", "token", "sequence"] = "type",
        *,
        as_text: bool = False,
        dim: int | None = None,
        batch_size: int | None = None,
        cache: StrPath | None = None,
        preprocess: Preprocess | None = None,
        missing: Literal["raise", "empty"] = "raise",
    ) -> None:
        self.func = func
        self.level = level
        self.as_text = as_text
        self.dim = dim
        self.batch_size = batch_size
        self.cache = cache
        self.preprocess = preprocess
        self.missing = missing

    def _fit_vectors(self, tokens, y):
        self._func = self.func
        self._level = self.level
        self._as_text = self.as_text
        self._dim = self.dim

    def _embed(self, tokens):
        groups, sentences = self._distinct(tokens)
        results = self._results(sentences)
        if self._dim is None:
            if not sentences:
                raise no_tokens_error(len(tokens), tokens.texts)
            raise ValueError(
                "func returned no vector for any entry of the training data, so "
                "the dimension is unknown. Set dim."
            )
        sizes = {"type": tokens.n_types, "token": tokens.n_tokens}
        n_rows = sizes.get(self._level, len(tokens))
        values = np.zeros((n_rows, self._dim), dtype=np.float32)
        known = np.zeros(n_rows, dtype=bool)
        for places, result in zip(groups, results, strict=True):
            for i in places if result is not None else ():
                rows = i
                if self._level == "token":
                    rows = slice(tokens.offsets[i], tokens.offsets[i + 1])
                values[rows], known[rows] = result, True
        return Block(self.block_name, values, self._level, known, copy=False)

    def _distinct(self, tokens):
        """Return the places of each distinct entry, and the entries as sentences."""
        if self._level == "type":
            words = tokens.types.tolist()
            return [[i] for i in range(len(words))], [(word,) for word in words]
        if self._level == "token" or not self._as_text:
            return distinct_sentences(tokens)
        groups = {}
        for row, text in zip(*nonempty_texts(tokens), strict=True):
            groups.setdefault(text, []).append(row)
        return list(groups.values()), [OriginalText(text) for text in groups]

    def _results(self, sentences):
        """Return the vectors of each sentence, None for sentences without vectors."""
        with self._open_cache() as cache:
            keys, results = [], {}
            if cache is not None:
                keys = cache.keys(sentences, self._level + "-text" * self._as_text)
                results = self._stored(cache.get_many(keys), sentences)
            missing = [i for i in range(len(sentences)) if i not in results]
            size = self.batch_size or len(sentences) or 1
            for start in range(0, len(missing), size):
                batch = missing[start : start + size]
                computed = self._call([sentences[i] for i in batch])
                results.update(zip(batch, computed, strict=True))
                if cache is not None:
                    pairs = [self._pair(results[i], sentences[i]) for i in batch]
                    cache.put_many([keys[i] for i in batch], pairs)
        return [results[i] for i in range(len(sentences))]

    @contextmanager
    def _open_cache(self):
        """Open the cache, if there is one.

        One process or thread enters at a time: the others find what it has stored.
        """
        if self.cache is None:
            yield None
            return
        fingerprint = fingerprint_of({"function": self._checked_cache_key()})
        with SentenceCache(self.cache, fingerprint) as cache:
            writable = os.access(cache.directory, os.W_OK)
            file = cache.directory / fingerprint
            with exclusive_lock(file) if writable else nullcontext():
                yield cache

    def _checked_cache_key(self):
        key = getattr(self._func, "cache_key", None)
        if not isinstance(key, str) or not key:
            raise ValueError(
                f"with cache=, func must have an attribute cache_key, "
                f"a str that changes whenever its results do; got {key!r}. Set it, for "
                'example func.cache_key = "name of the model and its options".'
            )
        return key

    def _shape(self, sentence, dim):
        return (len(sentence), dim) if self._level == "token" else (dim,)

    def _pair(self, result, sentence):
        """Return (values, known) to store; values without a vector have dimension 0."""
        values = np.zeros(self._shape(sentence, 0)) if result is None else result
        return values, np.ones(values.shape[:-1], dtype=bool)

    def _stored(self, pairs, sentences):
        """Return the results in stored pairs, by sentence number."""
        results = {}
        for i, (pair, sentence) in enumerate(zip(pairs, sentences, strict=True)):
            values = None if pair is None else pair[0]
            if values is not None and not values.shape[-1]:
                results[i] = None
            elif values is not None:
                self._dim = self._dim or values.shape[-1]
                if values.shape == self._shape(sentence, self._dim):
                    results[i] = values
        return results

    def _call(self, sentences):
        """Return the checked results of one call."""
        entries = [self._entry(sentence) for sentence in sentences]
        results = self._func(entries)
        # Sparse matrices have no length, and data frames are iterated by column.
        for method in ("toarray", "to_numpy"):
            if hasattr(results, method):
                results = getattr(results, method)()
        if not hasattr(results, "__len__") or len(results) != len(entries):
            sized = hasattr(results, "__len__")
            received = len(results) if sized else type(results).__name__
            raise ValueError(
                f"func must return one result for each of {len(entries)} entries; got "
                f"{received}. It is called with a list of entries, not with one entry "
                "at a time."
            )
        if (values := self._checked_matrix(results)) is not None:
            return list(values)
        checked = []
        for i, (result, sentence) in enumerate(zip(results, sentences, strict=True)):
            try:
                checked.append(self._checked(result, sentence))
            except (TypeError, ValueError) as error:
                raise type(error)(
                    f"func's result {i}, for {short_repr(entries[i])}, {error}. Return "
                    "None for an entry without a vector."
                ) from error
        return checked

    def _checked_matrix(self, results):
        """Return a valid matrix as float32, and None for all other results."""
        is_matrix = type(results) is np.ndarray and results.ndim == 2
        if not is_matrix or results.dtype.kind not in "biuf" or self._level == "token":
            return None
        with np.errstate(over="ignore"):  # the check of each row reports it
            values = results.astype(np.float32, copy=False)
        dim = self._dim or values.shape[1]
        if values.shape[1] != dim or not values.size or not np.isfinite(values).all():
            return None
        self._dim = dim
        return values

    def _entry(self, sentence):
        """Return the argument of the function."""
        if self._level == "type":
            return sentence[0]
        if isinstance(sentence, OriginalText):
            return sentence.text
        return " ".join(sentence) if self._as_text else list(sentence)

    def _checked(self, result, sentence):
        """Return a result as float32; the caller adds the entry to errors."""
        if result is None:
            return None
        try:
            values = np.asarray(np.ma.filled(result, np.nan))
            if values.dtype.kind == "c":
                raise TypeError("it is complex")
            with np.errstate(over="ignore"):  # reported below
                values = values.astype(np.float32, copy=False)
        except (TypeError, ValueError) as error:
            raise TypeError(f"is not an array of numbers: {error}") from error
        if self._dim is None and values.size:
            self._dim = values.shape[-1] if values.ndim else None  # `fit` sets it
        if self._dim is None:
            raise ValueError(f"has shape {values.shape}; expected one vector")
        shape = self._shape(sentence, self._dim)
        if values.shape != shape:
            raise ValueError(f"has shape {values.shape}; expected {shape}")
        if not np.isfinite(values).all():
            raise ValueError("contains NaN or infinity")
        return values
