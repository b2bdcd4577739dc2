"""TrainableTokens: the vocabulary, unknown tokens and n-grams, and their training."""

import numpy as np
import pytest
import torch

import sk_metaembed as sk
from sk_metaembed import DynamicMetaClassifier, TokenSequences, TrainableTokens
from sk_metaembed.inspection import explain

from ...dynamic.test_estimators import SMALL

OPTIONS = SMALL | {"encoder": "mean", "max_epochs": 15, "early_stopping": False}
ROWS = [["a", "b", "c"], ["c", "b", "a"], [], ["b"], ["a", "b", "c", "a"]] * 4
Y = np.arange(20) % 2


def net(*, learned=None, kind=DynamicMetaClassifier, **options):
    return kind(trainable=learned, **OPTIONS | options)


def known(spec, rows):
    """Return for each token of each row whether the table has a vector of it."""
    tokens = TokenSequences.from_lists(rows)
    inputs = spec.inputs(tokens)
    codes = tokens.codes if inputs.codes is None else inputs.codes
    of_tokens = inputs.known["type"][codes]
    return [of.tolist() for of in np.split(of_tokens, tokens.offsets[1:-1])]


def looked_up(spec, network, rows):
    """Return the vector of each token of all rows, zeros where it is unknown."""
    tokens = TokenSequences.from_lists(rows)
    inputs = spec.inputs(tokens)
    codes = tokens.codes if inputs.codes is None else inputs.codes
    types = np.arange(len(inputs.known["type"]))
    with torch.no_grad():
        ((values, is_known),) = network(inputs.batch(types, torch.from_numpy))
    np.testing.assert_array_equal(is_known.numpy(), inputs.known["type"])
    return (values * is_known[:, None]).numpy()[codes]


def test_tokens_of_fit_are_known_and_others_are_not():
    spec = TrainableTokens(4).prepare(TokenSequences.from_lists(ROWS))
    assert spec.n_rows == 3
    assert known(spec, [["z", "a"], ["A", "c"], []]) == [
        [False, True],
        [False, True],
        [],
    ]
    network = spec.network()
    first = looked_up(spec, network, [["a", "b"], ["z", "a"]])
    np.testing.assert_array_equal(first[0], first[3])
    assert not first[2].any() and np.abs(first[0] - first[1]).max() > 0.01


def test_an_ngram_is_known_at_its_first_token():
    spec = TrainableTokens(4, ngram=2).prepare(TokenSequences.from_lists(ROWS))
    assert spec.n_rows == 5  # ab bc cb ba ca; not across rows
    assert known(spec, [["a", "b", "z"], ["a", "a", "b"], ["c"], ["b", "c"]]) == [
        [True, False, False],
        [False, True, False],
        [False],
        [True, False],
    ]
    vectors = looked_up(spec, spec.network(), [["a", "b", "c"], ["z", "a", "b"]])
    np.testing.assert_array_equal(vectors[0], vectors[4])
    assert np.abs(vectors[0] - vectors[1]).max() > 0.01
    whole = TrainableTokens(ngram=4).prepare(TokenSequences.from_lists(ROWS))
    assert known(whole, [["a", "b", "c", "a"]]) == [[True, False, False, False]]


@pytest.mark.parametrize(("ngram", "n_rows"), [(1, 3), (2, 2), (3, 1)])
def test_rare_tokens_and_ngrams_are_unknown(ngram, n_rows):
    rows = [["a", "b", "c"], ["a", "b", "c"], ["x", "a", "b"]]  # b c: 2 of 3
    tokens = TokenSequences.from_lists(rows)
    spec = TrainableTokens(ngram=ngram, min_count=2).prepare(tokens)
    assert spec.n_rows == n_rows
    assert (
        known(spec, [["a", "b", "c"]])[0][0]
        and not known(spec, [["x", "a", "b"]])[0][0]
    )


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([[], []], {}, "found no tokens in 2 sequences"),
        ([["a"], ["b", "c"]], {"ngram": 3}, "ngram=3, but the longest of 2 sequences"),
        (
            [["a"], ["b"]],
            {"min_count": 2},
            "no token of 2 sequences occurs min_count=2",
        ),
        ([["a"], ["b"]], {"ngram": 0}, "'ngram' parameter"),
        ([["a"], ["b"]], {"dim": 0}, "'dim' parameter"),
    ],
)
def test_nothing_to_learn_raises(rows, options, message):
    model = net(learned=TrainableTokens(**options))
    with pytest.raises(ValueError, match=message):
        model.fit(rows, [0, 1][: len(rows)])


def motifs(n, seed):
    """Return rows of four letters, and whether "ab" occurs more often than "ba"."""
    rng = np.random.default_rng(seed)
    rows, y = [], []
    for i in range(n):
        pair = ["a", "b"] if i % 2 else ["b", "a"]
        row = [*rng.choice(["c", "d"], 4)]
        at = rng.integers(len(row) + 1)
        rows.append([str(token) for token in [*row[:at], *pair, *row[at:]]])
        y.append(i % 2)
    return rows, np.array(y)


def test_labels_are_learned_from_token_lists_alone():
    rows = [["x", word, "y"] for word in ("good", "fine", "bad", "poor") * 8]
    rows[::8] = [["good"]] * 4
    y = [1, 1, 0, 0] * 8
    model = net().fit(rows, y)
    assert list(model.trained_) == ["tokens"]
    assert model.dims_in_ == {}
    new = [["poor", "z"], ["fine"], ["z", "bad", "x"]]
    assert model.predict(new).tolist() == [0, 1, 0]
    explicit = net(learned=TrainableTokens()).fit(rows, y)
    np.testing.assert_array_equal(explicit.predict_proba(new), model.predict_proba(new))
    texts = [" ".join(row) for row in rows]
    np.testing.assert_array_equal(
        net().fit(texts, y).predict_proba(texts), model.predict_proba(rows)
    )


def test_order_is_learned_by_vectors_of_pairs_next_to_those_of_tokens():
    X, y = motifs(120, 0)
    new, labels = motifs(60, 1)
    pair = "pairs", TrainableTokens(8, ngram=2, lr=0.02)
    both = [("tokens", TrainableTokens(8, lr=0.02)), pair]
    alone = {"linear_share": 0, "weight_decay": 0.0}
    model = net(learned=both, train_options=alone).fit(X, y)
    assert model.score(new, labels) > 0.95
    # A mean of tokens has no order.
    assert net(train_options=alone).fit(X, y).score(new, labels) < 0.7
    weights = model.attention_weights([["a", "b"]])
    assert weights.columns.tolist()[3:] == ["tokens", "pairs"]
    assert weights["pairs"][1] == 0 and 0 < weights["pairs"][0] < 1


def test_learned_and_frozen_vectors_are_mixed():
    X, y = motifs(60, 0)
    union = sk.EmbeddingUnion(
        [("even", sk.FunctionEmbedding(lambda ws: [[float(w < "c")] for w in ws]))]
    )
    embedded = union.fit_transform(X)
    learned = [("own", TrainableTokens(8)), ("pairs", TrainableTokens(8, ngram=2))]
    model = net(learned=learned).fit(embedded, y)
    assert list(model.attention_weights(embedded[:1]))[3:] == ["even", "own", "pairs"]
    assert model.linear_share_ > 0
    plain = net().fit(embedded, y)
    assert not plain.trained_ and list(plain.attention_weights(embedded[:1]))[3:] == [
        "even"
    ]
    with pytest.raises(TypeError, match="takes EmbeddedSequences, got list"):
        plain.predict(X)


def test_tokens_of_the_held_out_part_alone_have_zero_vectors():
    rows = [["a", f"t{i}"] for i in range(20)]
    learned = [("own", TrainableTokens(4)), ("pairs", TrainableTokens(4, ngram=2))]
    options = {"early_stopping": True, "max_epochs": 2}
    options["train_options"] = {"validation_fraction": 0.2}
    model = net(learned=learned, **options).fit(rows, [0, 1] * 10)
    for name, n_trained in (("own", 17), ("pairs", 16)):
        vectors = model.trained_[name].vectors.weight.detach()
        assert int((vectors != 0).all(dim=1).sum()) == n_trained
        assert int((vectors == 0).all(dim=1).sum()) == 4


def test_tokens_of_a_class_of_weight_zero_alone_have_zero_vectors():
    rows, y = [["a", "b"], ["b", "a", "a"], ["rare", "b"]] * 6, [0, 1, 2] * 6
    model = net(max_epochs=2, class_weight={2: 0.0}).fit(rows, y)
    vectors = model.trained_["tokens"].vectors.weight.detach()
    assert (vectors == 0).all(dim=1).tolist() == [False, False, True]


def test_weight_decay_leaves_the_vectors_of_rare_tokens():
    """Without decay, a vector without gradient stays as it was initialized."""
    rows = [["a"], ["b"]] * 40 + [["rare"]]
    y = [0, 1] * 40 + [0]
    decay = {"weight_decay": 0.5}
    model = net(train_options=decay, lr=1e-6, learned=TrainableTokens(lr=1e-6))
    network = model.fit(rows, y).trained_["tokens"]
    lengths = network.vectors.weight.norm(dim=1)
    start = net(lr=1e-6, max_epochs=1, learned=TrainableTokens(lr=1e-6)).fit(rows, y)
    expected = start.trained_["tokens"].vectors.weight.norm(dim=1)
    torch.testing.assert_close(lengths, expected, rtol=1e-3, atol=0)
    (group,) = [g for _, g in model.net_.optimizer__param_groups]
    assert group == {"lr": 1e-6, "weight_decay": 0.0}


def test_every_kind_of_net_learns_tokens():
    X, y = motifs(60, 0)
    number = net(kind=sk.DynamicMetaRegressor).fit(X, y.astype(float))
    assert np.isfinite(number.predict(X)).all()
    rows, labels = X + [["a"]] * 9, [*y, *[0] * 9]
    mixed = net(kind=sk.DynamicMetaEmbedding).fit_transform(rows, labels)
    assert mixed.blocks[0].level == "type" and mixed.tokens.n_types == 4
    tags = [["B-x" if token in "ab" else "O" for token in row] for row in X]
    tagger = sk.DynamicMetaTagger(
        **SMALL | {"lr": 0.05, "max_epochs": 9, "early_stopping": False}
    )
    assert tagger.fit(X, tags).predict([["a", "c"]])[0] == ["B-x", "O"]
    pairs = sk.PairEncoder(sk.Tokenizer()).fit_transform(
        list(zip(X, X[::-1], strict=True))
    )
    assert net(max_epochs=1).fit(pairs, y).predict(pairs[:3]).shape == (3,)


def test_explain_names_the_tokens_that_decide():
    texts = [f"the {word} film" for word in ("good", "bad") * 20]
    model = net().fit(texts, [1, 0] * 20)
    words = explain(model, ["the good film"], target=1).words
    assert words.argmax() == 1 and words[1] > 0
