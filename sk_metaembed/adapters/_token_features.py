"""One row of numbers a token: its vectors of all sources, and its neighbours'."""

import numpy as np

_BATCH = 2**22  # numbers of one batch: 16 MB


def n_token_features(dims, window, add_indicator):
    """Return how many numbers `token_features` gives a token."""
    return (2 * window + 1) * sum(dim + add_indicator for dim in dims.values())


def token_features(X, window, add_indicator, positions):
    """Return the vectors of some tokens and of their neighbours, side by side.

    Parameters
    ----------
    X : EmbeddedSequences
    window : int
        Neighbours on each side. Beyond a sequence's ends there are zeros.
    add_indicator : bool
        Add a column a block, 1 where it knows the token.
    positions : ndarray of int
        The tokens, among all.

    Returns
    -------
    ndarray of float32, shape (n_positions, n_features)
        From the leftmost neighbour to the rightmost; each with its blocks in order.
    """
    dims = {block.name: block.dim for block in X.blocks}
    width = n_token_features(dims, window, add_indicator)
    out = np.zeros((len(positions), width), dtype=np.float32)
    segments = X.tokens.segment_ids()
    rows = {
        "type": X.tokens.codes,
        "token": np.arange(X.tokens.n_tokens),
        "sequence": segments,
    }
    at = 0
    for offset in range(-window, window + 1):
        there, neighbours = _neighbours(segments, positions, offset)
        for block in X.blocks:
            wanted = rows[block.level][neighbours]
            out[there, at : at + block.dim] = block.values[wanted]
            at += block.dim
            if add_indicator:
                out[there, at] = block.known[wanted]
                at += 1
    return out


def _neighbours(segments, positions, offset):
    """Return which tokens have a neighbour at that distance, and these neighbours."""
    if offset == 0:
        return slice(None), positions
    places = positions + offset
    inside = (places >= 0) & (places < len(segments))
    there = np.flatnonzero(inside)
    same = segments[places[there]] == segments[positions[there]]
    return there[same], places[there[same]]


def distinct_positions(X, window):
    """Return tokens whose features are all there are, and where each token's stand.

    Without neighbours and context a token is like any other of its type.

    Parameters
    ----------
    X : EmbeddedSequences
    window : int

    Returns
    -------
    positions : ndarray of int64
    places : ndarray of int64, shape (n_tokens,)
        Of each token, among `positions`.
    """
    codes = X.tokens.codes
    if window == 0 and all(block.level == "type" for block in X.blocks):
        _, positions, places = np.unique(codes, return_index=True, return_inverse=True)
        return positions, places
    every = np.arange(len(codes))
    return every, every


def batches(positions, n_features):
    """Yield parts of positions whose features take a bounded memory."""
    size = max(_BATCH // max(n_features, 1), 1)
    for start in range(0, len(positions), size):
        yield positions[start : start + size]
