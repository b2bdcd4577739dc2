"""Tensors and recurrent layers on a GPU, as far as a CPU can tell; threads of BLAS."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from sk_metaembed import Block, DynamicMetaClassifier, EmbeddedSequences, TokenSequences
from sk_metaembed._training import _device
from sk_metaembed._training._device import fits, run_recurrent, send
from sk_metaembed.dynamic import _batches


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU])
def test_recurrent_layers_are_float32_where_autocast_means_float16(kind, monkeypatch):
    layer, x = kind(4, 3), torch.randn(5, 2, 4)
    expected = layer(x)[0]
    with torch.autocast("cpu", torch.bfloat16):
        try:
            own = layer(x)[0]
        except RuntimeError:
            pytest.skip("oneDNN has no LSTM in bfloat16 for these instructions.")
        assert torch.equal(run_recurrent(layer, x), own)
        monkeypatch.setattr(_device, "_HALF_UNDER_AUTOCAST", {"cpu"})
        states = run_recurrent(layer, x.bfloat16())
        assert states.dtype == torch.float32
        assert torch.is_autocast_enabled("cpu")
    torch.testing.assert_close(states, expected, rtol=0, atol=0.02)
    assert torch.equal(run_recurrent(layer, x), expected)


def test_arrays_are_sent_as_they_are():
    array = np.arange(6).reshape(2, 3).T
    tensor = send(array, torch.device("cpu"))
    assert torch.equal(tensor, torch.tensor([[0, 3], [1, 4], [2, 5]]))
    assert send(array, torch.device("meta")).shape == (3, 2)


def test_a_table_may_fill_half_of_the_free_memory_of_a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (800, 10**9))
    assert fits(np.zeros(100, np.float32), torch.device("cuda"))
    assert not fits(np.zeros(101, np.float32), torch.device("cuda"))
    assert fits(np.zeros(10**6), torch.device("cpu"))


def test_tables_that_do_not_fit_are_sent_by_batch(monkeypatch):
    rng = np.random.default_rng(0)
    rows = [[f"w{i}" for i in rng.integers(0, 30, size)] for size in range(20)]
    tokens = TokenSequences.from_lists(rows)
    blocks = [
        Block("types", rng.normal(size=(tokens.n_types, 4)), "type"),
        Block("rows", rng.normal(size=(len(rows), 3)), "sequence"),
    ]
    X, y = EmbeddedSequences(tokens, blocks), np.arange(20) % 2
    options = {"encoder": "mean", "projection_dim": 8, "max_epochs": 2, "batch_size": 8}
    model = DynamicMetaClassifier(**options, random_state=0)
    expected = model.fit(X, y).predict_proba(X), model.attention_weights(X)
    only_types = X.select(["types"])
    words = model.fit(only_types, y).attention_weights(only_types)
    monkeypatch.setattr(_batches, "fits", lambda array, device: False)
    np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), expected[0])
    assert model.attention_weights(X).equals(expected[1])
    assert model.fit(only_types, y).attention_weights(only_types).equals(words)


def test_the_thread_that_limits_restores(monkeypatch):
    numbers = [2]

    @contextmanager
    def limits(number, user_api):
        before = numbers[-1]
        numbers.append(number)
        yield
        numbers.append(before)

    monkeypatch.setattr(_device, "threadpool_limits", limits)
    first, second = (_device.one_blas_thread() for _ in range(2))
    first.__enter__()
    with ThreadPoolExecutor(1) as other:
        other.submit(second.__enter__).result()
        first.__exit__(None, None, None)
        other.submit(second.__exit__, None, None, None).result()
    assert numbers == [2, 1, 2]
