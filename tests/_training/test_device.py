"""Tensors and recurrent layers on a GPU, as far as a CPU can tell; threads of BLAS."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import torch

from sk_metaembed import Block, DynamicMetaClassifier, EmbeddedSequences, TokenSequences
from sk_metaembed._training import _device

OPTIONS = {"projection_dim": 8, "max_epochs": 2, "batch_size": 8, "random_state": 0}
Y = np.arange(20) % 2


def embedded():
    """Return sequences with vectors of types and of sequences."""
    rng = np.random.default_rng(0)
    rows = [[f"w{i}" for i in rng.integers(0, 30, size)] for size in range(20)]
    tokens = TokenSequences.from_lists(rows)
    types, texts = rng.normal(size=(tokens.n_types, 4)), rng.normal(size=(20, 3))
    blocks = [Block("types", types, "type"), Block("rows", texts, "sequence")]
    return EmbeddedSequences(tokens, blocks)


def test_recurrent_layers_are_float32_where_autocast_means_float16(monkeypatch):
    # cuDNN's layers compute in float16 under autocast.
    monkeypatch.setattr(_device, "_HALF_UNDER_AUTOCAST", {"cpu"})
    options = OPTIONS | {"train_options": {"dtype": "bfloat16"}}
    model = DynamicMetaClassifier(encoder="gru", encoder_dim=4, **options)
    net = model.fit(embedded(), Y).net_
    seen = []

    def note(layer, inputs, outputs):
        seen.append((outputs[0].dtype, torch.is_autocast_enabled("cpu")))

    net.module_.encoder.layers[0].register_forward_hook(note)
    model.predict(embedded())
    assert {*seen} == {(torch.float32, False)}


def test_a_table_may_fill_half_of_the_free_memory_of_a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (800, 10**9))
    fits = _device.fits
    assert fits(np.zeros(100, np.float32), torch.device("cuda"))
    assert not fits(np.zeros(101, np.float32), torch.device("cuda"))
    assert fits(np.zeros(10**6), torch.device("cpu"))


def test_tables_that_do_not_fit_are_sent_by_batch(monkeypatch):
    X, model = embedded(), DynamicMetaClassifier(encoder="mean", **OPTIONS)
    only_types = X.select(["types"])

    def results():
        proba, weights = model.fit(X, Y).predict_proba(X), model.attention_weights(X)
        words = model.fit(only_types, Y).attention_weights(only_types)
        return proba.tolist(), weights.to_dict(), words.to_dict()

    expected = results()
    monkeypatch.setattr("sk_metaembed.dynamic._batches.fits", lambda *args: False)
    assert results() == expected


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
