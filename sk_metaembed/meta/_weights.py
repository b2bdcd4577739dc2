"""Weights and lengths of sources, before they are combined."""

from collections.abc import Mapping

import numpy as np

from ..sequences._parameters import is_real
from ..sequences._rows import unit_scales


def source_weights(weights, names, whose):
    """Return one weight a source, from a dict, a sequence or None.

    Parameters
    ----------
    weights : dict of str to float, sequence of float, or None
        None, and names that a dict leaves out, mean 1.
    names : sequence of str
        Of the blocks, in order.
    whose : str
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
                f"{whose}: weights name {absent}, but the sources are {list(names)}."
            )
        weights = [weights.get(name, 1.0) for name in names]
    weights = list(weights)
    if len(weights) != len(names):
        raise ValueError(
            f"{whose}: weights has {len(weights)} entries for {len(names)} sources "
            f"{list(names)}. Give one each, or a dict by name."
        )
    for name, weight in zip(names, weights, strict=True):
        if not is_real(weight) or not np.isfinite(weight) or weight < 0:
            raise ValueError(
                f"{whose}: the weight of {name!r} is {weight!r}; weights must be "
                "finite numbers, at least 0."
            )
    weights = np.array(weights, dtype=np.float64)
    if not weights.any():
        raise ValueError(
            f"{whose}: every weight is 0 (sources {list(names)}). Give at least one "
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
        return (unit_scales(block.values) * weights)[:, None]
    return np.broadcast_to(np.asarray(weights, np.float32), block.n_rows)[:, None]
