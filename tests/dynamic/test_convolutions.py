"""Convolutions over tokens: identities with torch, ends of rows, all estimators."""

import numpy as np
import pytest
import torch
from torch import nn

import sk_metaembed as sk
from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaTagger,
    EmbeddedSequences,
    SequencePairs,
    TokenSequences,
)
from sk_metaembed.dynamic._batches import Grid
from sk_metaembed.dynamic.nets._encoders import Convolution, make_encoder

from .conftest import make_embedded
from .test_estimators import SMALL

LENGTHS = np.array([3, 0, 1, 7, 2])
WIDTHS = (1, 2, 3, 4, 9)
CONV = SMALL | {
    "encoder": "conv",
    "network_options": {"conv_widths": (1, 2, 5)},
    "early_stopping": False,
}
CONV |= {"head_dropout": 0.0}


def drawn(*shape, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=dtype)


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


def test_gradients_of_filters_are_right():
    filters = Convolution(3, 2, 4).double()
    nn.init.constant_(filters.bias, 5.0)  # away from the kink of the ReLU
    tokens = drawn(LENGTHS.sum(), 3, dtype=torch.float64).requires_grad_()
    segments = torch.from_numpy(np.repeat(np.arange(len(LENGTHS)), LENGTHS))
    weight = filters.weight.detach().clone().requires_grad_()

    def values(tokens, weight):
        parts = {"weight": weight, "bias": filters.bias}
        return torch.func.functional_call(filters, parts, (tokens, segments, 7))

    assert torch.autograd.gradcheck(values, (tokens, weight))


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


def test_few_types_give_the_outputs_of_their_tokens():
    """A batch of many tokens per type reads types, and a single row reads tokens."""
    rows = [list("abcaabbca"), list("cab"), list("b"), [], list("zacab") * 3] * 4
    model = DynamicMetaClassifier(**CONV | {"max_epochs": 1})
    together = model.fit(rows, [0, 1, 0, 1, 0] * 4).predict_proba(rows)
    alone = np.concatenate([model.predict_proba([row]) for row in rows[:5]])
    np.testing.assert_allclose(together[:5], alone, atol=1e-6)


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


@pytest.mark.parametrize("name", ["DynamicMetaClassifier", "DynamicMetaRegressor"])
def test_predictors_read_the_order_of_words(name):
    """Labels that the order of two words decides, in rows with the same words."""
    rng = np.random.default_rng(0)
    rows = [[*rng.permutation(["a", "b"]), "x", "y"] for _ in range(60)]
    tokens = TokenSequences.from_lists([[str(word) for word in row] for row in rows])
    X = EmbeddedSequences(tokens, [Block("s", np.eye(tokens.n_types), "type")])
    y = np.array([row[0] == "a" for row in rows]).astype(int)
    options = {"weight_decay": 0.0, "linear_share": 0}  # a linear model reads no order
    learning = CONV | {"lr": 0.05, "max_epochs": 20}
    model = getattr(sk, name)(**learning, train_options=options)
    prediction = model.fit(X[:40], y[:40]).predict(X[40:])
    assert np.array_equal(prediction > 0.5, y[40:] == 1)


def test_a_transformer_returns_the_vectors_of_the_convolutions(embedded, labels):
    model = DynamicMetaEmbedding(**CONV, output="sequence").fit(embedded, labels)
    vectors = model.transform(embedded)
    dims = SMALL["projection_dim"], 3 * SMALL["encoder_dim"]
    assert vectors.shape == (60, 2 * sum(dims))
    empty = embedded.tokens.lengths == 0
    assert empty.any()
    assert not vectors[empty].any()


def test_pairs_are_read_by_the_same_filters(embedded, labels):
    pairs = SequencePairs(embedded)
    model = DynamicMetaClassifier(**CONV).fit(pairs, labels[:30])
    together = model.predict_proba(pairs)
    alone = np.concatenate([model.predict_proba(pairs[[i]]) for i in range(30)])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_a_tagger_reads_neighbors():
    """Tags that the word before decides."""
    rng = np.random.default_rng(0)
    rows = [[str(w) for w in rng.choice(list("abc"), 6)] for _ in range(60)]
    tags = [["start", *row[:-1]] for row in rows]
    tokens = TokenSequences.from_lists(rows)
    X = EmbeddedSequences(tokens, [Block("s", np.eye(3), "type")])
    network = {"conv_widths": (3,), "decoder": "softmax"}
    options = {**CONV, "network_options": network, "lr": 0.1}
    model = DynamicMetaTagger(**options).fit(X[:40], tags[:40])
    assert model.predict(X[40:]).tolist() == tags[40:]
    together = np.concatenate(model.predict_proba(X))
    alone = np.concatenate([model.predict_proba(X[[i]])[0] for i in range(60)])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_same_seed_same_result_also_after_saving(tmp_path):
    X, y = make_embedded(), np.arange(60) % 2
    one, two = (DynamicMetaClassifier("context", **CONV).fit(X, y) for _ in range(2))
    expected = one.predict_proba(X)
    np.testing.assert_array_equal(two.predict_proba(X), expected)
    sk.save(one, tmp_path / "net.skm")
    np.testing.assert_array_equal(
        sk.load(tmp_path / "net.skm").predict_proba(X), expected
    )


@pytest.mark.parametrize("widths", [(), (0,), (1, 2.5), (True,)])
def test_widths_are_positive_integers(embedded, labels, widths):
    model = DynamicMetaClassifier(network_options={"conv_widths": widths})
    with pytest.raises(ValueError, match="conv_widths must be numbers of tokens, "):
        model.fit(embedded, labels)
