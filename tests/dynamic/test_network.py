"""Identities of the mixing mechanism and the encoders, against slow definitions."""

import numpy as np
import pytest
import torch

from sk_metaembed.dynamic._parameters import ENCODERS
from sk_metaembed.dynamic._trainable import TrainedSources
from sk_metaembed.dynamic.nets._encoders import (
    ByteDropout,
    MaskedLSTM,
    make_encoder,
    segment_max,
)
from sk_metaembed.dynamic.nets._mixer import Mixer, gate_weights
from sk_metaembed.dynamic.nets._network import DynamicMetaNet, WeightedLoss
from sk_metaembed.dynamic.training._data import (
    BucketLoader,
    Grid,
    SequenceData,
    SequenceDataset,
)

from .conftest import make_embedded

ATTENTIONS = ("task", "word", "context", "uniform")
LEVELS = [
    ("type", "type"),
    ("type", "token"),
    ("token", "token", "type"),
    ("sequence", "type"),
    ("sequence", "sequence"),
]


def batch_of(embedded, rows=None):
    data = SequenceData(embedded, torch.device("cpu"), TrainedSources([], None))
    return data.batch(np.arange(len(embedded)) if rows is None else np.asarray(rows))


def grid_of(lengths):
    return Grid.of(lengths.numpy(), torch.from_numpy)


def mixer_for(embedded, attention, **options):
    torch.manual_seed(0)
    options = {
        "gate": "softmax",
        "activation": "relu",
        "projection_dim": 6,
        "layer_norm": False,
        "mixer": "published",
    } | options
    dims = [block.dim for block in embedded.blocks]
    mixer = Mixer(dims, attention=attention, **options)
    if attention == "task":
        torch.nn.init.normal_(mixer.source_scores)
        torch.nn.init.constant_(mixer.gamma, 1.7)
    return mixer


def project(mixer, embedded, i):
    """Return P_i w + b of every token, one array a sequence, in NumPy."""
    block = embedded.broadcast(embedded.blocks[i], "token")
    layer = mixer.projections[i]
    values = block.values @ layer.weight.detach().numpy().T
    return values + layer.bias.detach().numpy(), block.known


@pytest.mark.parametrize("gate", ["softmax", "sigmoid"])
@pytest.mark.parametrize("levels", LEVELS[:3], ids=str)
def test_word_attention_is_the_published_formula(levels, gate):
    embedded = make_embedded(levels=levels)
    mixer = mixer_for(embedded, "word", gate=gate)
    projected, known = zip(
        *(project(mixer, embedded, i) for i in range(len(levels))), strict=True
    )
    a = mixer.score.weight.detach().numpy()[0]
    b = mixer.score.bias.detach().numpy()[0]
    mixed, weights = mixer(batch_of(embedded))
    for j in range(embedded.tokens.n_tokens):
        scores = np.array([p[j] @ a + b for p in projected], dtype=np.float64)
        mask = np.array([k[j] for k in known])
        if gate == "softmax":
            alpha = np.exp(scores) * mask
            alpha = alpha / alpha.sum() if mask.any() else alpha
        else:
            alpha = mask / (1 + np.exp(-scores))
        expected = sum(x * p[j] for x, p in zip(alpha, projected, strict=True))
        np.testing.assert_allclose(weights[j].detach(), alpha, atol=1e-5)
        np.testing.assert_allclose(
            mixed[j].detach(), np.maximum(expected, 0), atol=1e-5
        )


def test_context_attention_runs_over_time_and_not_over_sources():
    embedded = make_embedded(levels=("type", "token", "type"))
    mixer = mixer_for(embedded, "context")
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


def test_equal_scores_are_the_unweighted_mean():
    embedded = make_embedded()
    word = mixer_for(embedded, "word", activation=None)
    torch.nn.init.zeros_(word.score.weight)
    uniform = mixer_for(embedded, "uniform", activation=None)
    uniform.load_state_dict(word.state_dict(), strict=False)
    batch = batch_of(embedded)
    mixed, weights = word(batch)
    total, known = uniform(batch)
    count = known.sum(dim=1, keepdim=True).clamp(min=1)
    torch.testing.assert_close(mixed, total / count)
    torch.testing.assert_close(weights, known / count)


def test_task_attention_is_elmos_scalar_mix():
    embedded = make_embedded(levels=("token", "token"))
    embedded = embedded.with_blocks(
        [type(b)(b.name, b.values[:, :4], "token") for b in embedded.blocks]
    )
    mixer = mixer_for(embedded, "task", projection_dim=None, activation=None)
    s = torch.softmax(mixer.source_scores, 0).detach().numpy()
    expected = 1.7 * sum(w * b.values for w, b in zip(s, embedded.blocks, strict=True))
    mixed = mixer(batch_of(embedded))[0].detach().numpy()
    np.testing.assert_allclose(mixed, expected, atol=1e-5)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_unknown_everywhere_is_zero_and_finite(attention):
    embedded = make_embedded()
    nothing = [
        type(b)(b.name, np.zeros_like(b.values), b.level, np.zeros_like(b.known))
        for b in embedded.blocks
    ]
    batch = batch_of(embedded.with_blocks(nothing))
    mixed, weights = mixer_for(embedded, attention)(batch)
    assert not mixed.any()
    assert not weights.any()


def test_softmax_over_scores_of_any_size_stays_finite():
    scores = torch.tensor([[1e30, -1e30], [1e4, 1e4], [0.0, 0.0]])
    known = torch.tensor([[True, True], [True, False], [False, False]])
    weights = gate_weights(scores[:, :, None], known, "softmax")[:, :, 0]
    assert weights.tolist() == [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("levels", "attention", "encoder"),
    [
        *((levels, a, "mean") for levels in LEVELS for a in ATTENTIONS),
        *((LEVELS[1], "word", encoder) for encoder in ENCODERS),
    ],
    ids=str,
)
def test_row_alone_is_row_in_batch(levels, attention, encoder):
    embedded = make_embedded(n_sequences=12, levels=levels)
    torch.manual_seed(0)
    net = DynamicMetaNet(
        [block.dim for block in embedded.blocks],
        3,
        projection_dim=6,
        layer_norm=False,
        mixer="published",
        trained=TrainedSources([], embedded.tokens),
        attention=attention,
        gate="softmax",
        activation="relu",
        encoder=encoder,
        encoder_dims=(5, 4),
        hidden_dims=(7,),
        embedding_dropout=0.5,
        encoder_dropout=0.5,
        head_dropout=0.5,
    ).eval()
    together = net(batch_of(embedded))
    alone = torch.cat([net(batch_of(embedded, [i])) for i in range(len(embedded))])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)
    in_reverse = net(batch_of(embedded, np.arange(len(embedded))[::-1].copy()))
    torch.testing.assert_close(together, in_reverse.flip(0), atol=1e-5, rtol=1e-4)
    assert torch.isfinite(together).all()


def test_masked_lstm_equals_torchs_packed_bidirectional_lstm():
    torch.manual_seed(0)
    ours = MaskedLSTM(3, 4)
    reference = torch.nn.LSTM(3, 4, bidirectional=True)
    for name, parameter in ours.forward_lstm.named_parameters():
        getattr(reference, name).data.copy_(parameter.data)
    for name, parameter in ours.backward_lstm.named_parameters():
        getattr(reference, f"{name}_reverse").data.copy_(parameter.data)
    lengths = torch.tensor([3, 7, 1, 5])
    tokens = torch.randn(int(lengths.sum()), 3, requires_grad=True)
    packed = torch.nn.utils.rnn.pack_sequence(
        torch.split(tokens, lengths.tolist()), enforce_sorted=False
    )
    padded, _ = torch.nn.utils.rnn.pad_packed_sequence(reference(packed)[0])
    expected = torch.cat([padded[:n, i] for i, n in enumerate(lengths)])
    got = ours(tokens, grid_of(lengths))
    torch.testing.assert_close(got, expected)
    mine = torch.autograd.grad(got.square().sum(), tokens)[0]
    theirs = torch.autograd.grad(expected.square().sum(), tokens)[0]
    torch.testing.assert_close(mine, theirs)


def test_gru_gives_the_state_at_each_sequences_own_end():
    torch.manual_seed(0)
    encoder = make_encoder("gru", 3, (4,), 0.0)
    lengths = torch.tensor([2, 0, 5])
    tokens = torch.randn(7, 3)
    got = encoder(tokens, grid_of(lengths))
    gru = encoder.layers[0]
    torch.testing.assert_close(got[0], gru(tokens[:2])[0][-1])
    torch.testing.assert_close(got[2], gru(tokens[2:])[0][-1])
    assert not got[1].any()


def test_max_looks_at_real_tokens_only():
    tokens = torch.tensor([[-3.0], [-1.0], [-2.0]])
    lengths = torch.tensor([2, 0, 1])
    assert segment_max(tokens, grid_of(lengths)).tolist() == [[-1.0], [0.0], [-2.0]]


def test_batches_cover_the_data_once_and_hold_equal_lengths():
    embedded = make_embedded(n_sequences=400, lengths=(1, 30))
    data = SequenceData(embedded, torch.device("cpu"), TrainedSources([], None))
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

    torch.testing.assert_close(of([0, 1], [2.0, 1.0]), of([0, 0, 1], [1.0] * 3))
    torch.testing.assert_close(of([0, 1], [1.0, 0.0]), of([0], [5.0]))


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
