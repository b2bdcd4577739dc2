"""Pairs of sequences through one mixer and encoder."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaTagger,
    FunctionEmbedding,
    PairEncoder,
    Pooling,
    SequencePairs,
    Tokenizer,
    TrainableCharacters,
)

from . import test_estimators
from .conftest import make_embedded

SMALL = test_estimators.SMALL | {"max_epochs": 3}
N = 40


def make_pairs(levels=("type", "type")):
    """Return pairs some of whose sides are empty."""
    return SequencePairs(make_embedded(2 * N, levels=levels))


@pytest.fixture
def pairs():
    """Two type-level sources over 40 pairs."""
    return make_pairs()


@pytest.fixture
def labels():
    """Two classes in turn."""
    return np.array(["yes", "no"])[np.arange(N) % 2]


def swapped(pairs):
    order = np.r_[N : 2 * N, :N]
    return SequencePairs(pairs.sequences[order])


def test_a_pair_gives_the_same_alone_in_any_order_and_after_a_copy(pairs):
    y = np.arange(N) % 3
    model = DynamicMetaClassifier(**SMALL).fit(pairs, y)
    everything = model.predict_proba(pairs)
    order = np.random.default_rng(0).permutation(N)
    shuffled = model.predict_proba(pairs[order])
    np.testing.assert_allclose(shuffled, everything[order], atol=1e-5)
    one = model.predict_proba(pairs[[3]])
    np.testing.assert_allclose(one, everything[[3]], atol=1e-5)
    for again in (pickle.loads(pickle.dumps(model)), clone(model).fit(pairs, y)):
        np.testing.assert_array_equal(again.predict_proba(pairs), everything)


def test_the_net_learns_whether_sides_are_alike():
    words = [f"w{i}" for i in range(8)]
    rows = [([a], [b]) for a in words for b in words] * 2
    rows += [([a], [a]) for a in words] * 14
    y = np.array(["same" if a == b else "other" for a, b in rows])
    source = FunctionEmbedding(one_hot)
    pipe = make_pipeline(
        PairEncoder(source),
        DynamicMetaClassifier(hidden_dims=(16,), lr=0.02, max_epochs=8, random_state=0),
    ).fit(rows, y)
    assert pipe.score(rows, y) > 0.95


def one_hot(words):
    return np.eye(8)[[int(word[1:]) for word in words]]


def test_weights_are_reported_per_side(pairs, labels):
    model = DynamicMetaClassifier(**SMALL).fit(pairs, labels)
    frame = model.attention_weights(pairs)
    columns = ["sequence", "side", "position", "token", "s0", "s1"]
    assert list(frame.columns) == columns
    for side, name in ((pairs.first, "first"), (pairs.second, "second")):
        part = frame[frame["side"] == name]
        assert part["token"].tolist() == [t for row in side.tokens for t in row]
        assert part["sequence"].tolist() == side.tokens.segment_ids().tolist()
    assert frame["sequence"].is_monotonic_increasing
    sides = frame.groupby("sequence")["side"].apply(list)
    assert all(row == sorted(row) for row in sides)
    by_sentence = DynamicMetaClassifier(**SMALL)
    pairs = make_pairs(("sequence", "sequence"))
    frame = by_sentence.fit(pairs, labels).attention_weights(pairs)
    assert list(frame.columns) == ["sequence", "side", "s0", "s1"]


def test_mixed_words_of_pairs_can_be_pooled(pairs, labels):
    model = DynamicMetaEmbedding(**SMALL)
    mixed = model.fit_transform(pairs, labels)
    assert isinstance(mixed, SequencePairs)
    assert mixed.first == model.transform(pairs).first
    rest = PairEncoder(Pooling()).fit(mixed)
    pipe = make_pipeline(model, PairEncoder(Pooling()), LogisticRegression())
    assert pipe.fit(pairs, labels).predict(pairs).shape == labels.shape
    assert rest.transform(mixed).shape == (N, 32)


@pytest.mark.parametrize(
    ("levels", "attention"),
    [(("token", "type"), "context"), (("sequence", "sequence"), "word")],
    ids=str,
)
def test_vectors_of_pairs_are_those_of_the_sides(levels, attention, labels):
    pairs = make_pairs(levels)
    options = {"output": "sequence", "encoder": "bilstm-max", **SMALL}
    model = DynamicMetaEmbedding(attention, **options)
    out = model.fit_transform(pairs, labels)
    assert out.shape == (N, 48)
    u, v, difference, product = np.split(out, 4, axis=1)
    np.testing.assert_array_equal(difference, abs(u - v))
    np.testing.assert_array_equal(product, u * v)
    back = np.split(model.transform(swapped(pairs)), 4, axis=1)
    np.testing.assert_allclose(back[0], v, atol=1e-5)
    frame = model.set_output(transform="pandas").transform(pairs)
    assert frame.columns[[0, -1]].tolist() == ["u__dynamic0", "product__dynamic11"]


def test_trainable_sources_read_pairs_of_tokens():
    texts = [("warm tea", "cold tea"), ("warm tea", "warm tea")] * 10
    y = [0, 1] * 10
    model = DynamicMetaClassifier(trainable=TrainableCharacters(), **SMALL)
    pipe = make_pipeline(PairEncoder(Tokenizer()), model).fit(texts, y)
    assert pipe.predict(texts).shape == (20,)
    with pytest.raises(ValueError, match="For pairs of texts use PairEncoder"):
        model.fit(np.array(texts), y)


def test_the_other_kind_than_in_fit_is_refused(pairs, labels):
    single = pairs.first
    on_pairs = DynamicMetaClassifier(**SMALL).fit(pairs, labels)
    alone = DynamicMetaClassifier(**SMALL).fit(single, labels)
    for call in (
        lambda: on_pairs.predict(single),
        lambda: on_pairs.attention_weights(single),
        lambda: on_pairs.predict([("a text", "another")]),
        lambda: on_pairs.fit(pairs, labels, X_val=single, y_val=labels),
    ):
        with pytest.raises(TypeError, match=r"fitted on pairs.*PairEncoder"):
            call()
    with pytest.raises(TypeError, match=r"single sequences.*X\.first"):
        alone.predict(pairs)
    with pytest.raises(TypeError, match="must hold single sequences"):
        DynamicMetaTagger().fit(pairs, [["O"]] * N)
    alone.fit(pairs, labels)
    assert alone.predict(pairs).shape == labels.shape


def test_there_may_be_no_pairs_to_predict(pairs, labels):
    model = DynamicMetaClassifier(**SMALL).fit(pairs, labels)
    assert model.predict_proba(pairs[[]]).shape == (0, 2)
    assert len(model.attention_weights(pairs[[]])) == 0
