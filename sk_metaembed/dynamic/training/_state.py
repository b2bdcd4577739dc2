"""A trained net as plain values and tensors, for files that hold no code."""

import numpy as np

from ..._training._net_state import (
    available_device,
    check_shapes,
    load_net_state_dict,
    net_state_dict,
)
from ..._training._random import GeneratorMode, generator_mode_lock, local_generators
from ._fit import _network, make_net

# What `_old_net` gives a net that goes on, and prediction may depend on.
_SETTINGS = ("lr", "max_epochs", "batch_size", "verbose", "mix_penalty")


def net_parts(estimator):
    """Return what `net_of` builds the estimator's net from.

    Parameters
    ----------
    estimator : one of the Dynamic* estimators
        Trained.

    Returns
    -------
    plain : dict
    tensors : dict of str to tensor
    """
    net = estimator.net_
    plain, tensors = net_state_dict(net)
    # Parameters may have been set to something else since.
    names = _network(estimator)
    plain["network"] = {name: getattr(net, f"module__{name}") for name in names}
    plain["settings"] = {name: getattr(net, name) for name in _SETTINGS}
    plain["loss"] = net.criterion__kind
    plain["autocast"] = net.autocast is not None
    plain["rng"] = net.iterator_train__rng
    return plain, tensors


def net_of(estimator, plain, tensors):
    """Return the net that `net_parts` told of.

    Parameters
    ----------
    estimator : one of the Dynamic* estimators
        All but trained.
    plain : dict
    tensors : dict of str to tensor

    Returns
    -------
    SequenceNet
    """
    import torch

    device = available_device(plain["device"])
    rng = plain["rng"] or np.random.RandomState()
    _check_shapes(estimator, plain["network"], tensors)
    with local_generators(0), generator_mode_lock, GeneratorMode():
        net = make_net(
            estimator, plain["network"], plain["loss"], None, device, rng
        ).initialize()
    settings = {name: plain["settings"][name] for name in _SETTINGS}
    for name, value in settings.items():
        setattr(net, name, value)
    net.autocast = torch.bfloat16 if plain["autocast"] else None
    load_net_state_dict(net, plain, tensors)
    return net


def _check_shapes(estimator, network, tensors):
    """See that the net is as large as its tensors; transformers are what they are."""
    build, _ = estimator._torch_parts()
    opened = network["trained"].opened
    files = [i for i, source in enumerate(opened) if hasattr(source, "source")]
    light = _Light([_Empty() if i in files else o for i, o in enumerate(opened)])
    but = tuple(f"module/trained.{i}." for i in files)
    check_shapes(lambda: build(**{**network, "trained": light}), tensors, ignore=but)


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
