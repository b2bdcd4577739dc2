"""Several columns of labels: one mixer and encoder, a head a column."""

import numpy as np
import pandas as pd
import pytest
import torch

from sk_metaembed import (
    DynamicMetaClassifier,
)
from sk_metaembed.dynamic._targets import ColumnsTarget, classification_target
from sk_metaembed.dynamic.nets._network import WeightedLoss, accuracies

from .conftest import make_embedded

SMALL = {
    "projection_dim": 8,
    "encoder": "mean",
    "hidden_dims": (),
    "lr": 0.05,
    "batch_size": 16,
    "max_epochs": 4,
    "early_stopping": True,
    "random_state": 0,
}


@pytest.fixture
def X():
    """Two type-level sources over 60 sequences."""
    return make_embedded()


@pytest.fixture
def y(X):
    """A text, a number and a truth value that the words decide."""
    score = np.array([row.sum(axis=0) for row in X.to_list()])
    return pd.DataFrame(
        {
            "size": np.where(score[:, 0] > 0, "high", "low"),
            "third": np.digitize(score[:, 1], [-1, 1]) + 5,
            "is_odd": score[:, 2] > 0,
        }
    )


def test_labels_come_out_as_they_went_in(X, y):
    options = SMALL | {"max_epochs": 24, "early_stopping": False}
    model = DynamicMetaClassifier(**options).fit(X, y)
    expected = [["high", "low"], [5, 6, 7], [False, True]]
    assert [list(column) for column in model.classes_] == expected
    assert [column.dtype.kind for column in model.classes_] == ["U", "i", "b"]
    result = model.predict(X)
    assert result.shape == (60, 3)
    assert {type(value) for value in result[0]} == {str, int, bool}
    right = (result == y.to_numpy()).mean(axis=0)
    assert (right > 0.75).all()
    assert model.score(X, y) == (result == y.to_numpy()).all(axis=1).mean()
    shares = model.predict_proba(X)
    assert [part.shape for part in shares] == [(60, 2), (60, 3), (60, 2)]
    for j, part in enumerate(shares):
        np.testing.assert_allclose(part.sum(axis=1), 1, atol=1e-5)
        best = model.classes_[j][part.argmax(axis=1)]
        assert best.tolist() == result[:, j].tolist()


@pytest.mark.parametrize(
    ("convert", "kind"),
    [
        (lambda y: y.to_numpy().tolist(), "O"),
        (lambda y: y[["size", "size"]].to_numpy().astype(str), "U"),
        (lambda y: pytest.importorskip("polars").from_pandas(y), "O"),
    ],
)
def test_every_container_of_labels_is_read_alike(X, y, convert, kind):
    labels = convert(y)
    model = DynamicMetaClassifier(**SMALL).fit(X, labels)
    result = model.predict(X)
    assert result.dtype.kind == kind
    assert 0 <= model.score(X, labels) <= 1
    columns = [sorted(set(column)) for column in np.array(result, object).T.tolist()]
    for seen, classes in zip(columns, model.classes_, strict=True):
        assert set(seen) <= set(classes.tolist())


def test_a_matrix_of_0_and_1_stays_an_indicator(X, y):
    sets = np.stack([y["size"] == "high", y["is_odd"]], axis=1).astype(int)
    model = DynamicMetaClassifier(**SMALL).fit(X, sets)
    assert model.classes_.tolist() == [0, 1]
    assert model.predict_proba(X).shape == (60, 2)
    named = DynamicMetaClassifier(**SMALL).fit(X, sets + 1)
    assert [c.tolist() for c in named.classes_] == [[1, 2], [1, 2]]


def test_the_loss_is_the_mean_of_the_columns_losses():
    torch.manual_seed(0)
    outputs = torch.randn(7, 3), torch.randn(7, 2)
    labels = torch.stack([torch.arange(7) % 3, torch.arange(7) % 2], dim=1)
    weights = torch.rand(7)
    single = WeightedLoss("cross-entropy")
    parts = [single(part, labels[:, j], weights) for j, part in enumerate(outputs)]
    both = WeightedLoss("columns-cross-entropy")(outputs, labels, weights)
    torch.testing.assert_close(both, sum(parts) / 2)
    hits = [accuracies(part, labels[:, j]) for j, part in enumerate(outputs)]
    torch.testing.assert_close(accuracies(outputs, labels), sum(hits) / 2)


def test_the_held_out_part_keeps_the_combinations(X, y):
    target = ColumnsTarget(y.to_numpy())
    strata = target.stratify(target.encode(y.to_numpy()))
    rows = list(map(tuple, y.to_numpy()))
    counts = [rows.count(row) for row in rows]
    assert ((strata == -1) == (np.array(counts) == 1)).all()
    y = np.array([["a", "x"]] * 30 + [["b", "y"]] * 10)
    target = classification_target(y)
    strata = target.stratify(target.encode(y))
    assert np.unique(strata, return_counts=True)[1].tolist() == [30, 10]


def test_class_weights_are_multiplied_over_columns(X, y):
    model = DynamicMetaClassifier(class_weight="balanced", **SMALL).fit(X, y)
    given = [{"high": 2.0}, None, {True: 3.0}]
    model.set_params(class_weight=given)
    y = y.to_numpy()
    weights = model._target.weigh(given, model._target.encode(y))
    expected = np.where(y[:, 0] == "high", 2.0, 1) * np.where(y[:, 2], 3.0, 1)
    np.testing.assert_allclose(weights, expected, rtol=1e-6)
    for wrong in ({"high": 2.0}, [{"high": 2.0}]):
        with pytest.raises(ValueError, match="list of 3 entries, one per column"):
            model.set_params(class_weight=wrong).fit(X, y)
    with pytest.raises(ValueError, match="column 1 of y: class_weight names 'high'"):
        model.set_params(class_weight=[None, {"high": 1}, None]).fit(X, y)


def test_partial_fit_takes_a_list_of_classes(X, y):
    classes = [["low", "mid", "high"], [5, 6, 7, 8], [True, False]]
    model = DynamicMetaClassifier(**SMALL).partial_fit(X, y, classes)
    assert [len(own) for own in model.classes_] == [3, 4, 2]
    model.partial_fit(X, y).partial_fit(X, y, classes)
    with pytest.raises(ValueError, match="differ from the first call"):
        model.partial_fit(X, y, classes[:2])
    with pytest.raises(ValueError, match="classes of each of y's 3 columns"):
        DynamicMetaClassifier(**SMALL).partial_fit(X, y, [["low", "high"]])
    strange = y.assign(third=9)
    with pytest.raises(ValueError, match="column 1 of y: label 9 at row 0"):
        model.partial_fit(X, strange)


def test_warm_start_and_held_out_data(X, y):
    model = DynamicMetaClassifier(warm_start=True, **SMALL).fit(X, y)
    assert "valid_acc" in model.history_[0]
    model.fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:])
    with pytest.raises(ValueError, match="must have 3 columns, as in fit"):
        model.fit(X, y[["size", "third"]])


def test_a_missing_label_is_named_by_row_and_column(X, y):
    y = y.astype(object)
    y.iloc[3, 1] = pd.NA
    with pytest.raises(ValueError, match=r"row 3, column 1 \('third'\), 1 row in"):
        DynamicMetaClassifier(**SMALL).fit(X, y)
    with pytest.raises(ValueError, match="row 3, column 1, 1 row in"):
        DynamicMetaClassifier(**SMALL).fit(X, y.to_numpy())


def test_numbers_among_columns_of_labels_are_refused(X, y):
    y = y.assign(score=np.linspace(0, 1, 60))
    with pytest.raises(ValueError, match=r"row 1, column 3 \(.score.\). Unknown l"):
        DynamicMetaClassifier(**SMALL).fit(X, y)
