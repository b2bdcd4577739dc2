"""Which rows of a block each sequence pools, and running a kernel over them."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from . import _kernels_python

# NumPy takes up to half a millisecond for so many, loading numba a third of a second.
_FEW_SEQUENCES, _FEW_ENTRIES = 8, 1 << 18
# Entries to read before a second thread is worth its start.
_WORK = 1 << 20


class Bags(NamedTuple):
    """Sequence i pools ``values[rows[k]]``, k in ``offsets[i]:offsets[i + 1]``.

    `weights` (one a token, None for 1) and `divisors` (one a sequence, never 0) are
    what a weighted mean multiplies and divides by. `codes` are the tokens' types.
    """

    values: np.ndarray
    rows: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray | None
    divisors: np.ndarray
    codes: np.ndarray | None = None

    @property
    def lengths(self):
        """Number of pooled tokens of each sequence."""
        return np.diff(self.offsets)


def block_bags(tokens, block):
    """Return the rows of a block that each sequence pools: those that are known.

    Parameters
    ----------
    tokens : TokenSequences
    block : Block
        At level "type" or "token".

    Returns
    -------
    Bags
        Without weights.
    """
    codes, offsets, known = tokens.codes, tokens.offsets, block.known
    rows = codes
    if block.level == "token":
        kind = np.int32 if tokens.n_tokens < 2**31 else np.int64
        rows = np.arange(tokens.n_tokens, dtype=kind)
    if not known.all():
        kept = known[rows]
        codes = codes[kept]
        rows = codes if block.level == "type" else rows[kept]
        before = np.zeros(len(kept) + 1, dtype=np.int64)
        np.cumsum(kept, out=before[1:])
        offsets = before[offsets]
    divisors = np.maximum(np.diff(offsets), 1).astype(np.float64)
    table, index = block.indexed()
    if index is not None:
        rows = index[rows]
    return Bags(table, rows, offsets, None, divisors, codes)


def run_kernel(name, bags, arguments, out, at):
    """Run a kernel over all sequences, compiled and in threads where there is work.

    The number of threads is numba's (``NUMBA_NUM_THREADS``), which joblib lowers in
    its worker processes.

    Parameters
    ----------
    name : str
        The kernel: a function of `_kernels`, and of `_plain`.
    bags : Bags
    arguments : tuple
        The kernel's own, between `offsets` and `first`.
    out : ndarray of float32, shape (n_sequences, n_columns)
        Written to from column `at` on.
    at : int
    """
    n_sequences = len(bags.offsets) - 1
    entries = len(bags.rows) * bags.values.shape[1]
    if n_sequences <= _FEW_SEQUENCES and entries <= _FEW_ENTRIES:
        everything = bags.values, bags.rows, bags.offsets, *arguments, 0, n_sequences
        getattr(_kernels_python, name)(*everything, out, at)
        return
    from . import _kernels_numba

    kernel = getattr(_kernels_numba, name)
    # numba compiles anew for each dtype, order and writability.
    values, rows, offsets = (
        _frozen(bags.values),
        _frozen(bags.rows),
        _frozen(bags.offsets),
    )

    def run(span):
        kernel(values, rows, offsets, *arguments, *span, out, at)

    spans, n_threads = _spans(bags)
    if n_threads < 2:
        for span in spans:
            run(span)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(run, spans))


def _frozen(array):
    view = array.view(np.uint16) if array.dtype == np.float16 else array.view()
    view.flags.writeable = False
    return view


def _spans(bags):
    """Cut the sequences into spans of about as many tokens, several a thread."""
    from numba import config

    n_sequences = len(bags.offsets) - 1
    work = len(bags.rows) * bags.values.shape[1] // _WORK
    n_threads = max(1, min(config.NUMBA_NUM_THREADS, work, n_sequences))
    n_spans = 4 * n_threads if n_threads > 1 else 1
    marks = np.linspace(0, len(bags.rows), n_spans + 1)[1:-1]
    cuts = np.searchsorted(bags.offsets[:-1], marks)
    cuts = np.unique([0, *cuts, n_sequences]).tolist()
    return list(pairwise(cuts)), n_threads
