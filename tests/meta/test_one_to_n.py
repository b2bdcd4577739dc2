"""1TON against its definition: the loss and its exact solution."""

import pickle

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from sk_metaembed import Block, ConcatMetaEmbedding, OneToNMetaEmbedding

from .sources import embedded, linear_maps, vectors

N = 60


def fitted(X, **params):
    return OneToNMetaEmbedding(**{"tol": 0, **params}).fit(X)


# The exact solution


@pytest.mark.parametrize(("missing", "weights"), [(0, [1.0, 1.0]), (5, [5.0, 0.5])])
def test_iterations_lower_the_loss_of_the_notes_to_where_it_is_flat(missing, weights):
    X, alpha = linear_maps(missing=missing), 0.05
    params = {"impute_missing": True, "normalize": False, "max_iter": 400}
    meta = fitted(X, n_components=2, alpha=alpha, weights=weights, **params)
    curve = np.array(meta.loss_curve_)
    assert (np.diff(curve) <= 1e-9 * np.abs(curve[:-1])).all()

    def loss(m, coefs, intercepts):
        total = meta.penalty_ * (m**2).sum() / N
        for k, block, W, b in zip(weights, X.blocks, coefs, intercepts, strict=True):
            errors = (m @ W + b - block.values)[block.known]
            total += k * (errors**2).sum() / N + alpha * (W**2).sum()
        return total

    coefs, intercepts = [*meta.coefs_.values()], [*meta.intercepts_.values()]
    at_optimum = np.float64(vectors(meta, X)), coefs, intercepts
    least = loss(*at_optimum)
    # The curve is in units of the sources, as alpha.
    np.testing.assert_allclose(least * alpha / meta.penalty_, curve[-1], rtol=1e-5)
    rng = np.random.default_rng(0)
    for _ in range(20):
        m, coefs, intercepts = (
            [x + 1e-2 * rng.normal(size=x.shape) for x in part] for part in at_optimum
        )
        assert loss(np.array(m), coefs, intercepts) > least


@pytest.mark.parametrize("normalize", [True, False])
def test_without_penalty_it_spans_the_leading_principal_components(normalize):
    X = linear_maps(noise=0.5)
    meta = fitted(X, n_components=3, alpha=0, normalize=normalize)
    concat = ConcatMetaEmbedding(normalize=normalize).fit_transform(X).blocks[0].values
    left = np.linalg.svd(concat - concat.mean(axis=0), full_matrices=False)[0][:, :3]
    assert subspace_angles(np.float64(vectors(meta, X)), left).max() < 1e-4


def test_with_penalty_it_is_halfway_between_u_and_u_s():
    X, alpha = linear_maps(noise=0.5), 0.01
    meta = fitted(X, n_components=3, alpha=alpha)
    concat = ConcatMetaEmbedding().fit_transform(X).blocks[0].values
    left, lengths, _ = np.linalg.svd(concat - concat.mean(axis=0), full_matrices=False)
    # Both sources have unit length: their scale is 1, but for the mean taken off.
    scale = np.sqrt(meta.penalty_ / alpha)
    shrunk = np.sqrt(lengths[:3] / np.sqrt(N) / scale - alpha)
    expected = np.sqrt(N) * left[:, :3] * shrunk
    expected *= np.sign((expected * vectors(meta, X)).sum(axis=0))
    np.testing.assert_allclose(vectors(meta, X), expected, atol=1e-4)


# Missing vectors


def test_1ton_learns_from_shared_words_only():
    X = linear_maps(missing=6)
    shared = np.logical_and.reduce([block.known for block in X.blocks])
    alone = embedded(*[block.take(shared) for block in X.blocks])
    meta, expected = fitted(X, n_components=3), fitted(alone, n_components=3)
    assert meta.n_learning_rows_ == shared.sum()
    np.testing.assert_array_equal(vectors(meta, X), vectors(expected, X))
    assert fitted(X, impute_missing=True).n_learning_rows_ == N


# What comes out


def test_seen_words_are_embedded_like_unseen_ones():
    X = linear_maps(missing=6)
    half = embedded(*[block.take(slice(0, 30)) for block in X.blocks])
    meta = fitted(half, n_components=3, impute_missing=True)
    for row in (2, 8, 50):
        who = [i for i, block in enumerate(X.blocks) if block.known[row]]
        coefs = np.concatenate([meta.coefs_[f"s{i}"] for i in who], axis=1)
        off = [
            X.blocks[i].values[row] / np.linalg.norm(X.blocks[i].values[row])
            - meta.intercepts_[f"s{i}"]
            for i in who
        ]
        gram = coefs @ coefs.T + meta.penalty_ * np.eye(3)
        expected = np.linalg.solve(gram, coefs @ np.concatenate(off))
        np.testing.assert_allclose(vectors(meta, X)[row], expected, atol=1e-4)


def test_a_source_of_weight_zero_takes_no_part():
    X = linear_maps(missing=6)
    without = fitted(embedded(X.blocks[1]), n_components=3)
    meta = fitted(X, n_components=3, weights={"s0": 0})
    np.testing.assert_array_equal(
        vectors(meta, X), vectors(without, embedded(X.blocks[1]))
    )
    assert meta.transform(X).blocks[0].known.tolist() == X.blocks[1].known.tolist()
    assert list(meta.coefs_) == ["s1"]


def test_scale_of_the_sources_does_not_matter():
    X = linear_maps()
    large = X.with_blocks([Block(b.name, b.values * 1e12, "type") for b in X.blocks])
    meta, other = (fitted(one, normalize=False) for one in (X, large))
    np.testing.assert_allclose(vectors(meta, X), vectors(other, large), atol=1e-3)


def test_encoders_are_not_pickled():
    X = linear_maps(missing=5)
    meta = fitted(X, impute_missing=True)
    size, expected = len(pickle.dumps(meta)), vectors(meta, X)
    assert len(pickle.dumps(meta)) == size
    loaded = pickle.loads(pickle.dumps(meta))
    np.testing.assert_array_equal(vectors(loaded, X), expected)
