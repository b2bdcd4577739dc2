"""Missing rows are accepted if the pipeline accepts them; else the first is named."""

import json

import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    ColumnsEncoder,
    EmbeddingUnion,
    PairEncoder,
    Pooling,
    PretrainedEmbedding,
    TextStream,
    Tokenizer,
    TokenSequences,
    Word2VecEmbedding,
    transform_in_batches,
    transform_partitions,
)
from sk_metaembed.scale._batches import digest_rows

from ..rounding import assert_close

# In batches of two: a text and a missing row, missing rows only, an empty text and a
# missing row.
TEXTS = ["tea and milk", None, None, None, "", None, "snow"]
LISTS = [None if text is None else text.split() for text in TEXTS]


def pooling():
    return Pooling("mean", add_indicator=True)


@pytest.fixture
def lenient(store):
    pipe = make_pipeline(
        Tokenizer(missing="empty"), PretrainedEmbedding(store), pooling()
    )
    return pipe.fit(["tea"])


@pytest.fixture
def frame():
    return pd.DataFrame({"id": range(len(TEXTS)), "text": TEXTS}, dtype=object)


def sources(frame, folder):
    lines = [json.dumps({"text": text}) for text in TEXTS]
    lines[1] = '{"text": NaN}'
    (folder / "a.jsonl").write_text("\n".join(lines))
    tokens = [json.dumps({"text": row}) for row in LISTS]
    (folder / "lists.jsonl").write_text("\n".join(tokens))
    table = pa.table({"text": pa.array(TEXTS)})
    parquet.write_table(table, folder / "a.parquet")
    in_dictionary = table["text"].dictionary_encode()
    return {
        "list": TEXTS,
        "NaN": [float("nan") if text is None else text for text in TEXTS],
        "NaN of numpy": [np.float32("nan") if t is None else t for t in TEXTS],
        "pd.NA": [pd.NA if text is None else text for text in TEXTS],
        "generator": (text for text in TEXTS),
        "token lists": LISTS,
        "jsonl": folder / "a.jsonl",
        "jsonl of token lists": folder / "lists.jsonl",
        "parquet": folder / "a.parquet",
        "arrow": table,
        "arrow lists": pa.table({"text": pa.array(LISTS)}),
        "arrow dictionary": pa.table({"text": in_dictionary}),
        "pandas": frame,
        "polars": pl.DataFrame({"text": TEXTS}),
        "stream": TextStream(folder / "a.parquet", column="text"),
    }


KINDS = [
    "list",
    "NaN",
    "NaN of numpy",
    "pd.NA",
    "generator",
    "token lists",
    "jsonl",
    "jsonl of token lists",
    "parquet",
    "arrow",
    "arrow lists",
    "arrow dictionary",
    "pandas",
    "polars",
    "stream",
]


def has_columns(source):
    is_rows = isinstance(source, list | TextStream) or hasattr(source, "__next__")
    return not is_rows


@pytest.mark.parametrize("kind", KINDS)
def test_missing_rows_of_a_source(kind, lenient, pipe, frame, tmp_path):
    expected = lenient.transform(LISTS if "lists" in kind else TEXTS)
    np.testing.assert_array_equal(expected[:, -1], [text is None for text in TEXTS])
    out = tmp_path / "a.npy"
    source = sources(frame, tmp_path)[kind]
    column = "text" if has_columns(source) else None
    transform_in_batches(lenient, source, out, column=column, batch_size=2)
    assert_close(np.load(out), expected)
    named = "line 2" if "jsonl" in kind else "row 1 is"
    with pytest.raises(TypeError, match=named):
        source = sources(frame, tmp_path)[kind]
        transform_in_batches(pipe, source, out, column=column, resume=False)


@pytest.mark.parametrize(
    "kind", ["frame", "strings", "series", "bag", "dicts", "array"]
)
def test_missing_rows_of_partitions(kind, lenient, pipe, frame):
    data = {
        "frame": lambda: dd.from_pandas(frame, npartitions=3),
        "strings": lambda: dd.from_pandas(frame.astype({"text": "string"}), 3),
        "series": lambda: dd.from_pandas(frame["text"], npartitions=3),
        "bag": lambda: db.from_sequence(LISTS, npartitions=3),
        "dicts": lambda: db.from_sequence([{"text": t} for t in TEXTS], npartitions=3),
        "array": lambda: da.from_array(np.array(TEXTS, dtype=object), chunks=3),
    }[kind]()
    column = "text" if kind in ("frame", "strings", "dicts") else None
    lazy = transform_partitions(lenient, data, column=column)
    result = lazy.compute(scheduler="synchronous")
    assert_close(
        np.stack(result) if kind in ("bag", "dicts") else result,
        lenient.transform(TEXTS),
    )
    with pytest.raises(
        TypeError, match=r"(partition|block) \d.*row \d.* replace missing"
    ):
        transform_partitions(pipe, data, column=column).compute(scheduler="synchronous")


def test_any_step_may_accept_missing_rows(store, lenient, tmp_path):
    source = PretrainedEmbedding(store, missing="empty")
    union = EmbeddingUnion([("a", PretrainedEmbedding(store))], missing="empty")
    out = tmp_path / "a.npy"
    for model in (
        make_pipeline(source, pooling()).fit(["tea"]),
        make_pipeline(union, pooling()).fit(["tea"]),
        FrozenEstimator(lenient),
    ):
        transform_in_batches(model, TEXTS, out, batch_size=2)
        assert_close(np.load(out), model.transform(TEXTS))


@pytest.mark.parametrize("kind", ["pandas", "jsonl"])
@pytest.mark.parametrize("adapter", [PairEncoder, ColumnsEncoder])
def test_missing_cells_of_columns(adapter, kind, store, tmp_path):
    encoder = make_pipeline(Tokenizer(), PretrainedEmbedding(store), Pooling("mean"))
    pairs = adapter(encoder, missing="empty", add_indicator=True)
    frame = pd.DataFrame({"a": TEXTS, "b": TEXTS[::-1]}, dtype=object)
    pairs.fit(frame)
    expected = pairs.transform(frame)
    source = frame
    if kind == "jsonl":
        source = tmp_path / "a.jsonl"
        frame.to_json(source, orient="records", lines=True)
    out = tmp_path / "a.npy"
    transform_in_batches(pairs, source, out, column=["a", "b"], batch_size=2)
    assert_close(np.load(out), expected)


def test_errors_number_rows_including_missing_ones(lenient, tmp_path):
    out = tmp_path / "a.npy"
    for rows, message in (
        ([None, "tea", None, 3], r"row 3 is 3, of type int"),
        ([None, ["tea"], None, "tea"], r"row 1 is a list, but other rows of its batch"),
    ):
        with pytest.raises(TypeError, match=message):
            transform_in_batches(lenient, rows, out)
        lazy = transform_partitions(lenient, db.from_sequence(rows, npartitions=1))
        with pytest.raises(TypeError, match=message.partition(" is")[0]):
            lazy.compute(scheduler="synchronous")


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


def test_digests_of_missing_rows():
    assert digest_rows([None, "tea"]) == digest_rows([float("nan"), "tea"])
    forms = (
        [None, "tea"],
        ["", "tea"],
        [None, ["tea"]],
        [[], ["tea"]],
        [[""], ["tea"]],
    )
    assert len({digest_rows(rows) for rows in forms[:4]}) == 4
    tokens = Tokenizer(missing="empty").transform(["tea", None])
    same = TokenSequences.from_lists([["tea"], []])
    assert digest_rows(tokens[:1]) != digest_rows(tokens)
    assert digest_rows(tokens) != digest_rows(Tokenizer().transform(["tea", ""]))
    assert digest_rows(same) == digest_rows([["tea"], []])


def test_a_stream_to_train_on(tmp_path):
    file = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"text": TEXTS * 3}), file)
    options = {"vector_size": 4, "min_count": 1, "random_state": 0}
    stream = TextStream(file, column="text")
    source = Word2VecEmbedding(missing="empty", **options).fit(stream)
    assert source.n_missing_ == 12
    held = Word2VecEmbedding(missing="empty", **options).fit(TEXTS * 3)
    assert_close(source.vectors_, held.vectors_)
    with pytest.raises(TypeError, match="row 1 is None"):
        Word2VecEmbedding(**options).fit(stream)


def test_a_tokenizer_of_a_stream_may_accept_missing_rows(pipe, tmp_path):
    def stream(missing):
        return TextStream(TEXTS, tokenizer=Tokenizer(missing=missing))

    out = tmp_path / "a.npy"
    assert list(stream("empty"))[:2] == [["tea", "and", "milk"], []]
    transform_in_batches(pipe, stream("empty"), out, batch_size=2)
    assert_close(np.load(out), pipe.transform([row or [] for row in LISTS]))
    with pytest.raises(TypeError, match="row 1 is None"):
        list(stream("raise"))
