"""Encoders and batches against slow definitions: ends of rows, long and empty rows."""

import numpy as np
import pytest
import torch
from torch import nn

from sk_metaembed import (
    DynamicMetaClassifier,
    DynamicMetaTagger,
)
from sk_metaembed._training._random import Dropout
from sk_metaembed.dynamic import _batches
from sk_metaembed.dynamic._batches import MAX_POSITIONS, Grid, grid_parts
from sk_metaembed.dynamic._encoders import (
    Convolution,
    MeanEncoder,
    make_encoder,
    segment_max,
)

from .conftest import make_embedded
from .test_estimators import SMALL

LENGTHS = np.array([3, 0, 1, 7, 2])
WIDTHS = (1, 2, 3, 4, 9)


def drawn(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def encoded(encoder, rows, known=None):
    """Return the vectors of rows of tokens, (n_tokens_i, dim_in) each."""
    grid = Grid.of(np.array([len(row) for row in rows]), torch.from_numpy, known)
    return encoder(torch.cat(rows), grid)


@pytest.mark.parametrize("width", WIDTHS)
def test_values_of_filters_are_those_of_conv1d_on_each_row(width):
    torch.manual_seed(0)
    filters = Convolution(4, 3, width)
    dense = nn.Conv1d(4, 3, width)
    dense.weight.data = filters.weight.data.permute(1, 2, 0).contiguous()
    dense.bias.data = filters.bias.data
    tokens = drawn(LENGTHS.sum(), 4)
    segments = torch.from_numpy(np.repeat(np.arange(len(LENGTHS)), LENGTHS))
    rows = tokens.split(LENGTHS.tolist())
    ends = (width - 1) // 2, width // 2
    padded = [nn.functional.pad(row.T, ends) for row in rows if len(row)]
    expected = [torch.relu(dense(row)).T for row in padded]
    together = filters(tokens, segments, int(LENGTHS.max()))
    torch.testing.assert_close(together, torch.cat(expected))


@pytest.mark.parametrize("width", WIDTHS)
def test_filters_of_types_are_those_of_the_tokens_that_repeat_them(width):
    torch.manual_seed(0)
    filters = Convolution(4, 3, width)
    segments = torch.from_numpy(np.repeat(np.arange(len(LENGTHS)), LENGTHS))
    index = torch.arange(len(segments)) * 7 % 3
    gradients = []
    for by_type in (True, False):
        types = drawn(3, 4).requires_grad_()
        rows = (types,) if by_type else (types[index],)
        values = filters(*rows, segments, 7, index if by_type else None)
        gradients.append((values, *torch.autograd.grad(values.square().sum(), types)))
    for by_type, by_token in zip(*gradients, strict=True):
        torch.testing.assert_close(by_type, by_token)


def test_a_row_is_its_largest_and_mean_values_alone_and_in_a_batch():
    torch.manual_seed(0)
    encoder = make_encoder("conv", 4, (3, 2), (1, 3, 4), 0.0)
    rows = drawn(LENGTHS.sum(), 4).split(LENGTHS.tolist())
    together = encoded(encoder, rows)
    assert together.shape == (len(rows), encoder.dim) == (5, 2 * (4 + 3 * 2))
    assert together[1].eq(0).all()  # an empty row
    for row, vector in zip(rows, together, strict=True):
        torch.testing.assert_close(encoded(encoder, [row])[0], vector)
        if len(row):
            states = super(type(encoder), encoder).forward(
                row, Grid.of(np.array([len(row)]), torch.from_numpy)
            )
            states = torch.cat([row, states], dim=1)
            pooled = torch.cat([states.amax(dim=0), states.mean(dim=0)])
            torch.testing.assert_close(pooled, vector)


def test_unknown_tokens_are_zeros_that_keep_distances():
    torch.manual_seed(0)
    encoder = make_encoder("conv", 4, (3,), (3,), 0.0)
    a, b = drawn(2, 4)
    gap, known = torch.zeros(4), np.array([True, False, True, True, True, False, False])
    rows = [torch.stack([a, gap, b]), torch.stack([a, b]), torch.stack([gap, gap])]
    apart, near, nothing = encoded(encoder, rows, known)
    assert (apart - near).abs().max() > 1e-3
    assert nothing.eq(0).all()


def test_cost_grows_with_tokens_and_not_with_the_longest_row():
    """One long row among short ones: no tensor has a row per grid position."""
    encoder = make_encoder("conv", 2, (3,), (1, 3), 0.0)
    lengths = [2000, *[1] * 50]
    seen = []

    class Sizes(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            seen.append(out.numel() if isinstance(out, torch.Tensor) else 0)
            return out

    rows = [torch.ones(n, 2) for n in lengths]
    grid = Grid.of(np.array(lengths), torch.from_numpy)
    with Sizes():
        encoder(torch.cat(rows), grid)
    assert max(seen) <= sum(lengths) * encoder.dim / 2


@pytest.mark.parametrize("encoder", ["bilstm-max", "gru"])
def test_recurrences_are_those_of_torch_on_each_row(encoder):
    torch.manual_seed(0)
    recurrent = make_encoder(encoder, 3, (4,), (), 0.0)
    rows = drawn(LENGTHS.sum(), 3).split(LENGTHS.tolist())
    rows[0][1] = 0  # a token that no source knows
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
    for row, vector in zip(rows, encoded(recurrent, rows), strict=True):
        states = layer(row)[0] if len(row) else torch.zeros(1, len(vector))
        expected = states[-1] if encoder == "gru" else states.amax(dim=0)
        torch.testing.assert_close(vector, expected)


def test_a_long_mean_in_half_precision_is_exact():
    grid = Grid.of(np.array([2000, 3]), torch.from_numpy)
    mean = MeanEncoder(1)(torch.full((2003, 1), 3.0, dtype=torch.bfloat16), grid)
    assert mean.dtype == torch.float32
    assert mean.tolist() == [[3.0], [3.0]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_gradient_of_a_maximum_is_divided_among_equal_values(dtype):
    lengths = np.array([3, 0, 4])
    grid = Grid.of(lengths, torch.from_numpy)
    values = [[0, 2], [0, 0], [-1, 2], [-1, 5], [-1, 3], [-2, 5], [-1, 5]]
    tokens = torch.tensor(values, dtype=dtype, requires_grad=True)
    largest = segment_max(tokens, grid)
    assert largest.tolist() == [[0, 2], [0, 0], [-1, 5]]
    largest.backward(torch.tensor([[4, 6], [9, 9], [3, 6]], dtype=dtype))
    expected = [[2, 3], [2, 0], [0, 3], [1, 2], [1, 0], [0, 2], [1, 2]]
    assert tokens.grad.tolist() == expected


def test_dropout_keeps_the_mean_and_the_rate():
    torch.manual_seed(0)
    x = torch.ones(1000, 1001, requires_grad=True)
    dropout = Dropout(0.3)
    out = dropout(x)
    assert float((out == 0).float().mean()) == pytest.approx(0.3, abs=5e-3)
    assert float(out.detach().mean()) == pytest.approx(1.0, abs=5e-3)
    out.sum().backward()
    torch.testing.assert_close(x.grad, out.detach())
    assert dropout.eval()(x) is x


@pytest.mark.parametrize(
    "lengths",
    [
        [50_000] + [0] * 31,
        [0] * 31 + [200_000],
        [],
        [30_000] * 20,
        np.random.default_rng(0).permutation(np.geomspace(1, 1e6, 300).astype(int)),
    ],
    ids=str,
)
def test_positions_of_a_grid_are_limited(lengths):
    lengths = np.asarray(lengths, dtype=np.int64)
    cuts = grid_parts(lengths)
    assert cuts[0] == 0 and cuts[-1] == len(lengths)
    for start, stop in zip(cuts[:-1], cuts[1:], strict=True):
        part = lengths[start:stop]
        n_positions = len(part) * part.max(initial=0)
        assert n_positions <= max(MAX_POSITIONS, 2 * part.sum())
    if len(lengths) and lengths.min() == lengths.max():
        assert len(cuts) == 2  # equal lengths leave no position empty


def outputs(name, lengths):
    """Return vectors and gradients of an encoder."""
    torch.manual_seed(0)
    encoder = make_encoder(name, 4, (3, 2), (1, 3), 0.0)
    tokens = torch.randn(sum(lengths), 4, requires_grad=True)
    vectors = encoder(tokens, Grid.of(np.array(lengths), torch.from_numpy))
    vectors.square().sum().backward()
    return [vectors, tokens.grad, *(p.grad for p in encoder.parameters())]


@pytest.mark.parametrize("name", ["bilstm-max", "gru", "conv"])
@pytest.mark.parametrize("lengths", [[2, 9, 1, 0, 3, 2], [0, 0, 0, 12], [12, 0, 0, 0]])
def test_parts_of_a_batch_change_nothing(name, lengths, monkeypatch):
    whole = outputs(name, lengths)
    monkeypatch.setattr(_batches, "MAX_POSITIONS", 5)
    assert len(grid_parts(np.array(lengths))) > 2
    for one, other in zip(whole, outputs(name, lengths), strict=True):
        torch.testing.assert_close(one, other)


def test_a_tagger_is_the_same_in_parts(monkeypatch):
    X = make_embedded(levels=("type",))
    y = [["O"] * int(n) for n in X.tokens.lengths]
    options = {**SMALL, "max_epochs": 1, "early_stopping": False, "scheme": "IOB2"}
    for tags in y[::2]:
        tags[1:3] = ["B-a", "I-a"][: len(tags[1:3])]

    def predictions():
        model = DynamicMetaTagger("context", **options).fit(X, y)
        return model.predict(X).tolist(), np.concatenate(model.predict_proba(X))

    tags, shares = predictions()
    monkeypatch.setattr(_batches, "MAX_POSITIONS", 12)
    in_parts, shares_in_parts = predictions()
    assert in_parts == tags
    np.testing.assert_allclose(shares_in_parts, shares, atol=1e-5)


def test_batches_of_prediction_have_few_positions(monkeypatch):
    X = make_embedded(n_sequences=300, lengths=(0, 40))
    model = DynamicMetaClassifier(**SMALL | {"max_epochs": 1})
    model.fit(X, np.arange(300) % 2)
    monkeypatch.setattr(_batches, "MAX_POSITIONS", 100)
    batches = []
    note = lambda module, inputs: batches.extend(inputs)  # noqa: E731
    model.net_.module_.register_forward_pre_hook(note)
    model.predict(X)
    assert sorted(row for b in batches for row in b.rows) == list(range(300))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * batch.grid.longest <= 100
