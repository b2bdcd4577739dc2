import numpy as np
import pytest
from scipy.linalg import subspace_angles

from sk_metaembed import ConcatMetaEmbedding, SVDMetaEmbedding

from .sources import embed, values_of

N = 60


def drawn(n_rows, dim, seed=0):
    spread = np.geomspace(1, 0.1, dim)
    return np.random.default_rng(seed).normal(size=(n_rows, dim)) * spread


@pytest.fixture
def two():
    return embed(drawn(N, 8), drawn(N, 5, seed=1))


@pytest.mark.parametrize("weights", [None, [1, 8]])
def test_subspace_and_values_are_numpys(two, weights):
    conc = ConcatMetaEmbedding(weights=weights).fit_transform(two).blocks[0].values
    U, S, Vt = np.linalg.svd(conc.astype(float), full_matrices=False)
    white = SVDMetaEmbedding(6, weights=weights)
    got = values_of(white, two)
    signs = np.sign(np.sum(white.components_ * Vt[:6], axis=1))
    np.testing.assert_allclose(got, np.sqrt(N) * U[:, :6] * signs, atol=1e-4)
    np.testing.assert_allclose(white.singular_values_, S[:6], rtol=1e-5)
    assert subspace_angles(white.components_.T, Vt[:6].T).max() < 1e-3
    sized = SVDMetaEmbedding(6, whiten=False, weights=weights)
    np.testing.assert_allclose(
        values_of(sized, two), U[:, :6] * S[:6] * signs, atol=1e-4
    )


def test_small_directions_are_as_precise_as_the_vectors():
    turn = np.linalg.qr(drawn(9, 9, seed=2))[0]
    x = drawn(500, 9) * np.geomspace(1, 2e-6, 9) @ turn
    svd = SVDMetaEmbedding(normalize=False).fit(embed(x))
    _, S, _ = np.linalg.svd(x.astype(np.float32).astype(float), full_matrices=False)
    assert svd.n_components_ == np.count_nonzero(S / S[0] > 1.2e-6)
    error = abs(svd.singular_values_ - S[: svd.n_components_])
    assert np.all(error < np.finfo(np.float32).eps * S[0])


def test_more_columns_than_rows():
    X = embed(drawn(5, 8), drawn(5, 9, seed=1))
    svd = SVDMetaEmbedding().fit(X)
    assert svd.n_components_ == svd.dim_ == 5
    assert svd.components_.shape == (5, 17)


def test_whitened_columns_have_mean_square_one_whatever_the_rows(two):
    values = values_of(SVDMetaEmbedding(4), two)
    np.testing.assert_allclose(values.T @ values / N, np.eye(4), atol=1e-5)
    doubled = embed(*(np.tile(b.values, (2, 1)) for b in two.blocks))
    np.testing.assert_allclose(
        values_of(SVDMetaEmbedding(4), doubled)[:N], values, atol=1e-4
    )


def test_what_a_source_does_not_know_takes_no_part():
    x, y = drawn(N, 8), drawn(N, 5, seed=1)
    knows_y = np.arange(N) >= 10
    knows_y[-1] = False
    y[~knows_y] = 1e4  # what a policy may put there
    X = embed(x, y, known=[None, knows_y])
    svd = SVDMetaEmbedding(6)
    values = values_of(svd, X)
    shared = SVDMetaEmbedding(6).fit(X[10:-1])
    assert svd.n_learning_rows_ == 49
    np.testing.assert_array_equal(svd.components_, shared.components_)
    y[~knows_y] = 0
    zeros = svd.transform(embed(x, y)).blocks[0].values
    np.testing.assert_allclose(values, zeros, atol=1e-6)


def test_a_source_of_weight_zero_takes_no_part(two):
    svd = SVDMetaEmbedding(3, weights={"b": 0}).fit(two)
    alone = SVDMetaEmbedding(3).fit(two.select(["a"]))
    np.testing.assert_allclose(svd.components_[:, :8], alone.components_, atol=1e-6)
    assert not svd.components_[:, 8:].any()
    with pytest.raises(ValueError, match="every weight is 0"):
        SVDMetaEmbedding(weights=[0, 0]).fit(two)
    nothing = np.zeros(N, dtype=bool)
    X = embed(drawn(N, 8), drawn(N, 5), known=[nothing, None])
    known = SVDMetaEmbedding(3, weights={"a": 0}).fit(X)
    assert known.transform(X).blocks[0].known.all()
    assert not svd.transform(X).blocks[0].known.any()


@pytest.mark.parametrize("whiten", [True, False])
def test_rank_is_never_exceeded(whiten):
    x = drawn(N, 4)
    degenerate = np.hstack([x, np.zeros((N, 1)), x[:, :2]])
    X = embed(degenerate, x @ drawn(4, 3), np.ones((N, 2)))
    svd = SVDMetaEmbedding(whiten=whiten, normalize=False)
    values = values_of(svd, X)
    assert svd.n_components_ == 5
    assert np.isfinite(values).all()
    assert np.abs(values).max() < 100


def test_zeros_give_one_column_of_zeros():
    X = embed(np.zeros((4, 3)), np.zeros((4, 2)))
    assert values_of(SVDMetaEmbedding(), X).tolist() == [[0]] * 4
