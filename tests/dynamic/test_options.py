"""Options, targets and refits: what is refused, and what must not pass unseen."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.metrics import log_loss
from skorch.callbacks import Callback

from sk_metaembed import (
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRegressor,
    EmbeddingUnion,
    LSAEmbedding,
)

from .test_estimators import SMALL

SOURCES = [("lsa", LSAEmbedding())]


def classifier(**options):
    return DynamicMetaClassifier(**SMALL | {"encoder": "mean"} | options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"attention": SOURCES},
            TypeError,
            "not a str. Sources .* are the blocks of X",
        ),
        (
            {"attention": EmbeddingUnion(SOURCES)},
            ValueError,
            "the blocks of X, as an Emb",
        ),
        ({"encoder_dim": ()}, ValueError, "encoder_dim .* got no number"),
        ({"hidden_dims": (-2,)}, ValueError, "hidden_dims .* got -2"),
        ({"device": "gpu"}, ValueError, "'gpu' is not a torch device"),
        ({"callbacks": ["stop"]}, TypeError, "skorch callbacks .* got 'stop'"),
        ({"hidden_dims": (10**12,)}, MemoryError, "hidden_dims=.* Use smaller"),
        ({"class_weight": {"nope": 2}}, ValueError, "'nope', which is not one of"),
        ({"class_weight": ["high", "low"]}, ValueError, "does not name the classes"),
        ({"class_weight": {"high": -1}}, ValueError, "numbers of 0 or more"),
        ({"class_weight": {"high": 0, "low": 0}}, ValueError, "not 0 for every row"),
        *(
            ({"network_options": {"conv_widths": widths}}, ValueError, "numbers of tok")
            for widths in [(), (0,), (1, 2.5), (True,)]
        ),
    ],
)
def test_options_that_build_no_net_raise(embedded, labels, options, error, message):
    with pytest.raises(error, match=message):
        classifier(**options).fit(embedded, labels)


@pytest.mark.parametrize(
    ("held_out", "error", "message"),
    [
        (lambda X, y: {"y_val": y}, ValueError, "X_val is missing"),
        (lambda X, y: {"X_val": X}, ValueError, "y_val is missing"),
        (lambda X, y: {"X_val": X[:0], "y_val": y[:0]}, ValueError, "no sequences"),
        (
            lambda X, y: {"X_val": ["a"], "y_val": y},
            TypeError,
            "X_val: this step takes",
        ),
    ],
)
def test_held_out_data_is_checked(embedded, labels, held_out, error, message):
    with pytest.raises(error, match=message):
        classifier().fit(embedded, labels, **held_out(embedded, labels))


@pytest.mark.parametrize("kind", [DynamicMetaClassifier, DynamicMetaEmbedding])
def test_columns_of_labels_are_refused(kind, embedded, labels):
    y = np.column_stack([labels, labels])
    with pytest.raises(ValueError, match=r"got shape \(60, 2\). Fit one estimator"):
        kind(**SMALL).fit(embedded, y)


def test_label_sets_are_columns_of_zeros_and_ones(embedded, labels):
    sets = np.column_stack([labels == "high", labels == "low"]).astype(int)
    model = classifier().fit(embedded, sparse.csr_matrix(sets))
    with pytest.raises(ValueError, match="got 3 at row 0, column"):
        model.fit(embedded, sets, X_val=embedded, y_val=3 * sets)
    with pytest.raises(ValueError, match="MultiLabelBinarizer"):
        classifier().fit(embedded, [["a"], ["a", "b"]] * 30)
    with pytest.raises(ValueError, match=r"got shape \(60, 2, 1\)"):
        DynamicMetaRegressor(**SMALL).fit(embedded, sets[:, :, None])
    as_series = pd.Series([{"a"}, {"a", "b"}] * 30)
    for given in (as_series, as_series.tolist(), [frozenset("a"), frozenset()] * 30):
        for model in (classifier(), DynamicMetaEmbedding(), DynamicMetaRegressor()):
            with pytest.raises(TypeError, match="set at row 0.*MultiLabelBinarizer"):
                model.fit(embedded, given)


def test_weights_of_all_classes_may_name_one_that_a_fold_lacks(embedded, labels):
    weights = {"high": 3.0, "low": 1.0}
    expected = DynamicMetaClassifier(class_weight=weights, **SMALL)
    found = DynamicMetaClassifier(class_weight={**weights, "rare": 9.0}, **SMALL)
    np.testing.assert_array_equal(
        found.fit(embedded, labels).predict_proba(embedded),
        expected.fit(embedded, labels).predict_proba(embedded),
    )


@pytest.mark.parametrize(
    ("model", "class_weight"),
    [(DynamicMetaRegressor, "balanced"), (DynamicMetaEmbedding, {1.0: 2.0})],
)
def test_numbers_take_no_class_weight(embedded, model, class_weight):
    numbers = np.linspace(0, 1, len(embedded))
    model = model(**SMALL | {"encoder": "mean"}, class_weight=class_weight)
    message = "class_weight=.* needs labels, but y holds numbers.*sample_weight"
    with pytest.raises(ValueError, match=message):
        model.fit(embedded, numbers)


@pytest.mark.parametrize(
    "convert",
    [
        lambda y: (y == "high").astype(object),
        pd.Categorical,
    ],
)
def test_labels_of_any_type(embedded, labels, convert):
    y = convert(labels)
    model = classifier(max_epochs=8, lr=0.06, early_stopping=False).fit(embedded, y)
    assert np.mean(model.predict(embedded) == np.asarray(y)) > 0.75


@pytest.mark.parametrize("n", [2, 3])
def test_any_fraction_leaves_a_row_to_train_on(embedded, labels, n):
    model = classifier(train_options={"validation_fraction": 0.99})
    model.fit(embedded[:n], ["high", "low", "low"][:n])
    assert model.predict(embedded).shape == (60,)


def test_a_single_class_is_refused(embedded, labels):
    with pytest.raises(ValueError, match="at least 2 classes in y, got 1 class"):
        classifier().fit(embedded, ["low"] * 60)
    weights = np.where(labels == "low", 1.0, 0.0)
    with pytest.raises(ValueError, match="got 1 class.*weight 0 count as absent"):
        classifier().fit(embedded, labels, weights)


class _Interrupt(Callback):
    def on_batch_end(self, net, training=False, **kwargs):
        if training and len(net.history) == 3:
            raise KeyboardInterrupt


def test_an_interrupt_keeps_the_best_weights_so_far(embedded, labels):
    options = {"max_epochs": 9, "lr": 0.3, "train_options": {"linear_share": 0}}
    model = classifier(callbacks=[_Interrupt()], **options)
    model.fit(embedded[:40], labels[:40], X_val=embedded[40:], y_val=labels[40:])
    loss = log_loss(labels[40:], model.predict_proba(embedded[40:]))
    assert loss == pytest.approx(min(model.history_[:2, "valid_loss"]), rel=1e-4)


def test_a_source_named_like_a_column_raises(embedded, labels):
    named = embedded.with_blocks([b.rename(f"t{b.name}") for b in embedded.blocks])
    named = named.with_blocks([named.blocks[0].rename("token"), named.blocks[1]])
    model = classifier().fit(named, labels)
    with pytest.raises(ValueError, match="source name 'token' is also"):
        model.attention_weights(named)


class _Full(Callback):
    def on_batch_end(self, net, **kwargs):
        raise torch.OutOfMemoryError("CUDA out of memory.")


def test_a_gpu_without_memory_says_what_to_do(embedded, labels):
    model = classifier(batch_size=7, callbacks=[_Full()])
    with pytest.raises(MemoryError, match="batch_size=7.*smaller batch"):
        model.fit(embedded, labels)
