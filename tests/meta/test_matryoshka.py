"""MatryoshkaMetaEmbedding by its formula, and what it is for."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from sk_metaembed import (
    Block,
    EmbeddedSequences,
    MatryoshkaMetaEmbedding,
    TokenSequences,
)
from sk_metaembed.meta._matryoshka import (
    halved,
    nested_loss,
    principal_directions,
    train_map,
)

from ..rounding import assert_close

torch = pytest.importorskip("torch")
DIMS = (20, 10)


def planted(n_rows=120, missing=4):
    """Return two sources, linear maps of five factors with noise."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(n_rows, 5)) * [3, 2, 1, 1, 1]
    blocks = []
    for i, dim in enumerate(DIMS):
        values = factors @ rng.normal(size=(5, dim)) + rng.normal(size=(n_rows, dim))
        known = np.ones(n_rows, dtype=bool)
        known[i * missing : (i + 1) * missing] = False
        values[~known] = 0
        blocks.append(Block(f"s{i}", values, "type", known))
    words = [f"w{i}" for i in range(n_rows)]
    return EmbeddedSequences(TokenSequences.from_lists([words]), blocks)


@pytest.fixture(scope="module")
def X():
    return planted()


def fitted(X, **params):
    settings = {"n_components": 16, "max_iter": 3, "random_state": 0, "device": "cpu"}
    return MatryoshkaMetaEmbedding(**(settings | params)).fit(X)


def values(meta, X):
    return meta.transform(X).blocks[0].values


def unit(rows):
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms, norms, 1)


def test_output_by_its_formula(X):
    meta = fitted(X)
    expected = 0
    for block in X.blocks:
        mean, matrix = meta.maps_[block.name]
        np.testing.assert_allclose(
            mean, unit(block.values)[block.known].mean(0), atol=1e-6
        )
        expected += ((unit(block.values) - mean) @ matrix) * block.known[:, None]
    np.testing.assert_allclose(values(meta, X), expected, atol=1e-5)
    assert meta.dim_ == meta.n_components_ == 16
    assert meta.get_feature_names_out().tolist()[-1] == "matryoshka15"


def test_loss_by_its_formula():
    rng = np.random.default_rng(0)
    codes, originals = rng.normal(size=(6, 4)), rng.normal(size=(6, 9))

    def shares(rows):
        similarities = np.exp(unit(rows) @ unit(rows).T / 0.3)
        np.fill_diagonal(similarities, 0)
        return similarities / similarities.sum(axis=1, keepdims=True)

    off = ~np.eye(6, dtype=bool)
    p = shares(originals)[off]
    expected = np.mean(
        [(p * np.log(p / shares(codes[:, :m])[off])).sum() / 6 for m in (2, 4)]
    )
    tensors = torch.from_numpy(codes), torch.from_numpy(originals)
    assert float(nested_loss(*tensors, (2, 4), 0.3)) == pytest.approx(expected)
    assert float(nested_loss(tensors[1], tensors[1], (9,), 0.3)) == pytest.approx(0)


def test_gradient_of_a_batch_of_one_row_is_zero():
    codes = torch.ones((1, 3), requires_grad=True)
    nested_loss(codes, torch.ones((1, 5)), (3,), 0.1).backward()
    assert not codes.grad.any()


def test_training_keeps_similarities_better_than_principal_directions(X):
    dims = (2, 4, 8)
    step = {"learning_rate": 0.01, "batch_size": 120, "max_iter": 100}
    meta = fitted(X, n_components=8, nested_dims=dims, **step)
    joined = np.hstack([unit(block.values) for block in X.blocks])
    known = np.repeat([block.known for block in X.blocks], DIMS, axis=0).T
    mean = np.concatenate([meta.maps_[block.name][0] for block in X.blocks])
    centered = (joined - mean) * known
    start = centered @ principal_directions(centered, 8)

    def loss(codes):
        tensors = torch.tensor(codes), torch.tensor(joined)
        return float(nested_loss(*tensors, dims, 0.1))

    assert loss(values(meta, X)) < 0.97 * loss(start)
    assert meta.loss_curve_[0] == pytest.approx(loss(start), rel=1e-3)


def test_training_starts_at_the_principal_directions(X):
    joined = np.hstack([block.values for block in X.blocks])
    start = principal_directions(joined - joined.mean(0), 7)
    np.testing.assert_allclose(start.T @ start, np.eye(7), atol=1e-5)
    _, _, expected = np.linalg.svd(joined - joined.mean(0), full_matrices=False)
    np.testing.assert_allclose(np.abs((start.T * expected[:7]).sum(1)), 1, atol=1e-4)
    settings = MatryoshkaMetaEmbedding(learning_rate=1e-9, max_iter=1, device="cpu")
    settings.nested_dims_ = (7,)
    matrix, _ = train_map(settings, joined, joined, start.copy(), caller="test")
    np.testing.assert_allclose(matrix, start, atol=1e-6)


@pytest.mark.parametrize(
    ("n_components", "expected"),
    [(1, (1,)), (12, (12,)), (16, (8, 16)), (100, (12, 25, 50, 100))],
)
def test_halved(n_components, expected):
    assert halved(n_components) == expected


def test_sizes_above_the_dimension_of_the_result(X):
    meta = fitted(X, n_components=500, nested_dims=(40, 8, 2, 8))
    assert meta.n_components_ == meta.dim_ == sum(DIMS)
    assert meta.nested_dims_ == (2, 8, sum(DIMS))


@pytest.mark.parametrize("dims", [[], [0, 4], [2.5, 4], [True, 4]])
def test_unusable_sizes(X, dims):
    with pytest.raises(ValueError, match="'auto' or a list of positive integers"):
        fitted(X, nested_dims=dims)


def test_scale_of_the_vectors_does_not_matter(X):
    plain = fitted(X, normalize=False)
    huge = [Block(b.name, b.values * 2**40, "type", b.known) for b in X.blocks]
    huge = EmbeddedSequences(X.tokens, huge)
    other = fitted(huge, normalize=False)
    assert_close(values(other, huge), values(plain, X))


def test_constant_vectors_give_zeros():
    tokens = TokenSequences.from_lists([["a", "b", "c"]])
    X = EmbeddedSequences(tokens, [Block("x", np.ones((3, 4)), "type")])
    meta = fitted(X)
    assert meta.n_components_ == 3
    np.testing.assert_allclose(values(meta, X), 0, atol=1e-6)


def test_same_seed_same_result_and_pickled(X):
    first, second = fitted(X), fitted(X)
    np.testing.assert_array_equal(values(first, X), values(second, X))
    np.testing.assert_array_equal(
        values(pickle.loads(pickle.dumps(first)), X), values(first, X)
    )
    assert not np.array_equal(values(fitted(X, random_state=1), X), values(first, X))


def test_transform_needs_no_torch(X, tmp_path):
    path = tmp_path / "meta.pkl"
    path.write_bytes(pickle.dumps((fitted(X), X)))
    code = (
        "import pickle, sys; meta, X = pickle.load(open(sys.argv[1], 'rb'));"
        "meta.truncate(8).transform(X); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
