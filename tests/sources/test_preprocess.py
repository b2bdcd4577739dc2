from typing import get_args

import numpy as np
import pytest

from sk_metaembed.sources._base import (
    Preprocess,
    fit_preprocessing,
)

RNG = np.random.default_rng(0)
VALUES = (RNG.normal(size=(300, 8)) * np.arange(1, 9) + 3).astype(np.float32)


def test_center_gives_the_vocabulary_mean_zero():
    changed = fit_preprocessing("center", VALUES).apply(VALUES)
    np.testing.assert_allclose(changed.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(
        changed[1] - changed[0], VALUES[1] - VALUES[0], atol=1e-5
    )


def test_unit_center_unit_by_its_definition():
    unit = VALUES / np.linalg.norm(VALUES, axis=1, keepdims=True)
    centered = unit - unit.mean(axis=0)
    expected = centered / np.linalg.norm(centered, axis=1, keepdims=True)
    changed = fit_preprocessing("unit-center-unit", VALUES).apply(VALUES)
    np.testing.assert_allclose(changed, expected, atol=1e-5)
    changed = fit_preprocessing("unit", VALUES).apply(VALUES)
    np.testing.assert_allclose(changed, unit, atol=1e-6)


@pytest.mark.parametrize("dim, removed", [(8, 1), (199, 1), (200, 2), (300, 3)])
def test_all_but_the_top_agrees_with_pca(dim, removed):
    from sklearn.decomposition import PCA

    values = RNG.normal(size=(500, dim)) * np.geomspace(9, 1, dim) + 2
    pca = PCA(removed, svd_solver="full").fit(values)
    expected = values - pca.mean_
    expected = expected - expected @ pca.components_.T @ pca.components_
    values = values.astype(np.float32)
    preprocessing = fit_preprocessing("all-but-the-top", values)
    assert preprocessing.directions.shape == (removed, dim)
    np.testing.assert_allclose(preprocessing.apply(values), expected, atol=1e-3)


@pytest.mark.parametrize("kind", [None, *get_args(Preprocess)])
@pytest.mark.parametrize(
    "values",
    [
        np.zeros((4, 3), np.float32),
        np.ones((4, 3), np.float32),
        np.zeros((0, 3), np.float32),
        np.ones((5, 1), np.float32),
        np.full((3, 2), 1e38, np.float32),
        np.full((3, 2), 1e-38, np.float32),
        np.ones((4, 3), np.float16),
    ],
    ids=["zeros", "constant", "no rows", "one column", "huge", "tiny", "float16"],
)
def test_degenerate_vectors_stay_finite(kind, values):
    changed = fit_preprocessing(kind, values).apply(values)
    assert changed.shape == values.shape
    assert changed.dtype == values.dtype
    assert np.isfinite(changed).all()


@pytest.mark.parametrize("kind", [None, *get_args(Preprocess)])
def test_chunks_and_in_place_change_nothing(kind, monkeypatch):
    expected = fit_preprocessing(kind, VALUES).apply(VALUES)
    monkeypatch.setattr("sk_metaembed._core._arrays._CHUNK", 5)
    values = VALUES.copy()
    preprocessing = fit_preprocessing(kind, VALUES)
    assert preprocessing.apply(values, out=values) is values
    np.testing.assert_allclose(values, expected, atol=1e-4)


def test_statistics_come_from_frequent_words_only(monkeypatch):
    monkeypatch.setattr("sk_metaembed.sources._base.FREQUENT", 10)
    mean = fit_preprocessing("center", VALUES).mean
    np.testing.assert_allclose(mean, VALUES[:10].mean(axis=0), rtol=1e-5)
