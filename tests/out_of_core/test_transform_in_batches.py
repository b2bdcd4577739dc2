"""Any source and any output give the vectors of the pipeline."""

import gzip
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from sk_metaembed import (
    PairEncoder,
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    TokenSequences,
    WordVectors,
    transform_in_batches,
)

from ..rounding import assert_close

WORDS = ["tea", "milk", "rain", "snow", "honey"]


@pytest.fixture(scope="module")
def steps():
    matrix = np.random.default_rng(0).normal(size=(len(WORDS), 3))
    store = WordVectors.from_arrays(WORDS, matrix.astype(np.float32))
    return Tokenizer(), PretrainedEmbedding(store), Pooling(("mean", "max"))


@pytest.fixture
def texts():
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, size=i % 4)) for i in range(23)]


@pytest.fixture
def pipe(steps):
    return make_pipeline(*steps).fit(["tea"])


@pytest.fixture
def classifier(steps, texts):
    labels = np.array(["wet", "dry", "sweet"])[[i % 3 for i in range(len(texts))]]
    return make_pipeline(*steps, LogisticRegression()).fit(texts, labels)


def lists(texts):
    return [text.split() for text in texts]


def text_file(texts, folder, name="texts.txt", write=open):
    path = folder / name
    with write(path, "wt", encoding="utf-8", newline="") as file:
        for i, text in enumerate(texts):
            file.write(f"{text}\r\n" if i % 2 else f"{text}\n")
    return path


def json_file(texts, folder):
    path = folder / "texts.jsonl"
    records = [{"id": i, "text": text, "x": None} for i, text in enumerate(texts)]
    path.write_text("\n\n".join(map(json.dumps, records)), encoding="utf-8")
    return path


def parquet_file(texts, folder):
    path = folder / "texts.parquet"
    table = pa.table({"id": range(len(texts)), "text": texts})
    parquet.write_table(table, path, row_group_size=7)
    return path


def parquet_folder(texts, folder):
    (folder / "parts").mkdir()
    for i in range(0, len(texts), 5):
        table = pa.table({"text": pa.array(texts[i : i + 5], pa.large_string())})
        parquet.write_table(table, folder / "parts" / f"{i:03d}.parquet")
    return folder / "parts"


def text_folder(texts, folder):
    (folder / "texts").mkdir()
    for i in range(0, len(texts), 9):
        text_file(texts[i : i + 9], folder / "texts", f"{i:03d}.txt")
    return folder / "texts"


def reader(texts):
    table = pa.table({"text": pa.array(texts).dictionary_encode()})
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(4))


SOURCES = {
    "list": lambda texts, folder: texts,
    "generator": lambda texts, folder: (text for text in texts),
    "array": lambda texts, folder: np.array(texts),
    "column": lambda texts, folder: np.array(texts)[:, None],
    "series": lambda texts, folder: pd.Series(texts),
    "polars series": lambda texts, folder: pl.Series(texts),
    "arrow array": lambda texts, folder: pa.array(texts),
    "lists": lambda texts, folder: lists(texts),
    "tokens": lambda texts, folder: TokenSequences.from_lists(lists(texts)),
    "file": text_file,
    "gz": lambda texts, folder: text_file(texts, folder, "t.txt.gz", gzip.open),
    "files": text_folder,
    "jsonl": json_file,
    "parquet": parquet_file,
    "folder": parquet_folder,
    "table": lambda texts, folder: pa.table({"text": texts}),
    "list column": lambda texts, folder: pa.table({"text": lists(texts)}),
    "dataset": lambda texts, folder: dataset.dataset(parquet_folder(texts, folder)),
    "reader": lambda texts, folder: reader(texts),
    "frame": lambda texts, folder: pd.DataFrame({"text": texts}),
    "polars frame": lambda texts, folder: pl.DataFrame({"text": texts}),
}
TABLE = pa.table({"a": ["x"], "b": [1]})
WITH_COLUMNS = list(SOURCES)[list(SOURCES).index("jsonl") :]


@pytest.mark.parametrize("kind", SOURCES)
def test_any_source_gives_the_rows_of_transform(kind, pipe, texts, tmp_path):
    source = SOURCES[kind](texts, tmp_path)
    column = "text" if kind in WITH_COLUMNS else None
    out = tmp_path / "out" / "a.npy"
    result = transform_in_batches(pipe, source, out, batch_size=4, column=column)
    assert result == len(texts)
    assert list(out.parent.iterdir()) == [out]
    np.testing.assert_array_equal(read(out), pipe.transform(texts))


def read(out):
    if out.suffix == ".npy":
        return np.load(out, mmap_mode="r")
    vectors = parquet.read_table(out)["vector"]
    return np.array(vectors.to_pylist(), dtype=np.float32).reshape(len(vectors), -1)


@pytest.mark.parametrize(
    ("size", "name"), [(1, "a.parquet"), (22, "a.npy"), (100, "a.parquet")]
)
def test_batches_of_any_size(size, name, pipe, texts, tmp_path):
    out = tmp_path / name
    transform_in_batches(pipe, texts, out, batch_size=size)
    np.testing.assert_array_equal(read(out), pipe.transform(texts))
    if out.suffix == ".parquet":
        n_groups = parquet.read_metadata(out).num_row_groups
        assert n_groups == -(-len(texts) // size)
        assert pl.read_parquet(out).schema["vector"] == pl.Array(pl.Float32, 6)


@pytest.mark.parametrize("kind", ["list", "jsonl", "table"])
def test_no_rows(kind, pipe, tmp_path):
    for name in ("a.npy", "a.parquet"):
        source = SOURCES[kind]([], tmp_path)
        column = "text" if kind in WITH_COLUMNS else None
        out = tmp_path / name
        assert transform_in_batches(pipe, source, out, column=column) == 0
    assert np.load(tmp_path / "a.npy").shape == (0, 6)
    assert parquet.read_table(tmp_path / "a.parquet").num_rows == 0


# In batches of two: a text and a missing row, missing rows only, an empty text and a
# missing row.
GAPS = ["tea and milk", None, None, None, "", None, "snow"]


@pytest.mark.parametrize("kind", ["list", "jsonl", "reader", "polars frame"])
def test_missing_rows(kind, steps, pipe, tmp_path):
    pooling = Pooling("mean", add_indicator=True)
    lenient = make_pipeline(Tokenizer(missing="empty"), steps[1], pooling).fit(["tea"])
    column = "text" if kind in WITH_COLUMNS else None
    source, out = SOURCES[kind](GAPS, tmp_path), tmp_path / "a.npy"
    transform_in_batches(lenient, source, out, batch_size=2, column=column)
    assert_close(np.load(out), lenient.transform(GAPS))
    with pytest.raises(TypeError, match="row 1 is missing"):
        transform_in_batches(pipe, SOURCES[kind](GAPS, tmp_path), out, column=column)


def test_missing_cells_of_columns(steps, tmp_path):
    pairs = PairEncoder(make_pipeline(*steps), missing="empty")
    frame = pd.DataFrame({"a": GAPS, "b": GAPS[::-1]}, dtype=object)
    expected = pairs.fit(frame).transform(frame)
    source, out = tmp_path / "a.jsonl", tmp_path / "a.npy"
    frame.to_json(source, orient="records", lines=True)
    transform_in_batches(pairs, source, out, column=["a", "b"], batch_size=2)
    assert_close(np.load(out), expected)


def test_columns_are_kept_before_the_vectors(pipe, texts, tmp_path):
    out = tmp_path / "a.parquet"
    source = pa.table({"id": [f"d{i}" for i in range(23)], "n": range(23), "t": texts})
    options = {"keep": ["n", "id"], "batch_size": 5}
    transform_in_batches(pipe, source, out, column="t", **options)
    frame = pd.read_parquet(out)
    assert frame.columns.tolist() == ["n", "id", "vector"]
    np.testing.assert_array_equal(np.stack(frame["vector"]), pipe.transform(texts))
    assert frame["n"].tolist() == list(range(23))
    assert frame["id"][22] == "d22"


def test_a_named_index_is_a_column(pipe, texts, tmp_path):
    out = tmp_path / "a.parquet"
    source = pd.DataFrame({"text": texts}, index=pd.Index(range(100, 123), name="doc"))
    transform_in_batches(pipe, source, out, column="text", keep="doc", batch_size=5)
    frame = pl.scan_parquet(out).filter(pl.col("doc") > 110).collect()
    assert frame["doc"].to_list() == list(range(111, 123))
    result = frame["vector"].to_numpy()
    np.testing.assert_array_equal(result, pipe.transform(texts)[11:])


@pytest.mark.parametrize("name", ["a.npy", "a.parquet"])
def test_labels_and_probabilities(name, classifier, texts, tmp_path):
    out = tmp_path / name
    transform_in_batches(classifier, texts, out, batch_size=5, method="predict")
    labels = np.load(out) if name == "a.npy" else pd.read_parquet(out)["prediction"]
    assert list(labels) == list(classifier.predict(texts))
    options = {"batch_size": 5, "method": "predict_proba"}
    transform_in_batches(classifier, texts, out, **options)
    if name == "a.npy":
        result = np.load(out)
    else:
        result = pd.read_parquet(out)
        names = [f"probability_{c}" for c in ("dry", "sweet", "wet")]
        assert result.columns.tolist() == names
    assert_close(result, classifier.predict_proba(texts).astype(np.float32))


def test_decision_values_of_pairs_are_not_named_after_classes(pipe, texts, tmp_path):
    labels = np.arange(len(texts)) % 3  # of which there are three pairs
    model = make_pipeline(*pipe, SVC(decision_function_shape="ovo")).fit(texts, labels)
    out, method = tmp_path / "a.parquet", "decision_function"
    transform_in_batches(model, texts, out, method=method, dtype=None)
    values = np.stack(pd.read_parquet(out)["decision"])
    np.testing.assert_array_equal(values, model.decision_function(texts))


def test_json_columns_are_copied(pipe, texts, tmp_path):
    source, out = json_file(texts, tmp_path), tmp_path / "a.parquet"
    options = {"column": "text", "keep": ["id", "x"], "batch_size": 6}
    transform_in_batches(pipe, source, out, **options)
    frame = pd.read_parquet(out)
    assert frame["id"].tolist() == list(range(23))
    assert frame["x"].isna().all()


def test_kept_columns_may_be_missing_in_later_batches(pipe, texts, tmp_path):
    frame = pd.DataFrame({"text": texts, "day": pd.date_range("2020", periods=23)})
    frame["score"] = np.where(frame.index < 3, 1.5, None)
    for size in (1, 2, 10):
        out = tmp_path / f"{size}.parquet"
        options = {"keep": ["day", "score"], "batch_size": size}
        transform_in_batches(pipe, frame, out, column="text", **options)
        expected = [1.5] * 3 + [None] * 20
        assert parquet.read_table(out)["score"].to_pylist() == expected
        assert pd.read_parquet(out)["day"].tolist() == frame["day"].tolist()


def test_columns_in_the_names_of_folders(pipe, texts, tmp_path):
    table = pa.table({"text": texts, "part": ["a"] * 9 + ["b"] * 14})
    options = {"partitioning": ["part"], "partitioning_flavor": "hive"}
    dataset.write_dataset(table, tmp_path / "in", format="parquet", **options)
    out = tmp_path / "out.parquet"
    transform_in_batches(pipe, tmp_path / "in", out, column="text", keep="part")
    assert parquet.read_table(out)["part"].to_pylist() == table["part"].to_pylist()


@pytest.mark.parametrize("ids", [(7, "007"), (True, 5), ({"a": 1}, {"a": 1, "b": 2})])
def test_kept_values_do_not_change_by_the_batch(ids, pipe, tmp_path):
    file, out = tmp_path / "a.jsonl", tmp_path / "a.parquet"
    file.write_text("\n".join(json.dumps({"text": "tea", "id": i}) for i in ids))
    with pytest.raises(ValueError, match="'id' has values of type .* after batches of"):
        transform_in_batches(pipe, file, out, column="text", keep="id", batch_size=1)


def test_a_list_of_columns_comes_as_a_frame(texts, tmp_path):
    def lengths(frame):
        return np.stack([frame[name].str.len() for name in frame], axis=1) * 1.0

    step, out = FunctionTransformer(lengths).fit(None), tmp_path / "a.npy"
    table = pa.table({"a": texts, "b": texts[::-1]})
    for names in (["a", "b"], ["b"]):
        transform_in_batches(step, table, out, column=names, batch_size=5)
        assert np.load(out)[:, -1].tolist() == [len(text) for text in texts[::-1]]


def test_dtypes(pipe, texts, tmp_path):
    longer = make_pipeline(pipe, PCA(2)).fit(texts)
    for dtype in ("float16", "float32", "float64", None):
        transform_in_batches(longer, texts, tmp_path / "a.npy", dtype=dtype)
        result = np.load(tmp_path / "a.npy")
        assert result.dtype == (dtype or longer.transform(texts).dtype)
    large = FunctionTransformer(lambda rows: np.full((len(rows), 2), 1e5)).fit(None)
    with pytest.raises(ValueError, match="has 100000, which is too large.*'float16'"):
        transform_in_batches(large, texts, tmp_path / "b.npy", dtype="float16")


def test_one_batch_is_read_at_a_time(texts, tmp_path):
    n_read, n_computed = [0], [0]

    def rows():
        for i in range(400):
            n_read[0] += 1
            yield texts[i % 23]

    def count(batch):
        n_computed[0] += len(batch)
        assert n_read[0] == n_computed[0]
        return np.zeros((len(batch), 1))

    step = FunctionTransformer(count).fit(None)
    assert transform_in_batches(step, rows(), tmp_path / "a.npy", batch_size=10) == 400


@pytest.mark.parametrize("name", ["a.npy", "a.parquet"])
def test_an_interruption_leaves_the_existing_file_alone(name, pipe, texts, tmp_path):
    def rows():
        yield from texts[:14]
        raise KeyboardInterrupt

    out = tmp_path / name
    transform_in_batches(pipe, texts, out)
    before = out.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        transform_in_batches(pipe, rows(), out, batch_size=4)
    assert list(tmp_path.iterdir()) == [out]
    assert out.read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"out": "a.csv"}, ValueError, r"must be \.npy or \.parquet, got 'a\.csv'"),
        ({"method": "fit"}, ValueError, "'method' parameter"),
        ({"method": "predict"}, ValueError, r"no method 'predict'; it has \['transf"),
        ({"source": "no/such.txt"}, FileNotFoundError, "no file or folder 'no/such"),
        ({"source": 3}, TypeError, "source is 3, of type int"),
        ({"column": "text"}, ValueError, "source has no columns, but"),
        ({"source": TABLE}, ValueError, "set column to the name of the one"),
        ({"source": TABLE, "column": "c"}, ValueError, r"no column 'c'; it has \['a'"),
        (
            {"source": TABLE, "column": "a", "keep": "b"},
            ValueError,
            "is a single array and cannot hold the columns",
        ),
    ],
)
def test_invalid_arguments(changes, error, message, pipe, tmp_path):
    options = {"source": ["tea"], "out": "a.npy", **changes}
    out = tmp_path / options.pop("out")
    with pytest.raises(error, match=message):
        transform_in_batches(pipe, options.pop("source"), out, **options)
    assert list(tmp_path.iterdir()) == []


def test_errors_name_the_row_and_the_file(pipe, texts, tmp_path):
    out = tmp_path / "a.npy"
    with pytest.raises(TypeError, match="row 2 is missing") as caught:
        transform_in_batches(pipe, [*texts[:17], None], out, batch_size=5)
    note = "In rows 15 to 17 of the source. Row numbers in the message count from 15"
    assert note in caught.value.__notes__[-1]
    for name, content, message in (
        ("a.txt", b"tea\n" * 17 + b"caf\xe9\n", "line 18: byte 0xe9 at position 3"),
        ("a.jsonl", b'{"text": "tea"}\n{"text": \n', "line 2 is not a JSON object"),
        (
            "a.jsonl",
            b'{"text": "tea"}\n3\n',
            "line 2 is not .*: it is a int",
        ),
    ):
        file, column = tmp_path / name, "text" if name == "a.jsonl" else None
        file.write_bytes(content)
        with pytest.raises(ValueError, match=f"{name}, {message}"):
            transform_in_batches(pipe, file, out, column=column)


def test_outputs_that_are_not_rows_are_refused(texts, pipe, tmp_path):
    with pytest.raises(TypeError, match="returns EmbeddedSequences, not one row"):
        transform_in_batches(pipe[:2], texts, tmp_path / "b.npy")
    with pytest.raises(TypeError, match="returns TokenSequences"):
        transform_in_batches(Tokenizer(), texts, tmp_path / "b.npy")


def test_error_on_a_truncated_compressed_file(pipe, texts, tmp_path):
    path = text_file(texts, tmp_path, "t.txt.gz", gzip.open)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"t\.txt\.gz is corrupt or truncated"):
        transform_in_batches(pipe, path, tmp_path / "a.npy")
