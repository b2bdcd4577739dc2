"""ELMo's scalar mix, learned: the formula, layers normalised, weights made equal."""

import numpy as np
import pytest
from skorch.callbacks import Callback
from torch import nn

from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRegressor,
)

from .conftest import make_embedded

MIX = {
    "attention": "task",
    "projection_dim": None,
    "encoder": "mean",
    "hidden_dims": (),
    "embedding_dropout": 0.0,
    "head_dropout": 0.0,
    "lr": 0.05,
    "batch_size": 16,
    "max_epochs": 12,
    "early_stopping": False,
    "random_state": 0,
}


def published(**options):
    """Return the parameters of the published mix with further network options."""
    options = {"activation": None, "mixer": "published", **options}
    return MIX | {"network_options": options}


@pytest.fixture(scope="module")
def layers():
    """Three layers of one dimension and two levels, some rows unknown, one long."""
    embedded = make_embedded(levels=("type", "token", "token"))
    scales = (1, 1, 20)
    return embedded.with_blocks(
        Block(f"layer{k}", scale * block.values[:, :4] + k, block.level, block.known)
        for k, (scale, block) in enumerate(zip(scales, embedded.blocks, strict=True))
    )


@pytest.fixture(scope="module")
def y(layers):
    """Two classes that the middle layer decides."""
    block, segments = layers.blocks[1], layers.tokens.segment_ids()
    score = np.bincount(segments, (block.values[:, 0] - 1) * block.known, len(layers))
    return (score > 0).astype(int)


def rows_of(X):
    """Return the values and the known rows of each block, token by token."""
    blocks = [X.broadcast(block, "token") for block in X.blocks]
    values = np.array([block.values for block in blocks], dtype=np.float64)
    return values, np.array([block.known for block in blocks])


def normalized(values):
    values = values - values.mean(axis=-1, keepdims=True)
    return values / np.sqrt(values.var(axis=-1, keepdims=True) + 1e-12)


def mixed(model, X, gate="softmax"):
    """Return the scalar mix of every token as the paper has it, in NumPy."""
    values, known = rows_of(X)
    if model.network_options["layer_norm"]:
        values = normalized(values)
    weights = np.array(list(model.layer_weights_.values()))[:, None] * known
    if gate == "softmax":
        weights = weights / np.maximum(weights.sum(axis=0), 1e-30)
    return model.gamma_ * (weights[:, :, None] * values).sum(axis=0)


def spread(model):
    return np.ptp(list(model.layer_weights_.values()))


@pytest.mark.parametrize(
    ("gate", "layer_norm"), [("softmax", True), ("sigmoid", False)]
)
def test_transform_returns_the_reported_mix(layers, y, gate, layer_norm):
    model = DynamicMetaEmbedding(**published(gate=gate, layer_norm=layer_norm))
    (block,) = model.fit_transform(layers, y).blocks
    assert list(model.layer_weights_) == ["layer0", "layer1", "layer2"]
    assert spread(model) > 0.05
    assert abs(model.gamma_ - 1) > 0.05
    if gate == "softmax":
        assert sum(model.layer_weights_.values()) == pytest.approx(1)
    np.testing.assert_allclose(
        block.values, mixed(model, layers, gate), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_array_equal(block.known, rows_of(layers)[1].any(axis=0))
    assert not block.values[~block.known].any()


def test_the_pull_makes_weights_equal(layers, y):
    results = [
        spread(DynamicMetaClassifier(**published(mix_penalty=penalty)).fit(layers, y))
        for penalty in (0.0, 0.1, 10.0)
    ]
    assert results[0] > 1.3 * results[1] > 2 * results[2]
    assert results[2] < 0.02


class UnequalStart(Callback):
    def on_train_begin(self, net, **kwargs):
        nn.init.constant_(net.module_.mixer.source_scores, 2.0)


def test_the_pull_is_lambda_times_the_squared_norm_in_training_alone(layers, y):
    options = {"max_epochs": 1, "batch_size": 60, "callbacks": [UnequalStart()]}
    losses = {}
    for penalty in (0.0, 0.3, 0.5):
        model = DynamicMetaRegressor(**published(mix_penalty=penalty) | options)
        model.fit(layers, y, X_val=layers, y_val=y)
        losses[penalty] = model.history_[-1]["train_loss"], model.history_[-1]
    plain = losses[0.0][0]
    # Three scores of 2.
    assert losses[0.3][0] - plain == pytest.approx(0.3 * 12, rel=1e-4)
    assert losses[0.5][0] - plain == pytest.approx(0.5 * 12, rel=1e-4)
    assert losses[0.5][1]["valid_loss"] < 2


@pytest.mark.parametrize("attention", ["task", "context"])
def test_layers_are_normalised_token_by_token_for_any_attention(layers, y, attention):
    options = published(layer_norm=True) | {"attention": attention}
    model = DynamicMetaEmbedding(**options).fit(layers, y)
    values, _ = rows_of(layers)
    frame = model.attention_weights(layers)[list(layers.names)]
    gamma = model.gamma_ if attention == "task" else 1
    expected = gamma * np.einsum("td,dtv->tv", frame.to_numpy(), normalized(values))
    whole = model.transform(layers)
    np.testing.assert_allclose(whole.blocks[0].values, expected, rtol=1e-4, atol=1e-4)
    for rows in ([5], [9, 2, 9], slice(30, 40)):
        alone = model.transform(layers[rows])
        for mine, other in zip(alone.to_list(), whole[rows].to_list(), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5)


def test_normalizing_needs_two_dimensions(layers, y):
    model = DynamicMetaEmbedding(**published(layer_norm=True) | {"projection_dim": 1})
    with pytest.raises(ValueError, match="needs at least 2 dimensions"):
        model.fit(layers, y)
