"""SourceImputer: which vectors it imputes, with which values."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from sk_metaembed import SourceImputer

from .sources import embed, unit

N_ROWS = 80
both_strategies = pytest.mark.parametrize("strategy", ["mutual", "neighbors"])


def planted(n_sources=3, seed=0):
    """Return vectors of sources that are linear maps of one, and who knows them."""
    rng = np.random.default_rng(seed)
    truth = unit(rng.normal(size=(N_ROWS, 4)))
    values = [truth @ rng.normal(size=(4, 5)) for _ in range(n_sources)]
    known = rng.random((n_sources, N_ROWS)) < 0.7
    return values, known


@both_strategies
def test_known_rows_stay_and_missing_ones_are_filled(strategy):
    values, known = planted()
    X = embed(*values, known=known)
    imputer = SourceImputer(strategy)
    filled = imputer.fit_transform(X)
    assert filled.names == X.names
    assert filled.tokens is X.tokens
    some = known.any(axis=0)
    for before, after, k in zip(X.blocks, filled.blocks, known, strict=True):
        assert (after.level, after.dim) == (before.level, before.dim)
        assert np.array_equal(after.values[k], before.values[k])
        assert np.array_equal(after.known, some)
        assert np.array_equal(after.values[~some], before.values[~some])
        assert imputer.n_imputed_[before.name] == np.count_nonzero(some & ~k)
    assert np.array_equal(np.diag(imputer.n_shared_), known.sum(axis=1))
    assert imputer.n_shared_[0, 1] == (known[0] & known[1]).sum()


def test_mutual_learning_recovers_linear_maps():
    rng = np.random.default_rng(1)
    x = unit(rng.normal(size=(N_ROWS, 5)))
    y = x @ rng.normal(size=(5, 3)) + 7
    known = np.ones((2, N_ROWS), bool)
    known[1, :20] = False
    imputer = SourceImputer(alpha=1e-8).fit(embed(x, y, known=known))
    filled = imputer.transform(embed(x, y, known=known)).block("b").values
    np.testing.assert_allclose(filled, y, rtol=1e-4)
    assert set(imputer.maps_) == {("a", "b"), ("b", "a")}
    matrix, intercept = imputer.maps_["a", "b"]
    assert (matrix.shape, intercept.shape) == ((5, 3), (3,))


def test_mutual_learning_is_the_mean_of_ridges():
    values, known = planted()
    X = embed(*values, known=known)
    filled = SourceImputer(alpha=0.5).fit_transform(X)
    rows = known[0] & known[1] & ~known[2]
    recorded = []
    for predictor in (0, 1):
        both = known[predictor] & known[2]
        ridge = Ridge(0.5).fit(unit(values[predictor][both]), values[2][both])
        recorded.append(ridge.predict(unit(values[predictor][rows])))
    expected = np.mean(recorded, axis=0)
    np.testing.assert_allclose(filled.block("c").values[rows], expected, atol=1e-5)


def test_neighbors_by_their_formula():
    values, known = planted(2)
    X = embed(*values, known=known)
    filled = SourceImputer("neighbors", n_neighbors=3).fit_transform(X)
    both, rows = known.all(axis=0), known[0] & ~known[1]
    cosines = unit(values[0])[rows] @ unit(values[0])[both].T
    for got, row in zip(filled.block("b").values[rows], cosines, strict=True):
        best = np.argsort(-row)[:3]
        expected = np.average(values[1][both][best], axis=0, weights=row[best])
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("strategy", "n_shared"), [("mutual", 0), ("neighbors", 9)])
def test_too_few_shared_words_pass_and_say_so(strategy, n_shared):
    values, _ = planted(2)
    known = np.array([np.arange(N_ROWS) < 40 + n_shared, np.arange(N_ROWS) >= 40])
    X = embed(*values, known=known)
    imputer = SourceImputer(strategy)
    with pytest.warns(UserWarning, match=rf"min_shared=10 .*at most {n_shared}\)"):
        assert imputer.fit_transform(X) == X
    assert imputer.maps_ == {}
    assert imputer.n_imputed_ == {"a": 0, "b": 0}


@both_strategies
def test_a_pair_without_a_map_is_left_out(strategy):
    values, _ = planted()
    a, b, c = np.zeros((3, N_ROWS), bool)
    a[:50] = b[10:70] = c[66:] = True  # c shares four words with b, none with a
    X = embed(*values, known=[a, b, c])
    imputer = SourceImputer(strategy, min_shared=5)
    filled = imputer.fit_transform(X)
    assert np.array_equal(filled.block("a").known, a | b)
    assert np.array_equal(filled.block("b").known, a | b)
    assert filled.block("c") == X.block("c")
    if strategy == "mutual":
        assert set(imputer.maps_) == {("a", "b"), ("b", "a")}
