"""Sources with a vector per row, and what meta-embeddings make of them."""

import numpy as np

from sk_metaembed import Block, EmbeddedSequences, TokenSequences


def unit(values):
    return values / np.linalg.norm(values, axis=-1, keepdims=True)


def embed(*arrays, known=None):
    """Return arrays as type-level blocks a, b, c, ... of sequences of one word."""
    tokens = TokenSequences.from_lists([[f"w{i}"] for i in range(len(arrays[0]))])
    known = [None] * len(arrays) if known is None else known
    blocks = [
        Block(name, values, "type", some)
        for name, values, some in zip("abcdef", arrays, known, strict=False)
    ]
    return EmbeddedSequences(tokens, blocks)


def values_of(meta, X):
    """Return the vectors of a combination that is fitted on X."""
    return meta.fit_transform(X).blocks[0].values
