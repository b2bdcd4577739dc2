"""The mixer and the losses of a net, against slow definitions."""

import numpy as np
import pytest
import torch
from sklearn.preprocessing import scale
from skorch.callbacks import Callback

from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRegressor,
    EmbeddedSequences,
    TokenSequences,
)

from .conftest import make_embedded
from .test_estimators import SMALL

POOLED = SMALL | {"encoder": "mean", "early_stopping": False, "max_epochs": 4}
LEVELS = [
    ("type", "type"),
    ("type", "token"),
    ("token", "token", "type"),
    ("sequence", "type"),
    ("sequence", "sequence"),
]


def fitted(embedded, attention="word", **options):
    """Return an embedding whose weights are drawn, and its mixer."""
    options = {"activation": None, **options}
    model = DynamicMetaEmbedding(attention, network_options=options, **POOLED)
    model.fit(embedded, np.arange(len(embedded)) % 2)
    mixer = model.net_.module_.mixer
    torch.manual_seed(0)
    for parameter in mixer.parameters():
        torch.nn.init.normal_(parameter)
    return model, mixer


def projected(mixer, embedded):
    """Return projections and known tokens, (n_tokens, n_sources, dim) and 2-D."""
    parts, known = [], []
    for i, (block, layer) in enumerate(
        zip(embedded.blocks, mixer.projections, strict=True)
    ):
        block = embedded.broadcast(block, "token")
        values = block.values.astype(np.float64)
        if mixer.standards is not None:
            standard = mixer.standards[i]
            values = (values - standard.mean.numpy()) * standard.factor.numpy()
            values *= block.known[:, None]
        weight, bias = (p.detach().double().numpy() for p in layer.parameters())
        values = values @ weight.T + bias
        if mixer.layer_norm:
            values = scale(values, axis=1)
        parts.append(values)
        known.append(block.known)
    return np.stack(parts, 1), np.stack(known, 1)


def gated(scores, known, gate):
    """Return the weights of (n_tokens, n_sources, n_weights) scores."""
    if gate == "sigmoid":
        return known[:, :, None] / (1 + np.exp(-scores))
    raised = np.exp(scores - scores.max(1, keepdims=True)) * known[:, :, None]
    return raised / np.maximum(raised.sum(1, keepdims=True), 1e-300)


def assert_mixed(model, embedded, vectors, weights):
    """Compare `transform` and `attention_weights` with weighted sums of vectors."""
    (block,) = (mixed := model.transform(embedded)).blocks
    values = mixed.broadcast(block, "token").values
    expected = (weights * vectors).sum(axis=1)
    np.testing.assert_allclose(values, expected, atol=1e-3, rtol=1e-4)
    shown = model.attention_weights(embedded)[list(embedded.names)]
    np.testing.assert_allclose(shown, weights.mean(axis=2), atol=1e-4)


@pytest.mark.parametrize(
    ("options", "n_weights", "levels"),
    [
        ({"mixer": "published"}, 1, ("type", "token")),
        ({"layer_norm": True}, 8, ("type", "token", "type")),
        ({}, 8, ("token",)),
        ({"gate": "sigmoid"}, 8, ("type", "token")),
    ],
    ids=str,
)
def test_weights_are_scalars_or_vectors(options, n_weights, levels):
    embedded = make_embedded(levels=levels)
    model, mixer = fitted(embedded, **options)
    vectors, known = projected(mixer, embedded)
    weight, bias = (p.detach().double().numpy() for p in mixer.score.parameters())
    gate = options.get("gate", "softmax")
    weights = gated(vectors @ weight.T + bias, known, gate)
    assert weights.shape[2] == n_weights
    assert_mixed(model, embedded, vectors, weights)


def test_context_attention_runs_over_time_and_not_over_sources():
    embedded = make_embedded(levels=("type", "token", "type"))
    model, mixer = fitted(embedded, "context", mixer="published")
    vectors, known = projected(mixer, embedded)
    reference = torch.nn.LSTM(8, 2, bidirectional=True)
    state = mixer.recurrence.forward_lstm.state_dict()
    backward = mixer.recurrence.backward_lstm.state_dict()
    state |= {f"{name}_reverse": weight for name, weight in backward.items()}
    reference.load_state_dict(state)
    scores = np.zeros((*known.shape, 1))
    offsets = embedded.tokens.offsets
    for start, end in zip(offsets[:-1], offsets[1:], strict=True):
        for source in range(3) if start < end else ():
            rows = torch.from_numpy(vectors[start:end, source]).float()
            with torch.no_grad():
                scores[start:end, source] = mixer.score(reference(rows)[0])
    assert_mixed(model, embedded, vectors, gated(scores, known, "softmax"))


def test_statistics_are_those_of_the_training_rows_only():
    embedded = make_embedded(lengths=(1, 9))
    y = np.arange(len(embedded)) % 2
    rows = np.arange(20)
    weights = np.zeros(len(embedded))
    weights[rows] = 1.0
    model = DynamicMetaClassifier(**POOLED)
    by_rows = model.fit(embedded[rows], y[rows]).net_.module_.mixer.standards
    by_weight = model.fit(embedded, y, weights).net_.module_.mixer.standards
    for one, other in zip(by_rows, by_weight, strict=True):
        torch.testing.assert_close(one.mean, other.mean)
        torch.testing.assert_close(one.factor, other.factor)
    used = np.unique(embedded.tokens[rows].codes)
    block = embedded.blocks[0]
    values = block.values[used[block.known[used]]]
    np.testing.assert_allclose(by_rows[0].mean, values.mean(0), atol=1e-5)
    np.testing.assert_allclose(by_rows[0].factor, 1 / values.std(0), rtol=1e-5)


@pytest.mark.parametrize("levels", [("type", "type"), ("token", "sequence")])
def test_dimensions_have_units_of_their_own(levels):
    embedded = make_embedded(levels=levels, lengths=(1, 9))
    y = np.arange(len(embedded)) % 2
    probabilities = []
    for exponent in (0, 4):
        units = [np.geomspace(10.0**-exponent, 1e6, b.dim) for b in embedded.blocks]
        pairs = zip(embedded.blocks, units, strict=True)
        blocks = [Block(b.name, b.values * u, b.level, b.known) for b, u in pairs]
        X = embedded.with_blocks(blocks)
        model = DynamicMetaClassifier(**POOLED).fit(X, y)
        probabilities.append(model.predict_proba(X))
    np.testing.assert_allclose(*probabilities, atol=1e-3)


def standard_of(values):
    """Return what a net learns of the vectors of sequences."""
    tokens = TokenSequences.from_lists([["a"]] * len(values))
    X = EmbeddedSequences(tokens, [Block("a", values, "sequence")])
    options = POOLED | {"max_epochs": 1}
    model = DynamicMetaRegressor(**options).fit(X, np.arange(len(values)))
    return model.net_.module_.mixer.standards[0]


def test_a_length_that_many_vectors_have_is_no_reason_to_leave_them_out(recwarn):
    lengths = np.repeat([1.0, 1e6, 0], [15, 5, 200])
    standard = standard_of(lengths[:, None])
    np.testing.assert_allclose(standard.mean, lengths.mean(), rtol=1e-6)
    np.testing.assert_allclose(standard.factor, 1 / lengths.std(), rtol=1e-6)
    assert not recwarn


def test_dimensions_that_vary_by_rounding_are_ignored():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50, 4)) * [1, 1e-9, 1e-16, 1e-7] + [0, 0, 0, 1]
    assert (standard_of(values).factor > 0).tolist() == [True, True, False, False]


def test_a_dimension_that_does_not_vary_in_training_is_ignored():
    tokens = TokenSequences.from_lists([["a"], ["b"]] * 10)

    def embedded(first):
        block = Block("s", np.array([[first, 1.0], [first, 2]]), "type")
        return EmbeddedSequences(tokens, [block])

    model = DynamicMetaClassifier(**POOLED).fit(embedded(7.0), ["x", "y"] * 10)
    before, after = map(model.predict_proba, map(embedded, (7.0, 1e6)))
    np.testing.assert_array_equal(before, after)


def test_smoothed_labels_are_those_of_torch_and_of_two_classes():
    X, y = make_embedded(), np.arange(60) % 2

    def criterion(y, smoothing=0.2):
        options = {"label_smoothing": smoothing}
        return DynamicMetaClassifier(**POOLED, train_options=options).fit(X, y).net_

    outputs = torch.tensor([[2.0, -1.0], [0.5, 3.0]])
    labels, weights = torch.tensor([0, 1]), torch.ones(2)
    loss = criterion(y).criterion_.train()
    shares = torch.tensor([[0.9, 0.1], [0.1, 0.9]])
    expected = -(shares * outputs.log_softmax(dim=1)).sum(dim=1).mean()
    torch.testing.assert_close(loss(outputs, labels, weights), expected)
    # The difference of two scores has the same probability as their softmax.
    sets = criterion(np.column_stack([y, 1 - y])).criterion_.train()
    scores, indicators = outputs[:, 1:] - outputs[:, :1], labels[:, None].float()
    torch.testing.assert_close(sets(scores, indicators, weights), expected)
    # Held-out rows are scored by their labels as they are.
    plain = criterion(y, 0.0).criterion_.train()(outputs, labels, weights)
    assert loss.eval()(outputs, labels, weights) == plain


@pytest.mark.parametrize(
    ("levels", "attention", "encoder"),
    [
        *((levels, "context", "mean") for levels in LEVELS),
        *((LEVELS[2], each, "mean") for each in ("task", "word", "uniform")),
        *(
            (LEVELS[1], "word", encoder)
            for encoder in ("conv", "bilstm-max", "gru", "mean", "max")
        ),
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


class Batches(Callback):
    """Note the rows and the range of lengths of each batch of training."""

    def on_train_begin(self, net, **kwargs):
        self.rows, self.ranges = [], []

    def on_batch_begin(self, net, batch=None, training=False, **kwargs):
        lengths = batch[0].grid.lengths
        self.rows.append(batch[0].rows.tolist())
        self.ranges.append(int(lengths.max() - lengths.min()))


def test_batches_have_rows_of_similar_lengths_in_random_order():
    X = make_embedded(n_sequences=400, lengths=(1, 30))
    options = POOLED | {"max_epochs": 2, "batch_size": 32, "callbacks": [Batches()]}
    net = DynamicMetaClassifier(**options).fit(X, np.arange(400) % 2).net_
    batches = dict(net.callbacks_)["Batches"]
    first, second = batches.rows[:12], batches.rows[12:]
    assert sorted(sum(first, [])) == sorted(sum(second, [])) == list(range(400))
    assert np.mean(batches.ranges) < 4
    assert first != second
