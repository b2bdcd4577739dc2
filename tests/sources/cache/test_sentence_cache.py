"""The sentence cache: correct, shared, bounded, and safe against faults."""

import contextlib
import os
import sqlite3
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sk_metaembed import EmbeddingCache, TokenSequences
from sk_metaembed.sources._fingerprint import fingerprint_of
from sk_metaembed.sources.cache import _sqlite
from sk_metaembed.sources.cache._sentence_cache import SentenceCache
from sk_metaembed.sources.cache._sqlite import cache_files, current_file
from sk_metaembed.sources.contextual._sentences import Layer

# Not by a relative import: processes that are started must find it by its name.
sys.path.insert(0, os.path.dirname(__file__))
from cache_workers import (  # noqa: E402
    CLEAN,
    LAYERS,
    TOKENS,
    Source,
    embed,
    entry,
    equal,
    fill,
    fork_while_locked,
    numbered,
    run,
    vectors,
    write_for_ever,
)


@pytest.fixture
def bare(tmp_path):
    """Vectors computed without a cache, which are then stored in one."""
    with SentenceCache(tmp_path, "m") as cache:
        run(cache)
    return run(None)[0]


def change_table(directory, *query):
    with contextlib.closing(sqlite3.connect(current_file(directory))) as connection:
        connection.execute(*query)
        connection.commit()


def size_on_disk(directory):
    return sum(file.stat().st_size for file in cache_files(directory))


# --- keys and entries


def test_keys_differ_where_vectors_can(tmp_path):
    sentences = [("a b",), ("a", "b"), ("ab",), ("a", "b", ""), ("\ud800",)]
    keys = []
    for options in (("m",), ("n",), ("m", "float16")):
        with SentenceCache(tmp_path, *options) as cache:
            for layer in (0, 1, "1"):
                keys += cache.keys(sentences, layer)
    assert len(set(keys)) == len(keys) == 45


def test_a_fingerprint_depends_on_weights_and_options():
    import torch

    state = {"w": torch.ones(2, 3), "b": torch.ones(2)}
    first = fingerprint_of({"a": 1, "b": 2}, state.items())
    assert first == fingerprint_of({"b": 2, "a": 1}, reversed(state.items()))
    others = [
        fingerprint_of({"a": 1, "b": 3}, state.items()),
        fingerprint_of({"a": 1, "b": 2}, {**state, "b": torch.ones(2).half()}.items()),
        fingerprint_of({"a": 1, "b": 2}, {**state, "w": torch.ones(3, 2)}.items()),
        fingerprint_of({"a": 1, "b": 2}, {"w": state["w"]}.items()),
    ]
    assert len({first, *others}) == 5


# --- sentence_blocks


def test_results_are_in_order_and_the_same_with_and_without_a_cache(tmp_path):
    bare, computed = run(None)
    assert computed == [("to", "be"), ("or", "?"), ("not",)]
    (values, known), (pooled, whole) = bare
    np.testing.assert_array_equal(values[:2], vectors(["to", "be"]))
    np.testing.assert_array_equal(values[4:6], vectors(["to", "be"]))
    assert known.tolist() == [True, True, True, False, True, True, True]
    assert whole.tolist() == [True, False, True, True, True]
    assert not pooled[1].any()
    for expected in (3, 0):
        with SentenceCache(tmp_path, "m") as cache:
            result, computed = run(cache)
            equal(result, bare)
            assert len(computed) == expected


def test_float16_rounds_computed_vectors_too(tmp_path):
    def third(sentences):
        return [[(np.full((len(s), 1), 1 / 3), [True] * len(s))] for s in sentences]

    tokens = TokenSequences.from_lists([["a", "b"]])
    for _ in range(2):
        with SentenceCache(tmp_path, "m", "float16") as cache:
            ((values, _),) = embed(cache, tokens, third, [Layer("0", 1)])
        assert values.dtype == np.float32
        assert set(values.ravel()) == {np.float32(np.float16(1 / 3))}


@pytest.mark.parametrize(
    ("returned", "match"),
    [
        ([], "for 'to be' it returned nothing"),
        ([[(np.ones((2, 3)), [1, 1]), (np.ones(3), True)]], "'pooled'.*dimension 2"),
        ([[(np.full((2, 3), np.inf), [1, 1]), (np.ones(2), True)]], "'to be': .* NaN"),
    ],
)
def test_invalid_output_of_a_source_raises(tmp_path, returned, match):
    with SentenceCache(tmp_path, "m") as cache, pytest.raises(ValueError, match=match):
        embed(cache, TOKENS[:1], lambda sentences: returned)
    assert EmbeddingCache(tmp_path).info().entries == 0


def test_sentences_stored_by_others_meanwhile_are_not_computed(tmp_path):
    """The first slice is at work while another handle computes everything."""
    source = Source()

    def interrupted(sentences):
        if not source.computed:
            with SentenceCache(tmp_path, "m") as other:
                assert len(run(other)[1]) == 3
        return source(sentences)

    with SentenceCache(tmp_path, "m") as cache:
        result = embed(cache, TOKENS, interrupted, slice_tokens=1)
    assert len(source.computed) == 1
    equal(result, run(None)[0])


# --- damage


def flip(data):
    data[-3] ^= 16
    return data


@pytest.mark.parametrize("change", [flip, lambda data: data[:-8], lambda data: b""])
def test_corrupt_entries_are_computed_again(tmp_path, bare, change):
    with SentenceCache(tmp_path, "m") as cache:
        [(number, data)] = cache._store.query(
            "SELECT id, data FROM vectors ORDER BY id LIMIT 1"
        )
    changed = change(bytearray(data)), number
    change_table(tmp_path, "UPDATE vectors SET data = ? WHERE id = ?", changed)
    with (
        pytest.warns(UserWarning, match="1 entry is corrupt") as caught,
        SentenceCache(tmp_path, "m") as cache,
    ):
        result, computed = run(cache)
    assert len(caught) == len(computed) == 1
    equal(result, bare)
    with SentenceCache(tmp_path, "m") as cache:
        assert run(cache)[1] == []


def test_an_entry_under_the_wrong_key_is_detected(tmp_path):
    with SentenceCache(tmp_path, "m") as cache:
        keys = fill(cache, 2)
        other = "SELECT data FROM vectors WHERE id = 2"
        change_table(tmp_path, f"UPDATE vectors SET data = ({other}) WHERE id = 1")
        first, second = cache.get_many(keys)
        assert first is None and second is not None
        cache._corrupt.clear()


def test_an_entry_of_another_shape_is_computed_again(tmp_path, bare):
    """Its checksum is right: it does not belong to a sentence of this source."""
    with SentenceCache(tmp_path, "m") as cache:
        keys = cache.keys([("to", "be")], LAYERS[0].name)
        cache.put_many(keys, [(np.ones((1, 3)), [True])])  # not of both tokens
        result, computed = run(cache)
        assert computed == [("to", "be")]
        equal(result, bare)


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM settings",
        "UPDATE vectors SET data = 'text'",
        "UPDATE entries SET source = 'none', size = x'00'",
        "DELETE FROM vectors",
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # one of damage, mostly
def test_tables_with_unexpected_content(tmp_path, bare, change):
    change_table(tmp_path, change)
    for _ in range(2):
        with SentenceCache(tmp_path, "m") as cache:
            equal(run(cache)[0], bare)


@pytest.mark.parametrize("how", ["cut", "garbled", "no database"])
def test_a_corrupt_file_is_set_aside(tmp_path, bare, how):
    with SentenceCache(tmp_path, "m") as cache:
        fill(cache, 200)
    file = current_file(tmp_path)
    content = file.read_bytes()
    corrupt = {
        "cut": content[: len(content) // 2 + 100],
        "garbled": content[:4096] + content[4096:][::-1],
        "no database": b"something else " * 100,
    }
    file.write_bytes(corrupt[how])
    message = "is corrupt .* a new file was created"
    with (
        pytest.warns(UserWarning, match=message) as caught,
        SentenceCache(tmp_path, "m") as cache,
    ):
        result, computed = run(cache)
    assert len(caught) == 1
    assert len(computed) == 3
    equal(result, bare)
    with SentenceCache(tmp_path, "m") as cache:
        assert run(cache)[1] == []
    assert any(path.suffix == ".damaged" for path in cache_files(tmp_path))
    EmbeddingCache(tmp_path).clear()
    assert not any(path.suffix == ".damaged" for path in cache_files(tmp_path))
    assert EmbeddingCache(tmp_path).info().entries == 0


# --- limit


def test_the_oldest_entries_go_first(tmp_path):
    limit = 2**20
    EmbeddingCache(tmp_path).set_limit(limit)
    with SentenceCache(tmp_path, "m") as cache:
        first = fill(cache, 20, dim=2500)
        second = fill(cache, 20, start=20, dim=2500)
        fill(cache, 20, dim=2500)  # written again, so no longer the oldest
        for start in range(40, 100, 10):
            last = fill(cache, 10, start=start, dim=2500)
        assert all(cache.get_many([*first, *last]))
        assert not any(cache.get_many(second)[:10])
    assert EmbeddingCache(tmp_path).info().bytes < limit
    assert current_file(tmp_path).stat().st_size < 1.5 * limit


def wait_for(pipe, count):
    for _ in range(count):
        assert pipe.poll(20)
        last = pipe.recv()
    return last


def test_killed_writers_lose_no_stored_entry(tmp_path):
    """Two processes write; both are killed in the middle of it; twice."""
    stored = {}
    for number in (0, 2):
        pipes, writers = [], []
        for k in range(2):
            receive, send = CLEAN.Pipe(duplex=False)
            args = str(tmp_path), number + k, send
            writers.append(CLEAN.Process(target=write_for_ever, args=args))
            pipes.append(receive)
            writers[-1].start()
            send.close()
        for k, pipe in enumerate(pipes):
            stored[number + k] = wait_for(pipe, 20)
        for writer in writers:
            writer.kill()
            writer.join()
        for k, pipe in enumerate(pipes):
            with contextlib.suppress(EOFError):
                while pipe.poll():
                    stored[number + k] = pipe.recv()
    with SentenceCache(tmp_path, "m") as cache:
        for number, last in stored.items():
            count, start = 8 * (last + 1), number * 10**6
            entries = cache.get_many(cache.keys(numbered(count, start), 0))
            for i, (values, _) in enumerate(entries):
                np.testing.assert_array_equal(values, entry(start + i)[0])
        assert cache._store.query("PRAGMA integrity_check") == [("ok",)]
        assert all(cache.get_many(fill(cache, 5, start=10**8)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_has_its_own_connection(tmp_path):
    process = CLEAN.Process(target=fork_while_locked, args=(str(tmp_path),))
    process.start()
    process.join()
    assert process.exitcode == 0


# --- full disks and folders that may not be written


def test_a_full_disk_warns_once_and_computation_continues(tmp_path):
    with SentenceCache(tmp_path, "m") as cache:
        keys = fill(cache, 5)
        pages = cache._store.query("PRAGMA page_count")[0][0]
        cache._store.query(f"PRAGMA max_page_count = {pages}")
        message = "full .*new vectors are not stored"
        with pytest.warns(UserWarning, match=message) as caught:
            fill(cache, 500, start=100)
            fill(cache, 500, start=700)
            result, computed = run(cache)
        assert len(caught) == 1
        assert len(computed) == 3
        equal(result, run(None)[0])
        assert all(cache.get_many(keys))
    with SentenceCache(tmp_path, "m") as cache:
        assert all(cache.get_many(keys))
        assert all(cache.get_many(fill(cache, 500, start=100)))


def test_a_read_only_cache_is_read(tmp_path, monkeypatch):
    with SentenceCache(tmp_path / "used", "m") as cache:
        keys = fill(cache, 5)
    before = current_file(tmp_path / "used").read_bytes()
    monkeypatch.setattr("os.access", lambda path, mode, **kwargs: not mode & os.W_OK)
    with SentenceCache(tmp_path / "used", "m") as cache:
        assert all(cache.get_many(keys))
        with pytest.warns(UserWarning, match="readonly .*new vectors are not stored"):
            assert len(run(cache)[1]) == 3
    assert current_file(tmp_path / "used").read_bytes() == before
    with pytest.raises(PermissionError, match="the cache is read-only"):
        EmbeddingCache(tmp_path / "used").set_limit(10**9)
    with pytest.raises(PermissionError, match="read-only. Pass a different"):
        SentenceCache(tmp_path / "new", "m")


def test_threads_that_create_a_cache_at_the_same_time(tmp_path):
    barrier = threading.Barrier(8)

    def begin(i):
        barrier.wait()
        with SentenceCache(tmp_path, "m") as cache:
            fill(cache, 1, start=i)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(begin, range(8)))
    assert EmbeddingCache(tmp_path).info().entries == 8


def test_a_file_in_place_of_the_directory_raises(tmp_path):
    (tmp_path / "file").touch()
    for place in ("file", "file/below"):
        with pytest.raises(NotADirectoryError, match="a file has this name"):
            SentenceCache(tmp_path / place, "m")
    with pytest.raises(NotADirectoryError, match="is a file"):
        EmbeddingCache(tmp_path / "file").info()


# --- info and clear


def test_info_counts_by_source(tmp_path):
    for name, n in (("a", 3), ("b", 5)):
        with SentenceCache(tmp_path, name) as cache:
            fill(cache, n)
    info = EmbeddingCache(tmp_path).info()
    assert info.entries == 8
    assert info.sources["b"].entries == 5
    assert info.sources["b"].bytes == 5 * info.bytes // 8
    assert info.disk_bytes > info.bytes


def test_clearing_changes_only_the_cache_while_it_is_in_use(tmp_path):
    (tmp_path / "mine.sqlite").write_text("precious")
    EmbeddingCache(tmp_path).set_limit(10**9)
    with SentenceCache(tmp_path, "m") as cache:
        keys = fill(cache, 300)
        large = size_on_disk(tmp_path)
        EmbeddingCache(tmp_path).clear()
        assert size_on_disk(tmp_path) < large / 2
        assert cache.get_many(keys) == [None] * 300
        assert all(cache.get_many(fill(cache, 5)))
    assert (tmp_path / "mine.sqlite").read_text() == "precious"
    assert EmbeddingCache(tmp_path).info().entries == 5
    assert EmbeddingCache(tmp_path).info().limit == 10**9


def test_a_limit_is_set_before_and_after_there_are_entries(tmp_path):
    stored = EmbeddingCache(tmp_path / "new")
    stored.set_limit(2e9)
    assert stored.info().limit == 2 * 10**9
    with SentenceCache(tmp_path / "new", "m") as cache:
        fill(cache, 100, dim=2500)
        stored.set_limit(2**19)
        assert 0 < stored.info().bytes <= 2**19
        stored.set_limit(None)
        fill(cache, 100, dim=2500)
    assert (stored.info().entries, stored.info().limit) == (100, None)
    for size in (0, -1, float("nan"), float("inf"), "2 GB"):
        with pytest.raises(ValueError, match="positive number of bytes"):
            stored.set_limit(size)


def full(store):
    store.limit()  # opens the file
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    raise error


@pytest.mark.parametrize("how", ["full disk", "table lacks"])
def test_files_that_sqlite_cannot_empty_are_removed(tmp_path, monkeypatch, how):
    EmbeddingCache(tmp_path).set_limit(10**9)
    with SentenceCache(tmp_path, "m") as cache:
        fill(cache, 300)
        if how == "table lacks":
            cache._store.query("DROP TABLE vectors")
    if how == "full disk":
        monkeypatch.setattr(_sqlite.CacheStore, "clear", full)
    large = size_on_disk(tmp_path)
    EmbeddingCache(tmp_path).clear()
    assert size_on_disk(tmp_path) < large / 2
    assert [file.suffix for file in cache_files(tmp_path)] == [".sqlite"]
    info = EmbeddingCache(tmp_path).info()
    assert (info.entries, info.limit) == (0, 10**9)
    with SentenceCache(tmp_path, "m") as cache:
        assert all(cache.get_many(fill(cache, 5)))


@pytest.mark.parametrize(
    "call", [lambda d: EmbeddingCache(d).info(), lambda d: EmbeddingCache(d).clear()]
)
def test_directories_without_a_cache_raise(tmp_path, call):
    with pytest.raises(FileNotFoundError, match="There is no directory"):
        call(tmp_path / "nowhere")
    (tmp_path / "mine.sqlite").touch()
    with pytest.raises(ValueError, match="contains no sentence cache"):
        call(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.sqlite"]
