"""Missing rows are accepted if the pipeline accepts them; else the first is named."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    PairEncoder,
    Pooling,
    PretrainedEmbedding,
    TextStream,
    Tokenizer,
    Word2VecEmbedding,
    transform_in_batches,
)

from ..rounding import assert_close
from .conftest import steps
from .test_transform_in_batches import SOURCES, WITH_COLUMNS

# In batches of two: a text and a missing row, missing rows only, an empty text and a
# missing row.
TEXTS = ["tea and milk", None, None, None, "", None, "snow"]
LISTS = [None if text is None else text.split() for text in TEXTS]


@pytest.fixture
def lenient(store):
    pooling = Pooling("mean", add_indicator=True)
    lenient = Tokenizer(missing="empty")
    return make_pipeline(lenient, PretrainedEmbedding(store), pooling).fit(["tea"])


@pytest.fixture
def frame():
    return pd.DataFrame({"id": range(len(TEXTS)), "text": TEXTS}, dtype=object)


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        *[(kind, TEXTS) for kind in ("jsonl", "reader", "polars frame", "stream")],
        ("list", LISTS),
    ],
)
def test_missing_rows_of_a_source(kind, rows, lenient, pipe, tmp_path):
    expected = lenient.transform(rows)
    np.testing.assert_array_equal(expected[:, -1], [row is None for row in rows])
    options = {"column": "text" if kind in WITH_COLUMNS else None}
    source, out = SOURCES[kind](rows, tmp_path), tmp_path / "a.npy"
    transform_in_batches(lenient, source, out, batch_size=2, **options)
    assert_close(np.load(out), expected)
    source = SOURCES[kind](rows, tmp_path)
    with pytest.raises(TypeError, match="row 1 is missing"):
        transform_in_batches(pipe, source, out, resume=False, **options)


def test_missing_cells_of_columns(store, tmp_path):
    pairs = PairEncoder(make_pipeline(*steps(store)), missing="empty")
    frame = pd.DataFrame({"a": TEXTS, "b": TEXTS[::-1]}, dtype=object)
    expected = pairs.fit(frame).transform(frame)
    source = tmp_path / "a.jsonl"
    frame.to_json(source, orient="records", lines=True)
    out = tmp_path / "a.npy"
    transform_in_batches(pairs, source, out, column=["a", "b"], batch_size=2)
    assert_close(np.load(out), expected)


def test_resuming_distinguishes_missing_from_empty_rows(lenient, tmp_path):
    def rows(first, stop):
        yield from [first, *TEXTS[1:stop]]
        if stop < len(TEXTS):
            raise OSError("gone")

    out = tmp_path / "a.npy"
    with pytest.raises(OSError, match="gone"):
        transform_in_batches(lenient, rows(None, 5), out, batch_size=2)
    with pytest.raises(ValueError, match="has other rows than before"):
        transform_in_batches(lenient, rows("", len(TEXTS)), out, batch_size=2)
    result = transform_in_batches(lenient, rows(None, len(TEXTS)), out, batch_size=2)
    assert result.resumed == 4
    assert_close(np.load(out), lenient.transform([None, *TEXTS[1:]]))


def test_a_stream_to_train_on(tmp_path):
    file = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"text": TEXTS * 3}), file)
    options = {"vector_size": 4, "min_count": 1, "random_state": 0}
    stream = TextStream(file, column="text")
    source = Word2VecEmbedding(missing="empty", **options).fit(stream)
    assert source.n_missing_ == 12
    held = Word2VecEmbedding(missing="empty", **options).fit(TEXTS * 3)
    assert_close(source.vectors_, held.vectors_)
    with pytest.raises(TypeError, match="row 1 is missing"):
        Word2VecEmbedding(**options).fit(stream)


def test_a_tokenizer_of_a_stream_may_accept_missing_rows(pipe, tmp_path):
    def stream(missing):
        return TextStream(TEXTS, tokenizer=Tokenizer(missing=missing))

    out = tmp_path / "a.npy"
    assert list(stream("empty"))[:2] == [["tea", "and", "milk"], []]
    transform_in_batches(pipe, stream("empty"), out, batch_size=2)
    assert_close(np.load(out), pipe.transform([row or [] for row in LISTS]))
    with pytest.raises(TypeError, match="row 1 is missing"):
        list(stream("raise"))
