"""What candidates average and pool of cached layers is computed once, to equal bits."""

import gc
import pickle
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    AverageMetaEmbedding,
    ConcatMetaEmbedding,
    Pooling,
    TokenSequences,
    TransformerEmbedding,
)
from sk_metaembed.pooling import _bags, _modes
from sk_metaembed.sequences import EmbeddedSequences
from sk_metaembed.sources._sentences import Layer
from sk_metaembed.sources.cache import _derived, _sentence_blocks
from sk_metaembed.sources.cache._sentence_blocks import MEMORY, sentence_blocks
from sk_metaembed.sources.cache._sentence_cache import SentenceCache

from .. import tiny_bert

LAYERS = [Layer("0", 3), Layer("1", 3)]
WORDS = ["to", "be", "or", "not", "that"]


@pytest.fixture(autouse=True)
def empty_memory():
    MEMORY.clear()
    yield
    MEMORY.clear()


def draw(n_rows, seed=0):
    generator = np.random.default_rng(seed)
    lists = [
        [WORDS[i] for i in generator.integers(0, 5, generator.integers(0, 6))]
        for _ in range(n_rows)
    ]
    return TokenSequences.from_lists(lists)


def compute(sentences, *, unknown=()):
    for words in sentences:
        seed = sum(len(word) * i for i, word in enumerate(words))
        values = np.random.default_rng(seed).normal(size=(2, len(words), 3))
        known = np.array([word not in unknown for word in words])
        yield [(layer * known[:, None], known) for layer in values]


def embed(directory, tokens, run=compute, layers=LAYERS):
    if directory is None:
        blocks = sentence_blocks(None, tokens, layers, run)
    else:
        with SentenceCache(directory, "model") as handle:
            blocks = sentence_blocks(handle, tokens, layers, run)
    return EmbeddedSequences(tokens, blocks)


@pytest.fixture
def counts(monkeypatch):
    """Count the sequences that are pooled and the rows that are averaged."""
    counts = {"pooled": 0, "averaged": 0}
    combine = AverageMetaEmbedding._combine

    def counting(self, blocks):
        counts["averaged"] += blocks[0].n_rows
        return combine(self, blocks)

    def kernel(name, bags, *args):
        counts["pooled"] += len(bags.offsets) - 1
        return _bags.run_kernel(name, bags, *args)

    monkeypatch.setattr(AverageMetaEmbedding, "_combine", counting)
    monkeypatch.setattr(_modes, "run_kernel", kernel)
    return counts


PIPELINES = {
    "mean": Pooling(),
    "several": Pooling(("max", "sum", "first", "last", "min")),
    "power-means": Pooling("power-means", powers=(1, 3, np.inf)),
    "dct": Pooling("dct", n_coefficients=3),
    "hierarchical": Pooling("hierarchical", window_size=2),
    "idf": Pooling(weights="idf"),
    "sif": Pooling(("mean", "max"), weights="sif"),
    "average": make_pipeline(AverageMetaEmbedding(normalize=False), Pooling("max")),
    "unit average": make_pipeline(AverageMetaEmbedding(weights={"0": 3}), Pooling()),
    "one layer": make_pipeline(AverageMetaEmbedding(weights={"0": 0}), Pooling()),
    "concatenated": make_pipeline(ConcatMetaEmbedding(), Pooling()),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_results_have_the_bits_of_those_without_a_cache(name, tmp_path):
    pipeline = PIPELINES[name]
    for seed, n_rows in ((0, 30), (0, 30), (1, 3), (2, 40), (0, 30)):
        tokens = draw(n_rows, seed)
        expected = clone(pipeline).fit_transform(embed(None, tokens))
        result = clone(pipeline).fit_transform(embed(tmp_path, tokens))
        assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ["mean", "average", "dct"])
def test_unknown_tokens_are_left_out(name, tmp_path):
    def run(sentences):
        return compute(sentences, unknown=("be",))

    for seed in (0, 1, 0):
        tokens = draw(20, seed)
        expected = clone(PIPELINES[name]).fit_transform(embed(None, tokens, run))
        result = clone(PIPELINES[name]).fit_transform(embed(tmp_path, tokens, run))
        assert result.tobytes() == expected.tobytes()


def test_each_sentence_is_pooled_and_averaged_once(tmp_path, counts):
    tokens = draw(60)
    distinct = {tuple(row) for row in tokens} - {()}
    n_tokens = sum(map(len, distinct))
    for rows in (range(40), range(20, 60), range(60), range(60)):
        for mode in ("mean", "max", "mean"):
            embedded = embed(tmp_path, tokens[list(rows)])
            Pooling(mode).fit_transform(embedded)
            average = AverageMetaEmbedding().fit_transform(embedded)
            Pooling(mode).fit_transform(average)
    assert counts["pooled"] == 2 * 3 * len(distinct)  # modes x blocks
    assert counts["averaged"] == n_tokens


def test_other_options_are_computed_apart(tmp_path, counts):
    embedded = embed(tmp_path, draw(10))
    results = [
        Pooling("dct", n_coefficients=n).fit_transform(embedded)[:, :6] for n in (2, 9)
    ]
    assert not np.array_equal(*results)
    for options in ({}, {"normalize": False}, {"weights": [2, 1]}):
        average = AverageMetaEmbedding(**options)
        expected = average.fit_transform(embed(None, draw(10)))
        assert average.fit_transform(embedded) == expected


def test_blocks_stay_valid_when_tables_grow_and_results_are_dropped(tmp_path):
    small, large = draw(5), draw(80, 1)
    first = AverageMetaEmbedding().fit_transform(embed(tmp_path, small))
    AverageMetaEmbedding().fit_transform(embed(tmp_path, large))
    MEMORY.clear()
    expected = AverageMetaEmbedding().fit_transform(embed(None, small))
    assert first == expected
    assert pickle.loads(pickle.dumps(first)) == expected
    assert np.array_equal(
        Pooling().fit_transform(first), Pooling().fit_transform(expected)
    )


def test_parts_and_renamed_blocks_share_results(tmp_path, counts):
    tokens = draw(30)
    embedded = embed(tmp_path, tokens)
    whole = Pooling().fit_transform(embedded)
    before = counts["pooled"]
    part = embedded[5:15].with_blocks(
        [block.rename(f"new-{block.name}") for block in embedded[5:15].blocks]
    )
    assert np.array_equal(Pooling().fit_transform(part), whole[5:15])
    assert counts["pooled"] == before


def test_runs_of_several_lengths_with_one_first_row_are_pooled(tmp_path):
    block = embed(tmp_path, TokenSequences.from_lists([["to", "be", "or"]])).blocks[0]
    tokens = TokenSequences.from_lists([["to", "be"], ["to"]])
    for rows in ([0, 1, 0], [0, 1, 0], [2, 0, 1]):
        taken = EmbeddedSequences(tokens, [block.take(np.array(rows))])
        plain = EmbeddedSequences(tokens, [pickle.loads(pickle.dumps(taken.blocks[0]))])
        assert np.array_equal(
            Pooling().fit_transform(taken), Pooling().fit_transform(plain)
        )


def test_results_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(_sentence_blocks, "derived_limit", lambda: 5000)
    tokens = draw(60)
    for mode in ("mean", "max", "min"):
        embedded = embed(tmp_path, tokens)
        expected = Pooling(mode).fit_transform(embed(None, tokens))
        assert np.array_equal(Pooling(mode).fit_transform(embedded), expected)
        AverageMetaEmbedding().fit_transform(embedded)
        held = sum(entry.nbytes for entry in MEMORY._derived._entries.values())
        assert held <= 5000


def test_results_of_a_dropped_table_are_dropped(tmp_path):
    embedded = embed(tmp_path, draw(20))
    Pooling().fit_transform(AverageMetaEmbedding().fit_transform(embedded))
    Pooling().fit_transform(embedded)
    store = MEMORY._derived
    first, second = (block._memo._owner for block in embedded.blocks)
    assert len(store._entries) == 4
    store.drop(first)
    assert [key[0] for key in store._entries] == [(weakref.ref(second),)]


def test_blocks_of_other_rows_are_combined_directly(tmp_path):
    tokens = draw(20)
    embedded = embed(tmp_path, tokens)
    first, second = embedded.blocks
    backwards = second.take(np.arange(second.n_rows)[::-1])
    mixed = embedded.with_blocks([first, backwards])
    plain = embedded.with_blocks(pickle.loads(pickle.dumps([first, backwards])))
    average = AverageMetaEmbedding()
    assert average.fit_transform(mixed) == average.fit_transform(plain)


def test_threads_share_results(tmp_path):
    tokens = draw(60)
    pipeline = PIPELINES["average"]
    expected = clone(pipeline).fit_transform(embed(None, tokens))

    def run(_):
        return clone(pipeline).fit_transform(embed(tmp_path, tokens))

    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(run, range(12)):
            assert result.tobytes() == expected.tobytes()


def test_a_transformer_with_a_cache_equals_one_without(tmp_path):
    lists = [["good", "king"], ["the", "film", "was"], [], ["good", "king"]]
    pipeline = make_pipeline(
        TransformerEmbedding(tiny_bert.folder(), "all"),
        AverageMetaEmbedding(normalize=False),
        Pooling(("mean", "max")),
    )
    expected = pipeline.fit_transform(lists)
    pipeline.set_params(transformerembedding__cache=tmp_path)
    for _ in range(2):
        np.testing.assert_array_equal(pipeline.fit_transform(lists), expected)
    assert isinstance(pipeline[0].transform(lists).blocks[0]._memo, _derived.Memo)


def test_another_thread_gathers_a_block_while_it_is_combined(tmp_path):
    tokens = draw(20)
    embed(tmp_path, tokens)
    embedded = embed(tmp_path, tokens[::-1])  # the rows of the tables in another order
    average = AverageMetaEmbedding()
    expected = average.fit_transform(embed(None, tokens[::-1]))
    results = []
    thread = threading.Thread(
        target=lambda: results.append(average.transform(embedded)), daemon=True
    )
    lookup = _derived.DerivedStore.entry

    class Gathering(_derived.DerivedStore):
        def entry(self, *args):
            for block in embedded.blocks:
                assert len(block.values)
            return lookup(self, *args)

    MEMORY._derived.__class__ = Gathering
    try:
        thread.start()
        thread.join()
    finally:
        MEMORY._derived.__class__ = _derived.DerivedStore
    assert results == [expected]


def test_pooled_vectors_keep_no_dropped_average_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(_sentence_blocks, "derived_limit", lambda: 5000)
    embedded = embed(tmp_path, draw(60))
    averages = [
        AverageMetaEmbedding(weights=[1, n]).fit_transform(embedded) for n in range(9)
    ]
    owners = [weakref.ref(average.blocks[0]._memo._owner) for average in averages]
    for average in averages:
        Pooling().fit_transform(average)
    del average, averages
    gc.collect()
    entries = MEMORY._derived._entries.values()
    assert all(owner() is None or owner() in entries for owner in owners)


class Squared(AverageMetaEmbedding):
    def __init__(self, *, weights=None, normalize=True, power=2):
        super().__init__(weights=weights, normalize=normalize)
        self.power = power

    def _combine(self, blocks):
        values, known = super()._combine(blocks)
        return values**self.power, known


def test_a_subclass_with_other_parameters_shares_no_results(tmp_path):
    for power in (1, 2):
        subclass, tokens = Squared(power=power), draw(20)
        expected = subclass.fit_transform(embed(None, tokens))
        assert subclass.fit_transform(embed(tmp_path, tokens)) == expected
