"""Defaults that depend on the number of rows, and the published ones."""

import numpy as np
import pytest
from sklearn.base import clone

from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    DynamicMetaRegressor,
    EmbeddedSequences,
    TokenSequences,
)
from sk_metaembed.dynamic.training._fit import (
    MAX_EPOCHS,
    MIN_EPOCHS,
    MIN_ROWS_TO_HOLD_OUT,
    N_STEPS,
)

SMALL = {"projection_dim": 8, "hidden_dims": (), "random_state": 0}


def topics(n_rows, n_classes=4, seed=0):
    """Return sequences of ten words, half of them of the topic that is the label."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    own = rng.integers(0, 50, (n_rows, 5)) + 50 * y[:, None]
    words = np.hstack([own, rng.integers(0, 50 * n_classes, (n_rows, 5))])
    tokens = TokenSequences.from_lists([[f"w{w}" for w in row] for row in words])
    of_types = np.array([int(word[1:]) for word in tokens.types])
    vectors = np.random.default_rng(9)
    blocks = []
    for name, dim in (("a", 20), ("b", 30)):
        centers = vectors.normal(size=(n_classes, dim))
        table = 1.5 * vectors.normal(size=(50 * n_classes, dim))
        table += np.repeat(centers, 50, axis=0)
        # Sources differ in scale, and as word vectors do have a common direction.
        blocks.append(Block(name, 0.05 * table[of_types] + 0.2, "type"))
    return EmbeddedSequences(tokens, blocks), y


def n_steps(model):
    return sum(len(epoch["batches"]) for epoch in model.history_)


@pytest.mark.parametrize(
    ("n_rows", "n_epochs"),
    [(1, N_STEPS), pytest.param(2000, MIN_EPOCHS, marks=pytest.mark.slow)],
)
def test_epochs_depend_on_the_number_of_rows(n_rows, n_epochs):
    X, y = topics(n_rows)
    assert DynamicMetaClassifier(**SMALL).fit(X, y).n_iter_ == n_epochs


def test_defaults_learn_from_few_rows():
    X, y = topics(600)
    model = DynamicMetaClassifier(random_state=0).fit(X[:64], y[:64])
    assert n_steps(model) >= 0.9 * N_STEPS
    assert model.score(X[200:], y[200:]) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [64, 200])
def test_defaults_learn_more_from_few_rows_than_the_published_net(n_rows):
    X, y = topics(600)
    model = DynamicMetaClassifier(random_state=0).fit(X[:n_rows], y[:n_rows])
    before = DynamicMetaClassifier.published(encoder="mean", random_state=0)
    before.fit(X[:n_rows], y[:n_rows])
    assert before.score(X[200:], y[200:]) < model.score(X[200:], y[200:]) - 0.1


def test_many_rows_stop_early():
    X, y = topics(MIN_ROWS_TO_HOLD_OUT)
    model = DynamicMetaClassifier(**SMALL, max_epochs=1).fit(X, y)
    assert "valid_acc" in model.history_[-1]
    batches = model.history_[0]["batches"]
    n_seen = sum(b.get("train_batch_size", 0) for b in batches)
    assert n_seen == round(0.9 * len(X))
    one_less = clone(model).fit(X[1:], y[1:])
    assert "valid_acc" not in one_less.history_[-1]
    # Rows of weight 0 do not count.
    weights = np.r_[0.0, np.ones(len(X) - 1)]
    assert "valid_acc" not in clone(model).fit(X, y, weights).history_[-1]


def test_held_out_data_stop_training_on_few_rows():
    X, y = topics(128)
    model = DynamicMetaClassifier(**SMALL, lr=0.05, n_iter_no_change=2)
    model.fit(X[:64], y[:64], X_val=X[64:], y_val=y[64:])
    assert "valid_acc" in model.history_[-1]
    assert model.n_iter_ < MAX_EPOCHS


@pytest.mark.parametrize("kind", [DynamicMetaClassifier, DynamicMetaRegressor])
def test_the_published_net_is_one_call_away(kind):
    default, published = kind().get_params(), kind.published().get_params()
    changed = {k for k, v in published.items() if v != default[k]}
    assert changed >= {"mixer", "encoder", "lr", "batch_size", "early_stopping"}
    X, y = topics(40)
    model = kind.published("context", encoder_dim=6, max_epochs=1, random_state=0)
    net = model.fit(X, y).net_
    assert model.attention == "context" and net.lr == 4e-4
    assert net.module_.mixer.standards is None
    assert net.module_.mixer.score.out_features == 1
    assert net.module_.encoder.dim == 12 and len(net.module_.head) == 7
