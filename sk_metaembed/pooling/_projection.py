"""A random projection of the rows that are pooled, a bounded part at a time."""

from itertools import pairwise

import numpy as np

from ..sequences._rows import chunks
from ._bags import Bags

# Projected entries that stand in memory at once: 64 MB of float32.
_ENTRIES = 1 << 24


def random_projection(dim, n_components, random):
    """Draw a matrix uniform in ``+-1 / sqrt(dim)``.

    Parameters
    ----------
    dim, n_components : int
    random : RandomState

    Returns
    -------
    ndarray of float32, shape (dim, n_components)
    """
    uniform = random.uniform(-1.0, 1.0, size=(dim, n_components))
    return (uniform / np.sqrt(max(dim, 1))).astype(np.float32)


def project_rows(values, rows, projection, activation):
    """Return some rows of values, projected.

    Parameters
    ----------
    values : ndarray of shape (n_rows, dim)
    rows : ndarray of int
    projection : ndarray of float32, shape (dim, n_components)
    activation : {"relu"} or None

    Returns
    -------
    ndarray of float32, shape (len(rows), n_components)
    """
    projected = np.empty((len(rows), projection.shape[1]), dtype=np.float32)
    for part in chunks(len(rows)):
        vectors = values[rows[part]].astype(np.float32, copy=False)
        np.matmul(vectors, projection, out=projected[part])
    if activation == "relu":
        np.maximum(projected, 0, out=projected)
    return projected


def projected_tiles(bags, level, projection, activation):
    """Yield projected bags that together cover all sequences and columns.

    Rows of a type-level block are shared by sequences: each is projected once, some
    of the columns at a time. Rows of a token-level block are not: sequences are
    taken some at a time.

    Parameters
    ----------
    bags : Bags
        Without weights.
    level : {"type", "token"}
    projection : ndarray of float32, shape (dim, n_components)
    activation : {"relu"} or None

    Yields
    ------
    bags : Bags
        Of some sequences, over some of the projected dimensions.
    sequences : slice
    column : int
        The first of these dimensions.
    """
    n_components = projection.shape[1]
    for sequences in _sequence_spans(bags, level, n_components):
        part, used = _compact(bags, sequences)
        width = max(1, _ENTRIES // max(len(used), 1))
        for column in range(0, n_components, width):
            columns = np.ascontiguousarray(projection[:, column : column + width])
            tile = part._replace(
                values=project_rows(bags.values, used, columns, activation)
            )
            yield tile, sequences, column
            del tile  # before the next one is made


def _sequence_spans(bags, level, n_components):
    n_sequences = len(bags.divisors)
    if level == "type":
        return [slice(0, n_sequences)]
    marks = np.arange(0, len(bags.rows), max(1, _ENTRIES // n_components))
    cuts = np.searchsorted(bags.offsets[:-1], marks)
    cuts = np.unique([0, *cuts, n_sequences]).tolist()
    return [slice(a, b) for a, b in pairwise(cuts)]


def _compact(bags, sequences):
    """Return some sequences' bags over the rows that they use, and these rows."""
    offsets = bags.offsets[sequences.start : sequences.stop + 1]
    rows = bags.rows[offsets[0] : offsets[-1]]
    base = rows.min(initial=len(bags.values))
    counts = np.bincount(rows - base)
    used = np.flatnonzero(counts)
    place = np.zeros(len(counts), dtype=rows.dtype)
    place[used] = np.arange(len(used), dtype=rows.dtype)
    part = Bags(
        bags.values,
        place[rows - base],
        offsets - offsets[0],
        None,
        bags.divisors[sequences],
    )
    return part, used + base
