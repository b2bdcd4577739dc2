"""The hand-written recurrence matches autograd and the network for inference."""

import numpy as np
import pytest
import torch

from sk_metaembed.elmo._bptt import BPTTBatches
from sk_metaembed.elmo._corpus import SPECIAL, Vocabulary, read_corpus
from sk_metaembed.elmo._lm_modules import Recurrence, TrainableBiLM
from sk_metaembed.elmo._network import BiLanguageModel

from ..tiny_elmo import OPTIONS, random_weights

T, B, P, N = 5, 3, 4, 6


def step_by_step(gates, recurrent, projection, hidden, cell, keep, clips):
    out = []
    for t in range(T):
        if keep[t] is not None:
            hidden, cell = hidden * keep[t], cell * keep[t]
        j, i, f, o = (gates[t] + hidden @ recurrent).chunk(4, dim=-1)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(j)
        cell = cell if clips[0] is None else cell.clamp(-clips[0], clips[0])
        hidden = (torch.sigmoid(o) * torch.tanh(cell)) @ projection
        hidden = hidden if clips[1] is None else hidden.clamp(-clips[1], clips[1])
        out.append(hidden)
    return torch.stack(out), hidden, cell


@pytest.mark.parametrize("clips", [(None, None), (0.5, 0.3)])
def test_recurrence_matches_autograd(clips):
    rng = torch.Generator().manual_seed(0)

    def shuffle_buffer(*shape, learned=True):
        tensor = torch.randn(*shape, dtype=torch.float64, generator=rng)
        return tensor.requires_grad_(learned)

    inputs = shuffle_buffer(T, B, 4 * N), shuffle_buffer(P, 4 * N), shuffle_buffer(N, P)
    state = shuffle_buffer(B, P, learned=False), shuffle_buffer(B, N, learned=False)
    masks = torch.tensor([[1.0], [0.0], [1.0]], dtype=torch.float64)
    keep = [None, masks, None, None, 1 - masks]
    weight = shuffle_buffer(T, B, P, learned=False)
    for actual, expected in zip(
        Recurrence.apply(*inputs, *state, keep, clips),
        step_by_step(*inputs, *state, keep, clips),
        strict=True,
    ):
        torch.testing.assert_close(actual, expected.detach(), check_layout=False)
    gradients = [
        torch.autograd.grad(
            (run(*inputs, *state, keep, clips)[0] * weight).sum(), inputs
        )
        for run in (Recurrence.apply, step_by_step)
    ]
    for actual, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("skip", [False, True])
def test_training_and_inference_compute_the_same(skip):
    options = OPTIONS._replace(skip_connections=skip, cell_clip=0.6, proj_clip=0.9)
    weights = random_weights(options)
    rows = [["the", "cat", "sat"], ["a"], ["über", "x" * 60, "a", "the", "cat"]]
    vocabulary = Vocabulary.from_words([*SPECIAL, "the"])
    corpus = read_corpus(rows)
    stream = BPTTBatches(corpus, vocabulary, 50, 2, 3, torch.device("cpu"))
    module, states = TrainableBiLM(options, 0.5, weights).eval(), None
    actual = [[[], []] for _ in rows]
    with torch.no_grad():
        for batch, _ in stream:
            outs, states = module(batch, states, torch.float32)
            for t, slot in zip(*torch.nonzero(batch.targets[0] >= 0).T, strict=True):
                for d in (0, 1):
                    actual[batch.rows[t, slot]][d].append(outs[d, t, slot].numpy())
    network = BiLanguageModel(weights, options)
    for row, (forward, backward) in zip(rows, actual, strict=True):
        table = torch.cat([network.encoder.marks(), network.encoder(row)])
        layers, _ = network.layers(table, [np.arange(2, 2 + len(row))])
        # The first place is that of the mark that is read, which no word is.
        both = np.concatenate([forward[1:], backward[:0:-1]], axis=1)
        np.testing.assert_allclose(both, layers[-1].numpy(), atol=1e-5)
