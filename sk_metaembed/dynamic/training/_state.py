"""A trained net as plain values and tensors, for files without code."""

import numpy as np
from torch import nn

from ..._training._net_state import available_device, net_state_dict, restore_net
from ._skorch_net import SETTINGS, make_net


def net_parts(net):
    """Return a trained net as plain values and tensors, for `net_of`."""
    plain, tensors = net_state_dict(net)
    prefix = "module__"
    network = {k: v for k, v in vars(net).items() if k.startswith(prefix)}
    plain["network"] = {k.removeprefix(prefix): v for k, v in network.items()}
    plain["settings"] = {name: getattr(net, name) for name in SETTINGS}
    plain["loss"] = net.criterion__kind
    plain["rng"] = net.iterator_train__rng
    return plain, tensors


def net_of(params, callbacks, plain, tensors):
    """Return the net with the parameters of `make_net`, from `net_parts`."""
    network = plain["network"]
    params = {
        **params,
        **{f"module__{name}": value for name, value in network.items()},
        **{name: plain["settings"][name] for name in SETTINGS},
        "criterion__kind": plain["loss"],
    }
    rng = plain["rng"] or np.random.RandomState()
    net = make_net(params, callbacks, available_device(plain["device"]), rng)
    opened = network["trained"].opened
    files = [i for i, source in enumerate(opened) if hasattr(source, "source")]
    light = _Light([_Empty() if i in files else o for i, o in enumerate(opened)])
    net.is_loading_ = True
    restore_net(
        net,
        lambda: net.module(**{**network, "trained": light}),
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
