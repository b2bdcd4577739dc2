"""Unusual sources and names of columns, and sources without rows."""

import json

import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    transform_in_batches,
    transform_partitions,
)
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


def test_columns_in_the_names_of_folders(frame, pipe, tmp_path):
    frame["part"] = np.where(frame["id"] < 9, "a", "b")
    kind = dataset.partitioning(pa.schema([("part", pa.string())]), flavor="hive")
    table = pa.Table.from_pandas(frame)
    dataset.write_dataset(table, tmp_path / "in", format="parquet", partitioning=kind)
    out, keep = tmp_path / "out.parquet", ["part", "id"]
    options = {"column": "text", "keep": keep, "batch_size": 4}
    transform_in_batches(pipe, tmp_path / "in", out, **options)
    assert pd.read_parquet(out)[keep].to_dict("list") == frame[keep].to_dict("list")


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_output_without_rows_has_columns(kind, pipe, tmp_path):
    source = tmp_path / "in.jsonl"
    source.touch()
    if kind == "parquet":
        source = tmp_path / "in.parquet"
        table = pa.table({"id": pa.array([], "int64"), "text": pa.array([], "string")})
        parquet.write_table(table, source)
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


@pytest.mark.parametrize("names", [3, ["id", None]])
def test_column_names_must_be_strings(names, pipe, frame, tmp_path):
    lazy = dd.from_pandas(frame, npartitions=2)
    for name in ("keep", "column"):
        options = {"column": "text", name: names}
        with pytest.raises(TypeError, match=f"in_batches: {name} must be"):
            transform_in_batches(pipe, frame, tmp_path / "a.parquet", **options)
        with pytest.raises(TypeError, match=f"partitions: {name} must be"):
            transform_partitions(pipe, lazy, **options)
    assert list(tmp_path.iterdir()) == []


def test_no_columns_and_duplicate_columns(pipe, frame, tmp_path):
    out = tmp_path / "a.parquet"
    transform_in_batches(pipe, frame, out, column="text", keep=None)
    assert parquet.read_schema(out).names == ["vector"]
    for source in (frame, pl.from_pandas(frame)):
        keep = ["text", "id", "id"]
        transform_in_batches(pipe, source, out, column="text", keep=keep, resume=False)
        assert parquet.read_schema(out).names == ["text", "id", "vector"]
    lazy = dd.from_pandas(frame, npartitions=2)
    assert len(transform_partitions(pipe, lazy, column="text", keep=None).columns) == 6
    result = transform_partitions(pipe, lazy, column="text", keep=["id", "id"])
    assert result.columns.tolist().count("id") == 1


def test_error_on_dask_collections_names_transform_partitions(pipe, frame, tmp_path):
    bag = db.from_sequence(["tea"], npartitions=1)
    for source in (dd.from_pandas(frame, npartitions=2), bag):
        with pytest.raises(TypeError, match="is a dask .*. Use transform_partitions"):
            transform_in_batches(pipe, source, tmp_path / "a.npy", column="text")


def test_error_on_a_json_array_names_read_json(pipe, tmp_path):
    file = tmp_path / "a.json"
    file.write_text(json.dumps([{"text": "tea"}]))
    with pytest.raises(ValueError, match=r"line 1 is .* pandas\.read_json"):
        transform_in_batches(pipe, file, tmp_path / "a.npy", column="text")
