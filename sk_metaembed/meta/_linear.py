"""Functions for rows, weights and linear maps of sources.

They are pure functions of arrays, and ignore rows that a source does not know.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._core._arrays import chunks, normalize_rows, row_norms, row_product
from .._core._estimators import is_real


class SourceMap(NamedTuple):
    """An affine map of a source's vectors: subtract the mean, then multiply."""

    mean: np.ndarray  # float32 (dim,)
    matrix: np.ndarray  # float32 (dim, n_components)


def source_rows(block, rows=slice(None), *, normalize):
    """Return a float32 copy of a block's rows, (n_rows, dim), zeros for unknown rows.

    With `normalize`, each vector is scaled to unit length.
    """
    values = block.values[rows]
    values = normalize_rows(values) if normalize else np.array(values, dtype=np.float32)
    values[~block.known[rows]] = 0
    return values


def known_matrix(blocks):
    """Return the known rows of each source, bool of shape (n_rows, n_sources)."""
    return np.stack([block.known for block in blocks], axis=1)


def known_to_any(blocks, weights):
    """Return a mask of rows known to a source of positive weight, (n_rows,)."""
    pairs = zip(blocks, weights, strict=True)
    return np.any([block.known for block, weight in pairs if weight > 0], axis=0)


def nonzero_matrix(sources):
    """Return a mask of nonzero vectors, (n_rows, n_sources)."""
    return np.stack([values.any(axis=1) for values in sources], axis=1)


def known_mean(block, rows, *, normalize):
    """Return the float32 mean of a block's known vectors among `rows`, (dim,)."""
    total = np.zeros(block.dim)
    for part in chunks(len(rows)):
        values = source_rows(block, rows[part], normalize=normalize)
        total += values.sum(axis=0, dtype=np.float64)
    return (total / max(block.known[rows].sum(), 1)).astype(np.float32)


def mapped_sum(blocks, maps, *, normalize):
    """Return the sum of the sources' mapped vectors, (n_rows, n_components).

    `maps` has a SourceMap per block, by name. The sum of a row does not depend on the
    other rows.
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


def column_signs(matrix):
    """Return the signs that make the largest entry of each column positive."""
    largest = np.abs(matrix).argmax(axis=0)
    signs = np.sign(matrix[largest, np.arange(matrix.shape[1])])
    return np.where(signs == 0, 1, signs)


_MIN_SCALE = 1e-36  # smaller lengths cannot be scaled to one in float32


def learning_rows(names, known, *, n_knowing):
    """Return the rows known to at least `n_knowing` sources, or to the only source.

    `known` has the shape (n_rows, n_sources). Raises ValueError if a source knows
    nothing or shares no row with the others, or if fewer than two rows are left.
    """
    counts = dict(zip(names, known.sum(axis=0).tolist(), strict=True))
    summary = f"known words of {len(known)}: {counts}"
    if not len(known):
        raise ValueError(
            "Found array with 0 sample(s): X has no tokens; fit needs at least one."
        )
    for name, count in counts.items():
        if not count:
            raise ValueError(
                f"the source {name!r} knows none of the words of fit "
                f"({summary}). Leave it out, or fit on words that it knows."
            )
    for i, name in enumerate(names):
        with_others = known[:, i] & np.delete(known, i, axis=1).any(axis=1)
        if len(names) > 1 and not with_others.any():
            raise ValueError(
                f"the source {name!r} shares no word with the other sources "
                f"({summary}), so they cannot be combined. Leave it out, or check "
                "that its words are spelled the same way."
            )
    n_knowing = min(n_knowing, len(names))
    rows = np.flatnonzero(known.sum(axis=1) >= n_knowing)
    if len(rows) < 2:
        knowing = {len(names): "all sources", 1: "any source"}
        knowing = knowing.get(n_knowing, f"{n_knowing} sources or more")
        advice = ", or leave out the source that knows fewest" if n_knowing > 1 else ""
        raise ValueError(
            f"fit needs at least 2 words known to {knowing}; got "
            f"{len(rows)} ({summary}). Fit on more words{advice}."
        )
    return rows


def common_scale(sources):
    """Return the largest root mean square length of the sources' vectors.

    Dividing by this scale makes results independent of units. The scale is 1 for zeros,
    and for vectors so small that the division would overflow float32.
    """
    lengths = [row_norms(values) for values in sources]
    largest = max(float(norms.max(initial=0)) for norms in lengths)
    if largest < _MIN_SCALE:
        return 1.0
    # Divide by the largest length first, because squares of huge lengths overflow.
    means = [np.sqrt(np.mean((norms / largest) ** 2)) for norms in lengths]
    return largest * float(max(means))


# The parameter `weights`: one number per source, by name or in order.
Weights: TypeAlias = Mapping[str, float] | Sequence[float] | NDArray[Any] | None
WEIGHTS_CONSTRAINT = [Mapping, Sequence, np.ndarray, None]


def source_weights(weights, names):
    """Return float64 weights, (n_sources,), from a dict by name, a sequence or None.

    None, and names missing in the dict, mean 1. At least one weight is positive.
    """
    if weights is None:
        return np.ones(len(names))
    if isinstance(weights, Mapping):
        unknown = [name for name in weights if name not in names]
        if unknown:
            raise ValueError(
                f"weights has unknown sources {unknown}; the sources are {list(names)}."
            )
        weights = [weights.get(name, 1.0) for name in names]
    weights = list(weights)
    if len(weights) != len(names):
        raise ValueError(
            f"weights has {len(weights)} entries for {len(names)} sources "
            f"{list(names)}. Pass one weight per source, or a dict by name."
        )
    for name, weight in zip(names, weights, strict=True):
        if not is_real(weight) or not np.isfinite(weight) or weight < 0:
            raise ValueError(
                f"weights must be finite numbers >= 0; got {weight!r} for {name!r}."
            )
    weights = np.array(weights, dtype=np.float64)
    if not weights.any():
        raise ValueError(
            f"every weight is 0 (sources {list(names)}). At least one weight "
            "must be positive."
        )
    return weights


def positive_weight_blocks(blocks, weights):
    """Return the list of blocks with a positive weight, and their weights."""
    used = [b for b, weight in zip(blocks, weights, strict=True) if weight > 0]
    return used, weights[weights > 0]
