"""The memory of a sentence cache: equal vectors, only while they are valid."""

import shutil
import sqlite3
import threading

import numpy as np
import pytest

from sk_metaembed import (
    Pooling,
    TokenSequences,
    cache_info,
    clear_cache,
)
from sk_metaembed.sequences import EmbeddedSequences
from sk_metaembed.sources._sentences import Layer, SentenceRows
from sk_metaembed.sources.cache import _sentence_blocks
from sk_metaembed.sources.cache._sentence_blocks import (
    LIMIT_VARIABLE,
    MEMORY,
    compute_missing,
    sentence_blocks,
)
from sk_metaembed.sources.cache._sentence_cache import SentenceCache
from sk_metaembed.sources.cache._sqlite import current_file

LAYERS = [Layer("0", 3), Layer("1", 3), Layer("pooled", 2, "sequence")]
LISTS = [["to", "be"], [], ["or", "?"], ["to", "be"], ["not"], ["?"]]
TOKENS = TokenSequences.from_lists(LISTS)


@pytest.fixture(autouse=True)
def nothing_at_hand():
    MEMORY.clear()
    yield
    MEMORY.clear()


class Source:
    """Vectors of words and neighbours; "?" is not known. Records what is computed."""

    def __init__(self):
        self.computed = []

    def __call__(self, sentences):
        self.computed += sentences
        for words in sentences:
            rows = [[len(words), k, len(word)] for k, word in enumerate(words)]
            known = np.array([word != "?" for word in words])
            rows = np.array(rows, dtype=float) * known[:, None]
            yield [(rows, known), (-rows, known), (rows.mean(axis=0)[:2], known.any())]


def run(directory, tokens=TOKENS, layers=LAYERS, **options):
    source, chosen = Source(), [LAYERS.index(layer) for layer in layers]

    def compute(sentences):
        return ([entry[i] for i in chosen] for entry in source(sentences))

    with SentenceCache(directory, "m", **options) as cache:
        blocks = sentence_blocks(cache, tokens, layers, compute)
    return blocks, source.computed


def same(blocks, tokens=TOKENS):
    expected = compute_missing(None, SentenceRows(tokens, LAYERS), Source())
    for block, layer, (values, known) in zip(blocks, LAYERS, expected, strict=True):
        assert (block.name, block.level) == (layer.name, layer.level)
        assert block.values.dtype == np.float32
        np.testing.assert_array_equal(block.known, known)
        np.testing.assert_array_equal(block.values[known], values[known])
        assert not block.values[~known].any()


def test_blocks_do_not_depend_on_the_memory(tmp_path):
    assert run(tmp_path, TOKENS[:1])[1] == [("to", "be")]
    blocks, computed = run(tmp_path)
    assert sorted(computed) == [("?",), ("not",), ("or", "?")]
    same(blocks)
    for rows in ([5, 0, 0, 1, 2], [1], []):
        some = TOKENS[rows]
        blocks, computed = run(tmp_path, some)
        assert computed == []
        same(blocks, some)


def test_sentences_in_memory_are_not_read_again(tmp_path, monkeypatch):
    run(tmp_path)
    monkeypatch.setattr(SentenceCache, "get_many", None)
    blocks, _ = run(tmp_path)
    assert blocks[0].indexed()[1] is not None
    same(blocks)


def test_layers_are_in_memory_one_by_one(tmp_path):
    run(tmp_path, layers=LAYERS[1:2])
    _, computed = run(tmp_path, layers=LAYERS[:2])
    assert len(computed) == 4
    (block,), computed = run(tmp_path, layers=LAYERS[:1])
    assert computed == []
    np.testing.assert_array_equal(block.values[0], [2, 0, 2])


def test_blocks_stay_as_they_are_when_tables_grow(tmp_path):
    first, _ = run(tmp_path, TOKENS[:1])
    more = TokenSequences.from_lists([[f"w{i}", "x"] for i in range(50)])
    run(tmp_path, more)
    MEMORY.clear()
    same(first, TOKENS[:1])


def test_pooling_accepts_rows_of_tables(tmp_path):
    blocks, _ = run(tmp_path)
    own = [type(b)(b.name, b.values.copy(), b.level, b.known) for b in blocks]
    blocks, _ = run(tmp_path)
    pooled = Pooling(("mean", "max")).fit_transform(EmbeddedSequences(TOKENS, blocks))
    expected = Pooling(("mean", "max")).fit_transform(EmbeddedSequences(TOKENS, own))
    np.testing.assert_array_equal(pooled, expected)


def cleared_elsewhere(directory):
    with SentenceCache(directory, "m") as cache:
        cache._store.clear()


def removed(directory):
    shutil.rmtree(directory)


def damaged(directory):
    current_file(directory).write_text("something else " * 100)


@pytest.mark.parametrize("how", [clear_cache, cleared_elsewhere, removed])
def test_entries_lost_by_the_cache_are_computed_again(tmp_path, how):
    directory = tmp_path / "cache"
    run(directory)
    how(directory)
    blocks, computed = run(directory)
    same(blocks)
    assert len(computed) == 4
    assert cache_info(directory).entries == 12


def test_a_corrupt_file_is_replaced(tmp_path):
    run(tmp_path)
    damaged(tmp_path)
    with pytest.warns(UserWarning, match="a new file was created"):
        blocks, computed = run(tmp_path)
    same(blocks)
    assert len(computed) == 4
    assert run(tmp_path)[1] == []


def test_each_cache_and_precision_has_its_own_tables(tmp_path):
    run(tmp_path / "a")
    assert len(run(tmp_path / "b")[1]) == 4
    assert len(run(tmp_path / "a", dtype="float16")[1]) == 4
    assert len(MEMORY._tables) == 9


def test_a_cache_without_identity_works(tmp_path):
    run(tmp_path)
    with sqlite3.connect(current_file(tmp_path)) as connection:
        connection.execute("DELETE FROM settings WHERE name = 'identity'")
    connection.close()
    blocks, computed = run(tmp_path)
    same(blocks)
    assert computed == []
    assert blocks[0].indexed()[1] is None


def test_without_a_cache_nothing_stays_in_memory():
    source = Source()
    same(sentence_blocks(None, TOKENS, LAYERS, source))
    assert not MEMORY._tables


def test_beyond_the_limit_the_cache_is_read(tmp_path, monkeypatch):
    n_computed = 0
    for megabytes, n_tables in (("0", 0), ("0.00001", 3), ("", 3)):
        MEMORY.clear()
        monkeypatch.setenv(LIMIT_VARIABLE, megabytes)
        for _ in range(2):
            blocks, computed = run(tmp_path)
            same(blocks)
            n_computed += len(computed)
        assert len(MEMORY._tables) == n_tables
    assert n_computed == 4
    monkeypatch.setenv(LIMIT_VARIABLE, "much")
    with pytest.raises(ValueError, match="must be a number of MiB, 0 for none"):
        run(tmp_path)


def test_the_least_recently_used_table_is_dropped(tmp_path, monkeypatch):
    size = 4 * 4 * 3 * 7
    monkeypatch.setattr(_sentence_blocks, "limit", lambda: 3 * size)
    for name in "abc":
        run(tmp_path / name)
    held = sum(table.nbytes for table in MEMORY._tables.values())
    assert 0 < held <= 3 * size
    assert run(tmp_path / "c")[0][0].indexed()[1] is not None
    same(run(tmp_path / "a")[0])


def test_threads_share_the_memory(tmp_path):
    failed = []
    rng = np.random.default_rng(0)
    orders = [rng.integers(0, len(TOKENS), 20) for _ in range(24)]

    def work(orders):
        try:
            for rows in orders:
                same(run(tmp_path, TOKENS[rows])[0], TOKENS[rows])
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(orders[i::3],)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
