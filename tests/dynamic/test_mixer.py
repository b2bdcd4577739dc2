"""What the mixer learns of its sources before training."""

import numpy as np
import torch

from sk_metaembed import Block, DynamicMetaClassifier, EmbeddedSequences, TokenSequences

from .conftest import make_embedded
from .test_estimators import SMALL

POOLED = SMALL | {"encoder": "mean", "early_stopping": False, "max_epochs": 4}


def classifier():
    return DynamicMetaClassifier(**POOLED)


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
