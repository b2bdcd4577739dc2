"""BlockPCA: principal components of each source, on one scale."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from sk_metaembed import Block, BlockPCA, EmbeddedSequences, Pooling, TokenSequences

from .sources import sequences


def correlated(n_rows=200, dim=8, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, dim)) @ rng.normal(size=(dim, dim)) + 5


def values(embedded, name="a"):
    return embedded.block(name).values


@pytest.mark.parametrize("n_components", [1, 3, 8])
def test_scikit_learns_components_divided_by_one_scale(n_components):
    X = correlated()
    expected = PCA(n_components).fit_transform(X)
    expected /= np.sqrt(expected.var(axis=0).sum())
    result = values(BlockPCA(n_components).fit_transform(sequences(a=X)))
    signs = np.sign((expected * result).sum(axis=0))
    np.testing.assert_allclose(result, expected * signs, atol=1e-4)


@pytest.mark.parametrize("factor", [1e-3, 1, 1e3])
def test_every_source_has_a_total_variance_of_one(factor):
    X = sequences(a=factor * correlated(), b=correlated(dim=30, seed=1))
    result = BlockPCA(3).fit_transform(X)
    for block in result.blocks:
        assert block.values.var(axis=0).sum() == pytest.approx(1, rel=1e-4)
        np.testing.assert_allclose(block.values.mean(axis=0), 0, atol=1e-4)
    # So a factor makes no difference.
    same = BlockPCA(3).fit_transform(sequences(a=correlated()))
    np.testing.assert_allclose(values(result), values(same), atol=1e-3)


def test_at_most_the_rank():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6))
    step = BlockPCA(5).fit(sequences(flat=flat, few=correlated(dim=3)))
    assert step.dims_ == {"flat": 2, "few": 3}
    names = ["flat0", "flat1", "few0", "few1", "few2"]
    assert step.get_feature_names_out().tolist() == names
    # A dimension of much larger numbers, such as a length, hides no other.
    units = correlated(dim=3) * [1e4, 1, 1e-2]
    assert BlockPCA(5).fit(sequences(a=units)).dims_ == {"a": 3}
    three = sequences(a=correlated(n_rows=3))
    assert values(BlockPCA(5).fit_transform(three)).shape == (3, 2)


@pytest.mark.parametrize("X", [np.full((7, 3), 0.1), np.ones((1, 3))])
def test_constant_vectors_are_zero(X):
    step = BlockPCA(2)
    assert not values(step.fit_transform(sequences(a=X))).any()
    assert np.isfinite(values(step.transform(sequences(a=X + [1, 0, 0])))).all()


def test_unknown_rows_take_no_part_and_are_zero():
    known = np.arange(200) % 3 > 0
    X = np.where(known[:, None], correlated(), 0)
    step = BlockPCA(2)
    result = step.fit_transform(sequences(known=[known], a=X))
    assert not values(result)[~known].any()
    assert np.array_equal(result.block("a").known, known)
    alone = values(BlockPCA(2).fit_transform(sequences(a=X[known])))
    np.testing.assert_allclose(values(result)[known], alone, atol=1e-6)


def test_words_are_averaged_first():
    rng = np.random.default_rng(0)
    tokens = TokenSequences.from_lists([["a", "b"], ["b"], [], ["c"], ["a", "d"]])
    X = EmbeddedSequences(
        tokens, [Block("w", rng.normal(size=(4, 3)), "type", [True, True, False, True])]
    )
    pooled = Pooling().fit_transform(X)
    known = np.array([True, True, False, False, True])
    expected = BlockPCA(2).fit_transform(sequences(known=[known], w=pooled))
    result = BlockPCA(2).fit_transform(X).block("w")
    assert np.array_equal(result.known, known)
    np.testing.assert_allclose(result.values, values(expected, "w"), atol=1e-6)


def test_a_far_longer_vector_changes_others_little_and_is_named():
    X = correlated()
    expected = values(BlockPCA(3).fit_transform(sequences(a=X)))
    X[70] *= 1e9
    with pytest.warns(UserWarning, match="'a': 1 vector longer .* in row 70 of"):
        actual = values(BlockPCA(3).fit_transform(sequences(a=X)))
    others = np.arange(200) != 70
    np.testing.assert_allclose(actual[others], expected[others], atol=0.1)
