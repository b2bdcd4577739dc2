"""Matrix products in training on a CPU by oneDNN.

It uses the widest instructions of any maker. torch multiplies float32 by MKL, which
takes half as many numbers at a time on processors that are not Intel's.
"""

import torch
from torch import nn

from ._onednn import has_onednn, pack_weight, packed_product


def product(x, weight):
    """Return ``x @ weight.T``, of float32 or bfloat16; the weight may be `packed`."""
    if not has_onednn(x.device.type, x.dtype):
        return x @ weight.t()
    # A transposed x is copied by the one, and slow in the other.
    if x.dtype == torch.bfloat16 and not x.is_contiguous():
        return x @ weight.t()
    return packed_product(x, weight)


def packed(weight, n_rows):
    """Return a weight for many products with `n_rows` rows."""
    own = pack_weight(weight, n_rows)
    return weight if own is None else own


def transposed(x, out=None):
    """Return the transpose in the layout that `product` reads best, maybe in `out`."""
    if x.dtype == torch.bfloat16:
        return x.t()
    return x.t().contiguous() if out is None else out.copy_(x.t())


# Numbers of a weight, and rows, from which a layer computes its products by oneDNN.
_MIN_SIZE, _MIN_ROWS = 2**12, 16


class Linear(nn.Linear):
    """A linear layer whose float32 products on a CPU are those of `product`."""

    def forward(self, x):
        """Return ``x @ weight.T + bias``."""
        is_large = self.weight.numel() >= _MIN_SIZE and len(x) >= _MIN_ROWS
        if (
            not is_large
            or torch.compiler.is_compiling()
            or torch.is_autocast_enabled(x.device.type)
            or x.dtype != torch.float32
            or not has_onednn(x.device.type, x.dtype)
        ):
            return super().forward(x)
        return _Linear.apply(x, self.weight, self.bias)


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return packed_product(x, weight, bias)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        own = product(grad, weight.t()) if ctx.needs_input_grad[0] else None
        return own, product(transposed(grad), x.t()), grad.sum(dim=0)
