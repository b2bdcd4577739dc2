"""Bags, the rows of a block that each sequence pools, and kernels that pool them."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._core._arrays import offsets_of
from .._kernels._compiled import in_threads, use_compiled
from .._kernels._row_sums import (
    SECONDS_PER_SUM,
    SECONDS_PER_TERM,
    bags_of,
    sum_rows,
    total_of,
)
from ..sequences import Block

_SECONDS_PER_SEQUENCE, _SECONDS_PER_ENTRY = 1.5e-5, 3e-9  # in NumPy
_ENTRIES_PER_THREAD = 1 << 20  # a thread does not pay off for less work


class Bags(NamedTuple):
    """Sequence i pools ``values[rows[k]]`` for k in ``offsets[i]:offsets[i + 1]``.

    A weighted mean multiplies by `weights` (per token, None for 1) and divides by
    `divisors` (per sequence, never 0). `codes` are the types of the tokens.
    """

    values: np.ndarray
    rows: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray | None
    divisors: np.ndarray
    codes: np.ndarray | None = None

    @property
    def lengths(self):
        """Number of pooled tokens per sequence."""
        return np.diff(self.offsets)


def block_bags(tokens, block):
    """Return the Bags of the known rows of a block at level "type" or "token"."""
    rows = tokens.codes
    if block.level == "token":
        dtype = np.int32 if tokens.n_tokens < 2**31 else np.int64
        rows = np.arange(tokens.n_tokens, dtype=dtype)
    offsets = tokens.offsets
    if not block.known.all():
        known = block.known[rows]
        rows, offsets = rows[known], offsets_of(known)[offsets]
    divisors = np.maximum(np.diff(offsets), 1).astype(np.float64)
    codes = rows if block.level == "type" else tokens.codes[rows]
    table, index = block._table_rows
    rows = rows if index is None else index[rows]
    return Bags(table, rows, offsets, None, divisors, codes)


def sequence_blocks(embedded):
    """Return the blocks of an EmbeddedSequences at level "sequence".

    Vectors of words are averaged as by `Pooling`. A sequence is known to a source if
    one of its words is.
    """
    blocks = []
    for block in embedded.blocks:
        means, known = mean_vectors(embedded.tokens, block)
        blocks.append(Block(block.name, means, "sequence", known, copy=False))
    return blocks


def mean_vectors(tokens, block):
    """Return the mean of each sequence, float32 (n_sequences, dim), and if it is known.

    The mean of float32 numbers does not exceed float32.
    """
    if block.level == "sequence":
        return block.values.astype(np.float32, copy=False), block.known
    bags = block_bags(tokens, block)
    means = np.zeros((len(tokens), block.dim), dtype=np.float32)
    run_kernel("sum_rows", bags, (None, bags.divisors), means, 0)
    return means, bags.lengths > 0


def run_kernel(name, bags, arguments, out, column):
    """Run a kernel over all sequences; compiled, and in threads if the input is large.

    `name` is a function of `_kernels_numba` and of `_IN_NUMPY`; `arguments` are those
    that it takes between `offsets` and `first`. Writes into `out`, (n_sequences,
    n_columns), from `column` on. The number of threads is numba's
    (``NUMBA_NUM_THREADS``), which joblib reduces in its worker processes.
    """
    n_sequences = len(bags.offsets) - 1
    per_sequence, per_entry = _SECONDS_PER_SEQUENCE, _SECONDS_PER_ENTRY
    if name == "sum_rows":
        per_sequence, per_entry = SECONDS_PER_SUM, SECONDS_PER_TERM
    n_entries = len(bags.rows) * bags.values.shape[1]
    if not use_compiled(per_sequence * n_sequences + per_entry * n_entries):
        all_arguments = bags.values, bags.rows, bags.offsets, *arguments, 0, n_sequences
        _IN_NUMPY[name](*all_arguments, out, column)
        return
    from . import _kernels_numba

    kernel = getattr(_kernels_numba, name)
    # Read-only views, because numba compiles a kernel per dtype, order and writability.
    values, rows, offsets = (
        _read_only_view(bags.values),
        _read_only_view(bags.rows),
        _read_only_view(bags.offsets),
    )

    def run(first, last):
        kernel(values, rows, offsets, *arguments, first, last, out, column)

    in_threads(run, _spans(bags))


def _read_only_view(array):
    view = array.view(np.uint16) if array.dtype == np.float16 else array.view()
    view.flags.writeable = False
    return view


def _spans(bags):
    """Return spans of sequences of similar work, several per thread, or one."""
    from numba import config

    n_sequences = len(bags.offsets) - 1
    work = len(bags.rows) * bags.values.shape[1] // _ENTRIES_PER_THREAD
    n_threads = max(1, min(config.NUMBA_NUM_THREADS, work, n_sequences))
    n_spans = 4 * n_threads if n_threads > 1 else 1
    marks = np.linspace(0, len(bags.rows), n_spans + 1)[1:-1]
    cuts = np.searchsorted(bags.offsets[:-1], marks)
    return list(pairwise(np.unique([0, *cuts, n_sequences]).tolist()))


# The kernels of `_kernels_numba` in NumPy, for inputs too small to load numba. Each
# takes the same arguments and adds in the same order, in float64, so both give the same
# bits. Rows of `out` without a vector stay zero.


def power_mean_rows(
    values, rows, offsets, weights, divisors, power, first, last, out, column
):
    """Write the signed root of the weighted mean of powers of each sequence."""
    dim = values.shape[1]
    for i, span, bag in bags_of(values, rows, offsets, first, last):
        terms = np.ones(bag.shape)
        if weights is not None:
            terms *= weights[span, None]
        for _ in range(power):
            terms *= bag
        mean = total_of(terms) / divisors[i]
        out[i, column : column + dim] = np.copysign(np.abs(mean) ** (1.0 / power), mean)


def extreme_rows(values, rows, offsets, sign, first, last, out, column):
    """Write the maximum (sign 1) or minimum (sign -1) of each sequence."""
    dim = values.shape[1]
    for i, _, bag in bags_of(values, rows, offsets, first, last):
        out[i, column : column + dim] = sign * (sign * bag).max(axis=0)


def window_max_rows(values, rows, offsets, size, first, last, out, column):
    """Write the maximum over the means of each sequence's windows."""
    dim = values.shape[1]
    for i, _, bag in bags_of(values, rows, offsets, first, last):
        width = min(size, len(bag))
        n_windows = len(bag) - width + 1
        totals = np.zeros((n_windows, dim))
        for k in range(width):
            totals += bag[k : k + n_windows]
        out[i, column : column + dim] = totals.max(axis=0) / width


_IN_NUMPY = {
    each.__name__: each
    for each in (sum_rows, power_mean_rows, extreme_rows, window_max_rows)
}
