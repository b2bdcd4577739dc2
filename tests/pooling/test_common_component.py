import numpy as np
import pytest

from sk_metaembed import CommonComponentRemoval


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 7)) * np.arange(7, 0, -1) + rng.normal(size=7)


@pytest.mark.parametrize("shape", [(40, 7), (7, 7), (4, 7), (1, 7), (7, 1)])
@pytest.mark.parametrize("centered", [False, True])
def test_components_are_those_of_an_svd(X, shape, centered):
    X = np.resize(X, shape)
    removal = CommonComponentRemoval(3, center=centered).fit(X)
    _, values, expected = np.linalg.svd(
        X - X.mean(axis=0) if centered else X, full_matrices=False
    )
    k = min(3, max(np.count_nonzero(values > 1e-6) - 1, 0))
    np.testing.assert_allclose(removal.singular_values_, values[:k], rtol=1e-6)
    angles = np.einsum("ij,ij->i", removal.components_, expected[:k])
    np.testing.assert_allclose(abs(angles), np.ones(k))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_components", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [1, 2])
def test_few_rows_do_not_become_zeros(dtype, n_components, weighted, n_rows):
    X = np.array([[3.0, 0.1, 0.7, 1.1], [0.3, 4.0, 1.3, 0.2]], dtype)[:n_rows]
    X = np.vstack([X, X / 3])  # of the same directions, up to rounding
    removal = CommonComponentRemoval(n_components, weighted=weighted)
    assert np.linalg.norm(removal.fit_transform(X), axis=1).min() > 0.1
    assert removal.n_components_ <= max(n_rows - (not weighted), n_rows - 1)
    if n_rows == 1:
        np.testing.assert_array_equal(removal.transform(X), X)


def test_a_direction_a_million_times_as_large_as_others_is_removed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) + 1e6 * np.eye(5)[0]
    removal = CommonComponentRemoval().fit(X)
    assert removal.n_components_ == 1
    assert abs(removal.transform(X)[:, 0]).max() < 1e-3


def test_removal_is_orthogonal_to_the_components(X):
    removal = CommonComponentRemoval(2).fit(X)
    removed = removal.transform(X)
    np.testing.assert_allclose(removed @ removal.components_.T, 0, atol=1e-12)
    np.testing.assert_allclose(removal.transform(removed), removed, atol=1e-12)


def test_sif_by_hand():
    X = np.array([[2.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    removal = CommonComponentRemoval().fit(X)
    np.testing.assert_allclose(removal.components_, [[1, 0]])
    np.testing.assert_allclose(removal.singular_values_, [np.sqrt(8)])
    np.testing.assert_allclose(removal.transform([[5.0, 3.0]]), [[0, 3]])


def test_usif_by_hand():
    X = np.array([[2.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    removal = CommonComponentRemoval(5, weighted=True).fit(X)
    assert removal.n_components_ == 2
    np.testing.assert_allclose(removal.component_weights_, [8 / 9, 1 / 9])
    np.testing.assert_allclose(removal.transform([[9.0, 9.0]]), [[1, 8]])


def test_all_but_the_top_by_hand():
    X = np.array([[1.0, 5.0], [5.0, 5.0], [3.0, 4.0], [3.0, 6.0]])
    removal = CommonComponentRemoval(center=True).fit(X)
    np.testing.assert_allclose(removal.mean_, [3, 5])
    np.testing.assert_allclose(removal.transform([[4.0, 6.0]]), [[0, 1]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", [{}, {"weighted": True}, {"center": True}])
def test_row_alone_has_the_same_bits(X, dtype, options):
    X = X.astype(dtype)
    removal = CommonComponentRemoval(3, **options).fit(X)
    batched = removal.transform(X)
    assert batched.dtype == dtype
    for i in range(len(X)):
        np.testing.assert_array_equal(removal.transform(X[[i]]), batched[[i]])


def test_zeros_stay_zeros(X):
    removal = CommonComponentRemoval(2, weighted=True).fit(X)
    np.testing.assert_array_equal(removal.transform(np.zeros((1, 7))), np.zeros((1, 7)))
    nothing = CommonComponentRemoval(weighted=True).fit_transform(np.zeros((3, 2)))
    np.testing.assert_array_equal(nothing, np.zeros((3, 2)))
