"""Linear layers in oneDNN's layout compute the same, or are left as they are."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from sk_metaembed import TransformerEmbedding
from sk_metaembed._training import _onednn
from sk_metaembed._training._onednn import (
    PackedLayer,
    has_onednn,
    is_faster,
    pack_layers,
    pack_weight,
    packed_product,
)

from .. import tiny_bert

needs_onednn = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="torch is built without oneDNN"
)


@pytest.fixture(autouse=True)
def every_shape_gains(monkeypatch):
    monkeypatch.setattr(_onednn, "is_faster", lambda shape: shape[0] > 2)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


class Twice(nn.Module):
    def __init__(self, generator, n=256):
        super().__init__()
        self.first, self.second = nn.Linear(n, n), nn.Linear(n, n, bias=False)
        self.small = nn.Linear(n, 2)
        for part in self.parameters():
            part.data = torch.randn(part.shape, generator=generator) / n**0.5

    def forward(self, x):
        return self.small(self.second(self.first(x)))


def packed(module, x):
    pack_layers(module.eval(), lambda: module(x), partial(torch.allclose, atol=1e-4))
    return [name for name, m in module.named_children() if isinstance(m, PackedLayer)]


@needs_onednn
def test_the_operators_work():
    assert has_onednn("cpu", torch.float32)


@needs_onednn
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(1, 8), (2, 3, 8), (0, 8)])
def test_products_equal_those_of_torch(dtype, shape, generator):
    weight = torch.randn(5, 8, generator=generator).to(dtype)
    x, bias = torch.randn(shape, generator=generator).to(dtype), torch.ones(5).to(dtype)
    expected = nn.functional.linear(x, weight, bias)
    packed = pack_weight(weight)
    if not has_onednn("cpu", dtype):
        pytest.skip("The processor has no instructions for it.")
    result = packed_product(x, packed, bias)
    assert result.dtype == dtype
    atol = 1e-5 if dtype == torch.float32 else 0.1
    torch.testing.assert_close(result, expected, atol=atol, rtol=0)


@pytest.mark.parametrize("operator", [None, lambda x, weight, *rest: x])
def test_weights_are_not_packed_without_operators_that_work(operator, monkeypatch):
    if operator is not None:
        operator = SimpleNamespace(default=operator)
    monkeypatch.setattr(_onednn, "_LINEAR", operator)
    monkeypatch.setattr(_onednn, "has_onednn", _onednn.has_onednn.__wrapped__)
    assert pack_weight(torch.eye(3)) is None


@needs_onednn
def test_layers_that_gain_are_packed(generator):
    module, x = Twice(generator), torch.randn(3, 256, generator=generator)
    with torch.inference_mode():
        expected = module(x)
        assert packed(module, x) == ["first", "second"]
        torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-4)
    assert module.first.weight.shape == (256, 256)
    assert module.first.weight.dtype == torch.float32


class UsesWeight(Twice):
    def forward(self, x):
        return x @ self.first.weight + self.second(x)


class Unequal(Twice):
    """A module whose output changes from call to call."""

    def forward(self, x):
        self.n_calls = getattr(self, "n_calls", 0) + 1
        return self.second(x) + self.n_calls


@pytest.mark.parametrize("kind", [UsesWeight, Unequal])
def test_a_module_that_would_change_stays_as_it_is(kind, generator):
    module = kind(generator)
    layers = module.first, module.second
    assert packed(module, torch.ones(1, 256)) == []
    assert (module.first, module.second) == layers


def test_the_choice_depends_on_processor_and_shape_only(monkeypatch):
    def chosen(vendor, capability, shape):
        monkeypatch.setattr(_onednn, "vendor", lambda: vendor)
        monkeypatch.setattr(
            torch.backends.cpu, "get_cpu_capability", lambda: capability
        )
        return is_faster(shape)

    assert not chosen("GenuineIntel", "AVX512", (1536, 384))
    assert chosen("GenuineIntel", "AVX512", (1024, 1024))
    assert chosen("AuthenticAMD", "AVX512", (256, 256))
    assert not chosen("AuthenticAMD", "AVX512", (256, 255))
    for vendor, capability in [("", "AVX512"), ("AuthenticAMD", "AVX2")]:
        assert not chosen(vendor, capability, (4096, 4096))


@needs_onednn
def test_models_from_files_are_packed_and_pairs_are_not(tmp_path, monkeypatch):
    rows = [["the", "film"], ["good", "king", "queen"]]
    monkeypatch.setattr(_onednn, "is_faster", lambda shape: shape[0] > 2)
    size = {"hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4}
    tiny_bert.save(tmp_path, **size, initializer_range=0.05)
    source = TransformerEmbedding(tmp_path, layers="all").fit(rows)
    module = source._model.network.module
    n_packed = sum(isinstance(m, PackedLayer) for m in module.modules())
    assert n_packed == 2 * 6 + 1  # per layer, and the pooler
    pair = tiny_bert.network(**size, initializer_range=0.05), tiny_bert.tokenizer()
    plain = TransformerEmbedding(pair, layers="all").fit(rows)
    assert not any(isinstance(m, PackedLayer) for m in pair[0].modules())
    for ours, torchs in zip(
        source.transform(rows).blocks, plain.transform(rows).blocks, strict=True
    ):
        np.testing.assert_allclose(ours.values, torchs.values, atol=2e-5)
    trained = source._model.private_module()
    assert not any(isinstance(m, PackedLayer) for m in trained.modules())
