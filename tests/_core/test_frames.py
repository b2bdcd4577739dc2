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
    TableClassifier,
    TableEncoder,
    TableRegressor,
    TextMetaEncoder,
    Tokenizer,
)

TEXTS, NUMBERS = ["a b", "c", "a b"] * 4, [float(i) for i in range(12)]
ROWS = np.array(NUMBERS)[:, None]
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
    encoder = TableEncoder()
    expected = encoder.fit_transform(FRAME)
    np.testing.assert_array_equal(encoder.transform(make()), expected)
    assert encoder.fit(make()).feature_names_in_.tolist() == ["text", "number"]
    with pytest.raises(TypeError, match="row 0, column 'number' is of type float"):
        TextMetaEncoder().fit(make())


COLUMNS = [
    lambda: pa.array(TEXTS),
    lambda: pa.chunked_array([TEXTS]),
    lambda: pa.array(TEXTS).dictionary_encode(),
    lambda: pa.array(TEXTS, pa.string_view()),
    lambda: narwhals_frame(FRAME)["text"],
    lambda: dask.dataframe.from_pandas(FRAME, npartitions=2)["text"],
    lambda: dask.array.from_array(np.array(TEXTS)),
    lambda: Stream(pa.chunked_array([TEXTS])),
    lambda: records()["text"],
]


@pytest.mark.parametrize("make", COLUMNS)
def test_columns_of_texts(make):
    tokens = Tokenizer().fit_transform(make())
    assert tokens.to_list() == [["a", "b"], ["c"], ["a", "b"]] * 4
    encoder = TextMetaEncoder(n_components=1)
    expected = encoder.fit_transform(TEXTS)
    np.testing.assert_array_equal(encoder.transform(make()), expected)


@pytest.fixture(scope="module")
def of_lists():
    """Results of models that are given y, or groups, as a list."""
    model = TableRegressor(["linear"], random_state=0)
    scores = model.fit(ROWS, NUMBERS, groups=TEXTS).scores_
    assert model.fit(ROWS, NUMBERS).scores_ != scores
    model = TableClassifier(["linear"], random_state=0)
    return model.fit(ROWS, TEXTS).predict_proba(ROWS), scores


@pytest.mark.parametrize("make", COLUMNS)
def test_columns_as_y_and_groups(make, of_lists):
    model = TableClassifier(["linear"], random_state=0).fit(ROWS, make())
    np.testing.assert_array_equal(model.predict_proba(ROWS), of_lists[0])
    assert model.classes_.tolist() == ["a b", "c"]
    model = TableRegressor(["linear"], random_state=0)
    assert model.fit(ROWS, NUMBERS, groups=make()).scores_ == of_lists[1]


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
    y = pl.Series("y", [2, 1, 2] * 4).cast(dtype)
    model = TableRegressor(["linear"], random_state=0)
    expected = model.fit(ROWS, [2, 1, 2] * 4).predict(ROWS)
    np.testing.assert_array_equal(model.fit(ROWS, y).predict(ROWS), expected)
    with pytest.warns(UserWarning, match="column-vector"):
        model.fit(ROWS, y.to_frame())
    np.testing.assert_array_equal(model.predict(ROWS), expected)


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
            TableRegressor(["linear"]).fit(ROWS, X)
