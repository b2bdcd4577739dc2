"""Containers of other libraries: converted, or refused with the method to call."""

import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

from sk_metaembed import (
    PairEncoder,
    TableEncoder,
    TableRegressor,
    TextMetaEncoder,
    Tokenizer,
)
from sk_metaembed._core._frames import column_names, plain_container, read_frame
from sk_metaembed._targets import check_groups, check_target

TEXTS, NUMBERS = ["a b", "c", "a b"], [1.0, 2.0, 3.0]
FRAME = pd.DataFrame({"text": TEXTS, "number": NUMBERS})
TABLE = pa.table({"text": TEXTS, "number": NUMBERS})


class Stream:
    """As tables of arro3, nanoarrow and drivers of ADBC."""

    def __init__(self, data):
        self.data = data

    def __arrow_c_stream__(self, requested_schema=None):
        return self.data.__arrow_c_stream__(requested_schema)


class SparkFrame:
    columns = ["text", "number"]

    def toPandas(self):  # noqa: N802
        raise AssertionError("not called")


class Relation:
    """As of DuckDB, which has columns of any name as attributes."""

    def df(self):
        raise AssertionError("not called")

    def __getattr__(self, name):
        raise AttributeError(name)


def records():
    pairs = [*zip(TEXTS, NUMBERS, strict=True)]
    return np.array(pairs, dtype=[("text", "U3"), ("number", "f8")])


def narwhals_frame(native):
    return pytest.importorskip("narwhals").from_native(native)


@pytest.mark.parametrize(
    "make",
    [
        lambda: FRAME,
        lambda: pl.DataFrame(FRAME),
        lambda: TABLE,
        lambda: TABLE.to_batches()[0],
        lambda: narwhals_frame(FRAME),
        lambda: narwhals_frame(pl.DataFrame(FRAME)),
        lambda: narwhals_frame(TABLE),
        lambda: dask.dataframe.from_pandas(FRAME, npartitions=2),
        lambda: Stream(TABLE),
        records,
        lambda: records().view(np.recarray),
        lambda: np.ma.array(records()),
    ],
)
def test_tables_of_other_libraries(make):
    X = plain_container(make())
    assert column_names(X) == ["text", "number"]
    assert read_frame(X) == [TEXTS, NUMBERS]
    encoder = TableEncoder()
    expected = encoder.fit_transform(FRAME)
    np.testing.assert_array_equal(encoder.transform(make()), expected)
    assert encoder.fit(make()).feature_names_in_.tolist() == ["text", "number"]
    with pytest.raises(TypeError, match="row 0, column 'number' is of type float"):
        TextMetaEncoder().fit(make())


@pytest.mark.parametrize(
    "make",
    [
        lambda: pa.array(TEXTS),
        lambda: pa.chunked_array([TEXTS]),
        lambda: pa.array(TEXTS).dictionary_encode(),
        lambda: pa.array(TEXTS, pa.string_view()),
        lambda: narwhals_frame(FRAME)["text"],
        lambda: dask.dataframe.from_pandas(FRAME, npartitions=2)["text"],
        lambda: dask.array.from_array(np.array(TEXTS)),
        lambda: Stream(pa.chunked_array([TEXTS])),
        lambda: records()["text"],
    ],
)
def test_columns_of_texts(make):
    assert Tokenizer().fit_transform(make()).to_list() == [
        ["a", "b"],
        ["c"],
        ["a", "b"],
    ]
    encoder = TextMetaEncoder(n_components=1)
    expected = encoder.fit_transform(TEXTS)
    np.testing.assert_array_equal(encoder.transform(make()), expected)
    assert check_target(make(), 3).ravel().tolist() == TEXTS
    assert check_groups(make(), 3).tolist() == TEXTS


@pytest.mark.parametrize(
    "convert",
    [pl.DataFrame, narwhals_frame, lambda frame: frame.to_records(index=False)],
)
def test_numbers(convert):
    frame = pd.DataFrame({"a": np.arange(30.0), "b": np.arange(30.0) ** 2})
    model = TableRegressor(["linear"], random_state=0).fit(frame, frame["a"])
    expected = model.predict(frame)
    X = convert(frame)
    np.testing.assert_array_equal(model.predict(X), expected)
    assert model.fit(X, frame["a"]).feature_names_in_.tolist() == ["a", "b"]


def test_pairs():
    pairs = pd.DataFrame({"first": TEXTS, "second": TEXTS[::-1]})
    encoder = PairEncoder(Tokenizer()).fit(dask.dataframe.from_pandas(pairs))
    assert encoder.feature_names_in_.tolist() == ["first", "second"]
    expected = encoder.transform(pairs).first.to_list()
    for X in (Stream(pa.Table.from_pandas(pairs)), pairs.to_records(index=False)):
        assert encoder.transform(X).first.to_list() == expected


@pytest.mark.parametrize(
    "dtype", [getattr(pl, name, pl.Int64) for name in ("Int128", "UInt128")]
)
def test_polars_has_integers_that_numpy_lacks(dtype):
    y = pl.Series("y", [2, 1, 2]).cast(dtype)
    assert check_target(y).tolist() == [2, 1, 2]
    with pytest.warns(UserWarning, match="column-vector"):
        assert check_target(y.to_frame()).tolist() == [2, 1, 2]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (pl.LazyFrame({"a": [1]}), r"X is a LazyFrame; call its collect\(\) first"),
        (pyarrow.dataset.dataset(TABLE), r"an InMemoryDataset; call its to_table\(\)"),
        (TABLE.to_reader(), r"X is a RecordBatchReader; call its read_all\(\) first"),
        (SparkFrame(), r"X is a SparkFrame; call its toPandas\(\) first"),
        (Relation(), r"X is a Relation; call its df\(\) first"),
        (
            {"a": TEXTS},
            r"got dict: .*\. Convert columns by pandas\.DataFrame\. Allowed",
        ),
    ],
)
def test_data_that_is_not_there_yet(X, message):
    for step in (
        TableEncoder(),
        TextMetaEncoder(),
        Tokenizer(),
        PairEncoder(Tokenizer()),
    ):
        with pytest.raises(TypeError, match=message):
            step.fit_transform(X)
    if not isinstance(X, dict):
        with pytest.raises(TypeError, match=message.replace("X is", "y is")):
            check_target(X)
