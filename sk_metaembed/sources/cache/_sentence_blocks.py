"""sentence_blocks: the vectors of sentences, from the cache or computed.

A contextual source passes a function that embeds a list of distinct sentences. It is
called with the sentences that the cache does not contain. Results are stored slice by
slice, and written to every row of the blocks where the sentence occurs. What is
limited, from small to large:

===================== ==================================================================
`batch_tokens`        tokens per run of the network, halved if GPU memory runs out
`_TRANSFER_BYTES`     vectors per transaction of the cache
`slice_tokens`        tokens per call of `compute`, all that a killed process loses
`_SLICE_BYTES`        vectors per call of `compute`, where they are long
`memory_limit`        all vectors of tokens; above it they are stored in temporary files
===================== ==================================================================
"""

import random

import numpy as np

from ..._core._messages import short_repr
from ..contextual._sentences import at_level, text_of
from ._sentence_cache import round_entry

_TRANSFER_BYTES = 2**25
_SLICE_BYTES = 2**29


def sentence_blocks(cache, rows, compute, *, slice_tokens):
    """Return one Block per kind, with vectors from the cache or computed ones.

    Parameters
    ----------
    cache : SentenceCache or None
        None computes everything and stores nothing.
    rows : SentenceRows
        The sentences to embed, and the kinds of the blocks to return.
    compute : callable
        From a list of sentences to an iterable such as a generator. It has one item per
        sentence, in order: a list with ``(values, known)`` for each kind, of shapes
        (n_tokens, dim) and (n_tokens,) at the token level, (dim,) and a bool at the
        sequence level.
    slice_tokens : int
        Maximum number of tokens per call of `compute`. The sentences of a slice are of
        similar length.

    Returns
    -------
    list of Block
        With float32 values, and zeros in unknown rows. With a cache of float16,
        computed values are rounded like stored ones.

    Raises
    ------
    ValueError
        If `compute` returns other shapes, or values that are not finite.

    Examples
    --------
    >>> import tempfile
    >>> from sk_metaembed import Tokenizer
    >>> from sk_metaembed.sources.contextual._sentences import (
    ...     SentenceRows, VectorKind, distinct_sentences
    ... )
    >>> from sk_metaembed.sources.cache._sentence_cache import SentenceCache
    >>> def lengths(sentences):
    ...     print(sentences)
    ...     for words in sentences:
    ...         yield [([[len(w)] for w in words], [True] * len(words))]
    >>> folder = tempfile.TemporaryDirectory()
    >>> kinds = [VectorKind("length", 1)]
    >>> with SentenceCache(folder.name, "model 1") as cache:
    ...     for texts in (["to be"], ["not", "to be"]):
    ...         tokens = Tokenizer().transform(texts)
    ...         rows = SentenceRows(tokens, *distinct_sentences(tokens), kinds)
    ...         blocks = sentence_blocks(cache, rows, lengths, slice_tokens=100)
    [('to', 'be')]
    [('not',)]
    >>> blocks[0].values.ravel()
    array([3., 2., 2.], dtype=float32)
    >>> folder.cleanup()
    """
    budget = min(slice_tokens, max(1, _SLICE_BYTES // rows.bytes_per_token))
    missing = np.arange(len(rows.sentences))
    if cache is not None:
        missing = _from_cache(cache, rows, missing)
    longest_first = missing[np.argsort(-rows.sizes[missing], kind="stable")]
    slices = list(_slices(rows, longest_first, budget))
    # Each slice is stored as soon as it is computed, so a killed process loses at most
    # one. The workers of a search start at the same time with the same slices: each
    # processes them in random order and skips what others have stored in the meantime,
    # so that they share the work without locks.
    if cache is not None:
        random.Random().shuffle(slices)
    for part in slices:
        part = part if cache is None else _from_cache(cache, rows, part)
        _compute(cache, rows, part, compute)
    return rows.blocks()


def _from_cache(cache, rows, numbers):
    """Scatter the vectors of cached sentences; return the numbers of the others."""
    missing = []
    for part in _slices(rows, numbers, _TRANSFER_BYTES // rows.bytes_per_token):
        keys = _keys(cache, rows, part)
        entries = cache.get_many(keys)
        for j, number in enumerate(part):
            entry = entries[j :: len(part)]  # keys are ordered by kind
            if all(
                pair is not None and rows.fits(number, pair, kind)
                for pair, kind in zip(entry, rows.kinds, strict=True)
            ):
                rows.scatter(number, entry)
            else:
                missing.append(number)
    return np.array(missing, dtype=np.int64)


def _compute(cache, rows, numbers, compute):
    """Compute sentences, scatter their vectors, and store them."""
    if not len(numbers):
        return
    results = iter(compute([rows.sentences[n] for n in numbers]))
    dtype = "float32" if cache is None else cache.dtype
    for part in _slices(rows, numbers, _TRANSFER_BYTES // rows.bytes_per_token):
        entries = [_checked(rows, n, next(results, None), dtype) for n in part]
        for number, entry in zip(part, entries, strict=True):
            rows.scatter(number, entry)
        if cache is not None:
            pairs = [pair for kind in zip(*entries, strict=True) for pair in kind]
            cache.put_many(_keys(cache, rows, part), pairs)


def _checked(rows, number, entry, dtype):
    """Return a computed entry, one pair per kind, rounded to `dtype`, or raise."""
    sentence = rows.sentences[number]
    entry = [] if entry is None else list(entry)
    if len(entry) != len(rows.kinds):
        raise ValueError(
            "A source must return (values, known) for each of "
            f"{len(rows.kinds)} layers per sentence; for "
            f"{short_repr(text_of(sentence))} it returned {len(entry) or 'nothing'}."
        )
    rounded = []
    for kind, pair in zip(rows.kinds, entry, strict=True):
        try:
            if not rows.fits(number, pair, kind):
                raise ValueError(
                    f"{len(sentence)} tokens must have dimension {kind.dim} at the "
                    f"{kind.level} level; got values of shape {np.shape(pair[0])} and "
                    f"known of shape {np.shape(pair[1])}."
                )
            rounded.append(round_entry(*pair, dtype))
        except ValueError as error:
            where = f"Layer {kind.name!r} of {short_repr(text_of(sentence))}"
            raise ValueError(f"{where}: {error}") from error
    return rounded


def _keys(cache, rows, numbers):
    """Return the keys of some sentences, kind by kind."""
    sentences = [rows.sentences[n] for n in numbers]
    return [
        key
        for kind in rows.kinds
        for key in cache.keys([at_level(s, kind.level) for s in sentences], kind.name)
    ]


def _slices(rows, numbers, budget):
    """Yield lists of numbers of sentences, with at most `budget` tokens per list."""
    part, n_tokens = [], 0
    for number in numbers:
        if part and n_tokens + rows.sizes[number] > budget:
            yield part
            part, n_tokens = [], 0
        part.append(number)
        n_tokens += rows.sizes[number]
    if part:
        yield part
