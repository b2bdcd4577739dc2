"""LocallyLinearMetaEmbedding against direct solutions, scikit-learn, planted data."""

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles
from scipy.sparse import csr_array, identity
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import LocallyLinearEmbedding

from sk_metaembed import (
    Block,
    EmbeddedSequences,
    LocallyLinearMetaEmbedding,
    TokenSequences,
)
from sk_metaembed.meta import _locally_linear_math
from sk_metaembed.meta._locally_linear import weight_matrix
from sk_metaembed.meta._locally_linear_math import (
    constrained_weights,
    query_neighbors,
    reconstruction_weights,
    row_neighbors,
    smallest_eigenpairs,
)


def embedded(*sources, known=None):
    tokens = TokenSequences.from_lists([[f"w{i}" for i in range(len(sources[0]))]])
    known = known if known is not None else [None] * len(sources)
    blocks = [
        Block(f"s{i}", values, "type", known=who)
        for i, (values, who) in enumerate(zip(sources, known, strict=True))
    ]
    return EmbeddedSequences(tokens, blocks)


def two_sources(n=80, seed=0):
    rng = np.random.default_rng(seed)
    meaning = rng.normal(size=(n, 4))
    return [
        (meaning @ rng.normal(size=(4, dim)) + 0.1 * rng.normal(size=(n, dim))).astype(
            np.float32
        )
        for dim in (6, 9)
    ]


def values_of(step, X):
    return step.transform(X).blocks[0]


def graph(sources, known, n_neighbors, regularization=0.01):
    neighbors = row_neighbors(sources, known, n_neighbors)
    weights = reconstruction_weights(sources, known, sources, neighbors, regularization)
    return neighbors, weights


# -- neighbors ---------------------------------------------------------------------


def test_neighbors_are_the_union_of_the_nearest_of_each_source():
    sources = two_sources()
    known = np.ones((80, 2), dtype=bool)
    known[:20, 0] = False
    actual = row_neighbors(sources, known, 5)
    distances = [cdist(s, s) for s in sources]
    for v in range(80):
        expected = set()
        for i, far in enumerate(distances):
            if known[v, i]:
                order = [u for u in np.argsort(far[v]) if u != v and known[u, i]]
                expected |= set(order[:5])
        assert sorted(expected) == [u for u in actual[v] if u >= 0]


def test_neighbors_of_new_words_include_an_equal_one():
    sources = two_sources()
    known = np.ones((80, 2), dtype=bool)
    actual = query_neighbors(sources, known, sources, known, 1)
    assert np.array_equal(actual.max(axis=1), np.arange(80))


def test_copies_of_a_word_do_not_make_it_its_own_neighbor():
    sources = [np.ones((9, 3), dtype=np.float32)]
    actual = row_neighbors(sources, np.ones((9, 1), dtype=bool), 3)
    assert (actual >= 0).all()
    assert not (actual == np.arange(9)[:, None]).any()


# -- weights ------------------------------------------------------------------------


def test_weights_solve_the_constrained_least_squares():
    sources = two_sources(30)
    known = np.ones((30, 2), dtype=bool)
    known[3, 1] = False
    sources[1][3] = 0
    neighbors, weights = graph(sources, known, 4, regularization=0.05)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-6)
    for v in range(30):
        near = neighbors[v][neighbors[v] >= 0]
        apart = np.hstack(
            [(s[v] - s[near]) * known[v, i] for i, s in enumerate(sources)]
        ).astype(float)
        gram = apart @ apart.T
        gram += 0.05 * np.trace(gram) * np.eye(len(near))
        # Lagrange: the gradient is the same along every weight, and they sum to one.
        system = np.block(
            [[2 * gram, np.ones((len(near), 1))], [np.ones((1, len(near))), 0]]
        )
        direct = np.linalg.solve(system, np.append(np.zeros(len(near)), 1))[:-1]
        np.testing.assert_allclose(weights[v][neighbors[v] >= 0], direct, atol=1e-5)
        assert not weights[v][neighbors[v] < 0].any()


def test_weights_of_equal_neighbors_are_equal():
    allowed = np.array([[True, True, False], [False, False, False]])
    weights = constrained_weights(np.zeros((2, 3, 3)), allowed, 1e-3)
    np.testing.assert_allclose(weights, [[0.5, 0.5, 0], [0, 0, 0]])


def test_an_unknown_source_has_no_say():
    first, second = two_sources(30)
    known = np.ones((30, 2), dtype=bool)
    known[:, 1] = False
    _, alone = graph([first], known[:, :1], 5)
    neighbors, both = graph([first, np.zeros_like(second)], known, 5)
    np.testing.assert_allclose(both[neighbors >= 0], alone.ravel(), atol=1e-4)


# -- eigenvectors -------------------------------------------------------------------


def weights_of(sources, n_neighbors=8):
    known = np.ones((len(sources[0]), len(sources)), dtype=bool)
    return weight_matrix(*graph(sources, known, n_neighbors))


def dense_M(W):
    step = np.eye(W.shape[0]) - W.toarray().astype(float)
    return step.T @ step


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("filtered", [False, True])
def test_directions_are_those_of_the_dense_decomposition(filtered, n_jobs, monkeypatch):
    if filtered:
        monkeypatch.setattr(_locally_linear_math, "_MAX_DENSE", 0)
    W = weights_of(two_sources(300))
    values, vectors, parts, n_iter = smallest_eigenpairs(
        W, 8, tol=1e-4, max_iter=50, rng=np.random.RandomState(0), n_jobs=n_jobs
    )
    expected_values, expected = eigh(dense_M(W), subset_by_index=[0, 8])
    np.testing.assert_allclose(values, expected_values[1:], rtol=1e-2, atol=1e-5)
    assert subspace_angles(vectors, expected[:, 1:]).max() < 1e-2
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(8), atol=1e-4)
    np.testing.assert_allclose(vectors.sum(axis=0), 0, atol=1e-4)
    assert not parts.any()
    assert (n_iter > 1) == filtered


@pytest.mark.parametrize("filtered", [False, True])
def test_vectors_constant_in_a_component_are_excluded(filtered, monkeypatch):
    if filtered:
        monkeypatch.setattr(_locally_linear_math, "_MAX_DENSE", 0)
    one, other = weights_of(two_sources(150)), weights_of(two_sources(150, seed=1))
    W = csr_array(np.block([[one.toarray(), np.zeros((150, 150))],
                            [np.zeros((150, 150)), other.toarray()]]))  # fmt: skip
    values, vectors, parts, _ = smallest_eigenpairs(
        W, 8, tol=1e-3, max_iter=50, rng=np.random.RandomState(0)
    )
    assert np.bincount(parts).tolist() == [150, 150]
    for part in (vectors[:150], vectors[150:]):
        np.testing.assert_allclose(part.sum(axis=0), 0, atol=1e-4)
    expected = eigh(dense_M(W), eigvals_only=True)[2:10]
    np.testing.assert_allclose(values, expected, rtol=1e-2, atol=1e-5)


def test_convergence_warning(monkeypatch):
    monkeypatch.setattr(_locally_linear_math, "_MAX_DENSE", 0)
    lle = LocallyLinearMetaEmbedding(5, n_neighbors=5, max_iter=1, tol=1e-6)
    with pytest.warns(ConvergenceWarning, match="in max_iter=1 iterations"):
        lle.fit(embedded(*two_sources(200)))


# -- the estimator ------------------------------------------------------------------


@pytest.mark.parametrize("regularization", [1e-3, 0.1])
def test_one_source_is_scikit_learns_embedding(regularization):
    source = two_sources(200)[0]
    source /= np.linalg.norm(source, axis=1, keepdims=True)
    ours = LocallyLinearMetaEmbedding(
        4, n_neighbors=12, regularization=regularization, whiten=True
    ).fit(embedded(source))
    theirs = LocallyLinearEmbedding(
        n_components=4, n_neighbors=12, reg=regularization, eigen_solver="dense"
    ).fit(source.astype(float))
    assert subspace_angles(ours.embedding_, theirs.embedding_).max() < 1e-2
    total = ours.eigenvalues_.sum()
    np.testing.assert_allclose(total, theirs.reconstruction_error_, rtol=1e-3)


def test_axes_have_mean_zero_and_size_one_if_whitened():
    X = embedded(*two_sources())
    lle = LocallyLinearMetaEmbedding(5, n_neighbors=8, whiten=True).fit(X)
    np.testing.assert_allclose(lle.embedding_.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose((lle.embedding_**2).mean(axis=0), 1, rtol=1e-4)
    shares = 1 - np.sqrt(lle.eigenvalues_)
    sized = lle.set_params(whiten=False).fit(X).embedding_
    np.testing.assert_allclose(
        np.sqrt((sized**2).mean(axis=0)), np.maximum(shares, 0.01), rtol=1e-3
    )


def planted(bend, n=400):
    """Return a sheet, and two sources that bend it in their own ways."""
    rng = np.random.default_rng(0)
    sheet = rng.uniform(-1, 1, size=(n, 2))
    x, y = sheet.T
    roll = np.column_stack([np.sin(bend * x), np.cos(bend * x), 1.5 * y])
    bowl = np.column_stack([x, y, x**2 + y**2]) @ rng.normal(size=(3, 5))
    return sheet, roll.astype(np.float32), bowl.astype(np.float32)


def explained(sheet, values):
    """Return the share of the sheet's variance that is linear in the values."""
    values = np.column_stack([values, np.ones(len(values))])
    rest = sheet - values @ np.linalg.lstsq(values, sheet)[0]
    return 1 - rest.var() / sheet.var()


def test_a_sheet_that_two_sources_bend_is_found_flat():
    sheet, roll, bowl = planted(bend=4)
    lle = LocallyLinearMetaEmbedding(
        2, n_neighbors=12, regularization=1e-3, normalize=False
    )
    combined = lle.fit_transform(embedded(roll, bowl)).blocks[0].values
    assert explained(sheet, combined) > 0.95
    for source in (roll, bowl):
        alone = lle.fit_transform(embedded(source)).blocks[0].values
        assert explained(sheet, alone) < 0.6


def test_words_that_a_source_lacks_and_words_of_later_lie_on_the_sheet_too():
    sheet, roll, bowl = planted(bend=2)
    known = np.ones((2, 400), dtype=bool)
    known[0, 80:100] = known[1, 100:120] = False
    roll[80:100] = bowl[100:120] = 0
    X = embedded(roll, bowl, known=known)
    lle = LocallyLinearMetaEmbedding(
        2, n_neighbors=12, regularization=1e-3, normalize=False, whiten=True
    )
    lle.fit(embedded(*[b.values[40:] for b in X.blocks], known=known[:, 40:]))
    combined = values_of(lle, X)
    assert combined.known.all()
    values = np.column_stack([combined.values, np.ones(400)])
    apart = sheet - values @ np.linalg.lstsq(values[120:], sheet[120:])[0]
    for rows in (slice(40), slice(40, 80), slice(80, 100), slice(100, 120)):
        assert np.abs(apart[rows]).mean() < 0.2


def test_words_of_fit_keep_their_vectors_in_any_company():
    sources = two_sources()
    X = embedded(*sources)
    lle = LocallyLinearMetaEmbedding(6, n_neighbors=8)
    combined = lle.fit_transform(X)
    assert combined == lle.transform(X)
    new = embedded(*[np.vstack([s[::-1], s[:5] + 0.1]) for s in sources])
    batched = values_of(lle, new).values
    assert np.array_equal(batched[:80], combined.blocks[0].values[::-1])
    for i in (81, 84, 3):
        row = embedded(*[b.values[[i]] for b in new.blocks])
        assert np.array_equal(values_of(lle, row).values[0], batched[i])


def test_equal_words_count_once():
    sources = two_sources()
    lle = LocallyLinearMetaEmbedding(6, n_neighbors=8)
    once = lle.fit_transform(embedded(*sources)).blocks[0].values
    thrice = lle.fit_transform(embedded(*[np.repeat(s, 3, axis=0) for s in sources]))
    assert np.array_equal(thrice.blocks[0].values, np.repeat(once, 3, axis=0))


def test_a_word_whose_sources_know_no_other_is_not_known():
    first, second = two_sources(10)
    known = np.ones((2, 10), dtype=bool)
    known[0, 0] = False
    known[1, 1:] = False
    X = embedded(first * known[0][:, None], second * known[1][:, None], known=known)
    combined = LocallyLinearMetaEmbedding(3, n_neighbors=4).fit_transform(X).blocks[0]
    assert combined.known.tolist() == [False] + [True] * 9
    assert not combined.values[0].any()
    assert np.isfinite(combined.values).all()


def test_several_connected_components_warn():
    first, second = two_sources(40)
    known = np.zeros((2, 40), dtype=bool)
    known[0, :20] = known[1, 20:] = True
    X = embedded(first, second, known=known)
    lle = LocallyLinearMetaEmbedding(5, n_neighbors=8)
    with pytest.warns(
        UserWarning, match="2 connected components; the largest has 20 of 40 words"
    ):
        combined = lle.fit_transform(X).blocks[0]
    assert lle.n_connected_components_ == 2
    assert np.isfinite(combined.values).all()
    assert combined.known.all()


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda s: np.ones_like(s),
        lambda s: np.zeros_like(s),
        lambda s: s * (np.arange(len(s)) % 2)[:, None],
        lambda s: s[np.arange(len(s)) // 20],
        lambda s: s * 1e30,
        lambda s: s * 1e-30,
        lambda s: np.column_stack([s[:, :1], np.ones_like(s[:, 1:])]),
    ],
    ids=["constant", "zeros", "half zeros", "copies", "huge", "tiny", "columns"],
)
def test_degenerate_sources_give_finite_vectors(spoil, normalize):
    first, second = two_sources(60)
    X = embedded(first, spoil(second).astype(np.float32))
    lle = LocallyLinearMetaEmbedding(5, n_neighbors=6, normalize=normalize)
    combined = lle.fit_transform(X).blocks[0].values
    assert np.isfinite(combined).all()
    assert combined.any()
    new = embedded(first[:9] + 1, spoil(second)[:9].astype(np.float32))
    assert np.isfinite(values_of(lle, new).values).all()


def test_a_source_that_knows_nothing_changes_nothing():
    first, second = two_sources()
    known = [np.ones(80, dtype=bool), np.zeros(80, dtype=bool)]
    lle = LocallyLinearMetaEmbedding(5, n_neighbors=8)
    alone = lle.fit_transform(embedded(first)).blocks[0].values
    both = lle.fit_transform(embedded(first, second, known=known)).blocks[0].values
    np.testing.assert_allclose(both, alone, atol=1e-3)


def test_fewer_words_than_neighbors_and_components():
    lle = LocallyLinearMetaEmbedding().fit(embedded(*two_sources(4)))
    assert lle.n_components_ == lle.dim_ == 3
    assert np.isfinite(lle.embedding_).all()


@pytest.mark.parametrize("n", [1, 5])
def test_no_neighbors_at_all(n):
    same = np.ones((n, 3), dtype=np.float32)
    with pytest.raises(ValueError, match=r"no word of fit has a neighbor: .*'s0': 1"):
        LocallyLinearMetaEmbedding().fit(embedded(same))


def test_the_constant_vector_is_reconstructed():
    W = weights_of(two_sources())
    rest = (identity(80) - W) @ np.ones(80)
    np.testing.assert_allclose(rest, 0, atol=1e-5)
