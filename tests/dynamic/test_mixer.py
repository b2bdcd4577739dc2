"""The two mixers against their definitions in NumPy."""

import numpy as np
import pytest
import torch

from sk_metaembed import Block, DynamicMetaClassifier, EmbeddedSequences, TokenSequences
from sk_metaembed.dynamic._batches import SequenceData
from sk_metaembed.dynamic._inputs import PreparedSources
from sk_metaembed.dynamic.nets._network import Mixer

from .conftest import make_embedded
from .test_estimators import SMALL

POOLED = SMALL | {"encoder": "mean", "early_stopping": False, "max_epochs": 4}


def classifier():
    return DynamicMetaClassifier(**POOLED)


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
    model = classifier().fit(embedded, y)
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
        model = classifier().fit(X, y)
        probabilities.append(model.predict_proba(X))
    np.testing.assert_allclose(*probabilities, atol=1e-3)


def test_statistics_are_those_of_the_training_rows_only():
    embedded = make_embedded(lengths=(1, 9))
    y = np.arange(len(embedded)) % 2
    rows = np.arange(20)
    weights = np.zeros(len(embedded))
    weights[rows] = 1.0
    by_rows = classifier().fit(embedded[rows], y[rows])
    by_weight = classifier().fit(embedded, y, weights)
    standards = by_rows.net_.module_.mixer.standards
    for one, other in zip(
        standards, by_weight.net_.module_.mixer.standards, strict=True
    ):
        torch.testing.assert_close(one.mean, other.mean)
        torch.testing.assert_close(one.factor, other.factor)
    used = np.unique(embedded.tokens[rows].codes)
    block = embedded.blocks[0]
    used = used[block.known[used]]
    np.testing.assert_allclose(standards[0].mean, block.values[used].mean(0), atol=1e-5)


def test_a_dimension_that_does_not_vary_in_training_is_ignored():
    tokens = TokenSequences.from_lists([["a"], ["b"]] * 10)

    def embedded(first):
        block = Block("s", np.array([[first, 1.0], [first, 2]]), "type")
        return EmbeddedSequences(tokens, [block])

    model = classifier().fit(embedded(7.0), ["x", "y"] * 10)
    standard = model.net_.module_.mixer.standards[0]
    assert standard.mean.tolist() == [7.0, 1.5]
    assert standard.factor.tolist() == [0.0, 2.0]
    before, after = map(model.predict_proba, map(embedded, (7.0, 1e6)))
    np.testing.assert_array_equal(before, after)
