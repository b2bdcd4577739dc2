"""Training and inference compute the same vectors."""

import numpy as np
import pytest
import torch

from sk_metaembed.elmo._bptt import BPTTBatches
from sk_metaembed.elmo._corpus import SPECIAL, Vocabulary, read_corpus
from sk_metaembed.elmo._lm_modules import TrainableBiLM
from sk_metaembed.elmo._network import BiLanguageModel

from ..tiny_elmo import OPTIONS, random_weights


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
            outs, states = module(batch, states)
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
