"""What holds on a GPU: numbers as on the CPU, files, random numbers, no waiting.

Tests of the fixture `gpu` need a GPU. On a machine without one,
``pytest -m gpu --gpu-device cpu`` compares the CPU with itself, which tests the others.
"""

import os
import pickle
import subprocess
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from sk_metaembed import TransformerEmbedding, load, save

from . import cases
from .compare import differences, exact_products

pytestmark = pytest.mark.gpu
ROOT = Path(__file__).parents[2]
PENALTY = {"mix_penalty": 0.1}
PAIRS = [(name, dtype) for name, case in cases.CASES.items() for dtype in case.dtypes]


@pytest.mark.parametrize(("name", "dtype"), PAIRS)
def test_every_component_agrees_with_the_cpu(name, dtype, device):
    case = cases.CASES[name]
    for package in case.needs:
        pytest.importorskip(package)
    with exact_products():
        # In bfloat16 devices round differently, so the reference is exact.
        expected = case.compute("cpu", "float32")
        actual = case.compute(device, dtype)
        effects = None
        if dtype == "bfloat16":
            effects = cases.rounding_effects(case, expected)
    assert not differences(expected, actual, dtype, effects)


def model(device, **options):
    """Return a classifier with dropout that trains for a few steps."""
    default = {
        "encoder": "bilstm-max",
        "max_epochs": 2,
        "batch_size": 8,
        "early_stopping": False,
        "embedding_dropout": 0.2,
        "head_dropout": 0.2,
        "random_state": 0,
    }
    return cases.classifier(device=device, **default | options)


def data():
    return cases.embedded(), cases.labels()


def fitted(device, **options):
    return model(device, **options).fit(*data())


def assert_same(one, other, dtype="float32"):
    """Compare the probabilities of two models, or arrays of them."""
    first, second = (
        m if isinstance(m, np.ndarray) else m.predict_proba(data()[0])
        for m in (one, other)
    )
    assert not differences({"trained p": first}, {"trained p": second}, dtype)


def device_of(estimator):
    return next(estimator.net_.module_.parameters()).device


def test_all_names_of_a_gpu_train_the_same_there(gpu):
    with exact_products():
        named = [fitted(name) for name in ("cuda", "cuda:0", "cuda:auto", "auto")]
    for other in named:
        assert device_of(other) == torch.device("cuda:0")
        assert_same(named[0], other)
    with pytest.raises(ValueError, match="'gpu' is not a torch device"):
        fitted("gpu")


def test_the_random_state_of_torch_does_not_change(device):
    def states():
        on_gpu = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
        return [torch.get_rng_state(), *on_gpu]

    before = states()
    fitted(device)
    pytest.importorskip("transformers")
    source = TransformerEmbedding(
        cases.bert_folder().name, device=device, missing="empty"
    )
    source.fit_transform(cases.tokens())
    for one, other in zip(before, states(), strict=True):
        assert torch.equal(one, other)


ALONE = """
import pickle, sys, numpy as np
from sk_metaembed import load
from tests.gpu import cases
X = cases.embedded()
with open(sys.argv[1], "rb") as stream:
    one = pickle.load(stream)
models = [one, *map(load, sys.argv[4:])]
for model in models:
    assert next(model.net_.module_.parameters()).device.type == "cpu"
np.savez(sys.argv[3], *[model.predict_proba(X) for model in models])
"""


def test_what_was_trained_on_a_gpu_loads_without_one(device, tmp_path):
    with exact_products():
        trained = fitted(device)
        copied = pickle.loads(pickle.dumps(trained))
        assert device_of(copied) == device_of(trained)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # torch warns of weights in several arrays
            assert_same(trained, copied)
        expected = trained.predict_proba(data()[0])
    names = ("script.py", "trained.pkl", "script.py", "found.npz", "trained.skm")
    files = [tmp_path / name for name in names]
    files[0].write_text(ALONE)
    files[1].write_bytes(pickle.dumps(trained))
    save(trained, files[4])
    with exact_products():
        assert_same(load(files[4]), expected)
    paths = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": paths}
    script = [sys.executable, *map(str, files)]
    subprocess.run(script, check=True, env=hidden, cwd=ROOT)
    with np.load(files[3]) as found:
        assert len(found) == len(files) - 3
        for values in found.values():
            assert_same(values, expected)


@contextmanager
def sync_errors(device):
    """Raise an error where the CPU waits for the GPU."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        if device.startswith("cuda"):
            torch.cuda.set_sync_debug_mode("default")


STEPS = {
    "bilstm-max": {},
    "gru": {"encoder": "gru"},
    "context": {"encoder": "mean", "attention": "context"},
    "task": {"encoder": "max", "attention": "task", "network_options": PENALTY},
    "bfloat16": {"train_options": {"dtype": "bfloat16"}},
}


@pytest.mark.parametrize("name", STEPS)
def test_nothing_waits_for_the_gpu_within_a_step(name, device, monkeypatch):
    estimator = model(device).set_params(**STEPS[name])
    estimator.fit(*data())  # first calls allocate and choose algorithms
    net = type(estimator.net_)
    step, batches = net.train_step, net.get_iterator
    n_steps = []

    def strict_step(self, *args, **kwargs):
        with sync_errors(device):
            n_steps.append(1)
            return step(self, *args, **kwargs)

    class StrictBatches:
        def __init__(self, loader):
            self.loader = loader

        def __iter__(self):
            iterator = iter(self.loader)
            while True:
                with sync_errors(device):
                    batch = next(iterator, None)
                if batch is None:
                    return
                yield batch

    def strict_batches(self, *args, **kwargs):
        return StrictBatches(batches(self, *args, **kwargs))

    monkeypatch.setattr(net, "train_step", strict_step)
    monkeypatch.setattr(net, "get_iterator", strict_batches)
    estimator.fit(*data())
    assert len(n_steps) == 6


def test_a_synchronization_is_found(gpu):
    ones = torch.ones(3, device=gpu)
    with sync_errors(gpu), pytest.raises(RuntimeError, match="synchroniz"):
        ones.sum().item()
