import numpy as np
import pytest
from sklearn.cross_decomposition import CCA

from sk_metaembed import GCCAMetaEmbedding

from .sources import embed, values_of

N = 400


def drawn(n_rows, dim, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, dim))


def views(dims=(6, 5, 7), n_rows=N, noise=0.3):
    """Return views of one planted signal of three dimensions, which comes first."""
    signal = drawn(n_rows, 3)
    seen = [
        np.hstack([signal, np.zeros((n_rows, dim - 3))]) @ drawn(dim, dim, seed=dim)
        + noise * drawn(n_rows, dim, seed=10 + dim)
        for dim in dims
    ]
    return signal, *seen


def pure(n_components=200, **options):
    options = {"regularization": 0, "normalize": False, **options}
    return GCCAMetaEmbedding(n_components, **options)


def same_but_for_signs(a, b, atol=1e-3):
    signs = np.sign(np.sum(a * b, axis=0))
    np.testing.assert_allclose(a, b * signs, atol=atol)


def projections(gcca, X):
    """Return what each source alone would give."""
    return [
        (block.values - mean) @ matrix
        for block, (mean, matrix) in zip(X.blocks, gcca.maps_.values(), strict=True)
    ]


def test_views_that_are_maps_of_each_other_agree_exactly():
    x = drawn(N, 5)
    X = embed(x, x @ drawn(5, 5, seed=1) + 3, x @ drawn(5, 8, seed=2))
    gcca = pure()
    values = values_of(gcca, X)
    assert gcca.n_components_ == 5
    np.testing.assert_allclose(gcca.eigenvalues_, 1, rtol=1e-5)
    for projection in projections(gcca, X):
        np.testing.assert_allclose(projection, values, atol=1e-3)


def test_two_sources_have_the_correlations_of_cca():
    _, x, y = views((6, 5), noise=1.0)
    gcca = pure(5).fit(embed(x, y))
    cca = CCA(5, max_iter=5000, tol=1e-10).fit(x, y)
    scores = cca.transform(x, y)
    expected = [
        np.corrcoef(a, b)[0, 1] for a, b in zip(scores[0].T, scores[1].T, strict=True)
    ]
    np.testing.assert_allclose(2 * gcca.eigenvalues_ - 1, expected, atol=1e-4)
    mine = projections(gcca, embed(x, y))
    for i, (u, v) in enumerate(zip(mine[0].T, mine[1].T, strict=True)):
        assert np.corrcoef(u, v)[0, 1] == pytest.approx(expected[i], abs=1e-4)
        assert abs(np.corrcoef(u, scores[0][:, i])[0, 1]) > 0.999


def test_solves_the_eigenproblem_of_the_notes():
    _, *seen = views()
    known = [np.ones(N, bool), drawn(N, 1)[:, 0] > -0.5, drawn(N, 1, 5)[:, 0] > -1]
    X = embed(*seen, known=known)
    gcca = pure(4, regularization=0.7).fit(X)
    rows = np.sum(known, axis=0) >= 2
    assert gcca.n_learning_rows_ == rows.sum()
    masked, own = [], []
    for x, knows in zip(seen, known, strict=True):
        x = (x - x[knows & rows].mean(axis=0)) * (knows & rows)[:, None]
        masked.append(x / np.sqrt(np.sum(known, axis=0))[:, None])
        ridge = 0.7 * np.trace(x.T @ x) / x.shape[1] * np.eye(x.shape[1])
        own.append(x.T @ x + ridge)
    stacked = np.hstack(masked)
    A = np.vstack([matrix for _, matrix in gcca.maps_.values()])
    ends = np.cumsum([x.shape[1] for x in seen])[:-1]
    right = np.vstack(
        [C @ part for C, part in zip(own, np.split(A, ends), strict=True)]
    )
    left = stacked.T @ (stacked @ A)
    np.testing.assert_allclose(left, right * gcca.eigenvalues_, atol=1e-3)


def test_invertible_maps_and_shifts_of_a_source_change_nothing():
    _, x, y = views((6, 5))
    mapped = embed(x @ drawn(6, 6, seed=9) + 5, y)
    same_but_for_signs(values_of(pure(5), embed(x, y)), values_of(pure(5), mapped))


@pytest.mark.parametrize("regularization", [0.1, 10])
def test_regularization_has_no_units(regularization):
    _, x, y = views((6, 5))
    values = values_of(pure(3, regularization=regularization), embed(x, y))
    scaled = values_of(pure(3, regularization=regularization), embed(1e4 * x, y / 50))
    same_but_for_signs(values, scaled)


def test_a_row_known_to_one_source_is_its_projection():
    _, x, y = views((6, 5))
    knows = np.arange(N) > 3
    X = embed(x, y, known=[None, knows])
    gcca = GCCAMetaEmbedding(4).fit(X)
    combined = gcca.transform(X).blocks[0]
    unit = x[:4] / np.linalg.norm(x[:4], axis=1, keepdims=True)
    mean, matrix = gcca.maps_["a"]
    np.testing.assert_allclose(combined.values[:4], (unit - mean) @ matrix, atol=1e-5)
    alone = GCCAMetaEmbedding(4).fit(X[4:])
    np.testing.assert_array_equal(gcca.maps_["a"].matrix, alone.maps_["a"].matrix)
    nobody = embed(x, y, known=[~knows & False, ~knows & False])
    zeros = gcca.transform(nobody).blocks[0]
    assert not zeros.values.any() and not zeros.known.any()


@pytest.mark.parametrize("regularization", [0, 1])
def test_rank_deficient_sources(regularization):
    x = drawn(N, 3)
    degenerate = np.hstack([x, x[:, :2], np.zeros((N, 1)), np.ones((N, 1))])
    X = embed(degenerate, x @ drawn(3, 5, seed=1), np.ones((N, 2)), np.zeros((N, 2)))
    gcca = pure(regularization=regularization)
    values = values_of(gcca, X)
    assert np.isfinite(values).all()
    assert np.abs(values).max() < 100
    assert gcca.n_components_ == 3
    assert not gcca.maps_["c"].matrix.any()
