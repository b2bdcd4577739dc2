"""Read-only arrays, rows of vectors, and rows of different lengths.

The result of a row does not depend on the other rows: sums run along the row only. In
`row_product` this holds up to rounding, because a BLAS does the sums.
"""

import warnings

import numpy as np
from scipy import sparse

from ._errors import plural

_CHUNK = 2048  # rows that stay in a processor's cache between two passes
_TILE = 256  # rows per matrix product
_SPANS = 1 << 16  # bytes gathered at once
# A vector that is this many times as long as the others would determine means and
# variances alone. Fewer rows are not compared.
_LONG, _FEW_ROWS = 300, 10
_ROWS_PER_PART = 4096  # of which means and variances are summed at a time


def read_only(array):
    """Make an array read-only, and return a view of it.

    A view that is read-only already is returned itself, so that subsets share it.
    """
    if array.flags.writeable:
        array.flags.writeable = False
    elif array.base is not None:
        return array
    return array.view()  # the flag of a view of a read-only array cannot be reset


def immutable(array):
    """Return a read-only array with these values, whose memory is not shared.

    It is the array itself if all memory behind it is read-only, such as a file mapped
    for reading, and a copy otherwise.
    """
    return array if is_immutable(array) else read_only(np.array(array))


def is_immutable(array):
    """Return whether all memory behind an array is read-only."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    if array is None:
        return True
    try:
        with memoryview(array) as buffer:
            return buffer.readonly
    except TypeError:  # an object without buffer may change its memory
        return False


class Immutable:
    """Base of containers that many users share: attributes and arrays cannot change."""

    __slots__ = ()

    def _assign(self, **values):
        """Set attributes, for constructors and results that are computed later."""
        for name, value in values.items():
            value = read_only(value) if isinstance(value, np.ndarray) else value
            object.__setattr__(self, name, value)

    def __setattr__(self, name, value):
        delattr(self, name)

    def __delattr__(self, name):
        raise AttributeError(
            f"{type(self).__name__} is immutable: cannot change {name!r}. Build a new "
            "one."
        )


def chunks(n_rows):
    """Yield slices that cover rows a bounded number at a time."""
    for start in range(0, n_rows, _CHUNK):
        yield slice(start, start + _CHUNK)


def infinite_rows(values):
    """Return the numbers of the rows that hold NaN or infinity."""
    # The sum is finite unless an entry is not, or it overflows: then all are checked.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.result_type(values, np.float32))):
            return np.empty(0, dtype=np.intp)
    return np.flatnonzero(~np.isfinite(values).all(axis=1))


def row_norms(values):
    """Return the Euclidean norm of each row, float64 (n_rows,)."""
    norms = np.empty(len(values))
    for rows in chunks(len(values)):
        part = values[rows].astype(np.float32, copy=False)
        with np.errstate(over="ignore", under="ignore"):
            squares = np.einsum("ij,ij->i", part, part).astype(np.float64)
        # Squares of huge and tiny numbers exceed the range of float32: use float64.
        outside = ~((squares > 1e-30) & (squares < 1e30))
        wide = part[outside].astype(np.float64)
        squares[outside] = np.einsum("ij,ij->i", wide, wide)
        norms[rows] = np.sqrt(squares)
    return norms


def vary_by_rounding(mean, std):
    """Return which dimensions vary no more than rounding explains, bool (dim,).

    The limit is the rounding error of float32 at the size of the dimension, or that of
    a projection in float64 onto more dimensions than its rank. The error of such a
    projection in float32 can be as large as a dimension in small units, so it is not
    recognized here. `EstimatorEmbedding` removes these dimensions.
    """
    least = max(1e-14 * std.max(initial=0.0), 1e-30)
    return std <= (1e-6 * abs(mean)).clip(least)


def normalize_rows(values):
    """Scale rows to unit length, (n_rows, dim) -> float32; zero rows stay zero."""
    unit = np.empty(values.shape, dtype=np.float32)
    norms = row_norms(values)
    norms[norms == 0] = np.inf
    scales = 1 / norms[:, None]
    for rows in chunks(len(values)):
        np.multiply(values[rows], scales[rows], out=unit[rows], casting="same_kind")
    return unit


def row_product(values, matrix):
    """Return ``values @ matrix`` as float32, nearly independent of the other rows.

    A BLAS chooses its kernel by the shapes, so a row alone is rounded differently from
    the same row in a batch. Products of a fixed number of rows, the last padded with
    zeros, all use one kernel. Some kernels also round a row by its position in the
    batch, so the last bits may still differ.
    """
    matrix = np.ascontiguousarray(matrix, dtype=np.float32)
    product = np.empty((len(values), matrix.shape[1]), dtype=np.float32)
    tile = np.zeros((_TILE, len(matrix)), dtype=np.float32)
    for start in range(0, len(values), _TILE):
        part = values[start : start + _TILE]
        tile[: len(part)] = part
        tile[len(part) :] = 0
        product[start : start + _TILE] = (tile @ matrix)[: len(part)]
    return product


PAIR_FEATURES = ("u", "v", "absdiff", "product")

_DENSE = {
    "u": lambda u, v: u,
    "v": lambda u, v: v,
    "absdiff": lambda u, v: abs(u - v),
    "product": np.multiply,
}
_SPARSE = _DENSE | {"product": lambda u, v: u.multiply(v)}


def pair_features(u, v, features=PAIR_FEATURES):
    """Concatenate features of pairs of vectors, dense or sparse (n_pairs, dim) each."""
    if sparse.issparse(u):
        return sparse.hstack([_SPARSE[name](u, v) for name in features], format="csr")
    return np.concatenate([_DENSE[name](u, v) for name in features], axis=1)


def n_odd_rows(n_rows):
    """Return how many rows are too few to decide how all rows are read.

    One row in 50 and, of 10 rows or more, at least one.
    """
    return max(n_rows // 50, int(n_rows >= 10))


def length_limit(norms):
    """Return the length above which vectors are errors, from the 99th percentile."""
    norms = norms[norms > 0]
    if len(norms) < _FEW_ROWS:
        return np.inf
    return _LONG * np.quantile(norms, 0.99, method="lower")


def warn_of_long(name, rows):
    """Warn about the rows of a block that are left out."""
    warnings.warn(
        f"Block {name!r}: {plural(len(rows), 'vector')} longer than {_LONG} times the "
        f"length of the others, the first in row {rows[0]} of its values. Means and "
        "variances are computed without them. Correct them, or pass preprocess='unit' "
        "to the source.",
        UserWarning,
        stacklevel=3,
    )


def standardization(at, rows, weights=None, name=None):
    """Return mean and inverse standard deviation of some rows of vectors.

    Arrays of float32, shape (dim,). The inverse is 0 for dimensions that vary by
    rounding at most: nothing is learned about them, so they must not distinguish new
    rows. Vectors far longer than 99% of all do not count, because the others would
    become equal.

    Parameters
    ----------
    at : callable
        Returns the vectors of some rows.
    rows : ndarray of int
    weights : ndarray of shape (n_rows,), default=None
    name : str, default=None
        Name of the block in the warning about far longer vectors; None for no warning.
    """
    if len(rows) == 0:
        return np.zeros((2, at(rows).shape[1]), np.float32)
    # Two passes over all rows would read a memory-mapped block twice.
    sample = at(rows[:: len(rows) // _ROWS_PER_PART + 1])
    norms = row_norms(sample)
    limit = length_limit(norms)
    shift = sample[norms <= limit][0].astype(np.float64)
    counted = np.ones(len(rows)) if weights is None else weights.astype(np.float64)
    total = square = 0.0
    for start in range(0, len(rows), _ROWS_PER_PART):
        part = slice(start, start + _ROWS_PER_PART)
        values, own = at(rows[part]), counted[part]
        own[row_norms(values) > limit] = 0
        values = values - shift
        total, square = total + own @ values, square + own @ np.square(values)
    if name is not None and not counted.all():
        warn_of_long(name, rows[counted == 0])
    mean = total / counted.sum()
    variance = np.maximum(square / counted.sum() - np.square(mean), 0)
    mean, std = mean + shift, np.sqrt(variance)
    std[vary_by_rounding(mean, std)] = np.inf
    return np.stack([mean, 1 / std]).astype(np.float32)


def offsets_of(lengths):
    """Return where each row of a ragged array begins, and the end of the last."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def gather_index(offsets, rows):
    """Return the positions of some rows of a ragged array, and their new offsets."""
    lengths = np.diff(offsets)[rows]
    new_offsets = offsets_of(lengths)
    starts = np.repeat(offsets[:-1][rows] - new_offsets[:-1], lengths)
    return np.arange(new_offsets[-1]) + starts, new_offsets


def ranges(starts, lengths):
    """Return the integers of ranges, one range after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    offsets = offsets_of(lengths)
    return np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)


def gather_spans(buffer, starts, ends, separator):
    """Return the bytes of spans, each followed by a separator, and their offsets."""
    offsets = offsets_of(ends - starts + 1)
    gathered = np.empty(offsets[-1], dtype=buffer.dtype)
    # In chunks, because the position of each byte takes 8 bytes.
    marks = np.searchsorted(offsets, np.arange(0, offsets[-1], _SPANS))
    bounds = np.unique([*marks, len(starts)]).tolist()
    for first, last in zip(bounds[:-1], bounds[1:], strict=True):
        begin, end = offsets[first], offsets[last]
        sizes = np.diff(offsets[first : last + 1])
        positions = np.repeat(starts[first:last] - offsets[first:last], sizes)
        positions += np.arange(begin, end)
        buffer.take(positions, out=gathered[begin:end], mode="clip")
    gathered[offsets[1:] - 1] = separator
    return gathered, offsets
