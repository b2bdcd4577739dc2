"""compute_missing: the vectors of sentences, each computed once, in order.

What a contextual source needs around its forward pass: it writes how to embed a list of
distinct sentences, and this asks the cache, passes on what is missing, keeps the
results as they come and lays everything out as rows of blocks.
"""

import time

import numpy as np

from ._sentence_rows import SentenceRows, distinct_sentences
from ._written import at_level

_BYTES_AT_ONCE = 2**25  # of vectors read or written together
_BYTES_OF_A_SLICE = 2**29  # of vectors that one call of compute returns
_PAUSE = 0.1  # seconds between looks for what another process computes


def compute_missing(
    cache,
    tokens,
    layers,
    compute,
    *,
    also=(),
    slice_tokens=8192,
    memory_limit=None,
    read=distinct_sentences,
):
    """Return the vectors of token sequences, from the cache or computed.

    Equal sentences are computed once. Another process that is computing a sentence at
    this moment is waited for. Every slice is kept as soon as it is there, so that what
    is killed loses one slice at most.

    Parameters
    ----------
    cache : SentenceCache or None
        None computes everything, and keeps nothing.
    tokens : TokenSequences
        What to embed.
    layers : sequence of Layer
        From `_sentence_rows`. What each sentence gives, in this order.
    compute : callable
        Gets a list of distinct sentences, as `read` gives them: by default each a
        tuple of one or more tokens. Returns an iterable, a generator for example, with
        an item a sentence, in order: for each layer ``(values, known)``, of shapes
        (n_tokens, dim) and (n_tokens,) at the token level, (dim,) and a bool at the
        sequence level.
    also : sequence of Layer, default=()
        What `compute` gives after `layers`, for the cache alone: who asks for it later
        finds it there.
    slice_tokens : int, default=8192
        How many tokens `compute` gets at a time, at most. Sentences come longest
        first, so that those of a slice are of like length.
    memory_limit : int, default=None
        See `SentenceRows`.
    read : callable, default=distinct_sentences
        From tokens to distinct sentences and their places.

    Returns
    -------
    list of (values, known)
        One a layer: float32 arrays of shape (n_tokens or n_sequences, dim), and masks.
        Sequences without tokens have no rows, or one of zeros that is not known. With a
        cache of float16, rounded to it even where they were just computed.

    Raises
    ------
    ValueError
        If what `compute` returns has other shapes, or is not finite.

    Examples
    --------
    >>> from sk_metaembed import Tokenizer
    >>> from sk_metaembed.sources._sentence_rows import Layer
    >>> tokens = Tokenizer().transform(["to be", "or", "to be"])
    >>> def lengths(sentences):
    ...     print(sentences)
    ...     for words in sentences:
    ...         yield [([[len(w)] for w in words], [True] * len(words))]
    >>> (values, known), = compute_missing(None, tokens, [Layer("length", 1)], lengths)
    [('to', 'be'), ('or',)]
    >>> values.ravel(), int(known.sum())
    (array([2., 2., 2., 2., 2.], dtype=float32), 5)
    """
    rows = SentenceRows(tokens, layers, also=also, memory_limit=memory_limit, read=read)
    everything = np.arange(len(rows.sentences))
    slice_tokens = min(slice_tokens, max(1, _BYTES_OF_A_SLICE // rows.bytes_a_token))
    if cache is None:
        _compute(None, rows, _longest_first(rows, everything), compute, slice_tokens)
        return rows.results
    missing = _read(cache, rows, everything)
    while len(missing):
        before = len(missing)
        missing = _compute(cache, rows, missing, compute, slice_tokens)
        if len(missing) == before:
            time.sleep(_PAUSE)
    cache.report()
    return rows.results


def _read(cache, rows, numbers):
    """Place what the cache has, and return what it has not, longest first."""
    missing = []
    budget = max(1, _BYTES_AT_ONCE // rows.bytes_a_token)
    for some in _slices(rows, numbers, budget):
        keys = _keys(cache, rows.sentences, some, rows.layers)
        entries = cache.get_many([key for layer in keys for key in layer])
        for j, number in enumerate(some):
            found = entries[j :: len(some)]
            if all(
                entry is not None and rows.fits(number, entry, layer)
                for entry, layer in zip(found, rows.layers, strict=True)
            ):
                rows.place(number, found)
            else:
                missing.append(number)
    return _longest_first(rows, np.array(missing, dtype=np.int64))


def _compute(cache, rows, numbers, compute, slice_tokens):
    """Compute what nobody else is computing, and return the rest."""
    rest = []
    for some in _slices(rows, numbers, slice_tokens):
        if cache is None:
            _keep(None, rows, some, compute)
            continue
        claims = cache.keys([rows.sentences[n] for n in some], "claim")
        mine = cache.claim(claims)
        try:
            free = [n for n, key in zip(some, claims, strict=True) if key in mine]
            rest += [n for n, key in zip(some, claims, strict=True) if key not in mine]
            _keep(cache, rows, _still_missing(cache, rows, free), compute)
        finally:
            cache.release([key for key in claims if key in mine])
    return np.array(rest, dtype=np.int64)


def _still_missing(cache, rows, numbers):
    """Place what another process has kept by now, and return what is left."""
    keys = _keys(cache, rows.sentences, numbers, rows.layers)
    lacking = cache.lacks([key for layer in keys for key in layer])
    left, kept = [], []
    for number, own in zip(numbers, zip(*keys, strict=True), strict=True):
        (left if lacking.intersection(own) else kept).append(number)
    left += _read(cache, rows, kept).tolist()
    return _longest_first(rows, np.array(left, dtype=np.int64))


def _keep(cache, rows, numbers, compute):
    """Compute sentences, place their vectors, and keep them."""
    if not len(numbers):
        return
    results = iter(compute([rows.sentences[n] for n in numbers]))
    budget = max(1, _BYTES_AT_ONCE // rows.bytes_a_token)
    dtype = "float32" if cache is None else cache.dtype
    for some in _slices(rows, numbers, budget):
        entries = [rows.checked(n, next(results, None), dtype) for n in some]
        for number, entry in zip(some, entries, strict=True):
            rows.place(number, entry[: len(rows.layers)])
        if cache is not None:
            keys = _keys(cache, rows.sentences, some, rows.computed)
            cache.put_many(
                [key for layer in keys for key in layer],
                [e for layer in zip(*entries, strict=True) for e in layer],
            )


def _keys(cache, sentences, numbers, layers):
    sentences = [sentences[n] for n in numbers]
    return [
        cache.keys([at_level(s, layer.level) for s in sentences], layer.name)
        for layer in layers
    ]


def _longest_first(rows, numbers):
    return numbers[np.argsort(-rows.sizes[numbers], kind="stable")]


def _slices(rows, numbers, budget):
    """Yield numbers in order, together as many as the budget of tokens allows."""
    some, held = [], 0
    for number in numbers:
        if some and held + rows.sizes[number] > budget:
            yield some
            some, held = [], 0
        some.append(number)
        held += rows.sizes[number]
    if some:
        yield some
