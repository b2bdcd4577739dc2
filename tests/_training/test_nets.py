"""Training of nets without denormals, and restoring nets from files."""

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback
from torch import nn

from sk_metaembed import Block, DynamicMetaClassifier, EmbeddedSequences, TokenSequences
from sk_metaembed._training._minimize import flush_denormals
from sk_metaembed._training._nets import restore_net


class Untouched:
    """Stands for a net that must not be initialized."""

    def initialize(self):
        raise AssertionError


@pytest.mark.parametrize(
    "tensors",
    [
        {"module/weight": torch.ones(2, 1)},
        {"module/weight": torch.ones(2, 2), "module/bias": torch.ones(2)},
        {},
    ],
)
def test_a_net_unlike_its_tensors_is_not_built(tensors):
    def build():
        return nn.Linear(2, 10**12, bias=False)  # more than memory holds

    with pytest.raises(ValueError, match="the network and its weights differ in"):
        restore_net(Untouched(), build, {}, tensors)


def test_tiny_weights_and_moments_become_0_and_others_stay():
    values = torch.tensor([0.0, 1e-45, -1e-38, 1e-31, -1e-29, 1.0, -3e38])
    weights = torch.nn.Parameter(values.clone())
    optimizer = torch.optim.Adam([weights])
    weights.grad = torch.zeros_like(values)
    optimizer.step()
    optimizer.state[weights]["exp_avg"].copy_(values)
    flush_denormals(optimizer)
    expected = torch.tensor([0.0, 0.0, 0.0, 0.0, -1e-29, 1.0, -3e38])
    assert torch.equal(weights.detach(), expected)
    assert torch.equal(optimizer.state[weights]["exp_avg"], expected)
    assert optimizer.state[weights]["step"] == 1


class DeadUnit(Callback):
    def on_train_begin(self, net, **kwargs):
        with torch.no_grad():
            net.module_.head[0].bias[0] = -1e9
            net.module_.head[0].weight[0] = 1e-35


def test_a_unit_without_gradients_does_not_keep_tiny_weights():
    tokens = TokenSequences.from_lists([["a"], ["b"]] * 4)
    X = EmbeddedSequences(tokens, [Block("x", np.eye(2, dtype=np.float32), "type")])
    model = DynamicMetaClassifier(
        max_epochs=100,
        callbacks=[DeadUnit()],
        train_options={"weight_decay": 0.0, "linear_share": 0.0},
    )
    head = model.fit(X, [0, 1] * 4).net_.module_.head[0]
    assert (head.weight[0] == 0).all()
    assert (head.weight[1:] != 0).any()
