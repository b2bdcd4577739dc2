"""Convolutions over tokens in all estimators."""

import numpy as np
import pytest

import sk_metaembed as sk
from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    DynamicMetaTagger,
    EmbeddedSequences,
    TokenSequences,
)

from .test_estimators import SMALL

CONV = SMALL | {
    "encoder": "conv",
    "network_options": {"conv_widths": (1, 2, 5)},
    "early_stopping": False,
}
CONV |= {"head_dropout": 0.0}


def test_few_types_give_the_outputs_of_their_tokens():
    """A batch of many tokens per type reads types, and a single row reads tokens."""
    rows = [list("abcaabbca"), list("cab"), list("b"), [], list("zacab") * 3] * 4
    model = DynamicMetaClassifier(**CONV | {"max_epochs": 1})
    together = model.fit(rows, [0, 1, 0, 1, 0] * 4).predict_proba(rows)
    alone = np.concatenate([model.predict_proba([row]) for row in rows[:5]])
    np.testing.assert_allclose(together[:5], alone, atol=1e-6)


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
