"""Restoring nets from files."""

import pytest
import torch
from torch import nn

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
