"""One linear map a source: what SVD, GCCA, 1TON and alignment have in common.

Arrays in, arrays out. A row that a source does not know takes no part.

Which rows a combination may learn from, and a sentence where there are none.

Weights and lengths of sources, before they are combined.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .._core._arrays import (
    chunks,
    inverse_norms,
    normalize_rows,
    row_norms,
    row_product,
)
from .._core._parameters import is_real


class SourceMap(NamedTuple):
    """What is done to a source's vectors: subtract the mean, then map.

    Parameters
    ----------
    mean : ndarray of float32, shape (dim,)
        Zeros where nothing is subtracted.
    matrix : ndarray of float32, shape (dim, n_components)
    """

    mean: np.ndarray
    matrix: np.ndarray


def source_rows(block, rows=slice(None), *, normalize):
    """Return some of a block's vectors, zeros where the source does not know the row.

    Parameters
    ----------
    block : Block
    rows : slice, mask or index array, default=all
    normalize : bool
        Whether to scale each vector to length one.

    Returns
    -------
    ndarray of float32, shape (n_rows, dim)
        A copy.
    """
    values = block.values[rows]
    values = normalize_rows(values) if normalize else np.array(values, dtype=np.float32)
    values[~block.known[rows]] = 0
    return values


def known_matrix(blocks):
    """Return who knows what, bool of shape (n_rows, n_sources)."""
    return np.stack([block.known for block in blocks], axis=1)


def nonzero_matrix(sources):
    """Return which vectors are not zero, bool of shape (n_rows, n_sources)."""
    return np.stack([values.any(axis=1) for values in sources], axis=1)


def known_mean(block, rows, *, normalize):
    """Return the mean vector of those of some rows that a block knows.

    Parameters
    ----------
    block : Block
    rows : ndarray of int
    normalize : bool
        Whether to scale each vector to length one first.

    Returns
    -------
    ndarray of float32, shape (dim,)
        Zeros if it knows none of them.
    """
    total = np.zeros(block.dim)
    for part in chunks(len(rows)):
        values = source_rows(block, rows[part], normalize=normalize)
        total += values.sum(axis=0, dtype=np.float64)
    return (total / max(block.known[rows].sum(), 1)).astype(np.float32)


def mapped_sum(blocks, maps, *, normalize):
    """Return the sum of the mapped vectors of the sources that know each row.

    Parameters
    ----------
    blocks : sequence of Block
        With the same rows.
    maps : dict of str to SourceMap
        By the names of the blocks.
    normalize : bool
        Whether to scale each vector to length one first.

    Returns
    -------
    ndarray of float32, shape (n_rows, n_components)
        Zeros where no source knows the row. A row's sum is the same alone and among
        others.
    """
    n_rows, n_components = blocks[0].n_rows, maps[blocks[0].name].matrix.shape[1]
    total = np.zeros((n_rows, n_components), dtype=np.float32)
    for block in blocks:
        mean, matrix = maps[block.name]
        for rows in chunks(n_rows):
            values = source_rows(block, rows, normalize=normalize) - mean
            values[~block.known[rows]] = 0
            total[rows] += row_product(values, matrix)
    return total


def fixed_signs(matrix):
    """Return the signs, 1 or -1, that make each column's largest entry positive."""
    largest = np.abs(matrix).argmax(axis=0)
    signs = np.sign(matrix[largest, np.arange(matrix.shape[1])])
    return np.where(signs == 0, 1, signs)


_SMALLEST = 1e-36  # length that float32 can be scaled from


def learning_rows(names, known, *, n_knowing, caller):
    """Return the rows to learn from.

    Parameters
    ----------
    names : sequence of str
        Of the sources.
    known : ndarray of bool, shape (n_rows, n_sources)
    n_knowing : int
        Fewest sources that must know a row; of a single source, that one.
    caller : str
        Begins the error messages.

    Returns
    -------
    ndarray of int, shape (n_learning_rows,)

    Raises
    ------
    ValueError
        If a source knows nothing, or shares no row with the others, or fewer than two
        rows are left.
    """
    counts = dict(zip(names, known.sum(axis=0).tolist(), strict=True))
    what = f"words known, of {len(known)}: {counts}"
    if not len(known):
        raise ValueError(
            f"{caller}: Found array with 0 sample(s): X has no tokens, and at least "
            "one is needed to learn from."
        )
    for name, count in counts.items():
        if not count:
            raise ValueError(
                f"{caller}: the source {name!r} knows none of the words of fit "
                f"({what}). Leave it out, or fit on words that it knows."
            )
    for i, name in enumerate(names):
        with_others = known[:, i] & np.delete(known, i, axis=1).any(axis=1)
        if len(names) > 1 and not with_others.any():
            raise ValueError(
                f"{caller}: the source {name!r} shares no word with the other sources "
                f"({what}). Nothing can be learned about it from them: leave it out, "
                "or look whether its words are spelled the same way."
            )
    n_knowing = min(n_knowing, len(names))
    rows = np.flatnonzero(known.sum(axis=1) >= n_knowing)
    if len(rows) < 2:
        who = {len(names): "all sources", 1: "any source"}
        advice = ", or leave out the source that knows fewest" if n_knowing > 1 else ""
        raise ValueError(
            f"{caller}: too few words to learn from: {len(rows)} known to "
            f"{who.get(n_knowing, f'{n_knowing} sources or more')}, where 2 are needed "
            f"({what}). Fit on more words{advice}."
        )
    return rows


def common_scale(sources):
    """Return the root mean square length of the longest source's vectors.

    Vectors over it are of usual size, whatever the sources' units. It is 1 for zeros,
    and for what is so small that float32 could not hold maps to usual size.

    Parameters
    ----------
    sources : list of ndarray of shape (n_rows, dim)

    Returns
    -------
    float
    """
    lengths = [row_norms(values) for values in sources]
    largest = max(float(norms.max(initial=0)) for norms in lengths)
    if largest < _SMALLEST:
        return 1.0
    # Over the largest first: squares of huge lengths would leave every range.
    means = [np.sqrt(np.mean((norms / largest) ** 2)) for norms in lengths]
    return largest * float(max(means))


def source_weights(weights, names, caller):
    """Return one weight a source, from a dict, a sequence or None.

    Parameters
    ----------
    weights : dict of str to float, sequence of float, or None
        None, and names that a dict leaves out, mean 1.
    names : sequence of str
        Of the blocks, in order.
    caller : str
        Begins the error messages.

    Returns
    -------
    ndarray of float64, shape (n_sources,)
        At least one is above 0.
    """
    if weights is None:
        return np.ones(len(names))
    if isinstance(weights, Mapping):
        absent = [name for name in weights if name not in names]
        if absent:
            raise ValueError(
                f"{caller}: weights name {absent}, but the sources are {list(names)}."
            )
        weights = [weights.get(name, 1.0) for name in names]
    weights = list(weights)
    if len(weights) != len(names):
        raise ValueError(
            f"{caller}: weights has {len(weights)} entries for {len(names)} sources "
            f"{list(names)}. Give one each, or a dict by name."
        )
    for name, weight in zip(names, weights, strict=True):
        if not is_real(weight) or not np.isfinite(weight) or weight < 0:
            raise ValueError(
                f"{caller}: the weight of {name!r} is {weight!r}; weights must be "
                "finite numbers, at least 0."
            )
    weights = np.array(weights, dtype=np.float64)
    if not weights.any():
        raise ValueError(
            f"{caller}: every weight is 0 (sources {list(names)}). Give at least one "
            "source a weight above 0."
        )
    return weights


def weighted_blocks(blocks, weights):
    """Return the blocks with a weight above 0, and their weights.

    Parameters
    ----------
    blocks : sequence of Block
    weights : ndarray of shape (n_sources,)

    Returns
    -------
    blocks : list of Block
    weights : ndarray
        As many.
    """
    used = [b for b, weight in zip(blocks, weights, strict=True) if weight > 0]
    return used, weights[weights > 0]


def row_scales(block, weights, normalize):
    """Return the factor of each row: its weight, over its length if asked.

    Parameters
    ----------
    block : Block
    weights : float or ndarray of shape (n_rows,)
    normalize : bool

    Returns
    -------
    ndarray of shape (n_rows, 1)
        float64 with `normalize`: a tiny row's factor leaves the range of float32.
    """
    if normalize:
        return (inverse_norms(block.values) * weights)[:, None]
    return np.broadcast_to(np.asarray(weights, np.float32), block.n_rows)[:, None]
