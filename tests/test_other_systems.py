"""What differs on Windows and macOS, as far as Linux can simulate it."""

import gc
import io
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    EmbeddingCache,
    FunctionEmbedding,
    Pooling,
    PretrainedEmbedding,
    WordVectors,
    export_vectors,
    load,
    make_embedding_union,
    save,
    transform_in_batches,
)
from tests.windows_files import refuse_files_in_use

from ._command_line.command import main

TEXTS = ["tea with milk", "coffee", "milk tea"]


@pytest.fixture
def windows(monkeypatch):
    if not Path("/proc/self/maps").exists():
        pytest.skip("the files that are in use are read from /proc")
    gc.collect()
    refuse_files_in_use(monkeypatch)


@pytest.fixture
def store():
    words = ["tea", "milk", "coffee"]
    return WordVectors.from_arrays(words, np.eye(3, dtype=np.float32))


@pytest.fixture
def pipe(store):
    return make_pipeline(PretrainedEmbedding(store), Pooling()).fit(TEXTS)


def test_an_output_that_is_mapped_is_replaced_once_it_is_closed(
    windows, pipe, tmp_path
):
    out = tmp_path / "out.npy"
    transform_in_batches(pipe, TEXTS, out)
    mapped = np.load(out, mmap_mode="r")
    more = [*TEXTS, "tea"]
    with pytest.raises(PermissionError, match="mapped") as caught:
        transform_in_batches(pipe, more, out, batch_size=1)
    assert "out.npy" in str(caught.value)
    assert mapped.shape == (3, 3)
    del mapped, caught
    gc.collect()
    transform_in_batches(pipe, more, out, batch_size=1)
    assert [path.name for path in tmp_path.iterdir()] == ["out.npy"]
    np.testing.assert_array_equal(np.load(out), pipe.transform(more))


def test_a_store_that_is_mapped_is_replaced_once_it_is_closed(windows, store, tmp_path):
    path = tmp_path / "store"
    export_vectors(store, store.words, path, format="store")
    opened = WordVectors.open(path)
    rows = opened.vectors[:2]
    with pytest.raises(PermissionError, match=f"mapped.*{path}'"):
        export_vectors(store, store.words, path, format="store", overwrite=True)
    np.testing.assert_array_equal(rows, np.eye(3)[:2])
    assert [found.name for found in tmp_path.iterdir()] == ["store"]
    del opened, rows
    gc.collect()
    export_vectors(store, ["tea"], path, format="store", overwrite=True)
    assert len(WordVectors.open(path)) == 1


def test_stores_and_files_are_written_and_replaced(windows, store, pipe, tmp_path):
    source = tmp_path / "vectors.txt"
    source.write_text("tea 1 0\nmilk 0 1\n", "utf-8")
    assert WordVectors.convert(source, tmp_path / "converted")["milk"].tolist() == [
        0,
        1,
    ]
    for _ in range(2):
        export_vectors(store, store.words, tmp_path / "exported.vec", overwrite=True)
        save(pipe, tmp_path / "pipe.skm")
    np.testing.assert_array_equal(
        load(tmp_path / "pipe.skm").transform(TEXTS), pipe.transform(TEXTS)
    )
    names = {"vectors.txt", "converted", "exported.vec", "pipe.skm"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_files_in_a_cache_differ_in_more_than_case(tmp_path):
    """A folder of Windows or macOS has one file for names that differ in case."""
    rows = {"Tea.txt": "tea 1 0", "tea.txt": "milk 0 1", "TEA.txt": "tea 1 0"}
    for name, text in rows.items():
        (tmp_path / name).write_text(f"{text}\n", "utf-8")
    cache = tmp_path / "cache"
    opened = [WordVectors.open(tmp_path / name, cache_dir=cache) for name in rows]
    stores = {path.name.lower() for path in cache.glob("*.txt-*")}
    assert len(stores) == len({each.fingerprint for each in opened}) == 2
    sources = [PretrainedEmbedding(each) for each in opened]
    union = make_embedding_union(*sources).fit(TEXTS)
    loaded = load(save(union, tmp_path / "bundle.skm", bundle=True))
    assert loaded.transform(TEXTS) == union.transform(TEXTS)


def length(texts):
    return np.array([[len(text)] for text in texts], np.float32)


length.cache_key = "1"


def test_a_cache_is_filled_and_cleared(windows, tmp_path):
    source = FunctionEmbedding(length, level="sequence", cache=tmp_path)
    source.fit_transform(TEXTS)
    source.fit_transform(TEXTS)
    EmbeddingCache(tmp_path).clear()
    assert EmbeddingCache(tmp_path).info()


def test_commands_write_to_a_console_of_few_characters(tmp_path, monkeypatch):
    encoding = "cp1252"  # of a Western European Windows
    table = tmp_path / "table.csv"
    rows = [f"молоко ☕ {i},{i % 2}" for i in range(40)]
    table.write_text("\n".join(["Текст,label", *rows]), "utf-8")
    console = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(console, encoding))
    assert main(["describe", str(table)]) == 0
    sys.stdout.flush()
    assert r"\u0422" in console.getvalue().decode(encoding)
