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
from sk_metaembed.sources._cache import FILE, SentenceCache
from sk_metaembed.sources._fingerprint import fingerprint_of
from sk_metaembed.sources._sentences import VectorKind

# Not by a relative import: processes that are started must find it by its name.
sys.path.insert(0, os.path.dirname(__file__))
from cache_workers import (  # noqa: E402
    CLEAN,
    KINDS,
    TOKENS,
    Source,
    embed,
    entry,
    equal,
    fill,
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
        n_tokens = sum(map(len, sentences))
        return [(np.full((n_tokens, 1), 1 / 3), np.ones(n_tokens, bool))]

    tokens = TokenSequences.from_lists([["a", "b"]])
    for _ in range(2):
        with SentenceCache(tmp_path, "m", "float16") as cache:
            ((values, _),) = embed(cache, tokens, third, [VectorKind("0", 1)])
        assert values.dtype == np.float32
        assert set(values.ravel()) == {np.float32(np.float16(1 / 3))}


def test_vectors_that_are_not_finite_raise_with_their_sentence(tmp_path):
    def infinite(sentences):
        (values, known), pooled = Source()(sentences)
        values[2] = np.inf
        return [(values, known), pooled]

    message = r"Layer '0' of 'or \?': .* NaN"
    with (
        SentenceCache(tmp_path, "m") as cache,
        pytest.raises(ValueError, match=message),
    ):
        embed(cache, TOKENS, infinite)
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


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entries SET vectors = 'text'",
        "UPDATE entries SET vectors = x'00'",
        "UPDATE entries SET known = 'text'",
        "UPDATE entries SET known = x'01'",
        "DELETE FROM settings",
        "DROP TABLE entries",
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # of damage, mostly
def test_tables_with_unexpected_content(tmp_path, bare, change):
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as connection:
        connection.execute(change)
        connection.commit()
    for _ in range(2):
        with SentenceCache(tmp_path, "m") as cache:
            equal(run(cache)[0], bare)


@pytest.mark.parametrize("how", ["cut", "no database"])
def test_a_corrupt_file_is_not_used_until_it_is_cleared(tmp_path, bare, how):
    with SentenceCache(tmp_path, "m") as cache:
        fill(cache, 200)
    content = (tmp_path / FILE).read_bytes()
    corrupt = content[: len(content) // 2 + 100], b"something else " * 100
    (tmp_path / FILE).write_bytes(corrupt[how == "no database"])
    with (
        pytest.warns(UserWarning, match=r"clear\(\) empties it") as caught,
        SentenceCache(tmp_path, "m") as cache,
    ):
        result, computed = run(cache)
    assert len(caught) == 1
    assert len(computed) == 3
    equal(result, bare)
    with pytest.raises(OSError, match=r"clear\(\) empties it"):
        EmbeddingCache(tmp_path).info()
    EmbeddingCache(tmp_path).clear()
    for expected in (3, 0):
        with SentenceCache(tmp_path, "m") as cache:
            assert len(run(cache)[1]) == expected


def test_an_entry_of_another_shape_is_computed_again(tmp_path, bare):
    """Its checksum is right: it does not belong to a sentence of this source."""
    with SentenceCache(tmp_path, "m") as cache:
        keys = cache.keys([("to", "be")], KINDS[0].name)
        cache.put_many(keys, [(np.ones((1, 3)), [True])])  # not of both tokens
        result, computed = run(cache)
        assert computed == [("to", "be")]
        equal(result, bare)


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
    assert (tmp_path / FILE).stat().st_size < 1.5 * limit


def test_a_limit_is_set_before_and_after_there_are_entries(tmp_path):
    stored = EmbeddingCache(tmp_path / "new")
    stored.set_limit(2e9)
    assert stored.info().limit == 2 * 10**9
    with SentenceCache(tmp_path / "new", "m") as cache:
        fill(cache, 100, dim=2500)
        stored.set_limit(2**19)
        assert 0 < stored.info().bytes <= 2**19
        stored.set_limit(1)  # less than an empty store has
        assert stored.info().entries == 0
        stored.set_limit(None)
        fill(cache, 100, dim=2500)
    assert (stored.info().entries, stored.info().limit) == (100, None)
    for size in (0, -1, float("nan"), float("inf"), "2 GB"):
        with pytest.raises(ValueError, match="^EmbeddingCache: size must"):
            stored.set_limit(size)


def wait_for(pipe, count):
    for _ in range(count):
        assert pipe.poll(20)
        last = pipe.recv()
    return last


def test_killed_writers_lose_no_stored_entry(tmp_path):
    """Two processes write; both are killed in the middle of it."""
    stored, pipes, writers = {}, [], []
    for number in range(2):
        receive, send = CLEAN.Pipe(duplex=False)
        args = str(tmp_path), number, send
        writers.append(CLEAN.Process(target=write_for_ever, args=args))
        pipes.append(receive)
        writers[-1].start()
        send.close()
    for number, pipe in enumerate(pipes):
        stored[number] = wait_for(pipe, 5)
    for writer in writers:
        writer.kill()
        writer.join()
    for number, pipe in enumerate(pipes):
        with contextlib.suppress(EOFError):
            while pipe.poll():
                stored[number] = pipe.recv()
    with SentenceCache(tmp_path, "m") as cache:
        for number, last in stored.items():
            count, start = 8 * (last + 1), number * 10**6
            entries = cache.get_many(cache.keys(numbered(count, start), 0))
            for i, (values, _) in enumerate(entries):
                np.testing.assert_array_equal(values, entry(start + i)[0])
        check = cache._connection.execute("PRAGMA integrity_check")
        assert check.fetchall() == [("ok",)]
        assert all(cache.get_many(fill(cache, 5, start=10**8)))


# --- full disks and folders that may not be written


def test_a_full_disk_warns_once_and_computation_continues(tmp_path):
    with SentenceCache(tmp_path, "m") as cache:
        keys = fill(cache, 5)
        [(pages,)] = cache._connection.execute("PRAGMA page_count")
        cache._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.warns(UserWarning, match="full .* it is not written") as caught:
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


def test_a_file_in_place_of_the_directory_raises(tmp_path):
    (tmp_path / "file").touch()
    for place in ("file", "file/below"):
        with pytest.raises(OSError, match="needs a writable directory"):
            SentenceCache(tmp_path / place, "m")


def test_threads_that_create_a_cache_at_the_same_time(tmp_path):
    barrier = threading.Barrier(8)

    def begin(i):
        barrier.wait()
        with SentenceCache(tmp_path, "m") as cache:
            fill(cache, 1, start=i)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(begin, range(8)))
    assert EmbeddingCache(tmp_path).info().entries == 8


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
        large = (tmp_path / FILE).stat().st_size
        EmbeddingCache(tmp_path).clear()
        assert (tmp_path / FILE).stat().st_size < large / 2
        assert cache.get_many(keys) == [None] * 300
        assert all(cache.get_many(fill(cache, 5)))
    assert (tmp_path / "mine.sqlite").read_text() == "precious"
    assert EmbeddingCache(tmp_path).info().entries == 5
    assert EmbeddingCache(tmp_path).info().limit == 10**9


@pytest.mark.parametrize(
    "call", [lambda d: EmbeddingCache(d).info(), lambda d: EmbeddingCache(d).clear()]
)
def test_directories_without_a_cache_raise(tmp_path, call):
    (tmp_path / "mine.sqlite").touch()
    for directory in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(FileNotFoundError, match="contains no sentence cache"):
            call(directory)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.sqlite"]
