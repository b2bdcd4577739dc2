"""DynamicMetaTagger: training, outputs, schemes, weights and bad input."""

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

from sk_metaembed import Block, DynamicMetaTagger, EmbeddedSequences, TokenSequences
from sk_metaembed.metrics import span_f1_score

from . import test_estimators

DROPOUT = {"embedding_dropout": 0.1, "head_dropout": 0.1}
SMALL = test_estimators.SMALL | DROPOUT | {"lr": 0.03}
LEARNING = SMALL | {"max_epochs": 27, "early_stopping": False, "lr": 0.1}


def tag(row):
    """Return IOB2 tags that neighbours decide: a high word opens, a low one ends."""
    tags = []
    for word in row:
        number = int(word[1:])
        inside = bool(tags) and tags[-1] != "O" and number % 3 != 0
        label = tags[-1][2:] if inside else "ab"[number % 2]
        tags.append(f"I-{label}" if inside else f"B-{label}" if number > 19 else "O")
    return tags


@pytest.fixture
def tags(embedded):
    return [tag(row) for row in embedded.tokens.to_list()]


def full(embedded):
    """Return sources that know every word."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(embedded.tokens.n_types, 12))
    return EmbeddedSequences(embedded.tokens, [Block("all", values, "type")])


@pytest.mark.parametrize(
    ("attention", "scheme", "decoder"),
    [
        ("word", None, "softmax"),
        ("context", "IOB2", "crf"),
    ],
)
def test_every_combination_learns(embedded, tags, attention, scheme, decoder):
    X = full(embedded)
    model = DynamicMetaTagger(
        attention, network_options={"decoder": decoder}, scheme=scheme, **LEARNING
    )
    assert model.fit(X, tags).score(X, tags) > 0.85
    result = model.predict(X)
    assert result.dtype == object
    assert [len(row) for row in result] == embedded.tokens.lengths.tolist()
    assert set(model.classes_) == {t for row in tags for t in row}
    shares = model.predict_proba(X)
    assert [s.shape for s in shares] == [(len(row), 5) for row in result]
    for part in shares:
        np.testing.assert_allclose(part.sum(axis=1), 1, atol=1e-5)
        assert part.dtype == np.float32


@pytest.mark.parametrize("decoder", ["crf", "softmax"])
def test_a_scheme_is_obeyed_for_any_scores(embedded, tags, decoder):
    options = {
        "scheme": "IOB2",
        "network_options": {"decoder": decoder},
        "early_stopping": False,
    }
    model = DynamicMetaTagger(**SMALL | options).fit(embedded, tags)
    classes = model.classes_.tolist()
    with torch.no_grad():
        bias = model.net_.module_.head[-1][-1].bias
        bias[classes.index("I-a")] += 50
    result = model.predict(embedded)
    shares = model.predict_proba(embedded)
    assert any("I-a" in row for row in result)
    for row, part in zip(result, shares, strict=True):
        for before, after in zip(["O", *row], row, strict=False):
            if after.startswith("I-"):
                assert before in (f"B-{after[2:]}", after)
        if row:
            assert part[0, classes.index("I-a")] == 0
    assert model.set_params(scheme=None).fit(embedded, tags).net_ is not None


def test_iobes_closes_its_spans(embedded):
    rng = np.random.default_rng(0)
    lengths = embedded.tokens.lengths
    y = [
        {0: [], 1: ["S-a"]}.get(n, ["B-a", *["I-a"] * (n - 2), "E-a"])
        if rng.random() > 0.3
        else ["O"] * n
        for n in lengths
    ]
    model = DynamicMetaTagger(scheme="IOBES", **SMALL).fit(embedded, y)
    for row in model.predict(embedded):
        opened = False
        for tag in row:
            assert opened == (tag[0] in "IE")
            opened = tag[0] in "BI"
        assert not opened


def test_early_stopping_follows_spans_or_tokens(embedded, tags):
    X = full(embedded)
    options = SMALL | {"max_epochs": 30}
    options["train_options"] = {"monitor": "score", "n_iter_no_change": 4}
    spans = DynamicMetaTagger(scheme="IOB2", **options)
    spans.fit(X[:40], tags[:40], X_val=X[40:], y_val=tags[40:])
    f1 = span_f1_score(tags[40:], spans.predict(X[40:]))
    assert max(spans.history_[:, "valid_f1"]) == pytest.approx(f1)
    tokens = DynamicMetaTagger(**options)
    tokens.fit(X[:40], tags[:40], X_val=X[40:], y_val=tags[40:])
    best = max(tokens.history_[:, "valid_acc"])
    assert tokens.score(X[40:], tags[40:]) == pytest.approx(best)


def test_a_weight_is_a_copy_where_nothing_is_drawn(embedded, tags):
    options = LEARNING | {"embedding_dropout": 0.0, "head_dropout": 0.0}
    options |= {"batch_size": 1000, "class_weight": {"O": 0.3}, "max_epochs": 5}
    weights = np.arange(60) % 3
    copies = np.repeat(np.arange(60), weights)
    y = np.array([*tags, None], dtype=object)[:-1]
    model = DynamicMetaTagger(**options)
    weighted = model.fit(embedded, y, sample_weight=weights).predict_proba(embedded)
    copied = model.fit(embedded[copies], y[copies]).predict_proba(embedded)
    np.testing.assert_allclose(
        np.concatenate(weighted), np.concatenate(copied), rtol=1e-3, atol=1e-4
    )


def test_one_tag_empty_sentences_and_a_long_one(embedded):
    y = [["O"] * n for n in embedded.tokens.lengths]
    model = DynamicMetaTagger(scheme="IOB2", **SMALL)
    with pytest.warns(UserWarning, match="have no spans and thus no F1"):
        model.fit(embedded, y)
    assert model.predict(embedded).tolist() == y
    nothing = embedded[np.flatnonzero(embedded.tokens.lengths == 0)]
    assert model.predict(nothing).tolist() == [[]] * len(nothing)
    assert model.score(nothing, [[]] * len(nothing)) == 1
    assert model.predict_proba(embedded[:0]) == []
    tokens = TokenSequences.from_lists([["w"] * 500])
    blocks = [
        Block(b.name, np.ones((1, b.dim)), "type", np.ones(1, dtype=bool))
        for b in embedded.blocks
    ]
    assert len(model.predict(EmbeddedSequences(tokens, blocks))[0]) == 500


def test_batches_may_have_no_tokens(embedded, tags):
    assert [] in tags[:20]
    options = SMALL | {"batch_size": 1, "max_epochs": 1, "early_stopping": False}
    model = DynamicMetaTagger(scheme="IOB2", **options).fit(embedded[:20], tags[:20])
    assert [len(row) for row in model.predict(embedded)] == [*map(len, tags)]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda X, y: (np.ones((60, 2)), y), ValueError, "got 2 columns of numbers"),
        (lambda X, y: (X, [[*y[0], "O"], *y[1:]]), ValueError, "row 0 of y has"),
        (lambda X, y: (X, [["I-a"] * len(r) for r in y]), ValueError, "it must be"),
        (
            lambda X, y: (X, [["Q"] * len(r) for r in y]),
            ValueError,
            "not a tag of IOB2",
        ),
        (lambda X, y: (X[:0], y[:0]), ValueError, "at least one sequence"),
    ],
)
def test_bad_input_raises(embedded, tags, change, error, message):
    model = DynamicMetaTagger(scheme="IOB2", **SMALL)
    with pytest.raises(error, match=message):
        model.fit(*change(embedded, tags))
    with pytest.raises(NotFittedError):
        model.predict(embedded)
    with pytest.raises(NotFittedError):
        model.score(embedded, tags)
