"""The loop of `_row_sums_numba` in NumPy, for inputs too small to load numba.

It takes the same arguments and adds in the same order, in float64, so that both give
the same bits. Rows of `out` without a vector stay zero.
"""

import numpy as np
from scipy.sparse import csr_array

# Estimated time of `sum_rows`, by which `use_compiled` decides.
SECONDS_PER_SUM, SECONDS_PER_TERM = 5e-7, 2e-9
_MANY = 16  # sequences that are summed at once
_CELLS = 1 << 18  # of rows of a table at once, which the processor's cache holds


def bags_of(values, rows, offsets, first, last):
    """Yield (index, span of tokens, rows) of each sequence that has a vector."""
    values = np.asarray(values)  # a memory map is slow to index
    bounds = offsets[first : last + 1].tolist()
    for i, (begin, end) in enumerate(zip(bounds, bounds[1:], strict=False), first):
        if begin < end:
            yield i, slice(begin, end), values[rows[begin:end]]


def total_of(terms):
    """Return the sum of rows, added one by one."""
    # np.sum adds a single column pairwise, which rounds differently. The compiled loop
    # starts at 0.0, so a sum of -0.0 is 0.0.
    return np.add.accumulate(terms, axis=0)[-1] + 0.0


def sum_rows(values, rows, offsets, weights, divisors, first, last, out, column):
    """Write the weighted sum of each sequence's rows over its divisor."""
    if last - first < _MANY:
        parts = values, rows, offsets, weights, divisors
        _sum_one_by_one(*parts, first, last, out, column)
        return
    values = np.asarray(values)  # a memory map is slow to index
    per_block = max(_CELLS // max(values.shape[1], 1), 1)  # tokens
    while first < last:
        stop = np.searchsorted(offsets, offsets[first] + per_block, side="right") - 1
        stop = min(max(int(stop), first + 1), last)
        parts = values, rows, offsets[first : stop + 1], weights
        lengths = np.diff(parts[2])
        own = first + np.flatnonzero(lengths)
        columns = slice(column, column + values.shape[1])
        out[own, columns] = _sums(*parts)[own - first] / divisors[own, None]
        first = stop


def _sums(values, rows, offsets, weights):
    """Return the weighted sums of the rows of many sequences at once.

    A term is the sum of four rows, or a row of the last three of its sequence.
    """

    def weighted(tokens):
        own = values[rows[tokens]].astype(np.float64)
        return own if weights is None else own * weights[tokens, None]

    lengths = np.diff(offsets)
    n_terms = lengths // 4 + lengths % 4
    ends = np.concatenate([[0], np.cumsum(n_terms)])
    places = np.arange(ends[-1]) - np.repeat(ends[:-1], n_terms)
    n_fours = np.repeat(lengths // 4, n_terms)
    starts = np.repeat(offsets[:-1], n_terms) + places + 3 * np.minimum(places, n_fours)
    terms, fours = weighted(starts), np.flatnonzero(places < n_fours)
    begins = starts[fours]
    later = weighted(begins + 2) + weighted(begins + 3)
    terms[fours] = (terms[fours] + weighted(begins + 1)) + later
    # A product of sparse and dense matrices adds the terms of a row one by one.
    parts = np.ones(len(terms)), np.arange(len(terms)), ends
    return csr_array(parts, shape=(len(lengths), len(terms))) @ terms


def _sum_one_by_one(values, rows, offsets, weights, divisors, first, last, out, column):
    """Do the same as `sum_rows`; faster for few sequences."""
    dim = values.shape[1]
    for i, span, bag in bags_of(values, rows, offsets, first, last):
        terms = bag.astype(np.float64)
        if weights is not None:
            terms *= weights[span, None]
        n_fours = len(terms) // 4
        if n_fours:
            fours = terms[: 4 * n_fours].reshape(n_fours, 2, 2, dim)
            pairs = fours[:, :, 0] + fours[:, :, 1]
            fours = pairs[:, 0] + pairs[:, 1]
            terms = np.concatenate((fours, terms[4 * n_fours :]))
        out[i, column : column + dim] = total_of(terms) / divisors[i]
