"""The mixer, losses and batches, against slow definitions."""

from typing import get_args

import numpy as np
import pytest
import torch

from sk_metaembed import Block, DynamicMetaClassifier
from sk_metaembed.dynamic._base import Encoder
from sk_metaembed.dynamic._batches import (
    BucketLoader,
    SequenceData,
    SequenceDataset,
)
from sk_metaembed.dynamic._inputs import PreparedSources
from sk_metaembed.dynamic._network import Mixer, WeightedLoss, gate_weights, joined

from .conftest import make_embedded
from .test_estimators import SMALL

POOLED = SMALL | {"encoder": "mean", "early_stopping": False, "max_epochs": 4}
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


def mixer_of(embedded, attention="word", gate="softmax", mixer="standardized"):
    torch.manual_seed(0)
    dims = [block.dim for block in embedded.blocks]
    # Its statistics are not learned yet: sources stay as they are.
    mixer = Mixer(dims, 6, attention, gate, None, False, mixer)
    for parameter in mixer.parameters():
        torch.nn.init.normal_(parameter)
    return mixer.eval()


def batch_of(embedded):
    data = SequenceData(embedded, torch.device("cpu"), PreparedSources([], None))
    return data.batch(np.arange(len(embedded)))


def projected(mixer, embedded):
    """Return projections and known tokens, (n_tokens, n_sources, dim) and 2-D."""
    parts, known = [], []
    for block, layer in zip(embedded.blocks, mixer.projections, strict=True):
        block = embedded.broadcast(block, "token")
        weight, bias = (p.detach().double().numpy() for p in layer.parameters())
        parts.append(block.values @ weight.T + bias)
        known.append(block.known)
    return np.stack(parts, 1), np.stack(known, 1)


def gated(scores, known, gate):
    """Return the weights of (n_tokens, n_sources, n_weights) scores."""
    if gate == "sigmoid":
        return known[:, :, None] / (1 + np.exp(-scores))
    raised = np.exp(scores - scores.max(1, keepdims=True)) * known[:, :, None]
    return raised / np.maximum(raised.sum(1, keepdims=True), 1e-300)


@pytest.mark.parametrize(
    ("gate", "kind", "n_weights", "levels"),
    [
        ("softmax", "published", 1, ("type", "token")),
        ("softmax", "standardized", 6, ("type", "token", "type")),
        ("softmax", "standardized", 6, ("token",)),
        ("sigmoid", "standardized", 6, ("type", "token")),
    ],
)
def test_weights_are_scalars_or_vectors(gate, kind, n_weights, levels):
    embedded = make_embedded(levels=levels)
    mixer = mixer_of(embedded, gate=gate, mixer=kind)
    vectors, known = projected(mixer, embedded)
    weight, bias = (p.detach().double().numpy() for p in mixer.score.parameters())
    weights = gated(vectors @ weight.T + bias, known, gate)
    assert weights.shape[2] == n_weights
    expected = (weights * vectors).sum(axis=1)
    mixed, shown = mixer(batch_of(embedded))
    np.testing.assert_allclose(mixed.detach(), expected, atol=1e-4)
    np.testing.assert_allclose(shown.detach(), weights.mean(2), atol=1e-5)


def test_context_attention_runs_over_time_and_not_over_sources():
    embedded = make_embedded(levels=("type", "token", "type"))
    mixer = mixer_of(embedded, "context", mixer="published")
    reference = torch.nn.LSTM(6, 2, bidirectional=True)
    recurrence = mixer.recurrence
    for name, parameter in recurrence.forward_lstm.named_parameters():
        getattr(reference, name).data.copy_(parameter.data)
    for name, parameter in recurrence.backward_lstm.named_parameters():
        getattr(reference, f"{name}_reverse").data.copy_(parameter.data)
    batch = batch_of(embedded)
    projected = mixer.project(batch)
    projected = [v[i] for v, i in zip(projected, batch.index, strict=True)]
    scores = mixer.scores(projected, batch.grid).squeeze(2)
    offsets = embedded.tokens.offsets
    for start, end in zip(offsets[:-1], offsets[1:], strict=True):
        if start == end:
            continue
        for source in range(3):
            states, _ = reference(projected[source][start:end])
            expected = mixer.score(states).squeeze(1)
            torch.testing.assert_close(
                scores[start:end, source], expected, atol=1e-5, rtol=1e-4
            )


@pytest.mark.parametrize("levels", [("type", "type"), ("token", "sequence")])
def test_standardized_sources_equal_those_of_a_standard_scaler(levels):
    embedded = make_embedded(levels=levels, lengths=(1, 9))
    y = np.arange(len(embedded)) % 2
    model = DynamicMetaClassifier(**POOLED).fit(embedded, y)
    by_hand = []
    for block in embedded.blocks:
        rows = block.values[block.known].astype(np.float64)
        values = (block.values - rows.mean(0)) / rows.std(0) * block.known[:, None]
        by_hand.append(Block(block.name, values, block.level, block.known))
    by_hand = embedded.with_blocks(by_hand)
    mixer = model.net_.module_.mixer
    standardized = mixer.project(batch_of(embedded))
    mixer.standards = None
    for one, other in zip(standardized, mixer.project(batch_of(by_hand)), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-4)
    probabilities = []
    for exponent in (0, 4):  # dimensions have units of their own
        units = [np.geomspace(10.0**-exponent, 1e6, b.dim) for b in embedded.blocks]
        pairs = zip(embedded.blocks, units, strict=True)
        blocks = [Block(b.name, b.values * u, b.level, b.known) for b, u in pairs]
        X = embedded.with_blocks(blocks)
        model = DynamicMetaClassifier(**POOLED).fit(X, y)
        probabilities.append(model.predict_proba(X))
    np.testing.assert_allclose(*probabilities, atol=1e-3)


def test_joined_is_both_their_difference_and_their_product():
    u, v = torch.tensor([[1.0, -2.0]]), torch.tensor([[3.0, 5.0]])
    assert joined(torch.cat([u, v])).tolist() == [[1, -2, 3, 5, 2, 7, 3, -10]]


def test_smoothed_labels_are_those_of_torch_and_of_two_classes():
    outputs = torch.tensor([[2.0, -1.0], [0.5, 3.0]])
    labels, weights = torch.tensor([0, 1]), torch.ones(2)
    loss = WeightedLoss("cross-entropy", label_smoothing=0.2)
    shares = torch.tensor([[0.9, 0.1], [0.1, 0.9]])
    expected = -(shares * outputs.log_softmax(dim=1)).sum(dim=1).mean()
    torch.testing.assert_close(loss(outputs, labels, weights), expected)
    # The difference of two scores has the same probability as their softmax.
    loss = WeightedLoss("binary-cross-entropy", label_smoothing=0.2)
    scores, indicators = outputs[:, 1:] - outputs[:, :1], labels[:, None].float()
    torch.testing.assert_close(loss(scores, indicators, weights), expected)
    # Held-out rows are scored by their labels as they are.
    plain = WeightedLoss("cross-entropy")(outputs, labels, weights)
    loss = WeightedLoss("cross-entropy", label_smoothing=0.2).eval()
    assert loss(outputs, labels, weights) == plain


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
