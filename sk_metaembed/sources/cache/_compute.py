"""compute_missing: the vectors of sentences, each computed once, in order.

What a contextual source needs around its forward pass: it writes how to embed a list of
distinct sentences, and this asks the cache, passes on what is missing, keeps the
results as they come and lays everything out as rows of blocks.

SentenceRows: distinct sentences, and the rows of blocks that they fill.

A progress bar over tokens.
"""

import time
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..._io._temp_memmap import memmap_zeros
from .._original_text import OriginalText, at_level
from ._entry import as_kept


class Layer(NamedTuple):
    """What a source gives for a sentence.

    Parameters
    ----------
    name : int or str
        Part of the key in the cache: one layer always goes by one name.
    dim : int
        Length of a vector.
    level : {"token", "sequence"}, default="token"
        Whether there is a vector a token, or one a sentence.
    """

    name: int | str
    dim: int
    level: str = "token"


def distinct_sentences(tokens, *, together=True):
    """Return distinct sentences and the sequences where each stands.

    Parameters
    ----------
    tokens : TokenSequences
    together : bool, default=True
        Whether equal sentences are one.

    Returns
    -------
    places : list of list of int
    sentences : list of tuple of str
        In first-seen order, without empty ones.
    """
    places = {}
    for i, (start, stop) in enumerate(pairwise(tokens.offsets.tolist())):
        if stop > start:
            key = tokens.codes[start:stop].tobytes() if together else i
            places.setdefault(key, []).append(i)
    first = [which[0] for which in places.values()]
    sentences = [tuple(s) for s in tokens[first].to_list()] if first else []
    return list(places.values()), sentences


class SentenceRows:
    """The distinct sentences of a container, and where their vectors go.

    Parameters
    ----------
    tokens : TokenSequences
        What is embedded.
    layers : sequence of Layer
        What each sentence gives.
    also : sequence of Layer, default=()
        What is computed and kept with them, and goes to no row.
    distinct : bool, default=True
        Whether equal sentences are one.
    memory_limit : int, default=None
        Number of bytes beyond which what is at the token level is kept in files.
    read : callable, default=distinct_sentences
        From tokens to distinct sentences and their places.

    Attributes
    ----------
    places : list of list of int
        The sequences where each sentence stands.
    sentences : list of tuple of str, or of OriginalText
        Without empty ones.
    sizes : ndarray of int, shape (n_sentences,)
        Their numbers of tokens.
    computed : list of Layer
        All that `compute` gives: those that are laid out, then the others.
    bytes_a_token : int
        Of all that is computed.
    results : list of (values, known)
        One a layer, zeros and not known where nothing was placed.
    """

    def __init__(
        self,
        tokens,
        layers,
        *,
        also=(),
        distinct=True,
        memory_limit=None,
        read=distinct_sentences,
    ):
        self.layers = [Layer(*layer) for layer in layers]
        self.computed = [*self.layers, *(Layer(*layer) for layer in also)]
        self._offsets = tokens.offsets
        self.places, self.sentences = read(tokens, together=distinct)
        self.sizes = np.array([len(s) for s in self.sentences], dtype=np.int64)
        self.bytes_a_token = 4 * sum(layer.dim for layer in self.computed)
        spills = exceeds(tokens, self.layers, memory_limit)
        self.results = [self._empty(layer, tokens, spills) for layer in self.layers]

    def _empty(self, layer, tokens, spills):
        n_rows = len(tokens) if layer.level == "sequence" else len(tokens.codes)
        shape = n_rows, layer.dim
        if spills and layer.level == "token":
            values = memmap_zeros(shape, np.float32, "Token-level vectors")
        else:
            values = np.zeros(shape, np.float32)
        return values, np.zeros(n_rows, bool)

    def fits(self, number, entry, layer):
        """Tell whether an entry has the shape that a layer asks for."""
        size = () if layer.level == "sequence" else (len(self.sentences[number]),)
        values, known = entry
        return np.shape(values) == (*size, layer.dim) and np.shape(known) == size

    def place(self, number, entries):
        """Write the entries of a sentence to all rows where it stands."""
        for layer, (values, known), (out, mask) in zip(
            self.layers, entries, self.results, strict=True
        ):
            for i in self.places[number]:
                here = i
                if layer.level == "token":
                    here = slice(self._offsets[i], self._offsets[i + 1])
                out[here], mask[here] = values, known

    def checked(self, number, entry, dtype):
        """Return the entries of a sentence as they are kept, or say what is wrong."""
        sentence = self.sentences[number]
        entry = None if entry is None else list(entry)
        if entry is None or len(entry) != len(self.computed):
            raise ValueError(
                "A source must return, for each sentence, (values, known) for each of "
                f"{len(self.computed)} layers; for {_short(sentence)} it returned "
                f"{'nothing' if entry is None else len(entry)}."
            )
        for layer, pair in zip(self.computed, entry, strict=True):
            if not self.fits(number, pair, layer):
                raise ValueError(
                    f"Layer {layer.name!r} of {_short(sentence)} ({len(sentence)} "
                    f"tokens) must have dimension {layer.dim} at the {layer.level} "
                    f"level, got values of shape {np.shape(pair[0])} and known of "
                    f"shape {np.shape(pair[1])}."
                )
        pairs = enumerate(zip(self.computed, entry, strict=True))
        return [self._kept(i, sentence, *pair, dtype) for i, pair in pairs]

    def _kept(self, i, sentence, layer, pair, dtype):
        try:
            return as_kept(*pair, dtype)
        except ValueError as error:
            where = f"Layer {layer.name!r} of {_short(sentence)}"
            extra = ""
            if i >= len(self.layers):
                extra = (
                    " The layer was not asked for, but the cache keeps all of them: "
                    "cache_layers='wanted' leaves it out."
                )
            raise ValueError(f"{where}: {error}{extra}") from error


def exceeds(tokens, layers, memory_limit):
    """Tell whether the vectors at the token level take more than so many bytes."""
    dim = sum(layer.dim for layer in layers if layer.level == "token")
    return memory_limit is not None and 4 * dim * len(tokens.codes) > memory_limit


def _short(sentence):
    written = isinstance(sentence, OriginalText)
    text = sentence.text if written else " ".join(sentence)
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


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
    >>> from sk_metaembed.sources.cache._compute import Layer
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


def token_bar(source, tokens, read=distinct_sentences):
    """Return a bar that counts tokens of distinct sequences, shown if verbose.

    Parameters
    ----------
    source : estimator
        With parameters `verbose` and `cache`.
    tokens : TokenSequences
    read : callable, default=distinct_sentences
        From tokens to distinct sentences and their places.

    Returns
    -------
    tqdm
        Without a total where a cache may have some of the sequences.
    """
    from tqdm import tqdm

    total = None
    if source.verbose and source.cache is None:
        _, sentences = read(tokens)
        total = sum(map(len, sentences))
    name = type(source).__name__
    return tqdm(total=total, desc=name, unit=" tokens", disable=not source.verbose)
