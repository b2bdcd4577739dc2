"""Recurrent layers on a CPU against those of torch."""

import numpy as np
import pytest
import torch
from torch import nn

from sk_metaembed._training import _onednn, _products
from sk_metaembed.dynamic.nets import _encoders
from sk_metaembed.dynamic.nets._recurrent import recurrent_states, steps_of

LAYERS = pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
LENGTHS = pytest.mark.parametrize(
    "lengths", [[3, 1, 0, 5, 5, 2], [1], [4, 4, 4], [1, 1]], ids=str
)


def tokens_and_layers(kind, lengths, n_layers, shape=(), dim_in=7, dim=20):
    torch.manual_seed(0)
    layers = [kind(dim_in, dim) for _ in range(n_layers)]
    tokens = torch.randn(sum(lengths), *shape, dim_in, requires_grad=True)
    return tokens, layers


def by_torch(layers, tokens, lengths):
    """Return the states by torch, one sequence at a time."""
    results = []
    for backward, layer in enumerate(layers):
        parts = []
        for part in tokens.split(lengths):
            part = part[:, None] if part.dim() == 2 else part
            states = layer(part.flip(0) if backward else part)[0] if len(part) else part
            parts.append(states.flip(0) if backward else states)
        dim = layer.hidden_size
        parts = [part.reshape(*part.shape[:2], -1) for part in parts if len(part)]
        results.append(torch.cat(parts).reshape(*tokens.shape[:-1], dim))
    return torch.cat(results, dim=-1)


def gradients(states, tokens, layers, weights):
    inputs = [tokens, *(p for layer in layers for p in layer.parameters())]
    return torch.autograd.grad(
        (states * weights).sum(), inputs, allow_unused=True, materialize_grads=True
    )


def compare(tokens, layers, lengths, tolerance):
    lengths_as_tensor = torch.tensor(lengths)
    states = recurrent_states(layers, tokens, lengths_as_tensor)
    weights = torch.randn(states.shape)
    own = [states, *gradients(states, tokens, layers, weights)]
    with torch.autocast("cpu", enabled=False):
        expected = by_torch(layers, tokens, lengths)
        others = [expected, *gradients(expected, tokens, layers, weights)]
    for a, b in zip(own, others, strict=True):
        scale = max(1.0, float(b.detach().abs().max()))
        torch.testing.assert_close(a, b, rtol=0, atol=tolerance * scale)


@LAYERS
@LENGTHS
@pytest.mark.parametrize("n_layers", [1, 2])
@pytest.mark.parametrize("shape", [(), (3,)], ids=["tokens", "streams"])
def test_states_and_gradients_are_those_of_torch(kind, lengths, n_layers, shape):
    tokens, layers = tokens_and_layers(kind, lengths, n_layers, shape)
    compare(tokens, layers, lengths, 2e-6)


@LAYERS
def test_packed_weights_give_the_same(kind):
    lengths = [50, 48, 47, 50, 30, 50, 50, 12]
    tokens, layers = tokens_and_layers(kind, lengths, 2, dim_in=16, dim=32)
    compare(tokens, layers, lengths, 1e-5)


@LAYERS
def test_large_inputs_saturate_the_gates(kind):
    tokens, layers = tokens_and_layers(kind, [3, 2], 1)
    tokens = (tokens * 200).detach().requires_grad_()
    compare(tokens, layers, [3, 2], 1e-5)


def without_onednn(monkeypatch):
    for module in (_onednn, _products):
        monkeypatch.setattr(module, "has_onednn", lambda device, dtype: False)


@LAYERS
def test_without_onednn_the_result_is_the_same(kind, monkeypatch):
    without_onednn(monkeypatch)
    tokens, layers = tokens_and_layers(kind, [60, 60, 50, 40, 60, 60], 2)
    compare(tokens, layers, [60, 60, 50, 40, 60, 60], 1e-5)


@LAYERS
@pytest.mark.parametrize("has_onednn", [True, False])
def test_bfloat16_rounds_the_products_only(kind, has_onednn, monkeypatch):
    if not has_onednn:
        without_onednn(monkeypatch)
    lengths = [60, 60, 50, 40, 60, 60]
    tokens, layers = tokens_and_layers(kind, lengths, 2)
    with torch.autocast("cpu", torch.bfloat16):
        compare(tokens, layers, lengths, 0.02)


@LAYERS
def test_a_sequence_has_the_same_states_in_every_batch(kind):
    lengths = [5, 2, 7, 3]
    tokens, layers = tokens_and_layers(kind, lengths, 2)
    together = recurrent_states(layers, tokens, torch.tensor(lengths)).split(lengths)
    for part, states in zip(tokens.split(lengths), together, strict=True):
        alone = recurrent_states(layers, part, torch.tensor([len(part)]))
        torch.testing.assert_close(alone, states, rtol=0, atol=1e-6)


@LAYERS
def test_tokens_need_no_gradient(kind):
    tokens, layers = tokens_and_layers(kind, [4, 3], 1)
    states = recurrent_states(layers, tokens.detach(), torch.tensor([4, 3]))
    states.sum().backward()
    assert all(p.grad is not None for p in layers[0].parameters())


def test_the_graph_is_free_after_backward():
    tokens, layers = tokens_and_layers(nn.LSTM, [4, 3], 1)
    states = recurrent_states(layers, tokens, torch.tensor([4, 3]))
    states.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        states.sum().backward()


@LAYERS
def test_nan_is_not_hidden(kind):
    tokens, layers = tokens_and_layers(kind, [4, 3], 1)
    tokens = tokens.detach()
    tokens[1, 0] = torch.nan
    states = recurrent_states(layers, tokens, torch.tensor([4, 3]))
    assert states[:4].isnan().any()
    assert states[4:].isfinite().all()


def test_steps_are_sorted_by_length():
    steps = steps_of(np.array([1, 3, 0, 2]))
    assert steps.sizes == [3, 2, 1]
    assert steps.rows[0].tolist() == [1, 4, 0, 2, 5, 3]
    assert steps.rows[1].tolist() == [3, 5, 0, 2, 4, 1]
    assert steps_of(np.array([1]), n_streams=2).rows[0].tolist() == [0, 1]


@pytest.mark.parametrize("name", ["bilstm-max", "gru"])
def test_encoders_give_the_same_without_the_loops(name, monkeypatch):
    from sk_metaembed.dynamic.training._token_positions import Grid

    torch.manual_seed(0)
    lengths = np.array([3, 1, 0, 5])
    grid = Grid.of(lengths, lambda array: torch.from_numpy(np.asarray(array)))
    encoder = _encoders.make_encoder(name, 6, (5, 4), 0.0)
    tokens, vectors = torch.randn(9, 6), []
    for runs_loops in (True, False):
        choice = lambda *_, answer=runs_loops: answer  # noqa: E731
        monkeypatch.setattr(_encoders, "steps_over_tokens", choice)
        monkeypatch.setattr(_encoders, "runs_loops", choice)
        vectors.append(encoder(tokens, grid))
    torch.testing.assert_close(*vectors, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["bilstm-max", "gru"])
def test_loops_are_for_training_in_large_batches(name):
    from sk_metaembed.dynamic.training._token_positions import Grid

    grid = Grid.of(np.ones(32, np.int64), lambda array: torch.from_numpy(array))
    few = Grid.of(np.ones(2, np.int64), lambda array: torch.from_numpy(array))
    tokens = torch.randn(32, 6)
    kind = nn.GRU if name == "gru" else nn.LSTM
    small, large = kind(6, 8), kind(6, 400)
    is_gru = name == "gru"
    choose = _encoders.steps_over_tokens
    assert choose(large, tokens, grid)
    assert choose(large, tokens, few) == is_gru
    assert choose(small, tokens, grid) == is_gru
    assert not choose(large, tokens.double(), grid)
    with torch.no_grad():
        assert not choose(large, tokens, grid)
        assert choose(large, tokens.expand(9, 32, 6).reshape(-1, 6), grid) == is_gru
