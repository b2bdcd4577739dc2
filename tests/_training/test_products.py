"""Matrix products by oneDNN against those of torch."""

import pytest
import torch
from torch import nn

from sk_metaembed._training import _onednn, _products
from sk_metaembed._training._products import Linear, packed, product, transposed

DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])


@DTYPES
@pytest.mark.parametrize("has_onednn", [True, False])
def test_products_of_any_layout(dtype, has_onednn, monkeypatch):
    if not has_onednn:
        for module in (_onednn, _products):
            monkeypatch.setattr(module, "has_onednn", lambda device, dtype: False)
    torch.manual_seed(0)
    x, weight = torch.randn(40, 64), torch.randn(96, 64)
    expected = x @ weight.t()
    x, weight = x.to(dtype), weight.to(dtype)
    results = [
        product(x, weight),
        product(x, packed(weight, 40)),
        product(x, weight.t().contiguous().t()),
        product(transposed(x.t().contiguous()), weight),
        product(x.t().contiguous().t(), weight),
    ]
    atol = 1e-4 if dtype == torch.float32 else 0.3
    for result in results:
        assert result.dtype == dtype
        torch.testing.assert_close(result.float(), expected, rtol=0, atol=atol)


def test_float64_is_left_to_torch():
    x, weight = torch.randn(4, 8).double(), torch.randn(3, 8).double()
    torch.testing.assert_close(product(x, weight), x @ weight.t())
    assert packed(weight, 4) is weight


@pytest.mark.parametrize("n_rows", [0, 3, 40])
def test_linear_is_that_of_torch(n_rows):
    torch.manual_seed(0)
    own, other = Linear(64, 96), nn.Linear(64, 96)
    other.load_state_dict(own.state_dict())
    x = torch.randn(n_rows, 64, requires_grad=True)
    weights = torch.randn(n_rows, 96)
    results = []
    for layer in (own, other):
        y = layer(x)
        inputs = [x, layer.weight, layer.bias]
        results.append([y, *torch.autograd.grad((y * weights).sum(), inputs)])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-4)


def test_linear_under_autocast_is_that_of_torch():
    layer, x = Linear(64, 96), torch.randn(40, 64)
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16
