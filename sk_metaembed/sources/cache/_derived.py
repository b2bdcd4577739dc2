"""What later steps compute of the tables of a SentenceMemory, computed once.

The candidates and folds of a search average and pool the same vectors. A block of such
a table carries a `Memo`: a meta-embedding that works row by row asks it for the rows
that are computed already, and `Pooling` for the pooled vectors of runs of rows. Rows of
a table never change, so the results equal those without a memo.
"""

import threading
from collections import OrderedDict
from weakref import ref

import numpy as np

from ...sequences import Block


class DerivedStore:
    """Results by table and options; the least recently used are dropped first."""

    def __init__(self):
        self._entries = OrderedDict()
        self.reset_lock()

    def reset_lock(self):
        """Create a new lock: another thread may have held it when a process forked."""
        self.lock = threading.RLock()

    def entry(self, owners, key, make):
        """Return what was computed of some tables, created by ``make()`` if new."""
        # Weak, so that results of dropped tables do not keep these in memory.
        key = tuple(map(ref, owners)), key
        if key not in self._entries:
            self._entries[key] = make()
        self._entries.move_to_end(key)
        return self._entries[key]

    def drop(self, owner):
        """Drop all results of a table."""
        with self.lock:
            for key, entry in list(self._entries.items()):
                if ref(owner) in key[0] and key in self._entries:
                    del self._entries[key]
                    self.drop(entry)

    def clear(self):
        """Drop all results; blocks made of them stay valid."""
        with self.lock:
            self._entries.clear()

    def shrink(self, limit):
        """Drop results until they take at most `limit` bytes."""
        n_bytes = sum(entry.nbytes for entry in self._entries.values())
        while self._entries and n_bytes > limit:
            n_bytes -= self._entries.popitem(last=False)[1].nbytes


class Memo:
    """Access to the results of one table, for the blocks that refer to its rows.

    Parameters
    ----------
    store : DerivedStore
    owner : object
        The table: its rows never change, but more may be added.
    get_limit : callable
        Returns the number of bytes that all results may take.
    """

    def __init__(self, store, owner, get_limit):
        self._store, self._owner, self._get_limit = store, owner, get_limit

    def pool(self, key, write, bags, out, column):
        """Write one pooled vector per sequence, as ``write(bags, out, column)`` does.

        `key` tells apart functions that write different vectors.
        """
        if not _has_runs(bags):
            write(bags, out, column)
            return
        with self._store.lock:
            pooled = self._store.entry((self._owner,), key, _Pooled)
            pooled.write(write, bags, out, column)
            self._store.shrink(self._get_limit())

    def combine(self, name, key, blocks, combine):
        """Return the block of ``combine(blocks)``, computed once per row of the tables.

        `combine` returns the values and the known rows; a row of its result depends on
        the same row of the blocks only. None if the blocks are not the same rows of
        tables in one store.
        """
        sources = [(*block.indexed(), block._memo) for block in blocks]
        rows = sources[0][1]
        if rows is None or not len(rows):
            return None
        for _, other, memo in sources:
            if other is None or memo is None or memo._store is not self._store:
                return None
            if other is not rows and not np.array_equal(other, rows):
                return None
        owners = tuple(memo._owner for _, _, memo in sources)
        with self._store.lock:
            combined = self._store.entry(owners, key, _Combined)
            tables = [table for table, _, _ in sources]
            if not combined.fill(rows, blocks, tables, combine):
                return None
            memo = Memo(self._store, combined, self._get_limit)
            block = Block._of_table(name, combined.table, rows, blocks[0].level, memo)
            self._store.shrink(self._get_limit())
            return block


def _has_runs(bags):
    """Return whether each sequence pools consecutive rows."""
    is_start = np.zeros(len(bags.rows) + 1, dtype=bool)
    is_start[bags.offsets] = True
    breaks = np.flatnonzero(np.diff(bags.rows) != 1) + 1
    return bool(is_start[breaks].all())


class _Growing:
    """An array that grows by half, (n_rows, ...); new rows hold `filler`."""

    def __init__(self, shape=(), dtype=np.int32, filler=0):
        self._filler = filler
        self.values = np.full((0, *shape), filler, dtype)

    def grow(self, n_rows):
        """Make room for at least `n_rows` rows; earlier views keep theirs."""
        n_old = len(self.values)
        if n_rows > n_old:
            shape = max(n_rows, n_old + n_old // 2), *self.values.shape[1:]
            larger = np.full(shape, self._filler, self.values.dtype)
            larger[:n_old] = self.values
            self.values = larger


class _Pooled:
    """Pooled vectors of runs of rows, found by the first row of a run."""

    def __init__(self):
        self._slots, self._counts = _Growing(filler=-1), _Growing()
        self._vectors, self._n_vectors = None, 0

    @property
    def nbytes(self):
        vectors = 0 if self._vectors is None else self._vectors.values.nbytes
        return vectors + self._slots.values.nbytes + self._counts.values.nbytes

    def write(self, write, bags, out, column):
        dim = bags.values.shape[1]
        filled = np.flatnonzero(bags.lengths)
        if not len(filled):
            return
        firsts, counts = bags.rows[bags.offsets[filled]], bags.lengths[filled]
        for array in (self._slots, self._counts):
            array.grow(int(firsts.max()) + 1)
        missing = self._counts.values[firsts] != counts
        if missing.any():
            runs, places = np.unique(firsts[missing], return_index=True)
            self._add(write, bags, runs, counts[missing][places], dim)
        if (self._counts.values[firsts] != counts).any():  # runs of several lengths
            write(bags, out, column)
            return
        slots = self._slots.values[firsts]
        out[filled, column : column + dim] = self._vectors.values[slots]

    def _add(self, write, bags, firsts, counts, dim):
        """Pool runs of rows that are not here yet."""
        if self._vectors is None:
            self._vectors = _Growing((dim,), np.float32)
        offsets = np.r_[0, np.cumsum(counts)]
        runs = bags._replace(
            rows=np.arange(offsets[-1]) + np.repeat(firsts - offsets[:-1], counts),
            offsets=offsets,
            divisors=counts.astype(np.float64),
            codes=None,
            memo=None,
        )
        vectors = np.zeros((len(firsts), dim), np.float32)
        write(runs, vectors, 0)
        begin, self._n_vectors = self._n_vectors, self._n_vectors + len(firsts)
        self._vectors.grow(self._n_vectors)
        self._vectors.values[begin : self._n_vectors] = vectors
        self._slots.values[firsts] = np.arange(begin, self._n_vectors)
        self._counts.values[firsts] = counts


class _Combined:
    """The rows of a meta-embedding of several tables, as far as they were needed."""

    def __init__(self):
        self._done = _Growing(dtype=bool, filler=False)
        self._values = None

    @property
    def nbytes(self):
        """Size in bytes."""
        values = 0 if self._values is None else self._values.values.nbytes
        return values + self._done.values.nbytes

    @property
    def table(self):
        """The rows, those that were not needed are zeros."""
        return self._values.values

    def fill(self, rows, blocks, tables, combine):
        """Compute missing rows; return False if a result is not known.

        `tables` are those of the blocks: another thread may gather a block's values,
        which are its table from then on.
        """
        self._done.grow(int(rows.max()) + 1)
        missing = np.flatnonzero(rows >= 0)
        missing = missing[~self._done.values[rows[missing]]]
        if len(missing):
            new, places = np.unique(rows[missing], return_index=True)
            values, known = combine(
                _rows_of_tables(blocks, tables, new, missing[places])
            )
            if not known.all() or values.dtype != np.float32:
                return False
            if self._values is None:
                self._values = _Growing((values.shape[1],), np.float32)
            self._values.grow(len(self._done.values))
            self._values.values[new] = values
            self._done.values[new] = True
        return self._values is not None


def _rows_of_tables(blocks, tables, rows, places):
    """Return blocks of distinct rows of their tables, which are at `places` of them."""
    first, stop = int(rows[0]), int(rows[-1]) + 1
    if stop - first > len(rows):
        return tuple(block.take(places) for block in blocks)
    known = np.ones(len(rows), dtype=bool)
    return tuple(  # a run of rows: without a copy
        Block._trusted(block.name, table[first:stop], block.level, known)
        for block, table in zip(blocks, tables, strict=True)
    )
