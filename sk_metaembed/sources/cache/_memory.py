"""SentenceMemory: the rows of a sentence cache that this process has at hand.

A grid search asks for the same sentences once a fold and candidate. SQLite would copy
each entry every time, and its checksum be taken anew; so what was read or computed
once stays in a table in memory, and blocks are rows of that table: to embed sentences
again costs about what it takes to look them up.
"""

import os
import threading
from collections import OrderedDict

import numpy as np

from ...sequences import Block
from ._compute import Layer, compute_missing, distinct_sentences, exceeds

LIMIT_VARIABLE = "SK_METAEMBED_SENTENCE_MEMORY"
_LIMIT = 512  # MiB a process


def sentence_blocks(
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
    """Return the blocks of token sequences: at hand, from the cache, or computed.

    Parameters
    ----------
    cache, tokens, layers, compute, also, slice_tokens, memory_limit, read
        As for `compute_missing`.

    Returns
    -------
    list of Block
        One a layer, under its name, with what `compute_missing` gives; rows that are
        not known are zeros.

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
    >>> with SentenceCache(folder.name, "model 1") as cache:
    ...     for texts in (["to be"], ["not", "to be"]):
    ...         tokens = Tokenizer().transform(texts)
    ...         blocks = sentence_blocks(cache, tokens, layers, lengths)
    [('to', 'be')]
    [('not',)]
    >>> blocks[0].values.ravel()
    array([3., 2., 2.], dtype=float32)
    >>> folder.cleanup()
    """
    layers = [Layer(*layer) for layer in layers]
    options = {
        "also": also,
        "slice_tokens": slice_tokens,
        "memory_limit": memory_limit,
        "read": read,
    }
    spills = exceeds(tokens, layers, memory_limit)
    tables = None if spills else MEMORY.tables(cache, layers)
    if tables is not None:
        places, sentences = read(tokens)
        new = _not_at_hand(tables, sentences)
        if MEMORY.make_room(tables, [sentences[i] for i in new]):
            if len(new):
                rest = tokens[[places[i][0] for i in new]]
                found = compute_missing(cache, rest, layers, compute, **options)
                MEMORY.keep(tables, [sentences[i] for i in new], rest, found)
            cache.count_at_hand(len(layers) * (len(sentences) - len(new)))
            return MEMORY.blocks(tables, tokens, places, sentences)
    found = compute_missing(cache, tokens, layers, compute, **options)
    return [
        Block(layer.name, values, layer.level, known)
        for layer, (values, known) in zip(layers, found, strict=True)
    ]


class Table:
    """The vectors of one layer: a growing array, and where each sentence begins.

    Parameters
    ----------
    layer : Layer
    """

    def __init__(self, layer):
        self.layer = layer
        self.starts = {}
        self.n_rows = 0
        self._values = np.zeros((0, layer.dim), np.float32)
        self._known = np.zeros(0, bool)

    @property
    def bytes(self):
        """What it takes, without its keys."""
        return self._values.nbytes + self._known.nbytes

    def bytes_for(self, sentences):
        """Return what it would take with these sentences too."""
        more = sum(self._size(sentence) for sentence in sentences)
        row = 4 * self.layer.dim + 1
        return max(self.bytes, self._room(self.n_rows + more) * row)

    def _size(self, sentence):
        return 1 if self.layer.level == "sequence" else len(sentence)

    def _room(self, n_rows):
        has = len(self._values)
        return n_rows if not has or n_rows <= has else max(n_rows, has + has // 2)

    def append(self, sentences, offsets, values, known):
        """Add sentences whose rows lie between offsets; those at hand are left out."""
        if not self.n_rows:  # adopted, for a copy would take as much again
            self._values, self._known = values, known
            self.n_rows = len(values)
            self.starts.update(zip(sentences, offsets[:-1].tolist(), strict=True))
            return
        new = [i for i, s in enumerate(sentences) if s not in self.starts]
        sizes = np.diff(offsets)[new]
        self._grow(self.n_rows + int(sizes.sum()))
        at = self.n_rows
        starts = at + np.cumsum(sizes) - sizes
        for i, start, size in zip(new, starts.tolist(), sizes.tolist(), strict=True):
            rows = slice(offsets[i], offsets[i] + size)
            self._values[start : start + size] = values[rows]
            self._known[start : start + size] = known[rows]
        # In this order, so that a fork in between finds nothing that is not there.
        self.n_rows = at + int(sizes.sum())
        self.starts.update(
            zip([sentences[i] for i in new], starts.tolist(), strict=True)
        )

    def _grow(self, n_rows):
        if n_rows <= len(self._values):
            return
        room = self._room(n_rows)
        values = np.empty((room, self.layer.dim), np.float32)
        known = np.zeros(room, bool)
        values[: self.n_rows] = self._values[: self.n_rows]
        known[: self.n_rows] = self._known[: self.n_rows]
        self._values, self._known = values, known

    def block(self, tokens, places, sentences):
        """Return the block of sequences whose sentences are all at hand."""
        first = np.full(len(tokens), -1, dtype=np.int64)
        for where, sentence in zip(places, sentences, strict=True):
            first[where] = self.starts[sentence]
        rows = first
        if self.layer.level == "token":
            lengths = tokens.lengths
            rows = np.repeat(first - tokens.offsets[:-1], lengths)
            rows += np.arange(len(rows))
        known = rows >= 0
        known[known] = self._known[rows[known]]
        rows = np.where(known, rows, -1)
        table = self._values[: self.n_rows]
        return Block._of_table(self.layer.name, table, rows, self.layer.level)


class SentenceMemory:
    """The tables of a process, those longest unused given up first.

    What is at hand was checked when it was read. It belongs to one state of one cache:
    clearing a cache or setting a damaged file aside gives it another identity, which
    every process asks for when it opens the cache.
    """

    def __init__(self):
        self._tables = OrderedDict()
        self.unlock()

    def unlock(self):
        """Make a new lock: another thread may have held it when a process forked."""
        self._lock = threading.RLock()

    def forget(self):
        """Give up all tables; blocks that were made of them stay."""
        with self._lock:
            self._tables.clear()

    def tables(self, cache, layers):
        """Return the tables of layers, or None where nothing is to be held.

        Parameters
        ----------
        cache : SentenceCache or None
        layers : list of Layer

        Returns
        -------
        list of Table or None
        """
        identity = None if cache is None or not limit() else cache.identity()
        if identity is None:
            return None
        with self._lock:
            found = []
            for layer in layers:
                key = identity, cache.fingerprint, cache.dtype, layer
                table = self._tables.setdefault(key, Table(layer))
                self._tables.move_to_end(key)
                found.append(table)
            return found

    def make_room(self, tables, sentences):
        """Tell whether sentences fit in beside the rest, giving up old tables."""
        with self._lock:
            needed = sum(table.bytes_for(sentences) for table in tables)
            if needed > limit():
                return False
            others = [
                (key, table)
                for key, table in self._tables.items()
                if not any(table is own for own in tables)
            ]
            held = sum(table.bytes for _, table in others)
            for key, table in others:
                if needed + held <= limit():
                    break
                held -= table.bytes
                del self._tables[key]
            return True

    def keep(self, tables, sentences, tokens, found):
        """Add the vectors of sentences, one a row of `tokens`, to the tables."""
        with self._lock:
            for table, (values, known) in zip(tables, found, strict=True):
                whole = table.layer.level == "sequence"
                offsets = np.arange(len(tokens) + 1) if whole else tokens.offsets
                table.append(sentences, offsets, values, known)

    def blocks(self, tables, tokens, places, sentences):
        """Return the blocks of sequences whose sentences are all at hand."""
        with self._lock:
            return [table.block(tokens, places, sentences) for table in tables]


def limit():
    """Return how many bytes the tables of this process may take."""
    told = os.environ.get(LIMIT_VARIABLE, "")
    try:
        return int(float(told or _LIMIT) * 2**20)
    except (OverflowError, ValueError):
        raise ValueError(
            f"{LIMIT_VARIABLE} must be a number of MiB, 0 for none, got {told!r}."
        ) from None


def _not_at_hand(tables, sentences):
    return [
        i
        for i, sentence in enumerate(sentences)
        if not all(sentence in table.starts for table in tables)
    ]


MEMORY = SentenceMemory()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=MEMORY.unlock)
