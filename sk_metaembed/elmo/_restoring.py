"""A trained language model as plain values and tensors, for files without code."""

import numpy as np

from ..sequences._net_state import (
    check_shapes,
    net_state,
    put_net_state,
    usable_device,
)
from ..sequences._own_random import OwnWeights, own_random, weights_lock
from ._language_net import LanguageModule
from ._training import make_net
from ._weights import weight_shapes

# Of the net's own, since parameters may have been set to something else.
_NETWORK = ("dropout", "softmax", "n_samples")


def net_parts(model):
    """Return what `net_of` builds the net from.

    Parameters
    ----------
    model : ElmoLanguageModel
        Trained.

    Returns
    -------
    plain : dict
    tensors : dict of str to tensor
    """
    plain, tensors = net_state(model.net_)
    told = {name: getattr(model.net_, f"module__{name}") for name in _NETWORK}
    plain["network"], plain["bfloat16"] = told, bool(model.net_.bfloat16)
    return plain, tensors


def net_of(model, plain, tensors):
    """Return the net that `net_parts` told of.

    Parameters
    ----------
    model : ElmoLanguageModel
        With its vocabulary and options.
    plain : dict
    tensors : dict of str to tensor

    Returns
    -------
    LanguageNet
    """
    device = usable_device(plain["device"])
    net = make_net(model, plain["network"]["softmax"], device)
    for name in _NETWORK:
        setattr(net, f"module__{name}", plain["network"][name])
    net.bfloat16 = plain["bfloat16"]
    shapes = weight_shapes(model.options_).items()
    sizes = {"options": model.options_, "n_words": len(model.vocabulary_)}
    sizes["weights"] = {name: _weightless(shape) for name, shape in shapes}
    check_shapes(lambda: LanguageModule(**sizes, **plain["network"]), tensors)
    with own_random(0), weights_lock, OwnWeights():
        net.initialize()
    put_net_state(net, plain, tensors)
    return net


def _weightless(shape):
    """Return an array of any shape that takes no memory."""
    zero = np.zeros(1, np.float32)
    return np.lib.stride_tricks.as_strided(zero, shape, (0,) * len(shape))
