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
from itertools import compress, islice

import numpy as np

from ..._core._arrays import offsets_of
from ..._core._errors import short_repr
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
        From a list of sentences to a list of ``(values, known)``, one per kind, of
        shapes (n_rows, dim) and (n_rows,). Rows are the tokens of all sentences, one
        sentence after the other, or at the sequence level the sentences.
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
        If `compute` returns values that are not finite.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sk_metaembed import Tokenizer
    >>> from sk_metaembed.sources.contextual._sentences import (
    ...     SentenceRows, VectorKind, distinct_sentences
    ... )
    >>> from sk_metaembed.sources.cache._sentence_cache import SentenceCache
    >>> def lengths(sentences):
    ...     print(sentences)
    ...     values = np.array([[len(w)] for words in sentences for w in words])
    ...     return [(values, np.ones(len(values), bool))]
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
    missing = [np.zeros(0, dtype=np.int64)]
    for part in _slices(rows, numbers, _TRANSFER_BYTES // rows.bytes_per_token):
        entries = cache.get_many(_keys(cache, rows, part))
        entries = [entries[j :: len(part)] for j in range(len(part))]  # by sentence
        found = np.array(list(map(rows.fits, part, entries)))
        if found.any():
            rows.scatter(part[found], rows.join(compress(entries, found)))
        missing.append(part[~found])
    return np.concatenate(missing)


def _compute(cache, rows, numbers, compute):
    """Compute sentences, scatter their vectors, and store them."""
    if not len(numbers):
        return
    arrays = compute([rows.sentences[n] for n in numbers])
    arrays = _rounded(
        rows, numbers, arrays, "float32" if cache is None else cache.dtype
    )
    rows.scatter(numbers, arrays)
    if cache is None:
        return
    entries = rows.split(numbers, arrays)
    for part in _slices(rows, numbers, _TRANSFER_BYTES // rows.bytes_per_token):
        by_kind = zip(*islice(entries, len(part)), strict=True)
        pairs = [pair for pairs in by_kind for pair in pairs]
        cache.put_many(_keys(cache, rows, part), pairs)


def _rounded(rows, numbers, arrays, dtype):
    """Return computed arrays rounded to `dtype`, or raise an error for a sentence."""
    try:
        return [round_entry(*pair, dtype) for pair in arrays]
    except ValueError:
        for number, entry in zip(numbers, rows.split(numbers, arrays), strict=True):
            for kind, pair in zip(rows.kinds, entry, strict=True):
                try:
                    round_entry(*pair, dtype)
                except ValueError as error:
                    text = short_repr(text_of(rows.sentences[number]))
                    where = f"Layer {kind.name!r} of {text}"
                    raise ValueError(f"{where}: {error}") from error
        raise


def _keys(cache, rows, numbers):
    """Return the keys of some sentences, kind by kind."""
    sentences = [rows.sentences[n] for n in numbers]
    return [
        key
        for kind in rows.kinds
        for key in cache.keys([at_level(s, kind.level) for s in sentences], kind.name)
    ]


def _slices(rows, numbers, budget):
    """Yield parts of numbers of sentences, with at most `budget` tokens per part."""
    ends, start = offsets_of(rows.sizes[numbers]), 0
    while start < len(numbers):
        stop = int(np.searchsorted(ends, ends[start] + budget, "right")) - 1
        stop = max(stop, start + 1)
        yield numbers[start:stop]
        start = stop
