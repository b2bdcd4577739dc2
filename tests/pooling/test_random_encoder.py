import numpy as np
import pytest

from sk_metaembed import Pooling, RandomEncoderPooling
from sk_metaembed.pooling import _random_encoder

from .oracles import pooled_tokens
from .test_pooling import by_token, make

CASES = [
    {"mode": mode, "activation": activation}
    for mode in ("mean", "max")
    for activation in (None, "relu")
]


def expected_rows(embedded, pooling, block):
    projection = pooling.projections_[block.name].astype(np.float64)
    rows = np.zeros((len(embedded), projection.shape[1]))
    for i in range(len(embedded)):
        projected = pooled_tokens(embedded, i, block.name)[0] @ projection
        if pooling.activation == "relu":
            projected = np.maximum(projected, 0)
        if len(projected):
            rows[i] = getattr(projected, pooling.mode)(axis=0)
    return rows


@pytest.mark.parametrize("entries", [1 << 24, 40, 7])
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_projects_each_token_then_pools(case, dtype, entries, monkeypatch):
    monkeypatch.setattr(_random_encoder, "_ENTRIES", entries)
    embedded = make(levels=("type", "token", "sequence"), dtype=dtype)
    pooling = RandomEncoderPooling(9, random_state=0, **case).fit(embedded)
    pooled = pooling.transform(embedded)
    assert pooled.dtype == np.float32
    for block, start in zip(embedded.blocks[:2], (0, 9), strict=True):
        np.testing.assert_allclose(
            pooled[:, start : start + 9],
            expected_rows(embedded, pooling, block),
            rtol=1e-5,
            atol=1e-6,
        )
    np.testing.assert_array_equal(
        pooled[:, 18:], embedded.blocks[2].values.astype(np.float32)
    )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_row_alone_and_levels(case):
    embedded = make(levels=("type", "token"))
    pooling = RandomEncoderPooling(9, random_state=0, **case).fit(embedded)
    batched = pooling.transform(embedded)
    for i in range(len(embedded)):
        np.testing.assert_allclose(
            pooling.transform(embedded[[i]]), batched[[i]], rtol=1e-5, atol=1e-6
        )
    np.testing.assert_allclose(
        pooling.transform(by_token(embedded)), batched, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_sequences_without_vectors_give_zeros(case):
    embedded = make(lengths=(0, 3), levels=("type", "token"), unknown=1.0)
    pooled = RandomEncoderPooling(4, random_state=0, **case).fit_transform(embedded)
    np.testing.assert_array_equal(pooled, np.zeros((2, 8)))
    empty = make(lengths=(0, 0), levels=("type", "token"))
    pooled = RandomEncoderPooling(4, random_state=0, **case).fit_transform(empty)
    np.testing.assert_array_equal(pooled, np.zeros((2, 8)))


def test_projection_is_uniform_and_seeded():
    embedded = make(levels=("type", "token"))
    pooling = RandomEncoderPooling(20_000, random_state=3).fit(embedded)
    projection = pooling.projections_["type0"]
    assert projection.shape == (3, 20_000)
    bound = 1 / np.sqrt(3)
    assert np.abs(projection).max() <= bound
    assert projection.std() == pytest.approx(bound / np.sqrt(3), rel=0.02)
    again = RandomEncoderPooling(20_000, random_state=3).fit(embedded)
    np.testing.assert_array_equal(again.projections_["type0"], projection)
    other = RandomEncoderPooling(20_000, random_state=4).fit(embedded)
    assert not np.array_equal(other.projections_["type0"], projection)


def test_mean_is_the_projected_mean():
    embedded = make()
    pooling = RandomEncoderPooling(5, mode="mean", random_state=0).fit(embedded)
    means = Pooling().fit_transform(embedded)
    np.testing.assert_allclose(
        pooling.transform(embedded),
        means @ pooling.projections_["type0"],
        rtol=1e-5,
        atol=1e-6,
    )


def test_names():
    embedded = make(levels=("type", "sequence"))
    names = RandomEncoderPooling(2).fit(embedded).get_feature_names_out()
    assert names.tolist() == [
        "type0__random__0",
        "type0__random__1",
        *(f"sequence1__{i}" for i in range(4)),
    ]


def test_error_for_wrong_input_names_the_missing_step():
    with pytest.raises(TypeError, match="RandomEncoderPooling takes EmbeddedSeq"):
        RandomEncoderPooling().fit(["a text"])
