"""Identities that hold for every meta-embedding, and the formulas of each."""

import numpy as np
import pytest

from sk_metaembed import (
    AverageMetaEmbedding,
    Block,
    ConcatMetaEmbedding,
    EmbeddedSequences,
    TokenSequences,
)

TOKENS = TokenSequences.from_lists([["a", "b", "a"], [], ["c", "d"], ["b"]])
ROWS = {"type": 4, "token": 6, "sequence": 4}


def block(name, level="type", dim=3, dtype=np.float32):
    """Return random vectors, of which the second is unknown."""
    rng = np.random.default_rng(sum(map(ord, name)))
    values = rng.normal(size=(ROWS[level], dim)).astype(dtype)
    known = np.arange(ROWS[level]) != 1
    return Block(name, values * known[:, None], level, known)


def embed(*blocks):
    return EmbeddedSequences(TOKENS, blocks)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("level", ["type", "token", "sequence"])
@pytest.mark.parametrize("kind", [ConcatMetaEmbedding, AverageMetaEmbedding])
def test_one_source_alone_is_itself(kind, level, dtype):
    x = block("x", level, dtype=dtype)
    combined = kind(normalize=False).fit_transform(embed(x)).blocks[0]
    assert combined.level == level
    assert combined.values.dtype == np.float32
    assert np.array_equal(combined.values, x.values)
    assert np.array_equal(combined.known, x.known)


def test_average_of_equal_sources_is_the_source():
    x = block("x")
    combined = AverageMetaEmbedding(normalize=False).fit_transform(
        embed(x, x.rename("y"), x.rename("z"))
    )
    np.testing.assert_allclose(combined.blocks[0].values, x.values, rtol=1e-6)


def test_concat_by_its_formula():
    x, y = block("x"), block("y", dim=2)
    concat = ConcatMetaEmbedding(weights={"y": 8})
    values = concat.fit_transform(embed(x, y)).blocks[0].values
    assert concat.weights_.tolist() == [1, 8]
    norms = np.linalg.norm(x.values, axis=1)
    expected = x.values / np.where(norms, norms, 1)[:, None]
    np.testing.assert_allclose(values[:, :3], expected, rtol=1e-6)
    lengths = np.linalg.norm(values[:, 3:], axis=1)
    np.testing.assert_allclose(lengths, [8, 0, 8, 8], rtol=1e-6)


def test_concat_has_zeros_where_a_source_does_not_know():
    x = Block("x", np.full((4, 1), 7.0), "type", known=[True, False, True, False])
    y = Block("y", np.full((4, 1), 5.0), "type", known=[True, True, False, False])
    combined = ConcatMetaEmbedding(normalize=False).fit_transform(embed(x, y)).blocks[0]
    assert combined.values.tolist() == [[7, 5], [0, 5], [7, 0], [0, 0]]
    assert combined.known.tolist() == [True, True, True, False]


def test_concat_names():
    concat = ConcatMetaEmbedding().fit(embed(block("x", dim=1), block("y", dim=2)))
    assert concat.get_feature_names_out().tolist() == ["x0", "y0", "y1"]
    assert concat.get_feature_names_out(["p", "q", "r"]).tolist() == ["p", "q", "r"]
    dims = {"layer1": 11, "layer11": 1, "x": 1, "x_": 1, "x_1": 1}
    blocks = [block(name, dim=dim) for name, dim in dims.items()]
    names = ConcatMetaEmbedding().fit(embed(*blocks)).get_feature_names_out().tolist()
    assert names[9:] == ["layer1_9", "layer1_10", "layer11_0", "x0", "x__0", "x_1_0"]


def test_average_pads_and_averages_over_who_knows():
    x = Block("x", [[2, 2], [0, 0], [4, 4], [0, 0]], "type", [1, 0, 1, 0])
    y = Block("y", [[4], [6], [0], [0]], "type", [1, 1, 0, 0])
    average = AverageMetaEmbedding(normalize=False)
    combined = average.fit_transform(embed(x, y)).blocks[0]
    assert combined.values.tolist() == [[3, 1], [6, 0], [4, 4], [0, 0]]
    assert combined.known.tolist() == [True, True, True, False]
    weighted = AverageMetaEmbedding(weights=[3, 1], normalize=False)
    values = weighted.fit_transform(embed(x, y)).blocks[0].values
    assert values.tolist() == [[2.5, 1.5], [6, 0], [4, 4], [0, 0]]


def test_average_does_not_depend_on_the_order_or_scale_of_sources():
    x, y = block("x"), block("y", dim=5)
    combine = AverageMetaEmbedding(weights={"x": 2, "y": 6}).fit_transform
    scaled = AverageMetaEmbedding(weights={"x": 1, "y": 3}).fit_transform
    expected = combine(embed(x, y)).blocks[0].values
    np.testing.assert_allclose(combine(embed(y, x)).blocks[0].values, expected, 1e-5)
    np.testing.assert_allclose(scaled(embed(x, y)).blocks[0].values, expected, 1e-5)


@pytest.mark.parametrize("kind", [ConcatMetaEmbedding, AverageMetaEmbedding])
@pytest.mark.parametrize(
    "weights, error, message",
    [
        ([1], ValueError, "1 entries for 2 sources"),
        (
            {"z": 1},
            ValueError,
            r"unknown sources \['z'\]; the sources are \['x', 'y'\]",
        ),
        ([1, -1], ValueError, "got -1 for 'y'"),
        ({"x": "2"}, ValueError, "got '2' for 'x'"),
    ],
)
def test_faulty_weights(kind, weights, error, message):
    with pytest.raises(error, match=message):
        kind(weights=weights).fit(embed(block("x"), block("y")))
