"""`truncate` of the meta-embeddings that have it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sk_metaembed import (
    Block,
    EmbeddedSequences,
    GCCAMetaEmbedding,
    SVDMetaEmbedding,
    TokenSequences,
)

METHODS = [
    SVDMetaEmbedding(6),
    SVDMetaEmbedding(6, whiten=False),
    GCCAMetaEmbedding(6),
]
every = pytest.mark.parametrize("meta", METHODS, ids=lambda meta: type(meta).__name__)


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    blocks = []
    for name, dim in (("x", 8), ("y", 5)):
        known = rng.random(40) < 0.9
        blocks.append(Block(name, rng.normal(size=(40, dim)), "sequence", known))
    return EmbeddedSequences(TokenSequences.from_lists([["a"]] * 40), blocks)


def fitted(meta, X):
    return clone(meta).fit(X)


@every
def test_first_dimensions_of_the_whole(meta, X):
    whole = fitted(meta, X)
    before = whole.transform(X).blocks[0].values
    small = whole.truncate(3)
    result = small.transform(X)
    np.testing.assert_allclose(result.blocks[0].values, before[:, :3], atol=1e-6)
    assert small.dim_ == small.n_components_ == small.n_components == result.dim == 3
    assert len(small.get_feature_names_out()) == 3
    assert small.dims_in_ == whole.dims_in_


@every
def test_the_whole_is_unchanged(meta, X):
    whole = fitted(meta, X)
    before = whole.transform(X)
    whole.truncate(2)
    assert whole.dim_ == whole.n_components == 6
    assert whole.transform(X) == before
    assert whole.truncate(6).transform(X) == before


@pytest.mark.parametrize("meta", METHODS[:3], ids=lambda meta: type(meta).__name__)
def test_equals_a_fit_of_that_size(meta, X):
    small = fitted(meta, X).truncate(2)
    other = clone(meta).set_params(n_components=2).fit(X)
    for name, value in vars(other).items():
        if name.endswith("_") and isinstance(value, np.ndarray):
            np.testing.assert_allclose(getattr(small, name), value, atol=1e-5)
    one, two = (m.transform(X).blocks[0].values for m in (small, other))
    np.testing.assert_allclose(one, two, atol=1e-4)


@every
@pytest.mark.parametrize("n_components", [0, 7, 2.0, True, "3"])
def test_impossible_sizes(meta, X, n_components):
    with pytest.raises(ValueError, match=r"an integer from 1 to 6, .*; got"):
        fitted(meta, X).truncate(n_components)


@every
def test_before_fit(meta, X):
    with pytest.raises(NotFittedError):
        clone(meta).truncate(2)
