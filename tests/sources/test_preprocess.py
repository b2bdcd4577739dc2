"""Preprocessing of vectors by its formulas."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from sk_metaembed import PretrainedEmbedding, WordVectors

RNG = np.random.default_rng(0)
VALUES = (RNG.normal(size=(300, 8)) * np.arange(1, 9) + 3).astype(np.float32)
KINDS = [None, "unit", "center", "unit-center-unit", "all-but-the-top"]


def preprocessed(kind, values, word="w"):
    """Return the vectors of a store, which is learned from once, by a source."""
    words = [f"{word}{i}" for i in range(len(values))]
    store = WordVectors.from_arrays(words, values, dtype=values.dtype.name)
    source = PretrainedEmbedding(store, preprocess=kind, dtype=values.dtype.name)
    return source.fit_transform([words]).blocks[0].values


def test_center_gives_the_vocabulary_mean_zero():
    changed = preprocessed("center", VALUES)
    np.testing.assert_allclose(changed.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(
        changed[1] - changed[0], VALUES[1] - VALUES[0], atol=1e-5
    )


def test_unit_center_unit_by_its_definition():
    unit = VALUES / np.linalg.norm(VALUES, axis=1, keepdims=True)
    centered = unit - unit.mean(axis=0)
    expected = centered / np.linalg.norm(centered, axis=1, keepdims=True)
    changed = preprocessed("unit-center-unit", VALUES)
    np.testing.assert_allclose(changed, expected, atol=1e-5)
    np.testing.assert_allclose(preprocessed("unit", VALUES), unit, atol=1e-6)


@pytest.mark.parametrize(
    "n, dim, removed",
    [(500, 8, 1), (500, 199, 1), (500, 200, 2), (500, 300, 3), (3, 300, 1), (2, 8, 0)],
)
def test_all_but_the_top_agrees_with_pca(n, dim, removed):
    values = RNG.normal(size=(n, dim)) * np.geomspace(9, 1, dim) + 2
    pca = PCA(removed, svd_solver="full").fit(values)
    expected = values - pca.mean_
    expected = expected - expected @ pca.components_.T @ pca.components_
    for unit in (1, 1e25, 1e-25):  # of numbers whose squares float32 has not
        changed = preprocessed("all-but-the-top", (unit * values).astype(np.float32))
        np.testing.assert_allclose(changed / unit, expected, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "values",
    [
        np.zeros((4, 3), np.float32),
        np.ones((4, 3), np.float32),
        np.ones((5, 1), np.float32),
        np.full((3, 2), 1e38, np.float32),
        np.full((3, 2), 1e-38, np.float32),
        np.ones((4, 3), np.float16),
    ],
    ids=["zeros", "constant", "one column", "huge", "tiny", "float16"],
)
def test_degenerate_vectors_stay_finite(kind, values):
    changed = preprocessed(kind, values)
    assert changed.shape == values.shape
    assert changed.dtype == values.dtype
    assert np.isfinite(changed).all()


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_change_nothing(kind, monkeypatch):
    expected = preprocessed(kind, VALUES)
    monkeypatch.setattr("sk_metaembed._core._arrays._CHUNK", 5)
    changed = preprocessed(kind, VALUES, "chunked")
    np.testing.assert_allclose(changed, expected, atol=1e-4)


def test_statistics_come_from_frequent_words_only(monkeypatch):
    monkeypatch.setattr("sk_metaembed.sources.words._base.FREQUENT", 10)
    expected = VALUES - VALUES[:10].mean(axis=0)
    changed = preprocessed("center", VALUES, "frequent")
    np.testing.assert_allclose(changed, expected, atol=1e-5)
