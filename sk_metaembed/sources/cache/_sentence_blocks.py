"""sentence_blocks: the vectors of sentences from memory, from the cache, or computed.

A contextual source supplies a function that embeds a list of distinct sentences. This
module passes it the sentences that are missing, stores the results slice by slice, and
scatters them to the rows of blocks.

A grid search needs the same sentences once per fold and candidate. Reading an entry
from SQLite copies it and verifies its checksum, so entries that were read or computed
once stay in a table in memory, and blocks refer to its rows.
"""

import os
import random
import threading
from collections import OrderedDict

import numpy as np

from ..._core._arrays import read_only
from ..._core._messages import short_repr
from ...sequences import Block
from .._sentences import (
    OriginalText,
    SentenceRows,
    at_level,
    distinct_sentences,
    exceeds,
)
from ._derived import DerivedStore, Memo
from ._sentence_cache import round_entry

LIMIT_VARIABLE = "SK_METAEMBED_SENTENCE_MEMORY"
_DEFAULT_LIMIT = 512  # MiB per process
_TRANSFER_BYTES = 2**25  # of vectors read or written together
_SLICE_BYTES = 2**29  # of vectors that one call of `compute` returns


def sentence_blocks(
    handle,
    tokens,
    layers,
    compute,
    *,
    extra_layers=(),
    slice_tokens=8192,
    memory_limit=None,
    reader=distinct_sentences,
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
    options = {
        "extra_layers": extra_layers,
        "memory_limit": memory_limit,
        "reader": reader,
    }
    spills = exceeds(tokens, layers, memory_limit)
    tables = None if spills else MEMORY.tables(handle, layers)
    if tables is not None:
        groups, sentences = reader(tokens)
        known = list({table.layout: table.starts for table in tables}.values())
        new = [
            i
            for i, sentence in enumerate(sentences)
            if not all(sentence in starts for starts in known)
        ]
        new_sentences = [sentences[i] for i in new]
        if MEMORY.make_room(tables, new_sentences):
            if new:
                rest = tokens[[groups[i][0] for i in new]]
                rows = SentenceRows(rest, layers, **options)
                results = compute_missing(handle, rows, compute, slice_tokens)
                MEMORY.add(tables, new_sentences, rest, results)
            return MEMORY.blocks(tables, tokens, groups, sentences)
    rows = SentenceRows(tokens, layers, **options)
    results = compute_missing(handle, rows, compute, slice_tokens)
    return [
        Block(layer.name, values, layer.level, known)
        for layer, (values, known) in zip(layers, results, strict=True)
    ]


def compute_missing(handle, rows, compute, slice_tokens=8192):
    """Return (values, known) per layer of SentenceRows, from the cache or computed.

    Every slice is stored as soon as it is computed, so that a killed process loses at
    most one.
    """
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
        entries = [_checked(rows, n, next(results, None), dtype) for n in part]
        for number, entry in zip(part, entries, strict=True):
            rows.scatter(number, entry[: len(rows.layers)])
        if handle is not None and not getattr(compute, "stores", False):
            keys = _keys(handle, rows, part, rows.all_layers)
            pairs = [pair for layer in zip(*entries, strict=True) for pair in layer]
            handle.put_many(keys, pairs)


def _checked(rows, number, entry, dtype):
    """Return a computed entry, one pair per layer, rounded to `dtype`, or raise."""
    sentence = rows.sentences[number]
    entry = None if entry is None else list(entry)
    if entry is None or len(entry) != len(rows.all_layers):
        raise ValueError(
            "A source must return (values, known) for each of "
            f"{len(rows.all_layers)} layers per sentence; for {_text_of(sentence)} it "
            f"returned {'nothing' if entry is None else len(entry)}."
        )
    rounded = []
    for i, (layer, pair) in enumerate(zip(rows.all_layers, entry, strict=True)):
        if not rows.fits(number, pair, layer):
            raise ValueError(
                f"Layer {layer.name!r} of {_text_of(sentence)} ({len(sentence)} "
                f"tokens) must have dimension {layer.dim} at the {layer.level} level; "
                f"got values of shape {np.shape(pair[0])} and known of shape "
                f"{np.shape(pair[1])}."
            )
        try:
            rounded.append(round_entry(*pair, dtype))
        except ValueError as error:
            hint = (
                " The layer was not requested, but the cache stores all layers; "
                "cache_layers='selected' omits it."
            )
            raise ValueError(
                f"Layer {layer.name!r} of {_text_of(sentence)}: {error}"
                f"{hint if i >= len(rows.layers) else ''}"
            ) from error
    return rounded


def _text_of(sentence):
    original = isinstance(sentence, OriginalText)
    return short_repr(sentence.text if original else " ".join(sentence))


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


class Table:
    """The vectors of one layer: a growing array, and the first row of each sentence."""

    def __init__(self, layer):
        self.layer = layer
        self.starts = {}
        # The same for tables with equal `starts` and known rows.
        self.layout = layer.level
        self.n_rows = 0
        self._values = np.zeros((0, layer.dim), np.float32)
        self._known = np.zeros(0, bool)

    @property
    def nbytes(self):
        """Size in bytes, without keys."""
        return self._values.nbytes + self._known.nbytes

    def nbytes_with(self, sentences):
        """Return the size in bytes after adding sentences."""
        whole = self.layer.level == "sequence"
        n_new = sum(1 if whole else len(sentence) for sentence in sentences)
        bytes_per_row = 4 * self.layer.dim + 1
        return max(self.nbytes, self._capacity(self.n_rows + n_new) * bytes_per_row)

    def _capacity(self, n_rows):
        current = len(self._values)
        if not current or n_rows <= current:
            return n_rows
        return max(n_rows, current + current // 8)  # half would waste the limit

    def append(self, sentences, offsets, values, known):
        """Add the rows between offsets of those sentences that are not here yet."""
        if not self.n_rows:  # no copy, which would take the same memory again
            self._values, self._known = values, known
            self.n_rows = len(values)
            self.starts.update(zip(sentences, offsets[:-1].tolist(), strict=True))
            return
        new = [i for i, s in enumerate(sentences) if s not in self.starts]
        sizes = np.diff(offsets)[new]
        stop = self.n_rows + int(sizes.sum())
        self._grow(stop)
        starts = (self.n_rows + np.cumsum(sizes) - sizes).tolist()
        for i, start, size in zip(new, starts, sizes.tolist(), strict=True):
            rows = slice(offsets[i], offsets[i] + size)
            self._values[start : start + size] = values[rows]
            self._known[start : start + size] = known[rows]
        # In this order, so that a fork in between never sees rows that are not written.
        self.n_rows = stop
        self.starts.update(zip([sentences[i] for i in new], starts, strict=True))

    def _grow(self, n_rows):
        if n_rows <= len(self._values):
            return
        capacity = self._capacity(n_rows)
        values = np.empty((capacity, self.layer.dim), np.float32)
        known = np.zeros(capacity, bool)
        values[: self.n_rows] = self._values[: self.n_rows]
        known[: self.n_rows] = self._known[: self.n_rows]
        self._values, self._known = values, known

    def rows(self, tokens, groups, sentences):
        """Return the rows of sequences whose sentences are here, -1 for unknown."""
        first = np.full(len(tokens), -1, dtype=np.int64)
        for sequences, sentence in zip(groups, sentences, strict=True):
            first[sequences] = self.starts[sentence]
        rows = first
        if self.layer.level == "token":
            rows = np.repeat(first - tokens.offsets[:-1], tokens.lengths)
            rows += np.arange(len(rows))
        known = rows >= 0
        known[known] = self._known[rows[known]]
        return read_only(np.where(known, rows, -1))

    def block(self, rows, memo):
        """Return the block of some rows."""
        values = self._values[: self.n_rows]
        layer = self.layer
        return Block._of_table(layer.name, values, rows, layer.level, memo)


class SentenceMemory:
    """The tables of a process; the least recently used are dropped first.

    Entries in memory were checked when they were read. They belong to one state of one
    cache: clearing a cache or replacing a corrupt file gives it another identity, which
    every process looks up when it opens the cache.
    """

    def __init__(self):
        self._tables = OrderedDict()
        self._derived = DerivedStore()
        self.reset_lock()

    def reset_lock(self):
        """Create new locks: another thread may have held them when a process forked."""
        self._lock = threading.RLock()
        self._derived.reset_lock()

    def clear(self):
        """Drop all tables; blocks made of them stay valid."""
        with self._lock:
            self._tables.clear()
        self._derived.clear()

    def tables(self, handle, layers):
        """Return the tables of a cache's layers, None if nothing is to be held."""
        identity = None if handle is None or not limit() else handle.identity()
        if identity is None:
            return None
        with self._lock:
            tables = []
            for layer in layers:
                key = identity, handle.fingerprint, handle.dtype, layer
                tables.append(self._tables.setdefault(key, Table(layer)))
                self._tables.move_to_end(key)
            return tables

    def make_room(self, tables, sentences):
        """Return whether sentences fit, after dropping other tables if needed."""
        with self._lock:
            needed = sum(table.nbytes_with(sentences) for table in tables)
            if needed > limit():
                return False
            others = [
                (key, table)
                for key, table in self._tables.items()
                if not any(table is own for own in tables)
            ]
            held = sum(table.nbytes for _, table in others)
            for key, table in others:
                if needed + held <= limit():
                    break
                held -= table.nbytes
                del self._tables[key]
                self._derived.drop(table)
            return True

    def add(self, tables, sentences, tokens, results):
        """Add the (values, known) of sentences, one per sequence of `tokens`."""
        layouts = {}
        with self._lock:
            for table, (values, known) in zip(tables, results, strict=True):
                whole = table.layer.level == "sequence"
                offsets = np.arange(len(tokens) + 1) if whole else tokens.offsets
                key = table.layout, known.tobytes()
                # Before `append`, which may be interrupted: of this table only.
                table.layout = object()
                table.append(sentences, offsets, values, known)
                table.layout = layouts.setdefault(key, table.layout)

    def blocks(self, tables, tokens, groups, sentences):
        """Return the blocks of sequences whose sentences are all in the tables."""
        rows, blocks = {}, []
        with self._lock:
            for table in tables:
                if table.layout not in rows:
                    rows[table.layout] = table.rows(tokens, groups, sentences)
                memo = Memo(self._derived, table, derived_limit)
                blocks.append(table.block(rows[table.layout], memo))
        return blocks


def limit():
    """Return how many bytes the tables of this process may take."""
    text = os.environ.get(LIMIT_VARIABLE, "")
    try:
        return int(float(text or _DEFAULT_LIMIT) * 2**20)
    except (OverflowError, ValueError):
        raise ValueError(
            f"{LIMIT_VARIABLE} must be a number of MiB, 0 for none; got {text!r}."
        ) from None


def derived_limit():
    """Return how many bytes may be taken by what later steps compute of the tables."""
    return limit() // 4


MEMORY = SentenceMemory()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=MEMORY.reset_lock)
