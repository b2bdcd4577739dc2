import numpy as np
import pytest

from sk_metaembed import Block, EmbeddedSequences, TokenSequences

TOKENS = TokenSequences.from_lists([["a", "b", "a"], [], ["c", "d"], ["b"]])
ROWS = {"type": 4, "token": 6, "sequence": 4}


def make_block(name, level="type", dim=3, dtype=np.float32, unknown=(1,)):
    rng = np.random.default_rng(sum(map(ord, name)))
    values = rng.normal(size=(ROWS[level], dim)).astype(dtype)
    known = np.ones(ROWS[level], dtype=bool)
    known[list(unknown)] = False
    values[~known] = 0
    return Block(name, values, level, known)


@pytest.fixture
def embed():
    def embed(*blocks):
        return EmbeddedSequences(TOKENS, blocks)

    return embed


@pytest.fixture
def block():
    return make_block
