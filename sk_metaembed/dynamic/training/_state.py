"""A trained net as plain values and tensors, for files without code."""

import numpy as np
import torch
from torch import nn

from ..._training._net_state import available_device, net_state_dict, restore_net
from ._plan import SETTINGS
from ._skorch_net import make_net


def net_parts(net, network_names):
    """Return a trained net as plain values and tensors, for `net_of`.

    `network_names` are the parameters of its network.
    """
    plain, tensors = net_state_dict(net)
    # From the net: the estimator's parameters may have been changed since the fit.
    plain["network"] = {name: getattr(net, f"module__{name}") for name in network_names}
    plain["settings"] = {name: getattr(net, name) for name in SETTINGS}
    plain["loss"] = net.criterion__kind
    plain["autocast"] = net.autocast is not None
    plain["rng"] = net.iterator_train__rng
    return plain, tensors


def net_of(plan, plain, tensors):
    """Return the net of an estimator with a NetPlan, from the output of `net_parts`."""
    device = available_device(plain["device"])
    rng = plain["rng"] or np.random.RandomState()
    network = plain["network"]
    plan = plan._replace(network=network, loss=plain["loss"])
    net = make_net(plan, device, rng)
    for name in SETTINGS:
        setattr(net, name, plain["settings"][name])
    net.autocast = torch.bfloat16 if plain["autocast"] else None
    opened = network["trained"].opened
    files = [i for i, source in enumerate(opened) if hasattr(source, "source")]
    light = _Light([_Empty() if i in files else o for i, o in enumerate(opened)])
    net.is_loading_ = True
    restore_net(
        net,
        lambda: plan.network_class(**{**network, "trained": light}),
        plain,
        tensors,
        ignore=tuple(f"module/trained.{i}." for i in files),
        draws=bool(opened),
    )
    del net.is_loading_
    return net


class _Light:
    """Trained sources, without those that are read from files."""

    def __init__(self, opened):
        self.opened = opened

    def __len__(self):
        return len(self.opened)


class _Empty:
    def network(self):
        return nn.Identity()
