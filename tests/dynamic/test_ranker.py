"""Captions and images in one space: the loss, ranks, and planted matches."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

from sk_metaembed import (
    Block,
    CharEmbedding,
    DynamicMetaRanker,
    EmbeddedSequences,
    SequencePairs,
    TokenSequences,
)
from sk_metaembed.dynamic._retrieval import (
    best_matches,
    image_codes,
    mean_recall,
    ranks,
    read_images,
    split_images,
)
from sk_metaembed.dynamic.nets._ranking import RankingLoss

OPTIONS = {
    "encoder": "mean",
    "projection_dim": 16,
    "shared_dim": 12,
    "embedding_dropout": 0.0,
    "head_dropout": 0.0,
    "lr": 0.02,
    "batch_size": 32,
    "max_epochs": 2,
    "early_stopping": True,
    "random_state": 0,
}
N_WORDS = 30


def planted(n_images, n_captions=3, seed=0):
    """Return captions that name what is in their images, and the images.

    An image holds four of the words; each of its captions names three of these, and
    its features are the sum of fixed directions of the four, with noise.
    """
    rng = np.random.default_rng(seed)
    ways = np.random.default_rng(7).normal(size=(N_WORDS, 20))
    rows, images = [], []
    for _ in range(n_images):
        inside = rng.choice(N_WORDS, 4, replace=False)
        image = ways[inside].sum(axis=0) + 0.3 * rng.normal(size=20)
        for _ in range(n_captions):
            names = [f"w{i}" for i in rng.permutation(inside)[:3]]
            rows.append(["a", *names][: rng.integers(3, 5) + 1])
            images.append(image)
    order = rng.permutation(len(rows))
    return embedded([rows[i] for i in order]), np.array(images)[order]


def embedded(rows):
    """Return captions under two sources; neither knows all words."""
    tokens = TokenSequences.from_lists(rows)
    tables = np.random.default_rng(3).normal(size=(2, N_WORDS, 12))
    blocks = []
    for k, table in enumerate(tables):
        number = [int(t[1:]) if t[1:].isdigit() else -1 for t in tokens.types]
        known = np.array([n >= 0 and n % 7 != k for n in number])
        values = np.where(known[:, None], table[number], 0)
        blocks.append(Block(f"source{k}", values, "type", known))
    return EmbeddedSequences(tokens, blocks)


@pytest.fixture(scope="module")
def data():
    return planted(30)


@pytest.mark.parametrize("negatives", ["sum", "hardest"])
def test_the_loss_is_the_formula(negatives):
    rng = np.random.default_rng(0)
    captions, images = rng.normal(size=(2, 6, 4))
    codes, weights = np.array([0, 1, 1, 2, 3, 0]), rng.random(6)
    expected = 0.0
    for i in range(6):
        own = captions[i] @ images[i]
        others = np.flatnonzero(codes != codes[i])
        sides = [[captions[i] @ images[j] for j in others]]
        sides += [[captions[j] @ images[i] for j in others]]
        for side in sides:
            hinges = np.maximum(0, 0.2 - own + np.array(side))
            hinge = hinges.sum() if negatives == "sum" else hinges.max()
            expected += weights[i] * hinge / weights.sum()
    tensors = map(torch.from_numpy, (captions, images, codes, weights))
    captions, images, codes, weights = tensors
    result = RankingLoss((negatives, 0.2))(captions, (images, codes), weights)
    np.testing.assert_allclose(result.item(), expected)


def test_ranks_are_those_of_sorting():
    rng = np.random.default_rng(0)
    captions = rng.normal(size=(3000, 5)).astype(np.float32)
    images = rng.normal(size=(40, 5)).astype(np.float32)
    codes = rng.permutation(np.r_[np.arange(40), rng.integers(0, 40, 2960)])
    of_images, of_captions = ranks(captions, images, codes)
    likeness = captions @ images.T
    for i in range(0, 3000, 100):
        order = np.argsort(-likeness[i])
        assert of_images[i] == 1 + np.flatnonzero(order == codes[i])[0]
    for k in range(40):
        order = codes[np.argsort(-likeness[:, k])]
        assert of_captions[k] == 1 + np.flatnonzero(order == k)[0]
    best = best_matches(captions, images, 3)
    np.testing.assert_array_equal(best[:, 0], likeness.argmax(axis=1))
    assert best_matches(captions, images, 99).shape == (3000, 40)


def test_a_model_that_finds_all_alike_finds_nothing():
    same, codes = np.ones((20, 3), dtype=np.float32), np.arange(20)
    assert mean_recall(same, same, codes) == 0.0
    assert mean_recall(same[:1], same[:1], codes[:1]) == 1.0


def test_planted_matches_are_found():
    X, y = planted(200)
    model = DynamicMetaRanker(**OPTIONS | {"max_epochs": 15}).fit(X, y)
    new, images = planted(100, seed=1)
    result = model.recall_at(new, images)
    assert result.columns.tolist() == ["R@1", "R@5", "R@10", "median rank"]
    # By chance they are .01 and .03.
    assert result.loc["image by caption", "R@1"] > 0.3
    assert result.loc["caption by image", "R@1"] > 0.4
    assert result.loc["image by caption", "median rank"] <= 4
    assert model.score(new, images) == pytest.approx(
        result.iloc[:, :3].to_numpy().mean()
    )
    distinct, codes = image_codes(images.astype(np.float32))
    first = model.rank(new, distinct, n=1)[:, 0] == codes
    assert first.mean() == pytest.approx(
        result.loc["image by caption", "R@1"], abs=1e-5
    )
    assert model.history_[-1]["valid_recall"] > 0.5


def test_captions_of_one_image_stay_together():
    _, codes = image_codes(np.repeat(np.arange(20.0, dtype=np.float32), 5)[:, None])
    weights = np.ones(100)
    weights[:5] = 0
    rng = np.random.RandomState(0)
    train, valid = split_images(codes, weights, 0.2, rng)
    assert not set(codes[train]) & set(codes[valid])
    assert len(valid) == 20
    assert sorted([*train, *valid]) == list(range(5, 100))
    assert split_images(codes[:5], np.ones(5), 0.5, rng) is None


def test_images_are_distinguished_by_their_features():
    features = np.array([[0.0, 1], [2, 3], [-0.0, 1], [2, 3]], dtype=np.float32)
    images, codes = image_codes(features)
    assert codes.tolist() == [0, 1, 0, 1]
    np.testing.assert_array_equal(images[codes], features)


def test_vectors_have_length_one_alone_and_together(data):
    X, y = data
    model = DynamicMetaRanker("context", **OPTIONS | {"encoder": "bilstm-max"})
    vectors = model.fit(X, y).transform(X)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    alone = np.concatenate([model.transform(X[i : i + 1]) for i in range(10)])
    np.testing.assert_allclose(alone, vectors[:10], atol=1e-5)
    images = model.transform_images(y)
    np.testing.assert_allclose(np.linalg.norm(images, axis=1), 1, rtol=1e-5)
    unknown = embedded([["a"], [], ["w1"]])
    assert model.transform(unknown).any(axis=1).tolist() == [False, False, True]


def test_seeds_pickles_and_going_on(data):
    X, y = data
    model = DynamicMetaRanker(**OPTIONS).fit(X, y)
    vectors = model.transform(X)
    np.testing.assert_array_equal(clone(model).fit(X, y).transform(X), vectors)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.transform_images(y), model.transform_images(y))
    model.partial_fit(X, y)
    assert np.abs(model.transform(X) - vectors).max() > 1e-4
    model.set_params(margin=0.5)
    with pytest.raises(ValueError, match="negatives and margin are"):
        model.partial_fit(X, y)
    model.set_params(margin=0.2, shared_dim=3)
    with pytest.raises(ValueError, match="n_outputs"):
        model.set_params(warm_start=True).fit(X, y)


def test_searches_and_splits_keep_rows(data):
    X, y = data
    grid = {"negatives": ["sum", "hardest"], "char__kind": ["cnn"]}
    char = CharEmbedding(char_dim=4, filters=((2, 4),))
    model = DynamicMetaRanker(trainable=[("char", char)], **OPTIONS | {"max_epochs": 1})
    groups = image_codes(y.astype(np.float32))[1]
    search = GridSearchCV(model, grid, cv=GroupKFold(2), error_score="raise")
    search.fit(X, y, groups=groups)
    assert 0 <= search.best_score_ <= 1
    assert search.transform(X).shape == (len(X), 12)
    scores = cross_val_score(model, X, y, cv=2, error_score="raise")
    assert np.isfinite(scores).all()


def test_held_out_images_are_taken_as_given(data):
    X, y = data
    options = OPTIONS | {"max_epochs": 3, "patience": 5}
    model = DynamicMetaRanker(**options).fit(X, y, X_val=X[:30], y_val=y[:30])
    best = max(epoch["valid_recall"] for epoch in model.history_)
    assert model.score(X[:30], y[:30]) == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: np.concatenate([y, y]), "X has 90 sequences and y 180"),
        (lambda y: y[:30], r"90 captions, and features of 30 images\. .*features\["),
        (lambda y: None, "requires y to be passed"),
        (
            lambda y: np.where(np.arange(90)[:, None] == 4, np.nan, y),
            "at row 4, column 0, 1 row in",
        ),
        (lambda y: np.full(y.shape, "red"), "the features of each caption's image"),
        (lambda y: y * 1e300, "at row 0 are too large for float32"),
    ],
)
def test_invalid_features_raise(data, change, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        DynamicMetaRanker(**OPTIONS).fit(X, change(y))


def test_images_of_another_dimension_than_in_fit_raise(data):
    X, y = data
    model = DynamicMetaRanker(**OPTIONS | {"max_epochs": 1}).fit(X, y)
    with pytest.raises(ValueError, match="must have 20 features, as in fit; got 19"):
        model.transform_images(y[:, :19])
    with pytest.raises(ValueError, match="there are no captions to score"):
        model.score(X[:0], y[:0])
    with pytest.raises(TypeError, match="takes single captions, got SequencePairs"):
        DynamicMetaRanker(**OPTIONS).fit(SequencePairs(X), y[:45])
    with pytest.raises(ValueError, match="'margin' parameter"):
        DynamicMetaRanker(margin=0).fit(X, y)


def test_captions_are_found_by_images(data):
    X, y = data
    model = DynamicMetaRanker(**OPTIONS).fit(X, y)
    likeness = model.transform_images(y[:4]) @ model.transform(X).T
    best = np.argsort(-likeness, axis=1, kind="stable")
    np.testing.assert_array_equal(model.rank_captions(y[:4], X, n=7), best[:, :7])
    assert model.rank_captions(y[:4], X[:2]).shape == (4, 2)
    one = model.recall_at(X, y, k=3)
    assert one.equals(model.recall_at(X, y, k=(3,)))
    for call in (
        lambda: model.rank(X, y, n=0),
        lambda: model.rank_captions(y, X, n=1.5),
        lambda: model.recall_at(X, y, k=(1, 0)),
    ):
        with pytest.raises(ValueError, match="must be an integer of 1 or more"):
            call()


def test_one_image_is_fitted_without_negatives(data):
    X, y = data
    same = np.broadcast_to(y[0], y.shape)
    model = DynamicMetaRanker(**OPTIONS | {"max_epochs": 1}).fit(X, same)
    assert np.isfinite(model.transform(X)).all()
    assert read_images([1, 2], 2, caller="It").shape == (2, 1)
