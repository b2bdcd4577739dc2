"""Small embedded data on which a tiny net learns something."""

import numpy as np
import pytest

from sk_metaembed import Block, EmbeddedSequences, TokenSequences


def make_embedded(n_sequences=60, seed=0, levels=("type", "type"), lengths=(0, 9)):
    """Return random sequences with one block a level, some rows unknown."""
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(30)]
    rows = [
        list(rng.choice(words, size=rng.integers(*lengths))) for _ in range(n_sequences)
    ]
    tokens = TokenSequences.from_lists([[str(w) for w in row] for row in rows])
    sizes = {"type": tokens.n_types, "token": tokens.n_tokens, "sequence": len(tokens)}
    blocks = []
    for i, level in enumerate(levels):
        known = rng.random(sizes[level]) > 0.2
        values = rng.normal(size=(sizes[level], 4 + i)) * known[:, None]
        blocks.append(Block(f"s{i}", values, level, known))
    return EmbeddedSequences(tokens, blocks)


@pytest.fixture
def embedded():
    """Two type-level sources over 60 sequences, some of them empty."""
    return make_embedded()


@pytest.fixture
def labels(embedded):
    """Two classes that the first source's mean decides."""
    score = [row[:, 0].sum() for row in embedded.to_list()]
    return np.where(np.asarray(score) > np.median(score), "high", "low")
