"""The sentence cache: correct, shared, bounded, and safe against faults."""

import contextlib
import multiprocessing
import os
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

from sk_metaembed import ElmoEmbedding, EmbeddingCache, FunctionEmbedding

from ... import tiny_elmo
from ...processes import small_disk

if os.name == "posix":  # each process is as clean as a spawned one, and starts at once
    CLEAN = multiprocessing.get_context("forkserver")
    CLEAN.set_forkserver_preload(["sk_metaembed.sources"])
else:
    CLEAN = multiprocessing.get_context("spawn")
SENTENCES = [["to", "be"], [], ["or", "?"], ["to", "be"], ["not"]]


def fill(folder, n, start=0, dim=300, key="numbers"):
    """Embed n words with a cache, check their vectors; return those computed."""
    computed = []

    def vectors(words):
        computed.extend(words)
        return [np.full(dim, int(word[1:]), np.float32) for word in words]

    vectors.cache_key = key
    numbers = range(start, start + n)
    source = FunctionEmbedding(vectors, cache=folder, dim=dim)
    block = source.fit_transform([[f"w{i}" for i in numbers]]).blocks[0]
    np.testing.assert_array_equal(block.values, np.tile(np.c_[numbers], dim))
    return computed


def file_of(folder):
    [path] = folder.glob("*.sqlite")
    return path


def elmo(folder=None, **options):
    return ElmoEmbedding(*tiny_elmo.files(), layers=(1, 2), cache=folder, **options)


@pytest.fixture(scope="module")
def bare():
    return elmo().fit_transform(SENTENCES)


@pytest.fixture
def computed(bare, monkeypatch):
    """Record the sentences that ELMo's network computes, as numbers of words."""
    sizes, network = [], elmo().fit(SENTENCES)._model.network
    run = network.layers

    def layers(table, sentences, depth):
        sizes.extend(map(len, sentences))
        return run(table, sentences, depth)

    monkeypatch.setattr(network, "layers", layers)
    return sizes


def test_sentences_are_computed_once(tmp_path, bare, computed):
    for _ in range(2):
        assert elmo(tmp_path).fit_transform(SENTENCES) == bare
        assert sorted(computed) == [1, 2, 2]
    info = EmbeddingCache(tmp_path).info()
    assert info.entries == 6  # of each layer
    assert list(info.sources) == [elmo().fit(SENTENCES).fingerprint_]


def test_float16_rounds_computed_vectors_too(tmp_path, bare):
    for _ in range(2):
        rounded = elmo(tmp_path, cache_dtype="float16").fit_transform(SENTENCES)
        for one, other in zip(rounded.blocks, bare.blocks, strict=True):
            expected = other.values.astype(np.float16).astype(np.float32)
            assert one.values.dtype == np.float32
            np.testing.assert_array_equal(one.values, expected)
    assert elmo(tmp_path).fit_transform(SENTENCES) == bare


def test_vectors_that_are_not_finite_raise_with_their_sentence(tmp_path, monkeypatch):
    step = elmo(tmp_path).fit(SENTENCES)
    run = step._model.network.layers

    def infinite(table, sentences, depth):
        layers = run(table, sentences, depth)
        layers[1] = layers[1].clone()
        layers[1][-1] = np.inf  # of the shortest sentence
        return layers

    monkeypatch.setattr(step._model.network, "layers", infinite)
    with pytest.raises(ValueError, match=r"Layer 'layer1' of 'not': .* NaN"):
        step.transform(SENTENCES)
    assert EmbeddingCache(tmp_path).info().entries == 0


def test_sentences_stored_by_others_meanwhile_are_not_computed(
    tmp_path, computed, monkeypatch
):
    step = elmo(tmp_path, batch_tokens=1).fit(SENTENCES)
    network, others = step._model.network, []
    run = network.layers

    def interrupted(*args):
        if not others:
            others.append(None)
            others[0] = clone(step).fit_transform(SENTENCES)
        return run(*args)

    monkeypatch.setattr(network, "layers", interrupted)
    assert step.transform(SENTENCES) == others[0]
    assert len(computed) == 4  # the first sentence twice


def test_entries_of_other_sentences_differ(tmp_path):
    sentences = [["a b"], ["a", "b"], ["ab"], ["a", "b", ""], ["\ud800"]]
    seen = []

    def number(entries):
        seen.extend(entries)
        return [[float(sentences.index(entry))] for entry in entries]

    number.cache_key = "number"
    for _ in range(2):
        source = FunctionEmbedding(number, "sequence", cache=tmp_path)
        block = source.fit_transform(sentences).blocks[0]
        assert block.values.ravel().tolist() == [0, 1, 2, 3, 4]
    assert seen == sentences


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
    fill(tmp_path, 5)
    elmo(tmp_path).fit_transform(SENTENCES)
    with contextlib.closing(sqlite3.connect(file_of(tmp_path))) as connection:
        connection.execute(change)
        connection.commit()
    for _ in range(2):
        fill(tmp_path, 5)
        assert elmo(tmp_path).fit_transform(SENTENCES) == bare


@pytest.mark.parametrize("how", ["cut", "no database"])
def test_a_corrupt_file_is_not_used_until_it_is_cleared(tmp_path, how):
    fill(tmp_path, 200)
    content = file_of(tmp_path).read_bytes()
    corrupt = content[: len(content) // 2 + 100], b"something else " * 100
    file_of(tmp_path).write_bytes(corrupt[how == "no database"])
    with pytest.warns(UserWarning, match=r"clear\(\) empties it") as caught:
        assert len(fill(tmp_path, 200)) == 200
    assert len(caught) == 1
    with pytest.raises(OSError, match=r"clear\(\) empties it"):
        EmbeddingCache(tmp_path).info()
    EmbeddingCache(tmp_path).clear()
    assert [len(fill(tmp_path, 200)) for _ in range(2)] == [200, 0]


def test_the_oldest_entries_go_first(tmp_path):
    limit = 2**20
    EmbeddingCache(tmp_path).set_limit(limit)
    for start in range(0, 200, 20):
        fill(tmp_path, 20, start, dim=2500)
    assert fill(tmp_path, 20, start=180, dim=2500) == []
    assert EmbeddingCache(tmp_path).info().bytes < limit
    assert file_of(tmp_path).stat().st_size < 1.5 * limit
    assert len(fill(tmp_path, 20, dim=2500)) == 20


def test_a_limit_is_set_before_and_after_there_are_entries(tmp_path):
    stored = EmbeddingCache(tmp_path / "new")
    stored.set_limit(2e9)
    assert stored.info().limit == 2 * 10**9
    fill(tmp_path / "new", 100, dim=2500)
    stored.set_limit(2**19)
    assert 0 < stored.info().bytes <= 2**19
    stored.set_limit(1)  # less than an empty store has
    assert stored.info().entries == 0
    stored.set_limit(None)
    fill(tmp_path / "new", 100, dim=2500)
    assert (stored.info().entries, stored.info().limit) == (100, None)
    for size in (0, -1, float("nan"), float("inf"), "2 GB"):
        with pytest.raises(ValueError, match="^EmbeddingCache: size must"):
            stored.set_limit(size)


def write_for_ever(directory, number, pipe):
    for i in range(10**6):
        fill(directory, 8, start=number * 10**6 + 8 * i, key=f"writer {number}")
        pipe.send(i)


def test_killed_writers_lose_no_stored_entry(tmp_path):
    """Two processes write; both are killed in the middle of it."""
    stored, pipes, writers = {}, [], []
    for number in range(2):
        receive, send = CLEAN.Pipe(duplex=False)
        args = tmp_path, number, send
        writers.append(CLEAN.Process(target=write_for_ever, args=args))
        pipes.append(receive)
        writers[-1].start()
        send.close()
    for number, pipe in enumerate(pipes):
        for _ in range(5):
            assert pipe.poll(20)
            stored[number] = pipe.recv()
    for writer in writers:
        writer.kill()
        writer.join()
    for number, pipe in enumerate(pipes):
        with contextlib.suppress(EOFError):
            while pipe.poll():
                stored[number] = pipe.recv()
    for number, last in stored.items():
        start, key = number * 10**6, f"writer {number}"
        assert fill(tmp_path, 8 * (last + 1), start, key=key) == []
    with contextlib.closing(sqlite3.connect(file_of(tmp_path))) as connection:
        check = connection.execute("PRAGMA integrity_check")
        assert check.fetchall() == [("ok",)]


def test_a_full_disk_warns_once_and_computation_continues(tmp_path):
    with small_disk(tmp_path / "disk", "512k") as disk:
        fill(disk, 5)
        with pytest.warns(UserWarning, match="full .* it is not written") as caught:
            assert len(fill(disk, 500, start=100)) == 500
        assert len(caught) == 1
        assert fill(disk, 5) == []
        EmbeddingCache(disk).clear()
        assert [len(fill(disk, 9)) for _ in range(2)] == [9, 0]


def test_a_file_in_place_of_the_directory_raises(tmp_path):
    (tmp_path / "file").touch()
    for place in ("file", "file/below"):
        with pytest.raises(OSError, match="needs a writable directory"):
            fill(tmp_path / place, 1)


def test_threads_that_create_a_cache_at_the_same_time(tmp_path):
    barrier = threading.Barrier(8)

    def begin(i):
        barrier.wait()
        fill(tmp_path, 1, start=i)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(begin, range(8)))
    assert EmbeddingCache(tmp_path).info().entries == 8


def test_info_counts_by_source(tmp_path):
    for name, n in (("a", 3), ("b", 5)):
        fill(tmp_path, n, key=name)
    info = EmbeddingCache(tmp_path).info()
    assert info.entries == 8
    assert sorted(info.sources.values()) == [3, 5]
    assert info.disk_bytes > info.bytes == 8 * 4 * 300


def test_clearing_changes_only_the_cache_while_it_is_in_use(tmp_path):
    (tmp_path / "mine.txt").write_text("precious")
    EmbeddingCache(tmp_path).set_limit(10**9)
    fill(tmp_path, 300)
    large = file_of(tmp_path).stat().st_size
    with contextlib.closing(sqlite3.connect(file_of(tmp_path))) as reader:
        reader.execute("SELECT count(*) FROM entries").fetchall()
        EmbeddingCache(tmp_path).clear()
        assert file_of(tmp_path).stat().st_size < large / 2
        assert len(fill(tmp_path, 300)) == 300
    assert (tmp_path / "mine.txt").read_text() == "precious"
    assert EmbeddingCache(tmp_path).info().limit == 10**9


@pytest.mark.parametrize("call", [EmbeddingCache.info, EmbeddingCache.clear])
def test_directories_without_a_cache_raise(tmp_path, call):
    (tmp_path / "mine.sqlite").touch()
    for directory in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(FileNotFoundError, match="contains no sentence cache"):
            call(EmbeddingCache(directory))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.sqlite"]
