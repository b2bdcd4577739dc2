"""Linear layers on a CPU that store their weights in oneDNN's own layout.

torch's layers pass plain matrices to MKL, which reorders them in each call and does not
use the widest instructions of AMD processors. On processors without these instructions
MKL is as fast or faster, so each shape is tried once per process. The operators used
here are private to torch (its compiler, Inductor, uses them too). If they are missing
or return other results, torch's own layers are used.
"""

import time
from collections import Counter
from functools import cache, partial

import torch
from torch import nn

_REORDER = getattr(torch.ops.mkldnn, "_reorder_linear_weight", None)
_LINEAR = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
_PACKED_ROWS = 64  # rows that the layout is optimized for; any number works
_TRIAL_ROWS = 128
_N_ROUNDS = 5
# Well above the noise of a trial, so that processes of one machine choose alike.
_MIN_SPEEDUP = 1.15


@cache
def has_onednn(device, dtype):
    """Return whether the operators work for a type of device and a dtype."""
    if device != "cpu" or dtype not in (torch.float32, torch.bfloat16):
        return False
    if None in (_LINEAR, _REORDER):
        return False
    options = {"dtype": dtype, "device": device}  # whatever torch's default device is
    weight, x = torch.ones(32, 16, **options), torch.ones(8, 16, **options)
    try:
        results = [
            packed_product(x, each) for each in (weight, _REORDER(weight, len(x)))
        ]
    except (RuntimeError, NotImplementedError, TypeError, AttributeError):
        # The processor lacks instructions, or this build has other operators.
        return False
    # Without instructions for bfloat16, a packed weight can have no rows.
    expected = x @ weight.t()
    return all(torch.equal(result, expected) for result in results)


@cache
def is_faster(shape, dtype):
    """Return whether a product is faster if its weight of a shape is packed."""
    weight = torch.ones(shape, dtype=dtype, device="cpu")
    x = torch.ones(_TRIAL_ROWS, shape[1], dtype=dtype, device="cpu")
    products = [
        partial(nn.functional.linear, x, weight),
        partial(packed_product, x, _REORDER(weight, _PACKED_ROWS)),
    ]
    seconds = [[], []]
    with torch.inference_mode():
        for _ in range(_N_ROUNDS):
            for product, times in zip(products, seconds, strict=True):
                begin = time.perf_counter()
                product()
                times.append(time.perf_counter() - begin)
    return min(seconds[0]) >= _MIN_SPEEDUP * min(seconds[1])


def pack_weight(weight):
    """Return a weight (n_out, n_in) in oneDNN's layout; None if nothing is gained."""
    if weight.dim() != 2 or not has_onednn(weight.device.type, weight.dtype):
        return None
    if not is_faster(tuple(weight.shape), weight.dtype):
        return None
    return _REORDER(weight, _PACKED_ROWS)


def packed_product(x, weight, bias=None):
    """Return ``x @ weight.T + bias`` in the dtype of the weight, (..., n_out)."""
    return _LINEAR.default(x, weight, bias, "none", [], "")


class PackedLayer(nn.Module):
    """A frozen linear layer whose weight exists in oneDNN's layout only.

    The attribute `weight` is a meta tensor: models can read its shape and dtype, but
    computing with it raises an error.

    Parameters
    ----------
    layer : torch.nn.Linear
    packed : tensor
        The weight of `layer`, from `pack_weight`.

    Examples
    --------
    >>> layer = nn.Linear(2, 1)
    >>> packed = pack_weight(layer.weight.detach())
    >>> with torch.inference_mode():
    ...     vectors = torch.ones(3, 2)
    ...     same = packed is None or torch.allclose(
    ...         PackedLayer(layer, packed)(vectors), layer(vectors)
    ...     )
    >>> same
    True
    """

    def __init__(self, layer, packed):
        super().__init__()
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.weight = torch.empty_like(layer.weight, device="meta").detach()
        self.bias, self._packed = layer.bias, packed

    def forward(self, x):
        """Return the layer's output, (..., n_in) -> (..., n_out)."""
        return packed_product(x, self._packed, self.bias)


def pack_layers(module, trial, are_equal):
    """Pack the weights of a frozen module's linear layers where that is faster.

    The layers are restored if the output of the module changes. Layers of subclasses of
    `torch.nn.Linear`, and layers that share their weight with another part, are not
    packed.

    Parameters
    ----------
    module : torch Module
    trial : callable
        Computes an output of the module.
    are_equal : callable
        Whether two outputs are equal up to rounding.
    """
    with torch.inference_mode():
        before = trial()
        layers = _pack_layers(module)
        try:
            if are_equal(before, trial()):
                return
        except Exception:  # of modules that compute with a layer's weight themselves
            pass
    for parent, name, layer in layers:
        setattr(parent, name, layer)


def _pack_layers(module):
    """Replace layers by packed ones; return (parent, name, layer) of each."""
    users = Counter(
        id(part) for m in module.modules() for part in m._parameters.values()
    )
    replaced = []
    for parent in list(module.modules()):
        for name, layer in list(parent.named_children()):
            if type(layer) is not nn.Linear or users[id(layer.weight)] > 1:
                continue
            packed = pack_weight(layer.weight.detach())
            if packed is not None:
                setattr(parent, name, PackedLayer(layer, packed))
                replaced.append((parent, name, layer))
    return replaced
