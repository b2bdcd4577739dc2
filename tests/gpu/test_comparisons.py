"""Tests of the comparisons of devices, and of steps that must not wait for a GPU."""

import numpy as np
import pytest
import torch

from sk_metaembed import (
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRegressor,
    DynamicMetaTagger,
    SequencePairs,
    TrainableCharacters,
)

from . import cases
from .cases import CASES
from .compare import differences


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_fault_in_any_array_is_found(dtype):
    case = CASES["word"]
    expected = case.compute("cpu", "float32")
    actual = case.compute("cpu", dtype)
    effects = None
    if dtype == "bfloat16":
        effects = cases.rounding_effects(case, expected)
    assert not differences(expected, actual, dtype, effects)
    for name, values in actual.items():
        found = differences(expected, {**actual, name: values * 1.6}, dtype, effects)
        kind, _, weight = name.partition(" ")
        # A bias that softmax ignores has a gradient of rounding errors.
        ignored = weight == "mixer.score.bias" or (kind, dtype) == ("step", "bfloat16")
        assert found or ignored, name
    name = "value predict_proba"
    broken = {**actual, name: np.where(np.eye(*actual[name].shape), np.nan, 0.5)}
    assert differences(expected, broken, dtype, effects) == [f"{name}: not finite"]
    assert "names differ" in differences(expected, {}, dtype)[0]


SMALL_NET = {"projection_dim": 16}
TRAINED = {"trainable": TrainableCharacters(), **SMALL_NET}
MODELS = {
    "conv": cases.classifier(encoder="conv", encoder_dim=(8, 4)),
    "bilstm-max": cases.classifier(encoder="bilstm-max"),
    "gru": cases.classifier(
        encoder="gru", encoder_dim=(8, 4), network_options={"encoder_dropout": 0.2}
    ),
    "max": cases.classifier(encoder="max"),
    "context": cases.classifier("context", encoder="mean"),
    "task": cases.classifier("task", encoder="mean"),
    "uniform": cases.classifier("uniform", encoder="mean"),
    "published": cases.classifier(encoder="mean", network_options=cases.PUBLISHED),
    "characters": DynamicMetaClassifier(**TRAINED),
    "pairs": cases.classifier(encoder="bilstm-max"),
    "label sets": cases.classifier(encoder="max"),
    "numbers": DynamicMetaRegressor(**SMALL_NET),
    "embedding": DynamicMetaEmbedding(**SMALL_NET),
    "crf": DynamicMetaTagger(**SMALL_NET, encoder_dim=8, scheme="IOB2"),
    "softmax": DynamicMetaTagger(
        **SMALL_NET, encoder_dim=8, network_options={"decoder": "softmax"}
    ),
}


def data_of(name):
    """Return sequences or pairs, and targets of the kind that a model learns."""
    n_rows = cases.N_ROWS
    X, y = cases.embedded(), np.arange(n_rows) % 2
    if name == "pairs":
        return SequencePairs(cases.embedded(n_rows=2 * n_rows)), y
    if name in ("crf", "softmax"):
        return X, [cases.spans(row) for row in X.tokens.to_list()]
    others = {"label sets": np.stack([y, 1 - y], axis=1), "numbers": y / 3}
    return X, others.get(name, y)


# That of a transformer does: transformers looks for padding in each batch.
@pytest.mark.parametrize("name", MODELS)
def test_a_step_reads_no_number_from_the_device(name):
    # Tensors on the device "meta" have no values: reading one, or a tensor whose shape
    # depends on values, raises an error. On a GPU it would wait for all work so far.
    X, y = data_of(name)
    model = MODELS[name].set_params(max_epochs=1, early_stopping=False, device="cpu")
    net, target = model.fit(X, y).net_, model._target
    meta = torch.device("meta")
    module = net.module_.to(meta).train()
    codes = target.encode(model._read_target(y, X))
    weights = target.loss_weights(codes, np.ones(len(X)), None)
    dataset = model._data_set(X, codes, weights, meta)
    batch, labels = dataset.batch(np.arange(len(X)))
    loss = net.get_loss(module(batch), labels, X=batch, training=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(module.parameters(), 5.0)
    torch.optim.Adam(module.parameters()).step()
    with pytest.raises((RuntimeError, NotImplementedError), match="meta"):
        loss.item()
