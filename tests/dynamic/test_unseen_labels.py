"""Held-out labels that the training data lack: they count as wrong, with a warning."""

import warnings

import numpy as np
import pytest

from sk_metaembed import DynamicMetaClassifier, DynamicMetaTagger

SMALL = {
    "projection_dim": 4,
    "encoder_dim": 4,
    "lr": 0.02,
    "max_epochs": 6,
    "random_state": 0,
}


def fit_with_some_unseen(model, X, y, y_val):
    """Return the fitted model; its held-out data are the last 20 rows."""
    with pytest.warns(UserWarning) as caught:
        model.fit(X[:40], y[:40], X_val=X[40:], y_val=y_val)
    assert len(caught) == 1
    return model, str(caught[0].message)


def with_new(labels):
    return np.where(np.arange(20) % 4 == 0, "new", labels[40:])


@pytest.mark.parametrize("class_weight", [None, {"high": 3.0}])
def test_an_unseen_label_counts_as_wrong(embedded, labels, class_weight):
    options = SMALL | {"train_options": {"monitor": "score"}}
    model = DynamicMetaClassifier(class_weight=class_weight, **options)
    y_val = with_new(labels)
    model, message = fit_with_some_unseen(model, embedded, labels, y_val)
    assert message == (
        "y_val has labels that are not in y: 'new' (5 rows). They count as wrong in "
        "the held-out score, and not in the loss. Check for misspelled labels."
    )
    assert list(model.classes_) == ["high", "low"]
    best = max(model.history_[:, "valid_acc"])
    assert np.isfinite(model.history_[:, "valid_loss"]).all()
    if class_weight is None:
        assert best == pytest.approx(model.score(embedded[40:], y_val))


@pytest.mark.filterwarnings("ignore:y_val has:UserWarning")
def test_held_out_targets_without_a_loss_are_refused(embedded, labels):
    parts = {"X_val": embedded[40:], "y_val": ["new"] * 20}
    with pytest.raises(ValueError, match="the held-out part are 0, so it has no loss"):
        DynamicMetaClassifier(**SMALL).fit(embedded[:40], labels[:40], **parts)
    tags = [["O"] * n for n in embedded.tokens.lengths]
    tags[0] = ["x"] * len(tags[0])
    model = DynamicMetaTagger(class_weight={"O": 0}, **SMALL)
    parts["y_val"] = tags[40:]
    with pytest.raises(ValueError, match="the held-out part are 0, so it has no loss"):
        model.fit(embedded[:40], tags[:40], **parts)


@pytest.mark.parametrize(("scheme", "decoder"), [(None, "crf"), ("IOB2", "softmax")])
def test_unseen_tags(embedded, scheme, decoder):
    tags = [["B-a" if t > "w2" else "O" for t in row] for row in embedded.tokens]
    y_val = [
        ["B-new" if t.endswith("5") else t2 for t, t2 in zip(*rows, strict=True)]
        for rows in zip(embedded.tokens[40:], tags[40:], strict=True)
    ]
    n = sum(row.count("B-new") for row in y_val)
    model = DynamicMetaTagger(
        scheme=scheme, network_options={"decoder": decoder}, **SMALL
    )
    model, message = fit_with_some_unseen(model, embedded, tags, y_val)
    assert f"y_val has tags that are not in y: 'B-new' ({n} tags). They" in message
    assert list(model.classes_) == ["B-a", "O"]
    predicted = model.predict(embedded[40:])
    right = [
        a == b
        for p, t in zip(predicted, y_val, strict=True)
        for a, b in zip(p, t, strict=True)
    ]
    if scheme is None:
        assert max(model.history_[:, "valid_acc"]) == pytest.approx(np.mean(right))
    else:
        assert 0 < max(model.history_[:, "valid_f1"]) < 1
        assert model.score(embedded[40:], y_val) < 1
    # The net of the last fit has forgotten them.
    with warnings.catch_warnings(action="error"):
        model.fit(embedded[:40], tags[:40], X_val=embedded[40:], y_val=tags[40:])
