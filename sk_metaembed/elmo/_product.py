"""Product: a matrix of weights that is multiplied with over and over."""

import torch

# oneDNN's own layout of a matrix, laid out once: two to three times as fast on a CPU
# as products of torch that lay it out each time. Inductor uses the same operators.
_REORDER = getattr(torch.ops.mkldnn, "_reorder_linear_weight", None)
_LINEAR = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
_WORTH_IT = 2**18  # entries of a matrix, below which there is nothing to gain
_ROWS = 64  # for which the layout is chosen; any number can come


class Product:
    """Computes ``x @ weight + bias``, in the precision of the weight.

    What comes and what is returned is float32; sums are of that precision too.

    Parameters
    ----------
    weight : tensor of shape (..., n_in, n_out)
        In front may stand one dimension, for several products at once.
    bias : tensor of shape (..., 1, n_out), default=None
        Float32.

    Examples
    --------
    >>> import torch
    >>> product = Product(torch.tensor([[1.0], [10.0]]), torch.tensor([[0.5]]))
    >>> product(torch.tensor([[3.0, 2.0]])).tolist()
    [[23.5]]
    """

    def __init__(self, weight, bias=None):
        self.dtype = weight.dtype
        self._weight, self._bias = weight, bias
        self._packed = _packed(weight)
        if self._packed is not None:
            self._weight = None

    def __call__(self, x, added=None):
        """Return the product with rows.

        Parameters
        ----------
        x : tensor of shape (..., n_rows, n_in)
        added : tensor of shape (..., n_rows, n_out), default=None
            Taken in place of the bias.

        Returns
        -------
        float32 tensor of shape (..., n_rows, n_out)
            A new one.
        """
        added = self._bias if added is None else added
        x = x.to(self.dtype)
        if self._packed is None:
            return self._plain(x, added)
        if added is None or self.dtype != torch.float32 or added is self._bias:
            product = _LINEAR.default(x, self._packed, None, "none", [], "").float()
            return product if added is None else product.add_(added)
        return _LINEAR.binary(x, added, self._packed, None, "add")

    def _plain(self, x, added):
        if added is None or self.dtype != torch.float32:
            product = torch.matmul(x, self._weight).float()
            return product if added is None else product.add_(added)
        product = torch.addmm if x.dim() == 2 else torch.baddbmm
        return product(added, x, self._weight)


def _packed(weight):
    """Return the weight in oneDNN's layout, or None where that cannot be had."""
    fits = weight.device.type == "cpu" and weight.dim() == 2
    fits = fits and weight.dtype in (torch.float32, torch.bfloat16)
    if not fits or weight.numel() < _WORTH_IT or None in (_REORDER, _LINEAR):
        return None
    try:
        packed = _REORDER(weight.t().contiguous(), _ROWS)
        found = _LINEAR.default(
            weight.new_ones(2, len(weight)), packed, None, "none", [], ""
        )
    except (RuntimeError, NotImplementedError, TypeError, AttributeError):
        # Processors without what oneDNN needs, and builds where the operators differ.
        return None
    # The operators are torch's own business: what they give is tried, not trusted.
    gap = (found.float() - weight.float().sum(dim=0)).abs().max()
    return packed if gap <= 0.02 * weight.float().abs().sum(dim=0).max() else None
