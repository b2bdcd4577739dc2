"""Fits in threads depend on their own seeds, and change no shared generator."""

import sys
import threading

import numpy as np
import pytest
import torch
from joblib import Parallel, delayed, parallel_config
from sklearn.base import clone
from skorch.callbacks import Callback

from sk_metaembed import (
    AutoencodedMetaEmbedding,
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRegressor,
    ElmoLanguageModel,
    TrainableTransformer,
    TransformerEmbedding,
)

from .checks.data import output_values, outputs, seeded
from .checks.state import data, draw, generators
from .test_estimators import CHARACTERS, LANGUAGE_MODEL, NET
from .tiny_bert import TinyBert

BERT = TransformerEmbedding(TinyBert())
POOLED = {**NET, "encoder": "mean"}
LSTM = {**NET, "attention": "context", "encoder": "bilstm-max"}
LANGUAGE = ElmoLanguageModel(**LANGUAGE_MODEL, dropout=0.2)
TRAINED = [
    DynamicMetaEmbedding(**LSTM, output="sequence"),
    DynamicMetaRegressor(**POOLED, trainable=CHARACTERS),
    DynamicMetaRegressor(**POOLED, trainable=TrainableTransformer(BERT, n_layers=1)),
    AutoencodedMetaEmbedding(n_components=4, max_iter=3, noise=0.2),
    LANGUAGE,
]


class Draws(Callback):
    """Uses torch's shared generator in the middle of a fit, as a caller may."""

    def __init__(self, keep):
        self.keep = keep

    def on_batch_begin(self, net, **kwargs):
        self.keep(float(torch.rand(())))


@pytest.fixture
def quick_switches():
    """Let threads alternate often, so that they would meet in shared state."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def numbers(estimator, seed, barrier=None):
    """Return what an estimator gives after a fit with a seed."""
    X, y = data(estimator)
    estimator = seeded(estimator, seed)
    if barrier is not None:
        barrier.wait(timeout=60)
    result = outputs(estimator.fit(X, y), X).values()
    result = [output_values(output) for output in result]
    return np.concatenate([f.ravel() for f in result if f is not None])


def name_of(estimator):
    return type(estimator).__name__


@pytest.mark.usefixtures("quick_switches")
@pytest.mark.parametrize("estimator", TRAINED, ids=name_of)
def test_a_fit_in_eight_threads_is_the_fit_alone(estimator):
    alone = [numbers(estimator, seed) for seed in range(2)]
    draw()  # so that seeding once more would show
    before, barrier = generators(), threading.Barrier(8)
    with parallel_config(backend="threading", n_jobs=8):
        calls = (delayed(numbers)(estimator, i % 2, barrier) for i in range(8))
        result = Parallel()(calls)
    for i, values in enumerate(result):
        np.testing.assert_array_equal(values, alone[i % 2], err_msg=f"thread {i}")
    assert generators() == before


@pytest.mark.parametrize(
    "estimator",
    [
        DynamicMetaClassifier(**LSTM),
        DynamicMetaRegressor(
            **POOLED, trainable=TrainableTransformer(BERT, n_layers=1)
        ),
        LANGUAGE,
    ],
    ids=lambda e: type(e).__name__,
)
def test_a_caller_that_draws_during_a_fit_and_the_fit_do_not_meet(estimator):
    expected, drawn = numbers(estimator, 0), []
    callbacks = clone(estimator).set_params(callbacks=[Draws(drawn.append)])
    with torch.random.fork_rng():
        torch.manual_seed(5)
        result = numbers(callbacks, 0)
    np.testing.assert_array_equal(result, expected)
    own = torch.Generator().manual_seed(5)
    assert drawn == [float(torch.rand((), generator=own)) for _ in drawn] != []
