"""Training by several processes, here threads that run one at a time."""

import pickle

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback, Checkpoint, EarlyStopping

from sk_metaembed import (
    CharEmbedding,
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRanker,
    DynamicMetaRegressor,
    DynamicMetaTagger,
    SequencePairs,
)

from .conftest import make_embedded
from .threads import run_together, together

SMALL = {
    "projection_dim": 8,
    "embedding_dropout": 0.0,
    "head_dropout": 0.0,
    "lr": 0.02,
    "batch_size": 16,
    "max_epochs": 3,
    "hidden_dims": (),
    "random_state": 0,
    "device": "cpu",
}
X = make_embedded(50, lengths=(0, 7))
WEIGHTS = np.random.default_rng(3).uniform(0.1, 2, size=50)
SCORE = np.array([row[:, 0].sum() for row in X.to_list()])
LABELS = (np.median(SCORE) < SCORE).astype(int)
TAGS = [[f"t{int(w[1:]) % 3}" for w in row] for row in X.tokens.to_list()]
IMAGES = np.random.default_rng(1).normal(size=(25, 3))[np.arange(50) // 2]
TASKS = {
    "classifier": (DynamicMetaClassifier(encoder_dim=4), X, LABELS),
    "context": (DynamicMetaClassifier("context", encoder="gru", encoder_dim=4), X, LABELS),
    "regressor": (DynamicMetaRegressor(encoder="attention"), X, SCORE),
    "label sets": (
        DynamicMetaClassifier(encoder="max"),
        X,
        np.c_[LABELS, 1 - LABELS, LABELS],
    ),
    "columns": (
        DynamicMetaClassifier(encoder="mean"),
        X,
        np.c_[LABELS, np.arange(50) % 3].astype(str),
    ),
    "scalar mix": (DynamicMetaEmbedding("task", mix_penalty=0.1), X, LABELS),
    "tagger": (DynamicMetaTagger(encoder_dim=4), X, TAGS),
    "softmax tagger": (DynamicMetaTagger(encoder_dim=4, decoder="softmax"), X, TAGS),
    "ranker": (DynamicMetaRanker(encoder="mean", shared_dim=6), X, IMAGES),
    "hardest": (
        DynamicMetaRanker(encoder="mean", shared_dim=6, negatives="hardest"),
        X,
        IMAGES,
    ),
    "pairs": (
        DynamicMetaClassifier(encoder="mean"),
        SequencePairs(X),
        LABELS[:25],
    ),
    "characters": (
        DynamicMetaClassifier(trainable=CharEmbedding(dropout=0.0), encoder="mean"),
        X.tokens,
        LABELS,
    ),
}


def fitted(estimator, X, y, **options):
    model = type(estimator)(**estimator.get_params(deep=False) | SMALL | options)
    weights = WEIGHTS[: len(X)]
    return model.fit(X, y, sample_weight=weights)


def curve(model):
    names = [n for n in model.history_[0] if n.startswith(("train_l", "valid_"))]
    names = [n for n in names if isinstance(model.history_[0][n], float)]
    return np.array([[epoch[name] for name in names] for epoch in model.history_])


def weights_of(model):
    return [w.numpy() for w in model.net_.module_.state_dict().values()]


@pytest.mark.parametrize("task", TASKS)
def test_several_processes_learn_what_one_does(monkeypatch, task):
    alone = fitted(*TASKS[task])
    models = together(
        monkeypatch, 3, lambda rank: fitted(*TASKS[task], device="accelerate")
    )
    for model in models:
        assert curve(alone).shape[1] >= 2
        np.testing.assert_allclose(curve(model), curve(alone), atol=1e-5)
        for one, main in zip(weights_of(model), weights_of(models[0]), strict=True):
            np.testing.assert_array_equal(one, main)


def test_more_processes_than_held_out_sequences(monkeypatch):
    task = TASKS["classifier"]
    options = {"validation_fraction": 0.04, "batch_size": 60}
    alone = fitted(*task, **options)
    models = together(
        monkeypatch, 3, lambda rank: fitted(*task, device="accelerate", **options)
    )
    np.testing.assert_allclose(curve(models[2]), curve(alone), atol=1e-5)
