"""Rows of weight 0 are absent rows, and a rare class changes other rows by little."""

import numpy as np
import pytest

from sk_metaembed import (
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRegressor,
    DynamicMetaTagger,
    TrainableCharacters,
)

from .test_schedule import topics

SMALL = {
    "projection_dim": 4,
    "encoder_dim": 4,
    "lr": 0.02,
    "max_epochs": 2,
    "random_state": 0,
}
KINDS = (
    DynamicMetaClassifier,
    DynamicMetaRegressor,
    DynamicMetaTagger,
    DynamicMetaEmbedding,
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_weight_0_is_absent(embedded, labels, kind):
    kept = np.arange(60) % 4 > 0
    y = np.where(kept, labels, "absent")  # a class of weight 0 too
    if kind is DynamicMetaRegressor:
        y = np.where(kept, np.arange(60.0), 1e6)
    elif kind is DynamicMetaTagger:
        y = [
            ["A" if t > "w2" else "B" for t in row] if keep else ["C"] * len(row)
            for row, keep in zip(embedded.tokens, kept, strict=True)
        ]
    options = SMALL | {"early_stopping": True, "trainable": TrainableCharacters()}
    weighted = kind(**options).fit(embedded, y, kept.astype(float))
    y = [row for row, keep in zip(y, kept, strict=True) if keep]
    without = kind(**options).fit(embedded[kept], y)
    if kind is DynamicMetaEmbedding:
        one, other = (
            model.transform(embedded).blocks[0].values for model in (weighted, without)
        )
        np.testing.assert_array_equal(one, other)
    else:
        assert list(weighted.predict(embedded)) == list(without.predict(embedded))
    if kind is DynamicMetaClassifier:
        assert list(weighted.classes_) == ["high", "low"]
    losses = [list(model.history_[:, "train_loss"]) for model in (weighted, without)]
    assert losses[0] == losses[1]


def test_a_rare_class_changes_other_predictions_by_little():
    X, y = topics(300, n_classes=2)
    y = np.array(["in", "out"])[y]
    options = SMALL | {"projection_dim": 8, "hidden_dims": (), "max_epochs": 5}
    model = DynamicMetaClassifier(early_stopping=True, encoder="mean", **options)
    expected = model.fit(X[:200], y[:200]).predict(X[200:])
    typo = y.copy()
    typo[0] = "In"
    with pytest.warns(UserWarning, match="y has rare classes: 'In'"):
        model.fit(X[:200], typo[:200])
    assert (model.predict(X[200:]) == expected).mean() > 0.9
    assert model.score(X[200:], y[200:]) > 0.9
