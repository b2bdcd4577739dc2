"""Identities of the mixing mechanism and the encoders, against slow definitions."""

from typing import get_args

import numpy as np
import pytest
import torch

from sk_metaembed import DynamicMetaClassifier
from sk_metaembed.dynamic._base import Encoder
from sk_metaembed.dynamic._batches import (
    BucketLoader,
    Grid,
    SequenceData,
    SequenceDataset,
)
from sk_metaembed.dynamic._inputs import PreparedSources
from sk_metaembed.dynamic.nets._encoders import ByteDropout, segment_max
from sk_metaembed.dynamic.nets._network import WeightedLoss, gate_weights

from .conftest import make_embedded
from .test_estimators import SMALL

ATTENTIONS = ("task", "word", "uniform")
LEVELS = [
    ("type", "type"),
    ("type", "token"),
    ("token", "token", "type"),
    ("sequence", "type"),
    ("sequence", "sequence"),
]


def test_softmax_over_scores_of_any_size_stays_finite():
    scores = torch.tensor([[1e30, -1e30], [1e4, 1e4], [0.0, 0.0]])
    known = torch.tensor([[True, True], [True, False], [False, False]])
    weights = gate_weights(scores[:, :, None], known, "softmax")[:, :, 0]
    assert weights.tolist() == [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("levels", "attention", "encoder"),
    [
        *((levels, "context", "mean") for levels in LEVELS),
        *((LEVELS[2], attention, "mean") for attention in ATTENTIONS),
        *((LEVELS[1], "word", encoder) for encoder in get_args(Encoder)),
    ],
    ids=str,
)
def test_row_alone_is_row_in_batch(levels, attention, encoder):
    X = make_embedded(n_sequences=12, levels=levels)
    options = SMALL | {"encoder": encoder, "encoder_dim": (5, 4), "max_epochs": 1}
    model = DynamicMetaClassifier(attention, **options).fit(X, np.arange(12) % 2)
    together = model.predict_proba(X)
    alone = np.concatenate([model.predict_proba(X[[i]]) for i in range(12)])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(together, model.predict_proba(X[::-1])[::-1], atol=1e-5)


def test_batches_cover_the_data_once_and_hold_equal_lengths():
    embedded = make_embedded(n_sequences=400, lengths=(1, 30))
    data = SequenceData(embedded, torch.device("cpu"), PreparedSources([], None))
    dataset = SequenceDataset(data, np.arange(400))
    rng = np.random.RandomState(0)
    for options in ({"shuffle": True, "rng": rng}, {"shuffle": False}):
        batches = [b for b, _ in BucketLoader(dataset, 32, **options)]
        rows = np.concatenate([b.rows for b in batches])
        assert sorted(rows) == list(range(400))
        if options["shuffle"]:
            spread = [int(b.grid.lengths.max() - b.grid.lengths.min()) for b in batches]
            assert np.mean(spread) < 4
            again = [b.rows.tolist() for b, _ in BucketLoader(dataset, 32, **options)]
            assert again != [b.rows.tolist() for b in batches]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("cross-entropy", [1, 0]),
        ("binary-cross-entropy", [[1.0, 0.0], [0.0, 0.0]]),
        ("squared-error", [[0.3, 2.0], [1.0, -1.0]]),
    ],
)
def test_loss_counts_a_row_as_often_as_its_weight_says(kind, values):
    outputs = torch.tensor([[0.5, -1.0], [2.0, 0.1]])
    values = torch.tensor(values)
    loss = WeightedLoss(kind)

    def of(rows, weights):
        return loss(outputs[rows], values[rows], torch.tensor(weights))

    torch.testing.assert_close(2 * of([0, 1], [2.0, 1.0]), 3 * of([0, 0, 1], [1.0] * 3))
    torch.testing.assert_close(of([0, 1], [1.0, 0.0]), of([0], [0.5]))


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
    dropout = ByteDropout(0.3)
    x = torch.ones(1000, 1001, requires_grad=True)
    out = dropout(x)
    assert float((out == 0).float().mean()) == pytest.approx(0.3, abs=5e-3)
    assert float(out.detach().mean()) == pytest.approx(1.0, abs=5e-3)
    out.sum().backward()
    torch.testing.assert_close(x.grad, out.detach())
    assert dropout.eval()(x) is x
