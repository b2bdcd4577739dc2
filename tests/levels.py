"""Sequences with vectors of words, tokens and whole sequences."""

import numpy as np

from sk_metaembed import Block, EmbeddedSequences, TokenSequences

LEVELS = ("type", "token", "sequence")


def embed(rows, levels=LEVELS, dtype=np.float32):
    """Return a block of random vectors per level, each third of them unknown."""
    rng = np.random.default_rng(0)
    tokens = TokenSequences.from_lists(rows)
    sizes = {"type": tokens.n_types, "token": tokens.n_tokens, "sequence": len(tokens)}
    blocks = []
    for dim, level in enumerate(levels, start=1):
        values = rng.normal(size=(sizes[level], dim)).astype(dtype)
        known = np.arange(len(values)) % 3 > 0
        blocks.append(Block(f"{level}{dim}", values * known[:, None], level, known))
    return EmbeddedSequences(tokens, blocks)
