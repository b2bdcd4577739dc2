"""Tokens that no source knows are left out by pools, and rows of them are zeros."""

import numpy as np
import pytest

from sk_metaembed import (
    Block,
    DynamicMetaEmbedding,
    EmbeddedSequences,
    Pooling,
    TokenSequences,
)

ENCODERS = "conv", "bilstm-max", "gru", "mean", "max"
KNOWN = [f"w{i}" for i in range(8)]
UNKNOWN = ["?", "??"]
SMALL = {
    "projection_dim": 5,
    # So that values below zero are the largest at times.
    "network_options": {"activation": None},
    "encoder_dim": 4,
    "max_epochs": 2,
    "early_stopping": False,
    "lr": 0.05,
    "device": "cpu",
    "random_state": 0,
}


def rows(n=30):
    """Return sequences of known words, the last two of them empty."""
    rng = np.random.default_rng(0)
    lists = [rng.choice(KNOWN, rng.integers(1, 6)).tolist() for _ in range(n)]
    return [*lists, [], []]


def among_unknown(lists):
    """Return the same sequences with unknown words in them, but for the very last."""
    some = [[UNKNOWN[0], *row[:1], *UNKNOWN, *row[1:]] for row in lists[:-1]]
    return [*some, lists[-1]]


def embedded(lists, level="type"):
    rng = np.random.default_rng(1)
    tokens = TokenSequences.from_lists(lists)
    blocks = []
    for name, dim in (("a", 3), ("b", 4)):
        table = dict(zip(KNOWN, rng.normal(size=(8, dim)), strict=True))
        table[KNOWN[dim]] = np.zeros(dim)  # which this source lacks
        values = [table.get(word, np.zeros(dim)) for word in tokens.types]
        block = Block(name, values, "type", np.any(values, axis=1))
        blocks.append(block if level == "type" else block.take(tokens.codes, level))
    return EmbeddedSequences(tokens, blocks)


def fitted(X, *args, **options):
    y = np.arange(len(X)) % 2
    return DynamicMetaEmbedding(*args, **SMALL, **options).fit(X, y)


@pytest.mark.parametrize(
    ("attention", "mode", "level"),
    [
        ("task", "mean", "type"),
        ("word", "max", "type"),
        ("context", "max", "token"),
        ("uniform", "mean", "token"),
    ],
)
def test_encoder_and_pooling_agree(attention, mode, level):
    X = embedded(among_unknown(rows()), level)
    model = fitted(X, attention, encoder=mode)
    mixed = model.transform(X)
    assert mixed.broadcast(mixed.blocks[0], "token").known.any()
    vectors = model.set_params(output="sequence").transform(X)
    pooled = Pooling(mode).fit_transform(mixed)
    assert (pooled < 0).any()
    np.testing.assert_allclose(vectors, pooled, atol=1e-5)


@pytest.mark.parametrize(
    ("attention", "encoder"),
    [*(("context", encoder) for encoder in ENCODERS), ("word", "mean")],
)
def test_without_a_known_word_every_encoder_gives_zeros(attention, encoder):
    X = embedded(among_unknown(rows()))
    model = fitted(X, attention, encoder=encoder, output="sequence")
    vectors = model.transform(X)
    assert not vectors[-2:].any()
    assert vectors[:-2].any(axis=1).all()
