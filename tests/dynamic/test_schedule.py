"""Defaults that depend on the number of rows, and the published ones."""

import numpy as np
import pytest
from skorch.callbacks import Callback, LRScheduler

from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    DynamicMetaRegressor,
    EmbeddedSequences,
    TokenSequences,
    TrainableCharacters,
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


@pytest.mark.parametrize(
    ("n_classes", "n_epochs"), [(4, [400, 100, 5]), (40, [640, 160, 7])]
)
def test_epochs_depend_on_the_numbers_of_batches_and_classes(n_classes, n_epochs):
    model = DynamicMetaClassifier(**SMALL, max_epochs=1).fit(*topics(120, n_classes))
    model.set_params(max_epochs="auto")
    assert [model._choose_n_epochs(n, None) for n in (1, 4, 94)] == n_epochs


class Rates(Callback):
    """Record the number of epochs, and the learning rate of each step."""

    def on_train_begin(self, net, **kwargs):
        self.rates, self.n_epochs = [], net.max_epochs

    def on_batch_end(self, net, training=False, **kwargs):
        self.rates.append(net.optimizer_.param_groups[0]["lr"])


def rates_of(model):
    return dict(model.net_.callbacks_)["Rates"].rates


def test_the_learning_rate_falls_linearly_to_zero():
    X, y = topics(80)
    options = SMALL | {"lr": 0.01, "batch_size": 20, "callbacks": [Rates()]}
    model = DynamicMetaClassifier(**options, max_epochs=3).fit(X, y)
    expected = 0.01 * np.arange(12, 0, -1) / 12
    np.testing.assert_allclose(rates_of(model), expected)


@pytest.mark.parametrize("max_epochs", [3, "auto"])
def test_callbacks_read_the_number_of_epochs_from_the_net(max_epochs):
    X, y = topics(80)
    options = SMALL | {"max_epochs": max_epochs, "callbacks": [Rates()]}
    net = DynamicMetaClassifier(**options).fit(X, y).net_
    assert dict(net.callbacks_)["Rates"].n_epochs == len(net.history)


def test_own_schedules_replace_the_linear_one():
    X, y = topics(80)
    own = LRScheduler("StepLR", step_size=1, gamma=0.5)
    options = SMALL | {"lr": 0.01, "batch_size": 40, "max_epochs": 3}
    model = DynamicMetaClassifier(**options, callbacks=[own, Rates()]).fit(X, y)
    assert rates_of(model) == [0.01, 0.01, 0.005, 0.005, 0.0025, 0.0025]


def test_no_rows_are_held_out_by_default():
    X, y = topics(200)
    weights = np.r_[0.0, np.ones(199)]
    for sample_weight, n_rows in ((None, 200), (weights, 199)):
        model = DynamicMetaClassifier(**SMALL, max_epochs=1)
        model.fit(X, y, sample_weight)
        assert "valid_acc" not in model.history_[-1]
        batches = model.history_[0]["batches"]
        assert sum(batch["train_batch_size"] for batch in batches) == n_rows


def test_the_size_of_batches_depends_on_rows_parameters_and_trainable_sources():
    X, y = topics(40)
    model = DynamicMetaClassifier(max_epochs=1, **SMALL).fit(X, y)
    count = model._choose_batch_size
    assert [count(n) for n in (1, 2500, 10_000, 40_000, 10**6)] == [
        32,
        32,
        64,
        128,
        256,
    ]
    assert count(2501) - count(2500) <= 1
    model.set_params(trainable=TrainableCharacters()).fit(X, y)
    assert count(10**6) == model.net_.batch_size == 32
    assert model.set_params(batch_size=7)._choose_batch_size(10**6) == 7


def test_early_stopping_does_not_end_while_only_the_loss_improves():
    X, topic = topics(240, n_classes=8)
    y = topic == 7
    found = {}
    for monitor in ("loss", "score"):
        model = DynamicMetaClassifier(**SMALL, encoder="max", early_stopping=True)
        model.set_params(train_options={"linear_share": 0, "monitor": monitor})
        model.fit(X[:160], y[:160])
        found[monitor] = model.predict(X[160:])[y[160:]].mean()
    assert found["loss"] > 2 * found["score"]


@pytest.mark.parametrize("kind", [DynamicMetaClassifier, DynamicMetaRegressor])
def test_the_published_net_is_one_call_away(kind):
    default, published = kind().get_params(), kind.published().get_params()
    changed = {k for k, v in published.items() if v != default[k]}
    assert changed >= {
        "network_options",
        "encoder",
        "lr",
        "batch_size",
        "early_stopping",
    }
    X, y = topics(40)
    model = kind.published("context", encoder_dim=6, max_epochs=1, random_state=0)
    net = model.fit(X, y).net_
    assert model.attention == "context" and net.lr == 4e-4
    assert net.module_.mixer.standards is None
    assert net.module_.mixer.score.out_features == 1
    assert net.module_.encoder.dim == 12 and len(net.module_.head) == 7
