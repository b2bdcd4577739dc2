"""Texts are pooled without splitting them, with the bits of the steps one by one."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import Parallel, delayed
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    Block,
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    WordVectors,
    transform_in_batches,
)
from sk_metaembed.sequences import _late, _split

from .oracles import LABELS

WORDS = [
    *("a", "b", "paris", "Paris", "to", "be", "TO", "'s", "!", "_", "C", "don't", ""),
    *("é", "café", "cafe\u0301", "straße", "ὀδυσσεύς", "ὀδυσσεύσ", "σ", "ς", "i̇", "ı"),
    *("ﬁ", "fi", "日本", "❤\ufe0f", "😀", "\u0130", "x\ny", "\n", "longer than others"),
    *("internationally", "internationale", "12345678", "123456789"),
]
characters = st.sampled_from("aAbBiIİıσΣςéE\u0301 \n.,!'_ﬁℂ日😀\ud800C1")
pieces = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(WORDS).map(str.upper),
    st.sampled_from([" ", ", ", "\n", ";"]),
    st.text(characters, max_size=9),
)
texts = st.lists(st.lists(pieces, max_size=8).map("".join), min_size=1, max_size=7)
TOKENIZERS = [
    {},
    {"punctuation": True, "normalize": "NFKC"},
    {"normalize": None, "lowercase": False, "punctuation": True},
    {"token_pattern": r"[^;]+"},
]

ROWS = ["To be, or not to be", "Paris Café", "", "unknown"]


@pytest.fixture(scope="module")
def stores():
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((len(WORDS), 17)).astype(np.float32)
    return {
        name: WordVectors.from_arrays(WORDS, matrix, dtype=name)
        for name in ("float32", "float16")
    }


@pytest.fixture
def steps(stores):
    """Return fitted steps without options."""
    return fitted(Tokenizer(), PretrainedEmbedding(stores["float32"]), Pooling())


@pytest.fixture(autouse=True)
def chunks_of_a_few_characters(monkeypatch):
    monkeypatch.setattr(_split, "use_compiled", lambda seconds: True)
    monkeypatch.setattr(_late, "_CHUNK", 20)


def bits(array):
    assert array.dtype == np.float32
    return np.asarray(array).view(np.uint32).tolist()


def one_by_one(tokenizer, source, pooling, rows):
    """Return the result of the steps, each of which computes all of its output."""
    tokens = tokenizer.transform(rows)
    _ = tokens.types  # splits the texts
    embedded = source.transform(tokens)
    assert tokens._is_split
    assert all(block._late_rows(tokens) is None for block in embedded.blocks)
    return pooling.transform(embedded)


def fitted(tokenizer, source, pooling, rows=("a", "b", "paris")):
    embedded = source.fit_transform(tokenizer.fit_transform(rows))
    pooling.fit(embedded)
    return tokenizer, source, pooling


def transform(steps, rows, *, unsplit=True):
    tokens = steps[0].transform(rows)
    embedded = steps[1].transform(tokens)
    pooled = steps[2].transform(embedded)
    assert tokens._is_split != unsplit
    return pooled


@pytest.mark.parametrize("options", TOKENIZERS, ids=str)
def test_bits_are_those_of_single_steps(options, stores):
    sources = [PretrainedEmbedding(store) for store in stores.values()]
    every = [fitted(Tokenizer(**options), s, Pooling(list(LABELS))) for s in sources]

    @settings(max_examples=8)
    @given(rows=texts)
    def check(rows):
        for steps in every:
            assert bits(transform(steps, rows)) == bits(one_by_one(*steps, rows))

    check()


@pytest.mark.parametrize(
    ("source", "pooling"),
    [
        ({"oov": "mean"}, {}),
        ({"preprocess": "all-but-the-top"}, {}),
        ({}, {"weights": "idf"}),
        ({}, {"weights": "sif", "mode": ("mean", "max")}),
    ],
    ids=str,
)
def test_options_that_need_the_types_split(source, pooling, stores):
    source = PretrainedEmbedding(stores["float32"], **source)
    steps = fitted(Tokenizer(), source, Pooling(**pooling), ROWS)
    together = transform(steps, ROWS, unsplit=False)
    assert bits(together) == bits(one_by_one(*steps, ROWS))
    embedded = source.transform(steps[0].transform(ROWS))
    (block,) = embedded.blocks
    copied = embedded.with_blocks([Block("x", block.values, "type", block.known)])
    pooling = Pooling(**pooling)
    assert bits(pooling.fit_transform(copied)) == bits(together)


READS = {
    "values": lambda e: e.blocks[0].values.tolist(),
    "known": lambda e: e.blocks[0].known.tolist(),
    "repr": repr,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_reads_are_those_of_single_steps(read, steps):
    tokenizer, source, _ = steps
    unread = source.transform(tokenizer.transform(ROWS))
    assert unread.blocks[0]._late_rows(unread.tokens) is not None
    tokens = tokenizer.transform(ROWS)
    assert tokens.n_types == 7
    embedded = source.transform(tokens)
    assert read(unread) == read(embedded)
    assert unread == embedded
    with pytest.raises(AttributeError, match="no attribute 'vectors'"):
        unread.blocks[0].vectors  # noqa: B018


def test_tokens_split_meanwhile(steps):
    embedded = steps[1].transform(steps[0].transform(ROWS))
    assert embedded.tokens.n_tokens == 9
    assert bits(steps[2].transform(embedded)) == bits(one_by_one(*steps, ROWS))


def test_a_later_fit_changes_nothing(steps):
    expected = bits(one_by_one(*steps, ROWS))
    embedded = steps[1].transform(steps[0].transform(ROWS))
    other = WordVectors.from_arrays(["a", "be"], np.ones((2, 17)))
    steps[1].set_params(vectors=other, case_fallback=False).fit(["a"])
    assert bits(steps[2].transform(embedded)) == expected


def test_overflow_is_reported_with_its_row(tmp_path):
    huge = np.full((1, 4), 3e38, np.float32)
    store = WordVectors.from_arrays(["huge"], huge, path=tmp_path / "s")
    steps = fitted(Tokenizer(), PretrainedEmbedding(store), Pooling("sum"), ["huge"])
    with pytest.raises(ValueError, match="row 1 exceeds float32 .and those of 0 more"):
        transform(steps, ["huge", "huge huge", ""])


def test_a_corrupt_index_raises(tmp_path):
    WordVectors.from_arrays(["a", "b"], np.eye(2), path=tmp_path / "s")
    index = np.load(tmp_path / "s" / "index.npy")
    index[(index[:, 1] == ord("b")), 0] |= np.uint64(0xFFFF)
    np.save(tmp_path / "s" / "index.npy", index)
    store = WordVectors.open(tmp_path / "s")
    steps = fitted(Tokenizer(), PretrainedEmbedding(store), Pooling(), ["a"])
    with pytest.raises(ValueError, match="index of the store is corrupt"):
        transform(steps, ["a", "b"])


def test_workers_and_batches(steps, tmp_path):
    pipe, rows = make_pipeline(*steps), ROWS * 5
    expected = bits(one_by_one(*steps, rows))
    (result,) = Parallel(2, prefer="threads")([delayed(pipe.transform)(rows)])
    assert bits(result) == expected
    assert bits(pickle.loads(pickle.dumps(pipe)).transform(rows)) == expected
    transform_in_batches(pipe, rows, tmp_path / "rows.npy", batch_size=3)
    assert bits(np.load(tmp_path / "rows.npy")) == expected
