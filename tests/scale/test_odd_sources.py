"""Unusual sources and names of columns, and sources without rows."""

import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from sk_metaembed import Pooling, PretrainedEmbedding, Tokenizer, transform_in_batches
from sk_metaembed.scale import TextStream


@pytest.fixture
def frame(texts):
    return pd.DataFrame({"id": range(len(texts)), "text": texts})


def test_kept_columns_may_be_missing_in_small_batches(frame, pipe, tmp_path):
    frame["score"] = np.where(frame.index % 2, frame.index, None).astype(float)
    frame["day"] = pd.date_range("2020", periods=len(frame))
    for size in (1, 2, 10):
        out = tmp_path / f"{size}.parquet"
        keep = ["id", "day", "score"]
        options = {"column": "text", "keep": keep, "batch_size": size}
        transform_in_batches(pipe, frame, out, **options)
        expected = frame["score"].replace({np.nan: None}).tolist()
        assert parquet.read_table(out)["score"].to_pylist() == expected


def test_a_tokenizer_of_a_stream_counts(pipe, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("tea-milk rain\nmilk\n")
    for tokenizer in ("spaces", Tokenizer(token_pattern=r"\S+")):
        stream = TextStream(file, tokenizer=tokenizer)
        assert list(stream) == [["tea-milk", "rain"], ["milk"]]
        transform_in_batches(pipe, stream, tmp_path / "a.npy", batch_size=1)
        result = np.load(tmp_path / "a.npy")
        np.testing.assert_array_equal(result, pipe.transform(list(stream)))
    assert not np.array_equal(result, pipe.transform(["tea-milk rain", "milk"]))


@pytest.mark.parametrize("text", ["\ufeffa", "a\u00a0b", "e\u0301", "a b\té c\r\n"])
def test_gensim_reads_files_whose_spaces_are_ascii(text, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text(text, encoding="utf-8")
    path = None if text[0] == "\ufeff" or "\u00a0" in text else str(file)
    assert TextStream(file, tokenizer="spaces").corpus_file == path


def test_columns_in_the_names_of_folders(frame, pipe, tmp_path):
    frame["part"] = np.where(frame["id"] < 9, "a", "b")
    kind = dataset.partitioning(pa.schema([("part", pa.string())]), flavor="hive")
    table = pa.Table.from_pandas(frame)
    dataset.write_dataset(table, tmp_path / "in", format="parquet", partitioning=kind)
    out, keep = tmp_path / "out.parquet", ["part", "id"]
    options = {"column": "text", "keep": keep, "batch_size": 4}
    transform_in_batches(pipe, tmp_path / "in", out, **options)
    assert pd.read_parquet(out)[keep].to_dict("list") == frame[keep].to_dict("list")


def test_output_without_rows_has_columns(pipe, tmp_path):
    source = tmp_path / "in.jsonl"
    source.touch()
    out = tmp_path / "a.parquet"
    transform_in_batches(pipe, source, out, column="text", keep="id")
    assert parquet.read_schema(out).names == ["id", "vector"]


def test_a_column_without_a_single_text_has_no_type(pipe, tmp_path):
    nothing = pa.table({"text": pa.nulls(0)})
    out = tmp_path / "a.npy"
    assert transform_in_batches(pipe, nothing, out, column="text").rows == 0
    missing = pa.table({"text": pa.nulls(3)})
    with pytest.raises(TypeError, match="row 0 is missing"):
        transform_in_batches(pipe, missing, out, column="text")


def test_error_without_rows_is_that_of_the_pipeline(store, tmp_path):
    steps = Tokenizer(), PretrainedEmbedding(store)
    with pytest.raises(NotFittedError):
        transform_in_batches(make_pipeline(*steps, Pooling()), [], tmp_path / "a.npy")
    with pytest.raises(TypeError, match="Add Pooling or another step"):
        transform_in_batches(make_pipeline(*steps).fit(["tea"]), [], tmp_path / "a.npy")
    assert list(tmp_path.iterdir()) == []


def test_column_names_must_be_strings(pipe, frame, tmp_path):
    for name in ("keep", "column"):
        options = {"column": "text", name: ["id", None]}
        with pytest.raises(TypeError, match=f"in_batches: {name} must be"):
            transform_in_batches(pipe, frame, tmp_path / "a.parquet", **options)
    assert list(tmp_path.iterdir()) == []


def test_error_on_dask_collections(pipe, frame, tmp_path):
    bag = db.from_sequence(["tea"], npartitions=1)
    for source in (dd.from_pandas(frame, npartitions=2), bag):
        with pytest.raises(TypeError, match="is a dask .*. Use its map_partitions"):
            transform_in_batches(pipe, source, tmp_path / "a.npy", column="text")
