"""ProcrustesMetaEmbedding recovers rotations, preserves lengths and imputes words."""

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.stats import ortho_group
from sklearn.exceptions import ConvergenceWarning

from sk_metaembed import ProcrustesMetaEmbedding

from .sources import embed, unit, values_of

N_ROWS = 120


def planted(dims=(6, 6, 6), noise=0.0, n_rows=N_ROWS, seed=0):
    """Return unit vectors with no mean, seen through a rotation for each source."""
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(n_rows // 2, min(dims)))
    truth = unit(np.vstack([half, -half]))
    turns = [ortho_group.rvs(d, random_state=rng)[: min(dims)] for d in dims]
    turns[0] = np.eye(min(dims), dims[0])
    return truth, [
        unit(truth @ r + noise * rng.normal(size=(n_rows, r.shape[1]))) for r in turns
    ]


@pytest.mark.parametrize("dims", [(6, 6, 6), (4, 7, 5)])
def test_recovers_planted_rotations(dims):
    truth, sources = planted(dims)
    combiner = ProcrustesMetaEmbedding()
    values = values_of(combiner, embed(*sources))
    np.testing.assert_allclose(values @ values.T, truth @ truth.T, atol=1e-5)
    aligned = [s @ combiner.rotations_[n] for s, n in zip(sources, "abc", strict=True)]
    np.testing.assert_allclose(aligned[1], aligned[0], atol=1e-5)
    np.testing.assert_allclose(aligned[2], aligned[0], atol=1e-5)


def test_the_map_is_scipys():
    _, (a, b) = planted((5, 5), noise=0.3)
    # The mean of two sources lies between them: the map onto it is that onto the other.
    combiner = ProcrustesMetaEmbedding(tol=1e-12).fit(embed(a, b))
    expected, _ = orthogonal_procrustes(*(centered(x) for x in (b, a)))
    np.testing.assert_allclose(combiner.rotations_["b"], expected, atol=1e-5)


def centered(values, known=slice(None)):
    """Return unit vectors minus the mean of the known ones, rescaled to unit length."""
    return unit(unit(values) - unit(values)[known].mean(axis=0))


def test_the_order_of_sources_plays_no_part():
    _, sources = planted((6, 9, 7), noise=0.3)
    known = np.random.default_rng(4).random((3, N_ROWS)) < 0.7
    combine = ProcrustesMetaEmbedding(tol=1e-12, max_iter=2000)
    values = values_of(combine, embed(*sources, known=known))
    order = [2, 0, 1]
    X = embed(*(sources[i] for i in order), known=known[order])
    other = values_of(combine, X)
    np.testing.assert_allclose(values @ values.T, other @ other.T, atol=1e-3)
    turn, _ = orthogonal_procrustes(values, other)
    np.testing.assert_allclose(values @ turn, other, atol=1e-3)


def test_rows_that_are_not_shared_change_no_map():
    _, sources = planted((6, 6, 6), noise=0.2)
    # Opposite pairs have the same mean, zero, whoever comes to them.
    sources = [np.vstack([s[: N_ROWS // 2], -s[: N_ROWS // 2]]) for s in sources]
    rng = np.random.default_rng(6)
    n_more = 60
    more = [np.vstack([v, -v]) for v in rng.normal(size=(3, n_more // 2, 6))]
    known = np.zeros((3, n_more), bool)
    for i in range(3):
        known[i, i * 10 : i * 10 + 10] = known[i, i * 10 + 30 : i * 10 + 40] = True
    longer = [np.vstack(pair) for pair in zip(sources, more, strict=True)]
    all_known = np.hstack([np.ones((3, N_ROWS), bool), known])
    few = ProcrustesMetaEmbedding().fit(embed(*sources))
    many = ProcrustesMetaEmbedding().fit(embed(*longer, known=all_known))
    assert few.n_shared_ == many.n_shared_ == dict.fromkeys("abc", N_ROWS)
    for name in "abc":
        np.testing.assert_allclose(
            few.rotations_[name], many.rotations_[name], atol=1e-4
        )


def test_a_missing_vector_comes_from_the_neighbors():
    _, (a, b) = planted((6, 6), noise=0.1)
    known = np.ones((2, N_ROWS), bool)
    known[1, :3] = False
    X = embed(a, b, known=known)
    combiner = ProcrustesMetaEmbedding(n_neighbors=4).fit(X)
    ua, ub = centered(a), centered(b, known[1])
    cosines = ua[:3] @ ua[3:].T
    far = np.argsort(-cosines, axis=1)[:, 4:]
    np.put_along_axis(cosines, far, 0, axis=1)
    filled = unit(cosines @ ub[3:])
    expected = ua[:3] @ combiner.rotations_["a"] + filled @ combiner.rotations_["b"]
    values = combiner.transform(X).blocks[0].values
    np.testing.assert_allclose(values[:3], expected / 2, atol=1e-5)


def test_without_filling_the_average_is_over_who_knows():
    _, (a, b) = planted((6, 6), noise=0.1)
    known = np.ones((2, N_ROWS), bool)
    known[1, :3] = known[0, 3:5] = False
    X = embed(a, b, known=known)
    combiner = ProcrustesMetaEmbedding(impute_missing=False).fit(X)
    ua, ub = centered(a, known[0]), centered(b, known[1])
    values = combiner.transform(X).blocks[0].values
    np.testing.assert_allclose(values[:3], ua[:3], atol=1e-5)
    np.testing.assert_allclose(
        values[3:5], ub[3:5] @ combiner.rotations_["b"], atol=1e-5
    )


def test_weights_are_those_of_the_average():
    _, (a, b) = planted((6, 6), noise=0.2)
    X = embed(a, b)
    combiner = ProcrustesMetaEmbedding(weights=[3, 1]).fit(X)
    expected = (3 * centered(a) + centered(b) @ combiner.rotations_["b"]) / 4
    values = combiner.transform(X).blocks[0].values
    np.testing.assert_allclose(values, expected, atol=1e-5)
    free = ProcrustesMetaEmbedding(weights={"b": 0})
    np.testing.assert_allclose(values_of(free, X), centered(a), atol=1e-5)


@pytest.mark.parametrize("n_shared", [0, 1, 2])
def test_few_shared_words(n_shared):
    rng = np.random.default_rng(8)
    known = np.array([np.arange(20) < 10 + n_shared, np.arange(20) >= 10])
    X = embed(rng.normal(size=(20, 5)), rng.normal(size=(20, 4)), known=known)
    combiner = ProcrustesMetaEmbedding()
    combined = combiner.fit_transform(X).blocks[0]
    assert combined.known.all()
    assert np.isfinite(combined.values).all()
    assert combiner.n_shared_["b"] == n_shared
    if n_shared == 0:
        assert np.array_equal(combiner.rotations_["b"], np.eye(4, 5))


def test_convergence_warning():
    rng = np.random.default_rng(10)
    X = embed(*(rng.normal(size=(N_ROWS, 6)) for _ in range(3)))
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=2"):
        ProcrustesMetaEmbedding(max_iter=2, tol=0).fit(X)
