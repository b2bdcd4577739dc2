import math

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from sk_metaembed import Block, EmbeddedSequences, Pooling, TokenSequences

from .oracles import pool, pooled_tokens
from .test_pooling import OPTIONS, by_token, make

TRAIN = [["a", "a", "b"], ["a", "c"], [], ["a", "b", "?"]]
VECTORS = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [2.0, 2.0], "new": [4.0, 0.0]}


def embed(lists):
    """Return sequences with VECTORS as a type-level block; other words are unknown."""
    tokens = TokenSequences.from_lists(lists)
    values = np.array([VECTORS.get(w, [0.0, 0.0]) for w in tokens.types])
    known = [w in VECTORS for w in tokens.types]
    return EmbeddedSequences(tokens, [Block("x", values.reshape(-1, 2), "type", known)])


def test_sif_by_hand():
    pooling = Pooling(weights="sif", sif_a=0.5).fit(embed(TRAIN))
    expected = {"a": 0.5 / (0.5 + 4 / 8), "b": 0.5 / (0.5 + 2 / 8)}
    expected |= {"c": 0.5 / (0.5 + 1 / 8), "?": 0.5 / (0.5 + 1 / 8)}
    assert pooling.word_weights_ == pytest.approx(expected)
    assert pooling.unseen_weight_ == 1.0
    pooled = pooling.transform(embed([["a", "b", "?"], ["new", "a"], ["?"]]))
    half = [[expected["a"] / 2, expected["b"] / 2]]  # the unknown word counts nowhere
    np.testing.assert_allclose(
        pooled, [*half, [(4.0 + expected["a"]) / 2, 0.0], [0.0, 0.0]], rtol=1e-6
    )


def test_idf_is_scikit_learns_and_a_weighted_mean():
    pooling = Pooling(weights="idf").fit(embed(TRAIN))
    vectorizer = TfidfVectorizer(analyzer=lambda tokens: tokens).fit(TRAIN)
    idf = dict(
        zip(vectorizer.get_feature_names_out(), vectorizer.idf_.tolist(), strict=True)
    )
    assert pooling.word_weights_ == pytest.approx(idf)
    assert pooling.unseen_weight_ == pytest.approx(math.log(5) + 1)
    pooled = pooling.transform(embed([["a", "b", "?"], ["c", "c"]]))
    total = idf["a"] + idf["b"]
    np.testing.assert_allclose(
        pooled, [[idf["a"] / total, idf["b"] / total], [2.0, 2.0]], rtol=1e-6
    )


def test_usif_by_hand():
    pooling = Pooling(weights="usif").fit(embed(TRAIN))
    # 4 words, 8 tokens in 3 sequences that are not empty: threshold 0.536, above it
    # none; every weight is 2.
    assert set(pooling.word_weights_.values()) == {2.0}
    lists = [["a"], ["a"], ["a"], ["b"]]
    pooling.fit(embed(lists))
    a = (1 - 0.5) / (0.5 * 2 / 2)  # p(a) = 3/4 > 1 - (1 - 1/2)**1, p(b) = 1/4 is not
    expected = {"a": a / (a / 2 + 0.75), "b": a / (a / 2 + 0.25)}
    assert pooling.word_weights_ == pytest.approx(expected)
    assert pooling.unseen_weight_ == 2.0
    pooled = pooling.transform(embed([["a", "b"]]))
    np.testing.assert_allclose(
        pooled, [[expected["a"] / 2, expected["b"] / 2]], rtol=1e-6
    )


@pytest.mark.parametrize("weights", ["idf", "sif", "usif"])
@pytest.mark.parametrize("mode", ["mean", "sum", "power-means"])
def test_weights_in_each_mode_and_level(weights, mode):
    embedded = make(levels=("type", "token"))
    pooling = Pooling(mode, weights=weights, **OPTIONS).fit(embedded)
    pooled = pooling.transform(embedded)
    np.testing.assert_array_equal(pooling.transform(by_token(embedded)), pooled)
    for i in range(len(embedded)):
        parts = []
        for name in embedded.names:
            rows, words = pooled_tokens(embedded, i, name)
            of_tokens = [pooling.word_weights_[w] for w in words]
            divisor = sum(of_tokens) if weights == "idf" else len(rows)
            parts.append(pool(rows, mode, of_tokens, divisor))
        expected = np.concatenate(parts)
        np.testing.assert_allclose(pooled[i], expected, rtol=1e-5, atol=1e-6)


def test_other_modes_ignore_word_weights():
    embedded = make()
    modes = ["max", "first", "dct", "hierarchical"]
    weighted = Pooling(["mean", *modes], weights="sif").fit_transform(embedded)
    plain = Pooling(modes).fit_transform(embedded)
    np.testing.assert_array_equal(weighted[:, 3:], plain)


def test_only_words_of_the_training_fold_are_learned():
    embedded = embed([["a", "b"], ["c"]])
    assert set(Pooling(weights="sif").fit(embedded[:1]).word_weights_) == {"a", "b"}


@pytest.mark.parametrize("weights", ["idf", "sif", "usif"])
def test_empty_training_data(weights):
    embedded = embed([[], []])
    pooling = Pooling(weights=weights).fit(embedded)
    assert pooling.word_weights_ == {}
    pooled = pooling.transform(embed([["a"], []]))
    assert np.isfinite(pooled).all() and not pooled[1].any()
