"""sentence_blocks: the vectors of sentences from memory, from the cache, or computed.

A contextual source supplies a function that embeds a list of distinct sentences. This
module passes it the sentences that are missing, stores the results slice by slice, and
scatters them to the rows of blocks.
"""

import random
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..._io._temp_memmap import memmap_zeros
from ...sequences import Block
from .._original_text import OriginalText, at_level
from ._memory import MEMORY
from ._sentence_cache import round_entry

_TRANSFER_BYTES = 2**25  # of vectors read or written together
_SLICE_BYTES = 2**29  # of vectors that one call of `compute` returns


class Layer(NamedTuple):
    """A kind of vector that a source returns for each sentence.

    Parameters
    ----------
    name : int or str
        Part of the key in the cache: a layer must always have the same name.
    dim : int
        Length of a vector.
    level : {"token", "sequence"}, default="token"
        Whether there is one vector per token or one per sentence.
    """

    name: int | str
    dim: int
    level: str = "token"


def sentence_blocks(
    handle,
    tokens,
    layers,
    compute,
    *,
    extra_layers=(),
    slice_tokens=8192,
    memory_limit=None,
    reader=None,
):
    """Return one Block per layer: from memory, from the cache, or computed.

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
    extra_layers : sequence of Layer, default=()
        What `compute` returns after `layers`, to be stored in the cache only.
    slice_tokens : int, default=8192
        Maximum number of tokens per call of `compute`. The sentences of a slice are of
        similar length.
    memory_limit : int, default=None
        Number of bytes beyond which token-level vectors are in temporary files.
    reader : callable, default=None
        From tokens to the distinct sentences and the sequences of each; None for
        `distinct_sentences`.

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
    options = {
        "extra_layers": extra_layers,
        "slice_tokens": slice_tokens,
        "memory_limit": memory_limit,
        "reader": reader,
    }
    spills = exceeds(tokens, layers, memory_limit)
    tables = None if spills else MEMORY.tables(handle, layers)
    if tables is not None:
        groups, sentences = (reader or distinct_sentences)(tokens)
        new = [
            i
            for i, sentence in enumerate(sentences)
            if not all(sentence in table.starts for table in tables)
        ]
        new_sentences = [sentences[i] for i in new]
        if MEMORY.make_room(tables, new_sentences):
            if new:
                rest = tokens[[groups[i][0] for i in new]]
                results = compute_missing(handle, rest, layers, compute, **options)
                MEMORY.add(tables, new_sentences, rest, results)
            return MEMORY.blocks(tables, tokens, groups, sentences)
    results = compute_missing(handle, tokens, layers, compute, **options)
    return [
        Block(layer.name, values, layer.level, known)
        for layer, (values, known) in zip(layers, results, strict=True)
    ]


def compute_missing(
    handle,
    tokens,
    layers,
    compute,
    *,
    extra_layers=(),
    slice_tokens=8192,
    memory_limit=None,
    reader=None,
):
    """Return (values, known) per layer, read from the cache or computed.

    Every slice is stored as soon as it is computed, so that a killed process loses at
    most one. Parameters are those of `sentence_blocks`.
    """
    rows = SentenceRows(
        tokens,
        layers,
        extra_layers=extra_layers,
        memory_limit=memory_limit,
        reader=reader,
    )
    budget = min(slice_tokens, max(1, _SLICE_BYTES // rows.bytes_per_token))
    numbers = np.arange(len(rows.sentences))
    if handle is None:
        for part in _slices(rows, _longest_first(rows, numbers), budget):
            _compute(None, rows, part, compute)
        return rows.results
    missing = _longest_first(rows, _read(handle, rows, numbers))
    slices = list(_slices(rows, missing, budget))
    # The workers of a search start at the same time with the same slices. Each takes
    # them in an order of its own and skips what others have stored in the meantime, so
    # that they share the work without locks, and rarely compute a sentence twice.
    random.Random().shuffle(slices)
    for part in slices:
        _compute(handle, rows, _read(handle, rows, part), compute)
    handle.report()
    return rows.results


def _read(handle, rows, numbers):
    """Scatter the sentences that the cache has; return the numbers of the others."""
    missing = []
    for part in _slices(rows, numbers, _TRANSFER_BYTES // rows.bytes_per_token):
        keys = _keys(handle, rows, part, rows.layers)
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
        entries = [rows.checked(n, next(results, None), dtype) for n in part]
        for number, entry in zip(part, entries, strict=True):
            rows.scatter(number, entry[: len(rows.layers)])
        if handle is not None:
            keys = _keys(handle, rows, part, rows.all_layers)
            pairs = [pair for layer in zip(*entries, strict=True) for pair in layer]
            handle.put_many(keys, pairs)


def _keys(handle, rows, numbers, layers):
    """Return the keys of some sentences, layer by layer."""
    sentences = [rows.sentences[n] for n in numbers]
    return [
        key
        for layer in layers
        for key in handle.keys(
            [at_level(s, layer.level) for s in sentences], layer.name
        )
    ]


def _longest_first(rows, numbers):
    return numbers[np.argsort(-rows.sizes[numbers], kind="stable")]


def _slices(rows, numbers, budget):
    """Yield numbers in order, as many together as the budget of tokens allows."""
    part, n_tokens = [], 0
    for number in numbers:
        if part and n_tokens + rows.sizes[number] > budget:
            yield part
            part, n_tokens = [], 0
        part.append(number)
        n_tokens += rows.sizes[number]
    if part:
        yield part


def distinct_sentences(tokens, *, merge_equal=True):
    """Return the sequences of each distinct sentence, and the sentences.

    Sentences are non-empty tuples of str in first-seen order. Without `merge_equal`,
    equal ones are separate.
    """
    groups = {}
    for i, (start, stop) in enumerate(pairwise(tokens.offsets.tolist())):
        if stop > start:
            key = tokens.codes[start:stop].tobytes() if merge_equal else i
            groups.setdefault(key, []).append(i)
    first = [sequences[0] for sequences in groups.values()]
    sentences = [tuple(s) for s in tokens[first].to_list()] if first else []
    return list(groups.values()), sentences


class SentenceRows:
    """The distinct sentences of a container, and the rows that their vectors fill.

    Parameters
    ----------
    tokens : TokenSequences
    layers : sequence of Layer
        What fills rows.
    extra_layers : sequence of Layer, default=()
        What is computed and stored with them, and fills no row.
    merge_equal : bool, default=True
        Whether equal sentences are one.
    memory_limit : int, default=None
    reader : callable, default=None
        See `sentence_blocks`.

    Attributes
    ----------
    groups : list of list of int
        The sequences of each sentence.
    sentences : list of tuple of str, or of OriginalText
        Without empty ones.
    sizes : ndarray of int, shape (n_sentences,)
        Their numbers of tokens.
    all_layers : list of Layer
        What `compute` returns: `layers`, then `extra_layers`.
    bytes_per_token : int
        Of all that is computed.
    results : list of (values, known)
        One per layer; rows that were not filled are zeros and not known.
    """

    def __init__(
        self,
        tokens,
        layers,
        *,
        extra_layers=(),
        merge_equal=True,
        memory_limit=None,
        reader=None,
    ):
        self.layers = list(layers)
        self.all_layers = [*layers, *extra_layers]
        self._offsets = tokens.offsets
        reader = reader or distinct_sentences
        self.groups, self.sentences = reader(tokens, merge_equal=merge_equal)
        self.sizes = np.array([len(s) for s in self.sentences], dtype=np.int64)
        self.bytes_per_token = 4 * sum(layer.dim for layer in self.all_layers)
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

    def fits(self, number, pair, layer):
        """Return whether values and known have the shapes of a sentence's layer."""
        size = () if layer.level == "sequence" else (len(self.sentences[number]),)
        values, known = pair
        return np.shape(values) == (*size, layer.dim) and np.shape(known) == size

    def scatter(self, number, entry):
        """Write a sentence's (values, known) per layer to all rows where it occurs."""
        for layer, (values, known), (out, mask) in zip(
            self.layers, entry, self.results, strict=True
        ):
            for i in self.groups[number]:
                rows = i
                if layer.level == "token":
                    rows = slice(self._offsets[i], self._offsets[i + 1])
                out[rows], mask[rows] = values, known

    def checked(self, number, entry, dtype):
        """Return a computed entry, one pair per layer, rounded to `dtype`, or raise."""
        name = _shortened(self.sentences[number])
        entry = None if entry is None else list(entry)
        if entry is None or len(entry) != len(self.all_layers):
            raise ValueError(
                "A source must return (values, known) for each of "
                f"{len(self.all_layers)} layers per sentence; for {name} it returned "
                f"{'nothing' if entry is None else len(entry)}."
            )
        rounded = []
        for i, (layer, pair) in enumerate(zip(self.all_layers, entry, strict=True)):
            if not self.fits(number, pair, layer):
                raise ValueError(
                    f"Layer {layer.name!r} of {name} ({len(self.sentences[number])} "
                    f"tokens) must have dimension {layer.dim} at the {layer.level} "
                    f"level; got values of shape {np.shape(pair[0])} and known of "
                    f"shape {np.shape(pair[1])}."
                )
            try:
                rounded.append(round_entry(*pair, dtype))
            except ValueError as error:
                hint = (
                    " The layer was not requested, but the cache stores all layers; "
                    "cache_layers='selected' omits it."
                )
                raise ValueError(
                    f"Layer {layer.name!r} of {name}: {error}"
                    f"{hint if i >= len(self.layers) else ''}"
                ) from error
        return rounded


def exceeds(tokens, layers, memory_limit):
    """Return whether token-level vectors take more than `memory_limit` bytes."""
    dim = sum(layer.dim for layer in layers if layer.level == "token")
    return memory_limit is not None and 4 * dim * len(tokens.codes) > memory_limit


def _shortened(sentence):
    original = isinstance(sentence, OriginalText)
    text = sentence.text if original else " ".join(sentence)
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def token_bar(name, tokens, *, verbose, cached, reader=None):
    """Return a progress bar over the tokens of distinct sentences.

    It has no total with a cache, which may have some of the sentences.
    """
    from tqdm import tqdm

    total = None
    if verbose and not cached:
        _, sentences = (reader or distinct_sentences)(tokens)
        total = sum(map(len, sentences))
    return tqdm(total=total, desc=name, unit=" tokens", disable=not verbose)
