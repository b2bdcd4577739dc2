"""Tokens that no source knows: left out by pools, a step of recurrences, never read."""

from typing import get_args

import numpy as np
import pytest
import torch
from torch import nn

from sk_metaembed import (
    Block,
    DynamicMetaEmbedding,
    EmbeddedSequences,
    Pooling,
    TokenSequences,
)
from sk_metaembed.dynamic._base import Encoder
from sk_metaembed.dynamic._batches import SequenceData
from sk_metaembed.dynamic._inputs import PreparedSources
from sk_metaembed.dynamic.nets._encoders import make_encoder

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
    [*(("context", encoder) for encoder in get_args(Encoder)), ("word", "mean")],
)
def test_without_a_known_word_every_encoder_gives_zeros(attention, encoder):
    X = embedded(among_unknown(rows()))
    model = fitted(X, attention, encoder=encoder, embedding_dropout=0.0)
    module = model.net_.module_.train()  # what the head learns from, too
    data = SequenceData(X, torch.device("cpu"), PreparedSources([], None))
    vectors = module.encode(data.batch(np.arange(len(X))))
    assert not vectors[-2:].any()
    assert vectors[:-2].any(dim=1).all()


def test_what_a_trainable_source_gives_to_an_unknown_token_counts_as_zeros():
    X, device = embedded([["w0", "?"]]), torch.device("cpu")
    data = SequenceData(X, device, PreparedSources([], None))
    known = torch.tensor([True, False])
    batch = data.batch(np.arange(1)).completed([(torch.full((2, 3), torch.inf), known)])
    assert batch.values[-1].tolist() == [[torch.inf] * 3, [0] * 3]
    assert batch.known[-1] is known


@pytest.mark.parametrize("encoder", ["bilstm-max", "gru"])
def test_recurrences_read_an_unknown_token_as_zeros(encoder):
    X = embedded(among_unknown(rows()))
    data = SequenceData(X, torch.device("cpu"), PreparedSources([], None))
    grid = data.batch(np.arange(len(X))).grid
    known = np.isin(X.tokens.types, KNOWN)[X.tokens.codes]
    torch.manual_seed(0)
    tokens = torch.randn(X.tokens.n_tokens, 3) * torch.from_numpy(known)[:, None]
    recurrent = make_encoder(encoder, 3, (4,), (), 0.0)
    result = recurrent(tokens, grid)
    layer = nn.GRU(3, 4) if encoder == "gru" else nn.LSTM(3, 4, bidirectional=True)
    state = {}
    if encoder == "gru":
        state = recurrent.layers[0].state_dict()
    else:
        (both,) = recurrent.layers
        state |= both.forward_lstm.state_dict()
        backward = both.backward_lstm.state_dict()
        state |= {f"{name}_reverse": part for name, part in backward.items()}
    layer.load_state_dict(state)
    offsets = X.tokens.offsets
    for i in range(len(X) - 2):
        states, _ = layer(tokens[offsets[i] : offsets[i + 1]])
        expected = states[-1] if encoder == "gru" else states.amax(dim=0)
        torch.testing.assert_close(result[i], expected)
