"""FunctionEmbedding: any callable as a source."""

from __future__ import annotations

import os
from contextlib import nullcontext
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._core._messages import short_repr
from .._core._sklearn import Interval, StrOptions
from ..sequences import Block, TokenSequences
from ..vectors._cache import exclusive_lock
from ._base import BaseEmbedding, Preprocess
from ._fingerprint import fingerprint_of
from ._sentences import Layer, OriginalText, distinct_sentences, nonempty_texts
from .cache._sentence_blocks import sentence_blocks
from .cache._sentence_cache import SentenceCache

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._core._typing import StrPath

_ONE_SLICE = 2**62  # tokens: batches are made by their number of entries


def call_in_batches(func, entries, batch_size):
    """Call a function on batches of a list and return one result per entry.

    A `batch_size` of None means a single call. An empty list is not passed to `func`.
    """
    results = []
    for batch in _batches(entries, batch_size):
        part = func(batch)
        if not hasattr(part, "__len__") or len(part) != len(batch):
            received = len(part) if hasattr(part, "__len__") else type(part).__name__
            raise ValueError(
                f"func must return one result for each of {len(batch)} "
                f"entries; got {received}. It is called with a list of entries, not "
                "with one entry at a time."
            )
        results.extend(part)
    return results


def _batches(entries, batch_size):
    size = batch_size or len(entries) or 1
    for start in range(0, len(entries), size):
        yield entries[start : start + size]


def stack_results(results, entries, sizes, dim):
    """Return all results in one float32 array, and which rows are known.

    Parameters
    ----------
    results : list of array-like or None
        Each of shape (dim,), or (size, dim) if there are sizes. None leaves rows
        unknown.
    entries : list
        Inputs of the results, named in error messages.
    sizes : ndarray of int64, shape (n_entries,), or None
    dim : int or None
        None uses the dimension of the first result.

    Returns
    -------
    values : ndarray of float32, shape (n_rows, dim)
    known : ndarray of bool, shape (n_rows,)
    """
    present = [i for i, result in enumerate(results) if result is not None]
    if dim is None:
        dim = _dim_of(results[present[0]] if present else None)
    counts = np.ones(len(results), dtype=np.int64) if sizes is None else sizes
    ends = np.cumsum(counts)
    values = np.zeros((int(counts.sum()), dim), dtype=np.float32)
    for i in present:
        shape = (dim,) if sizes is None else (int(counts[i]), dim)
        result = _checked(results[i], shape, f"func's result {i}", entries[i])
        values[ends[i] - counts[i] : ends[i]] = result
    has_result = np.zeros(len(results), dtype=bool)
    has_result[present] = True
    known = np.repeat(has_result, counts)
    _check_finite(values, ends, entries)
    return values, known


def scatter(values, known, rows, n_rows):
    """Return values and mask at some rows of longer arrays, zero elsewhere."""
    if len(rows) == n_rows:
        return values, known
    spread = np.zeros((n_rows, values.shape[1]), dtype=values.dtype)
    flags = np.zeros(n_rows, dtype=bool)
    spread[rows], flags[rows] = values, known
    return spread, flags


def _dim_of(result):
    if result is None:
        raise ValueError(
            "func returned no vector for any entry of the training data, so "
            "the dimension is unknown. Set dim; or check that X is not empty, for "
            "example an exhausted generator."
        )
    shape = np.shape(result)
    if not shape or not shape[-1]:
        raise ValueError(
            f"func must return one vector per entry; got a result of shape {shape}."
        )
    return shape[-1]


def _checked(result, shape, which, entry):
    try:
        result = np.asarray(result)
        if result.dtype.kind == "c":
            raise TypeError("it is complex")
        with np.errstate(over="ignore"):  # reported with its entry by _check_finite
            result = result.astype(np.float32, copy=False)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{which}, for {short_repr(entry)}, is not an array of numbers: {error}. "
            "Return None for an entry without a vector."
        ) from error
    if result.shape != shape:
        raise ValueError(
            f"{which}, for {short_repr(entry)}, has shape {result.shape}; expected "
            f"{shape}."
        )
    return result


def _check_finite(values, ends, entries):
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        i = int(np.searchsorted(ends, bad[0], side="right"))
        raise ValueError(
            f"func's result {i}, for {short_repr(entries[i])}, contains NaN "
            "or infinity. Return None for an entry without a vector."
        )


def distinct_strings(tokens, *, merge_equal=True):
    """Return the sequences of each distinct text, and the texts; a `reader`.

    Tokens are joined by spaces if there are no original texts.
    """
    groups = {}
    for row, text in zip(*nonempty_texts(tokens), strict=True):
        key = text if merge_equal else (int(row), text)
        groups.setdefault(key, []).append(int(row))
    texts = groups if merge_equal else [text for _, text in groups]
    return list(groups.values()), [OriginalText(text) for text in texts]


def _lock(file):
    """Return a context that one thread or process at a time enters, if it can."""
    if not os.access(file.parent, os.W_OK):
        return nullcontext()
    return exclusive_lock(file)


class FunctionEmbedding(BaseEmbedding):
    """Use any callable as a source: a sentence encoder, a lexicon, computed features.

    This is the simplest way to add other vectors to a union. For a source with
    parameters, derive from `BaseEmbedding`.

    Parameters
    ----------
    func : callable
        Takes a list and returns one result per entry, in the same order:

        - ``level="type"``: takes distinct tokens (str), returns an array of shape
          (n, dim);
        - ``level="sequence"``: takes sequences, as lists of tokens or as strings (see
          `as_text`), returns an array of shape (n, dim);
        - ``level="token"``: takes sequences likewise, returns one array of shape
          (n_tokens of the sequence, dim) per sequence.

        A result of None means that the entry has no vector: its rows are zero and
        unknown. To pickle the source, use a function defined in a module.
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
    preprocess : {"unit", "center", "unit-center-unit", "all-but-the-top"}, default=None
        Preprocessing of the vectors, learned from the known rows of the training data.
    missing : {"raise", "empty"}, default="raise"
        What to do with missing rows (None, NaN, null): raise an error, or treat them as
        empty sequences. A TokenSequences is used as it is.

    Attributes
    ----------
    coverage_ : dict
        Share of the training data's ``"types"`` and ``"tokens"`` that are known.
    dims_ : dict of str to int
        Dimension of the block, by block name.
    n_missing_ : int
        Number of missing rows in the data passed to `fit`.

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
        "dim": [Interval(Integral, 1, None, closed="left"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
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
        self._dim = self.dim

    def _embed(self, tokens):
        if self.cache is not None:
            return self._embed_stored(tokens)
        if self.level == "type":
            entries, filled = tokens.types.tolist(), slice(None)
        elif self.as_text and self.level == "sequence":
            filled, entries = nonempty_texts(tokens)
        else:
            filled = np.flatnonzero(tokens.lengths)
            entries = tokens[filled].to_list()
            if self.as_text:
                entries = [" ".join(words) for words in entries]
        results = call_in_batches(self.func, entries, self.batch_size)
        sizes = tokens.lengths[filled] if self.level == "token" else None
        values, known = stack_results(results, entries, sizes, self._dim)
        if self._dim is None:
            self._dim = values.shape[1]  # fixed by fit
        if self.level == "sequence":
            values, known = scatter(values, known, filled, len(tokens))
        return Block(self.block_name, values, self.level, known)

    def _embed_stored(self, tokens):
        """Return the block, from the cache or computed."""
        fingerprint = fingerprint_of({"function": self._checked_cache_key()})
        layer = Layer(self.level + "-text" * self.as_text, self._dim, self._row_level())
        given = tokens
        if self.level == "type":
            given = TokenSequences.from_lists([word] for word in tokens.types)
        texts = self.as_text and self.level == "sequence"
        reader = distinct_strings if texts else distinct_sentences
        # One process or thread at a time: the others find what it has stored.
        with (
            SentenceCache(self.cache, fingerprint) as handle,
            _lock(handle.directory / fingerprint),
        ):
            if self._dim is None:  # fixed by fit
                self._dim = self._find_dim(handle, reader(given)[1], layer.name)
            (block,) = sentence_blocks(
                handle,
                given,
                [layer._replace(dim=self._dim)],
                self._compute_sentences,
                slice_tokens=_ONE_SLICE,
                slice_sentences=self.batch_size,
                reader=reader,
            )
        if self.level == "type":
            return Block(self.block_name, block.values, "type", block.known)
        return block.rename(self.block_name)

    def _row_level(self):
        return "token" if self.level == "token" else "sequence"

    def _checked_cache_key(self):
        key = getattr(self.func, "cache_key", None)
        if not isinstance(key, str) or not key:
            raise ValueError(
                f"with cache=, func must have an attribute cache_key, "
                f"a str that changes whenever its results do; got {key!r}. Set it, for "
                'example func.cache_key = "name of the model and its options".'
            )
        return key

    def _find_dim(self, handle, sentences, layer):
        """Return the dimension of the first result that is not None."""
        for batch in _batches(sentences, self.batch_size):
            keys = handle.keys(batch, layer)
            for pair in handle.get_many(keys):
                if pair is not None:
                    return np.shape(pair[0])[-1]
            results = self._call(batch)
            if any(result is not None for result in results):
                pairs = self._stack(results, batch, None)
                handle.put_many(keys, pairs)
                return np.shape(pairs[0][0])[-1]
        return _dim_of(None)

    def _compute_sentences(self, sentences):
        pairs = self._stack(self._call(sentences), sentences, self._dim)
        return [[pair] for pair in pairs]

    def _call(self, sentences):
        entries = [self._entry(sentence) for sentence in sentences]
        return call_in_batches(self.func, entries, None)

    def _stack(self, results, sentences, dim):
        """Return (values, known) of each sentence."""
        entries = [self._entry(sentence) for sentence in sentences]
        sizes = None
        if self.level == "token":
            sizes = np.array(list(map(len, sentences)), dtype=np.int64)
        values, known = stack_results(results, entries, sizes, dim)
        if sizes is None:
            return list(zip(values, known.tolist(), strict=True))
        ends = np.cumsum(sizes)[:-1]
        return list(zip(np.split(values, ends), np.split(known, ends), strict=True))

    def _entry(self, sentence):
        """Return what the function is called with."""
        if self.level == "type":
            return sentence[0]
        if isinstance(sentence, OriginalText):
            return sentence.text
        return " ".join(sentence) if self.as_text else list(sentence)
