"""sentence_blocks: the vectors of sentences from the cache, or computed.

A contextual source supplies a function that embeds a list of distinct sentences. This
module passes it the sentences that are missing, stores the results slice by slice, and
scatters them to the rows of blocks.
"""

import random

import numpy as np

from ..._core._messages import short_repr
from .._sentences import SentenceRows, at_level, distinct_sentences, text_of
from ._sentence_cache import round_entry

_TRANSFER_BYTES = 2**25  # of vectors read or written together
_SLICE_BYTES = 2**29  # of vectors that one call of `compute` returns


def sentence_blocks(
    handle,
    tokens,
    layers,
    compute,
    *,
    slice_tokens=8192,
    memory_limit=None,
    reader=distinct_sentences,
):
    """Return one Block per layer: from the cache, or computed.

    Parameters
    ----------
    handle : SentenceCache or None
        None computes everything and stores nothing.
    tokens : TokenSequences
        What to embed.
    layers : sequence of Layer
        What to return, in this order.
    compute : callable
        Gets a list of distinct sentences, as `reader` returns them: by default each a
        tuple of one or more tokens. Returns an iterable, for example a generator, with
        one item per sentence, in order: for each layer ``(values, known)``, of shapes
        (n_tokens, dim) and (n_tokens,) at the token level, (dim,) and a bool at the
        sequence level.
    slice_tokens : int, default=8192
        Maximum number of tokens per call of `compute`. The sentences of a slice are of
        similar length.
    memory_limit : int, default=None
        Number of bytes beyond which token-level vectors are in temporary files.
    reader : callable, default=distinct_sentences
        From tokens to the distinct sentences and the sequences of each.

    Returns
    -------
    list of Block
        With float32 values; rows that are not known are zeros. With a cache of float16,
        computed values are rounded like those that are read.

    Raises
    ------
    ValueError
        If `compute` returns other shapes, or values that are not finite.

    Examples
    --------
    >>> import tempfile
    >>> from sk_metaembed import Tokenizer
    >>> from sk_metaembed.sources._sentences import Layer
    >>> from sk_metaembed.sources.cache._sentence_cache import SentenceCache
    >>> def lengths(sentences):
    ...     print(sentences)
    ...     for words in sentences:
    ...         yield [([[len(w)] for w in words], [True] * len(words))]
    >>> folder = tempfile.TemporaryDirectory()
    >>> layers = [Layer("length", 1)]
    >>> with SentenceCache(folder.name, "model 1") as handle:
    ...     for texts in (["to be"], ["not", "to be"]):
    ...         tokens = Tokenizer().transform(texts)
    ...         blocks = sentence_blocks(handle, tokens, layers, lengths)
    [('to', 'be')]
    [('not',)]
    >>> blocks[0].values.ravel()
    array([3., 2., 2.], dtype=float32)
    >>> folder.cleanup()
    """
    rows = SentenceRows(tokens, layers, memory_limit=memory_limit, reader=reader)
    budget = min(slice_tokens, max(1, _SLICE_BYTES // rows.bytes_per_token))
    missing = np.arange(len(rows.sentences))
    if handle is not None:
        missing = _read(handle, rows, missing)
    longest_first = missing[np.argsort(-rows.sizes[missing], kind="stable")]
    slices = list(_slices(rows, longest_first, budget))
    # Every slice is stored as soon as it is computed, so that a killed process loses at
    # most one. The workers of a search start at the same time with the same slices.
    # Each takes them in an order of its own and skips what others have stored in the
    # meantime, so that they share the work without locks.
    if handle is not None:
        random.Random().shuffle(slices)
    for part in slices:
        part = part if handle is None else _read(handle, rows, part)
        _compute(handle, rows, part, compute)
    return rows.blocks()


def _read(handle, rows, numbers):
    """Scatter the sentences that the cache has; return the numbers of the others."""
    missing = []
    for part in _slices(rows, numbers, _TRANSFER_BYTES // rows.bytes_per_token):
        keys = _keys(handle, rows, part)
        entries = handle.get_many(keys)
        for j, number in enumerate(part):
            entry = entries[j :: len(part)]
            if all(
                pair is not None and rows.fits(number, pair, layer)
                for pair, layer in zip(entry, rows.layers, strict=True)
            ):
                rows.scatter(number, entry)
            else:
                missing.append(number)
    return np.array(missing, dtype=np.int64)


def _compute(handle, rows, numbers, compute):
    """Compute sentences, scatter their vectors, and store them."""
    if not len(numbers):
        return
    results = iter(compute([rows.sentences[n] for n in numbers]))
    dtype = "float32" if handle is None else handle.dtype
    for part in _slices(rows, numbers, _TRANSFER_BYTES // rows.bytes_per_token):
        entries = [_checked(rows, n, next(results, None), dtype) for n in part]
        for number, entry in zip(part, entries, strict=True):
            rows.scatter(number, entry)
        if handle is not None:
            pairs = [pair for layer in zip(*entries, strict=True) for pair in layer]
            handle.put_many(_keys(handle, rows, part), pairs)


def _checked(rows, number, entry, dtype):
    """Return a computed entry, one pair per layer, rounded to `dtype`, or raise."""
    sentence = rows.sentences[number]
    entry = [] if entry is None else list(entry)
    if len(entry) != len(rows.layers):
        raise ValueError(
            "A source must return (values, known) for each of "
            f"{len(rows.layers)} layers per sentence; for "
            f"{short_repr(text_of(sentence))} it returned {len(entry) or 'nothing'}."
        )
    rounded = []
    for layer, pair in zip(rows.layers, entry, strict=True):
        try:
            if not rows.fits(number, pair, layer):
                raise ValueError(
                    f"{len(sentence)} tokens must have dimension {layer.dim} at the "
                    f"{layer.level} level; got values of shape {np.shape(pair[0])} and "
                    f"known of shape {np.shape(pair[1])}."
                )
            rounded.append(round_entry(*pair, dtype))
        except ValueError as error:
            where = f"Layer {layer.name!r} of {short_repr(text_of(sentence))}"
            raise ValueError(f"{where}: {error}") from error
    return rounded


def _keys(handle, rows, numbers):
    """Return the keys of some sentences, layer by layer."""
    sentences = [rows.sentences[n] for n in numbers]
    return [
        key
        for layer in rows.layers
        for key in handle.keys(
            [at_level(s, layer.level) for s in sentences], layer.name
        )
    ]


def _slices(rows, numbers, budget):
    """Yield numbers of sentences with at most `budget` tokens together."""
    part, n_tokens = [], 0
    for number in numbers:
        if part and n_tokens + rows.sizes[number] > budget:
            yield part
            part, n_tokens = [], 0
        part.append(number)
        n_tokens += rows.sizes[number]
    if part:
        yield part
