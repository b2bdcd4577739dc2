import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sk_metaembed import (
    Block,
    ConcatMetaEmbedding,
    EmbeddedSequences,
    Pooling,
    Tokenizer,
    TokenSequences,
)

from ..compiled import compiled_loops
from .oracles import LABELS, OPTIONS, pool_all

MODES = list(LABELS)
LENGTHS = (0, 1, 2, 3, 4, 5, 8, 0, 9, 30, 1)


def make(lengths=LENGTHS, levels=("type",), dtype=np.float32, unknown=0.2, seed=0):
    """Return sequences of random words, with one block of random vectors per level."""
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(20)]
    tokens = TokenSequences.from_lists([rng.choice(words, n) for n in lengths])
    n_rows = {"type": tokens.n_types, "token": tokens.n_tokens, "sequence": len(tokens)}
    blocks = []
    for place, level in enumerate(levels):
        values = rng.normal(size=(n_rows[level], 3 + place)).astype(dtype)
        known = rng.random(n_rows[level]) >= unknown
        values[~known] = 0
        blocks.append(Block(f"{level}{place}", values, level, known))
    return EmbeddedSequences(tokens, blocks)


def by_token(embedded):
    return embedded.with_blocks(
        [embedded.broadcast(block, "token") for block in embedded.blocks]
    )


def assert_pooled(embedded, modes, **options):
    pooled = Pooling(modes, **{**OPTIONS, **options}).fit_transform(embedded)
    assert pooled.dtype == np.float32
    expected = pool_all(embedded, [modes] if isinstance(modes, str) else modes)
    np.testing.assert_allclose(pooled, expected, rtol=1e-6, atol=1e-7)


@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=8),
    modes=st.lists(st.sampled_from(MODES), min_size=1, max_size=3, unique=True),
    dtype=st.sampled_from([np.float32, np.float16]),
    unknown=st.sampled_from([0.0, 0.5, 1.0]),
    seed=st.integers(0, 1000),
)
@example(LENGTHS, MODES, np.float16, 0.3, 0)
def test_modes_are_their_formulas(lengths, modes, dtype, unknown, seed):
    levels = ("type", "token", "sequence")
    assert_pooled(make(lengths, levels, dtype, unknown, seed), modes)


@pytest.mark.parametrize("weights", [None, "idf", "sif", "usif"])
def test_the_same_bits_alone_in_any_order_and_level(weights):
    embedded = make(levels=("type", "token"))
    pooling = Pooling(MODES, weights=weights, **OPTIONS).fit(embedded)
    batched = pooling.transform(embedded)
    for i in range(len(embedded)):
        np.testing.assert_array_equal(pooling.transform(embedded[[i]]), batched[[i]])
    order = np.random.default_rng(1).permutation(len(embedded))
    np.testing.assert_array_equal(pooling.transform(embedded[order]), batched[order])
    np.testing.assert_array_equal(pooling.transform(by_token(embedded)), batched)


@pytest.mark.parametrize(
    ("dtype", "weights"), [(np.float32, None), (np.float16, "idf")]
)
def test_numpy_compiled_loops_and_threads_agree(dtype, weights, monkeypatch):
    embedded = make(levels=("type", "token"), dtype=dtype)
    pooling = Pooling(MODES, weights=weights, **OPTIONS).fit(embedded)
    with compiled_loops(False):
        small = pooling.transform(embedded)
    with compiled_loops(True):
        compiled = pooling.transform(embedded)
        np.testing.assert_allclose(small, compiled, rtol=1e-6, atol=1e-6)
        monkeypatch.setattr("sk_metaembed.pooling._bags._ENTRIES_PER_THREAD", 1)
        monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", 2)
        np.testing.assert_array_equal(pooling.transform(embedded), compiled)


def test_every_float16_is_decoded():
    finite = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    finite = finite[np.isfinite(finite)][:, None]
    words = [[str(i)] for i in range(len(finite))]
    tokens = TokenSequences.from_lists(words)
    embedded = EmbeddedSequences(tokens, [Block("x", finite, "type")])
    for mode in ("mean", "max"):
        np.testing.assert_array_equal(
            Pooling(mode).fit_transform(embedded), finite.astype(np.float32)
        )


@pytest.mark.parametrize(
    "values",
    [
        np.asfortranarray(np.arange(12, dtype=np.float32).reshape(4, 3)),
        np.arange(24, dtype=np.float32).reshape(4, 6)[:, ::2],
        np.arange(24, dtype=np.float16).reshape(4, 6)[:, ::2],
    ],
    ids=["fortran", "strided", "strided-half"],
)
def test_any_memory_order(values):
    tokens = TokenSequences.from_lists([["a", "b", "c", "d", "a"]])
    embedded = EmbeddedSequences(tokens, [Block("x", values, "type")])
    assert_pooled(embedded, ["mean", "max"])


def test_long_sums_keep_their_precision():
    tokens = TokenSequences(["a"], np.zeros(1_000_000, dtype=np.int32), [0, 1_000_000])
    value = np.float32(0.1)
    embedded = EmbeddedSequences(tokens, [Block("x", [[value]], "type")])
    modes = ("mean", "sum", "dct")
    pooled = Pooling(modes).fit_transform(embedded)[0]
    np.testing.assert_allclose(
        pooled, [value, value * 1e6, value, 0.0], rtol=1e-7, atol=1e-9
    )


def test_powers_of_extreme_values_stay_finite():
    extreme = np.finfo(np.float32).max
    tokens = TokenSequences.from_lists([["a", "b", "b"]])
    embedded = EmbeddedSequences(
        tokens, [Block("x", [[extreme, 1e-38], [-extreme, 1e-38]], "type")]
    )
    pooled = Pooling("power-means", powers=(7,)).fit_transform(embedded)
    expected = [[-extreme * (1 / 3) ** (1 / 7), 1e-38]]
    np.testing.assert_allclose(pooled, expected, rtol=1e-6)


def test_overflow_is_an_error_that_names_the_row():
    tokens = TokenSequences.from_lists([["b"], ["a", "a"]])
    embedded = EmbeddedSequences(tokens, [Block("x", [[1.0], [3e38]], "type")])
    with pytest.raises(ValueError, match=r"row 1 exceeds float32"):
        Pooling("sum").fit_transform(embedded)
    assert np.isfinite(Pooling("mean").fit_transform(embedded)).all()


def test_names_follow_columns():
    embedded = make(levels=("type", "sequence"))
    pooling = Pooling(["mean", "power-means", "dct"], powers=(1, 3, math.inf))
    names = pooling.fit(embedded).get_feature_names_out()
    assert len(names) == len(set(names)) == pooling.transform(embedded).shape[1]
    assert names[0] == "type0__mean__0"
    assert names[3] == "type0__power1__0"
    assert "type0__powerinf__2" in names
    assert "type0__dct1__0" in names
    assert names[-4:].tolist() == [f"sequence1__{i}" for i in range(4)]


@pytest.mark.parametrize("container", ["default", "pandas"])
def test_steps_in_the_wrong_order_are_reported(container):
    embedded = make(levels=("type", "token"))
    pooled = Pooling().set_output(transform=container).fit_transform(embedded)
    message = "order of the steps is wrong|in the wrong order"
    for second in (Pooling(), ConcatMetaEmbedding(), Tokenizer()):
        with pytest.raises((TypeError, ValueError), match=message):
            second.fit(pooled)


def test_other_blocks_are_refused():
    embedded = make(levels=("type", "token"))
    pooling = Pooling().fit(embedded)
    with pytest.raises(ValueError, match="was fitted on blocks"):
        pooling.transform(embedded.select(["token1", "type0"]))
    sentences = make(levels=("sequence",))
    renamed = sentences.with_blocks([sentences.blocks[0].rename("type0")])
    with pytest.raises(ValueError, match="at level 'sequence'"):
        Pooling().fit(embedded.select(["type0"])).transform(renamed)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"mode": ()}, "non-empty list"),
        ({"mode": ("mean", "mean")}, "distinct"),
        ({"mode": ("mean", "median")}, "mode must be one of mean, max"),
        ({"mode": "power-means", "powers": (2.5,)}, "from 1 to 7"),
        ({"mode": "power-means", "powers": ()}, "not be empty"),
        ({"mode": "max", "weights": "sif"}, "has no effect"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        Pooling(**parameters).fit(make())


@pytest.mark.parametrize(
    ("level", "weights"), [("type", None), ("token", "idf"), ("type", "usif")]
)
def test_sums_of_vectors_have_a_factor_per_token(level, weights):
    embedded = make(levels=(level, "sequence"))
    modes = ["mean", "max", "sum", "first", "last", "dct", "power-means"]
    pooling = Pooling(modes, weights=weights, powers=(1, 2), n_coefficients=3)
    pooled, parts = pooling.fit(embedded).pool_with_weights(embedded)
    np.testing.assert_array_equal(pooled, pooling.transform(embedded))
    assert sum(block.dim for block, _ in parts) == pooled.shape[1]
    is_sum = [factors is not None for _, factors in parts]
    assert is_sum == [True, False, *[True] * 7, False, False]
    rows, place = embedded.tokens.segment_ids(), 0
    for block, factors in parts:
        part = pooled[:, place : place + block.dim]
        place += block.dim
        if factors is not None:
            values = embedded.broadcast(block, "token").values
            expected = np.zeros(part.shape)
            np.add.at(expected, rows, factors[:, None] * values)
            np.testing.assert_allclose(part, expected, rtol=1e-5, atol=1e-5)


def test_options_without_effect_on_vectors_of_sequences_issue_a_warning():
    X = make(levels=("sequence",))
    for options, match in (
        ({"mode": ("mean", "max")}, r"mode=\('mean', 'max'\) will have no effect"),
        ({"mode": ["mean"], "weights": "idf"}, "weights='idf' will have no"),
    ):
        with pytest.warns(UserWarning, match=match):
            Pooling(**options).fit(X)
    Pooling("mean").fit(X)
    Pooling("max").fit(make(levels=("sequence", "type")))
