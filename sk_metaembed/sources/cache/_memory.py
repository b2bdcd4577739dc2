"""SentenceMemory: the rows of sentence caches that this process holds in memory.

A grid search needs the same sentences once per fold and candidate. SQLite would copy
each entry every time and its checksum would be computed again; instead, whatever was
read or computed once stays in a table, and blocks refer to rows of that table.
"""

import os
import threading
from collections import OrderedDict

import numpy as np

from ...sequences import Block

LIMIT_VARIABLE = "SK_METAEMBED_SENTENCE_MEMORY"
_DEFAULT_LIMIT = 512  # MiB per process


class Table:
    """The vectors of one layer: a growing array, and the first row of each sentence."""

    def __init__(self, layer):
        self.layer = layer
        self.starts = {}
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
        return max(n_rows, current + current // 2)

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

    def block(self, tokens, groups, sentences):
        """Return the block of sequences whose sentences are all in the table."""
        first = np.full(len(tokens), -1, dtype=np.int64)
        for sequences, sentence in zip(groups, sentences, strict=True):
            first[sequences] = self.starts[sentence]
        rows = first
        if self.layer.level == "token":
            rows = np.repeat(first - tokens.offsets[:-1], tokens.lengths)
            rows += np.arange(len(rows))
        known = rows >= 0
        known[known] = self._known[rows[known]]
        rows = np.where(known, rows, -1)
        values = self._values[: self.n_rows]
        return Block._of_table(self.layer.name, values, rows, self.layer.level)


class SentenceMemory:
    """The tables of a process; the least recently used are dropped first.

    Entries in memory were checked when they were read. They belong to one state of one
    cache: clearing a cache or replacing a corrupt file gives it another identity, which
    every process looks up when it opens the cache.
    """

    def __init__(self):
        self._tables = OrderedDict()
        self.reset_lock()

    def reset_lock(self):
        """Create a new lock: another thread may have held it when a process forked."""
        self._lock = threading.RLock()

    def clear(self):
        """Drop all tables; blocks made of them stay valid."""
        with self._lock:
            self._tables.clear()

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
            return True

    def add(self, tables, sentences, tokens, results):
        """Add the (values, known) of sentences, one per sequence of `tokens`."""
        with self._lock:
            for table, (values, known) in zip(tables, results, strict=True):
                whole = table.layer.level == "sequence"
                offsets = np.arange(len(tokens) + 1) if whole else tokens.offsets
                table.append(sentences, offsets, values, known)

    def blocks(self, tables, tokens, groups, sentences):
        """Return the blocks of sequences whose sentences are all in the tables."""
        with self._lock:
            return [table.block(tokens, groups, sentences) for table in tables]


def limit():
    """Return how many bytes the tables of this process may take."""
    text = os.environ.get(LIMIT_VARIABLE, "")
    try:
        return int(float(text or _DEFAULT_LIMIT) * 2**20)
    except (OverflowError, ValueError):
        raise ValueError(
            f"{LIMIT_VARIABLE} must be a number of MiB, 0 for none; got {text!r}."
        ) from None


MEMORY = SentenceMemory()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=MEMORY.reset_lock)
