"""A trained net as plain values and tensors, for files without code."""

import numpy as np

from ..._training._net_state import (
    available_device,
    check_shapes,
    load_net_state_dict,
    net_state_dict,
    optimizer_state_dict,
)
from ..._training._random import GeneratorMode, generator_mode_lock, local_generators
from ._plan import SETTINGS
from ._skorch_net import make_net


def net_parts(net, network_names):
    """Return what `net_of` restores a net from: plain values, and tensors by name.

    Parameters
    ----------
    net : SequenceNet
        Trained.
    network_names : iterable of str
        Parameters of its network.

    Returns
    -------
    plain : dict
    tensors : dict of str to tensor
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
    """Restore a net from the output of `net_parts`.

    Parameters
    ----------
    plan : NetPlan
        Of the estimator that the net belongs to.
    plain : dict
    tensors : dict of str to tensor

    Returns
    -------
    SequenceNet
    """
    import torch

    device = available_device(plain["device"])
    rng = plain["rng"] or np.random.RandomState()
    _check_shapes(plan.network_class, plain["network"], tensors)
    plan = plan._replace(network=plain["network"], loss=plain["loss"])
    net = make_net(plan, device, rng)
    net.optimizer_state_ = optimizer_state_dict(plain, tensors)
    if plain["network"]["trained"].opened:
        # They may have tensors that are not in the file.
        with local_generators(0), generator_mode_lock, GeneratorMode():
            net.initialize()
    else:
        net.is_loading_ = True
        net.initialize()
        del net.is_loading_
    settings = {name: plain["settings"][name] for name in SETTINGS}
    for name, value in settings.items():
        setattr(net, name, value)
    net.autocast = torch.bfloat16 if plain["autocast"] else None
    load_net_state_dict(net, plain, tensors, optimizer=False)
    return net


def _check_shapes(network_class, network, tensors):
    """Raise unless the network, without trained transformers, fits its tensors."""
    opened = network["trained"].opened
    files = [i for i, source in enumerate(opened) if hasattr(source, "source")]
    light = _Light([_Empty() if i in files else o for i, o in enumerate(opened)])
    network = {**network, "trained": light}
    ignore = tuple(f"module/trained.{i}." for i in files)
    check_shapes(lambda: network_class(**network), tensors, ignore=ignore)


class _Light:
    """Trained sources, without those that are read from files."""

    def __init__(self, opened):
        self.opened = opened

    def __len__(self):
        return len(self.opened)


class _Empty:
    def network(self):
        from torch import nn

        return nn.Identity()
