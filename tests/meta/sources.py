"""Sources with a vector per row, and what meta-embeddings make of them."""

import numpy as np

from sk_metaembed import Block, EmbeddedSequences, TokenSequences


def unit(values):
    return values / np.linalg.norm(values, axis=-1, keepdims=True)


def sequences(level="sequence", known=None, **sources):
    """Return arrays as blocks of sequences of one word, each with what it knows."""
    n_rows = len(next(iter(sources.values())))
    tokens = TokenSequences.from_lists([[f"w{i}"] for i in range(n_rows)])
    known = [None] * len(sources) if known is None else known
    blocks = [
        Block(name, values, level, some)
        for (name, values), some in zip(sources.items(), known, strict=True)
    ]
    return EmbeddedSequences(tokens, blocks)


def embed(*arrays, known=None):
    """Return arrays as type-level blocks a, b, c, ... of sequences of one word."""
    return sequences("type", known, **dict(zip("abcdef", arrays, strict=False)))


def values_of(meta, X):
    """Return the vectors of a combination that is fitted on X."""
    return meta.fit_transform(X).blocks[0].values


def embedded(*blocks):
    """Return blocks at the level of types, of one sequence."""
    words = [f"w{i}" for i in range(blocks[0].n_rows)]
    return EmbeddedSequences(TokenSequences.from_lists([words]), blocks)


def linear_maps(dims=(6, 4), n_factors=3, noise=0.05, n_rows=60, missing=0, seed=0):
    """Return sources that are noisy linear maps of the same few factors."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n_rows, n_factors))
    blocks = []
    for i, dim in enumerate(dims):
        values = factors @ rng.normal(size=(n_factors, dim))
        values += noise * rng.normal(size=values.shape) + rng.normal(size=dim)
        known = np.ones(n_rows, dtype=bool)
        known[i * missing : (i + 1) * missing] = False
        values[~known] = 0
        blocks.append(Block(f"s{i}", values, "type", known))
    return embedded(*blocks)


def vectors(meta, X):
    """Return the vectors of a fitted combination."""
    return meta.transform(X).blocks[0].values
