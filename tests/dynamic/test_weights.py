"""Weights of rows, classes and tags, in batches of sequences of similar length."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    DynamicMetaRegressor,
    DynamicMetaTagger,
    EmbeddedSequences,
    TokenSequences,
)

LENGTHS = np.repeat([1, 3], 40)
# The output depends on its bias alone, and learns the weighted mean of all rows.
CONSTANT = {
    "projection_dim": 2,
    "encoder_dim": 2,
    "embedding_dropout": 0.0,
    "head_dropout": 0.0,
    "lr": 0.1,
    "batch_size": 20,
    "max_epochs": 30,
    "random_state": 0,
}
SOFTMAX = {"decoder": "softmax"}
OPTIONS = {"linear_share": 0, "weight_decay": 0.0}


def same_words(lengths=LENGTHS):
    """Return sequences of one word, without anything else to tell them apart."""
    tokens = TokenSequences.from_lists([["w"] * n for n in lengths])
    return EmbeddedSequences(tokens, [Block("a", np.ones((1, 2)), "type")])


@pytest.mark.parametrize("by_class", [False, True])
def test_weights_that_go_with_the_length_do_not_cancel(by_class):
    X, y = same_words(), np.where(LENGTHS == 1, "short", "long")
    options = {"train_options": OPTIONS | {"label_smoothing": 0.0}, **CONSTANT}
    model = DynamicMetaClassifier(hidden_dims=(), **options)
    if by_class:
        model.set_params(class_weight={"short": 0.2}).fit(X, y)
    else:
        model.fit(X, y, np.where(LENGTHS == 1, 0.2, 1))
    assert model.predict_proba(X[:1])[0, 0] == pytest.approx(1 / 1.2, abs=0.03)


def test_weights_of_numbers_do_not_cancel():
    X, y = same_words(), (LENGTHS == 1).astype(float)
    model = DynamicMetaRegressor(hidden_dims=(), train_options=OPTIONS, **CONSTANT)
    model.fit(X, y, np.where(LENGTHS == 1, 0.2, 1))
    assert model.predict(X[:1])[0] == pytest.approx(0.2 / 1.2, abs=0.03)


@pytest.mark.parametrize("weight", [None, {"short": 0.2}])
def test_a_token_has_its_weight_in_sentences_of_any_length(weight):
    X, y = same_words(), [["short"]] * 40 + [["long"] * 3] * 40
    options = CONSTANT | {"lr": 0.05, "max_epochs": 60}
    model = DynamicMetaTagger(network_options=SOFTMAX, class_weight=weight, **options)
    # A recurrent encoder tells lengths apart: all that is left is the bias.
    model.set_params(hidden_dims=(), head_dropout=0.999999).fit(X, y)
    right = 3 / (3 + (weight or {"short": 1})["short"])
    assert model.predict_proba(X[:1])[0][0, 0] == pytest.approx(right, abs=0.05)


@pytest.mark.parametrize("kind", [DynamicMetaClassifier, DynamicMetaTagger])
def test_the_held_out_loss_is_one_mean_over_several_batches(kind):
    # More tokens than one batch of the held-out part takes, longest sentences first.
    lengths = np.r_[[9_000, 9_000], np.arange(1, 40)]
    X = same_words(lengths)
    rng = np.random.default_rng(0)
    options = CONSTANT | {"max_epochs": 2, "batch_size": 2}
    if kind is DynamicMetaTagger:
        y = [rng.choice(["a", "b"], n).tolist() for n in lengths]
        weights = {"a": 5.0}
        model = kind(network_options=SOFTMAX, class_weight=weights, **options)
    else:
        y = np.where(lengths % 3 == 0, "a", "b")
        model = kind(class_weight={"a": 5.0}, train_options=OPTIONS, **options)
    few = [y[i] for i in range(2, 22)]
    model.fit(X[2:22], few, X_val=X, y_val=y)
    assert len([b for b in model.history_[-1]["batches"] if "valid_loss" in b]) > 1
    true, found = y, model.predict_proba(X)
    if kind is DynamicMetaTagger:
        true, found = np.concatenate(y), np.concatenate(found)
    weights = np.where(np.asarray(true) == "a", 5.0, 1.0)
    loss = log_loss(true, found, sample_weight=weights)
    best = min(model.history_[:, "valid_loss"])
    assert loss == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("size", [1e-300, 1e39, 1e300])
@pytest.mark.parametrize("kind", ["labels", "label sets", "tags"])
def test_weights_of_classes_and_rows_of_any_size_are_relative(kind, size):
    X, labels = same_words(), np.arange(80) % 2
    ratios = {0: 1.0, 1: 3.0}
    large = {label: size * ratio for label, ratio in ratios.items()}
    model, y = DynamicMetaClassifier(train_options=OPTIONS), labels
    if kind == "label sets":
        y = np.column_stack([labels, np.arange(80) % 3 == 0]).astype(int)
        ratios, large = [ratios] * 2, [large] * 2
    if kind == "tags":
        y = [[str(label)] * n for label, n in zip(labels, LENGTHS, strict=True)]
        ratios, large = (
            {str(k): v for k, v in each.items()} for each in (ratios, large)
        )
        model = DynamicMetaTagger()
    model.set_params(**CONSTANT | {"max_epochs": 3})
    held_out = {"X_val": X, "y_val": y}
    found = [
        model.set_params(class_weight=own)
        .fit(X, y, 1e30 * LENGTHS, **held_out)
        .history_
        for own in (ratios, large)
    ]
    for name in ("train_loss", "valid_loss"):
        np.testing.assert_allclose(found[1][:, name], found[0][:, name], rtol=1e-5)


def test_weights_of_many_labels_are_multiplied():
    X, y = same_words(), np.random.default_rng(0).random((80, 1500)) < 0.3
    model = DynamicMetaClassifier(class_weight="balanced", train_options=OPTIONS)
    model.set_params(**CONSTANT | {"max_epochs": 1}).fit(X, y.astype(int))
    assert np.isfinite(model.history_[-1]["train_loss"])
