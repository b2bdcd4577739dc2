"""Linear layers on a CPU that store their weights in oneDNN's own layout.

torch's layers pass plain matrices to MKL, which reorders them in each call and does not
use the widest instructions of AMD processors. The operators used here are private to
torch (its compiler, Inductor, uses them too). If they are missing or return other
results, torch's own layers are used.

Which weights are packed depends on the processor and the shape only, by a table: a
measurement at run time would let two processes of one machine round differently.
"""

import platform
from collections import Counter
from contextlib import suppress
from functools import cache
from math import prod

import torch
from torch import nn

_REORDER = getattr(torch.ops.mkldnn, "_reorder_linear_weight", None)
_LINEAR = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
_PACKED_ROWS = 64  # rows that the layout is optimized for; any number works
# The least number of entries of a weight from which a packed product is faster, by the
# vendor of a processor with AVX-512. Without AVX-512 MKL is as fast or faster (AMD EPYC
# of family 25), and so it is for smaller weights. From benchmarks/packed_layers.py, one
# thread; times of torch over packed for products of 16, 128 and 1024 rows:
#
#     Intel Xeon, family 6/85      128 x 128    .42  .94 1.06
#                                  384 x 384    .88  .96  .97
#                                 1536 x 384   1.12  .98 1.16
#                                 1024 x 1024  1.91 1.27  .92
#                                 4096 x 1024  3.60 1.35 1.02
#     AMD EPYC with AVX-512        2.3, a single figure for all layers of MiniLM; the
#                                  smallest has 384 x 384 entries, so the limit of
#                                  2**16 is not measured
_LEAST_SIZES = {"GenuineIntel": 2**20, "AuthenticAMD": 2**16}


@cache
def has_onednn(device, dtype):
    """Return whether the operators work for a device type and a dtype."""
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
def vendor():
    """Return the vendor of the processor, such as "GenuineIntel", "" if unknown."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("vendor_id"):
                return line.partition(":")[2].strip()
    return next((name for name in _LEAST_SIZES if name in platform.processor()), "")


def is_faster(shape):
    """Return whether packing a weight of this shape makes its products faster."""
    if torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    least = _LEAST_SIZES.get(vendor())
    return least is not None and prod(shape) >= least


def pack_weight(weight):
    """Return a weight (n_out, n_in) in oneDNN's layout; None if nothing is gained."""
    if weight.dim() != 2 or not has_onednn(weight.device.type, weight.dtype):
        return None
    if not is_faster(weight.shape):
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
