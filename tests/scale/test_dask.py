"""A dask collection is transformed partition by partition, in order."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sk_metaembed import (
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    Word2VecEmbedding,
    WordVectors,
    transform_partitions,
)
from sk_metaembed.scale import _pipeline_ref
from sk_metaembed.scale._pipeline_ref import make_reference

from ..rounding import assert_close

cloudpickle = pytest.importorskip("cloudpickle")
dask = pytest.importorskip("dask", reason="needs the extra 'dask'")
da = pytest.importorskip("dask.array")
db = pytest.importorskip("dask.bag")
dd = pytest.importorskip("dask.dataframe")

METHODS = {
    "predict_proba": "probability",
    "predict_log_proba": "log_probability",
    "decision_function": "decision",
}


@pytest.fixture(autouse=True, scope="module")
def scheduler():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def table(texts):
    """Return a frame whose index has gaps and a name."""
    index = pd.Index([3 * i + 1 for i in range(len(texts))], name="id")
    return pd.DataFrame({"n": range(len(texts)), "text": texts}, index=index)


@pytest.fixture
def frame(table):
    return dd.from_pandas(table, npartitions=4)


def test_a_frame_keeps_order_index_and_divisions(frame, pipe, texts, table):
    lazy = transform_partitions(pipe, frame, column="text")
    assert isinstance(lazy, dd.DataFrame)
    assert lazy.divisions == frame.divisions
    assert list(lazy.columns) == list(pipe.get_feature_names_out())
    result = lazy.compute()
    pd.testing.assert_index_equal(result.index, table.index)
    np.testing.assert_array_equal(result.to_numpy(), pipe.transform(texts))
    dd.utils.assert_eq(lazy, result)  # each partition matches its meta


def test_threads_share_a_pipeline(pipe, texts):
    bag = db.from_sequence(texts * 10, npartitions=40)
    lazy = transform_partitions(pipe, bag)
    result = lazy.compute(scheduler="threads", num_workers=4)
    np.testing.assert_array_equal(np.stack(result), pipe.transform(texts * 10))


def test_nothing_is_computed_eagerly(pipe, texts):
    def fail(part):
        raise RuntimeError("computed")

    frame = dd.from_pandas(pd.DataFrame({"text": texts}), npartitions=2)
    lazy = frame.map_partitions(fail, meta=frame._meta)
    result = transform_partitions(pipe, lazy, column="text")
    assert set(result.dtypes) == {np.dtype("float32")}
    with pytest.raises(RuntimeError, match="computed"):
        result.compute()


def test_unknown_divisions_and_empty_partitions(frame, pipe, table):
    few = frame[frame.n > 15].clear_divisions()
    lazy = transform_partitions(pipe, few, column="text")
    assert not lazy.known_divisions
    assert lazy.npartitions == 4
    assert len(lazy.partitions[0].compute()) == 0
    expected = table[table.n > 15]
    pd.testing.assert_index_equal(lazy.compute().index, expected.index)
    np.testing.assert_array_equal(lazy, pipe.transform(expected.text.tolist()))
    dd.utils.assert_eq(lazy, lazy.compute())


def test_a_frame_without_rows(frame, classifier):
    none = frame[frame.n < 0]
    for method in ("transform", "predict", "predict_proba"):
        model = classifier[:-1] if method == "transform" else classifier
        lazy = transform_partitions(model, none, column="text", method=method)
        assert len(lazy.compute()) == 0
        dd.utils.assert_eq(lazy, lazy.compute())


def test_kept_columns(frame, pipe, table):
    lazy = transform_partitions(pipe, frame, column="text", keep="n")
    assert list(lazy.columns)[:1] == ["n"]
    result = lazy.compute()
    pd.testing.assert_series_equal(result.n, table.n)
    np.testing.assert_array_equal(
        result.iloc[:, 1:].to_numpy(), pipe.transform(table.text.tolist())
    )
    dd.utils.assert_eq(lazy, result)
    with pytest.raises(ValueError, match=r"columns \['pretrained"):
        name = pipe.get_feature_names_out()[0]
        frame = frame.rename(columns={"n": name})
        transform_partitions(pipe, frame, column="text", keep=name)


def test_a_series_and_selected_columns(frame, pipe, texts):
    lazy = transform_partitions(pipe, frame.text)
    name = pipe.get_feature_names_out()[2]
    np.testing.assert_array_equal(lazy[name], pipe.transform(texts)[:, 2])


def test_predictions_are_a_series(frame, classifier, texts, table):
    lazy = transform_partitions(classifier, frame, column="text", method="predict")
    assert isinstance(lazy, dd.Series)
    assert lazy.name == "prediction"
    result = lazy.compute()
    assert result.tolist() == classifier.predict(texts).tolist()
    pd.testing.assert_index_equal(result.index, table.index)
    dd.utils.assert_eq(lazy, result)


@pytest.mark.parametrize("method", METHODS)
def test_columns_of_probabilities_have_the_classes_names(
    method, frame, classifier, texts
):
    lazy = transform_partitions(classifier, frame, column="text", method=method)
    names = [f"{METHODS[method]}_{name}" for name in classifier.classes_]
    assert list(lazy.columns) == names
    expected = getattr(classifier, method)(texts).astype("float32")
    assert_close(lazy, expected)


def test_dtypes(frame, texts, classifier):
    own = classifier.predict_proba(texts[:1]).dtype  # float64 before scikit-learn 1.8
    for dtype, expected in {"float16": "f2", "float64": "f8", None: own}.items():
        lazy = transform_partitions(
            classifier, frame, column="text", method="predict_proba", dtype=dtype
        )
        assert set(lazy.dtypes) == set(lazy.compute().dtypes) == {np.dtype(expected)}


@pytest.mark.parametrize("tokens", [False, True])
def test_a_bag_keeps_order(tokens, pipe, classifier, texts):
    rows = [text.split() for text in texts] if tokens else texts
    if tokens:  # a Tokenizer accepts both
        assert pipe.transform(rows).shape == pipe.transform(texts).shape
    bag = db.from_sequence(rows, npartitions=5)
    lazy = transform_partitions(pipe, bag)
    assert isinstance(lazy, db.Bag)
    assert lazy.npartitions == bag.npartitions
    result = lazy.compute()
    assert {row.shape for row in result} == {(6,)}
    np.testing.assert_array_equal(np.stack(result), pipe.transform(rows))
    labels = transform_partitions(classifier, bag, method="predict").compute()
    assert labels == classifier.predict(rows).tolist()


def test_a_bag_of_dicts_and_empty_partitions(pipe, texts):
    records = [{"n": i, "text": text} for i, text in enumerate(texts)]
    bag = db.from_sequence(records, npartitions=4)
    few = bag.filter(lambda record: record["n"] > 15)
    result = transform_partitions(pipe, few, column="text").compute()
    np.testing.assert_array_equal(np.stack(result), pipe.transform(texts[16:]))


def test_an_array(pipe, classifier, texts):
    array = da.from_array(np.array([*texts, ""], object), chunks=7)
    lazy = transform_partitions(pipe, array)
    assert lazy.shape == (24, 6)
    assert lazy.dtype == np.float32
    assert lazy.chunks == ((7, 7, 7, 3), (6,))
    np.testing.assert_array_equal(lazy, pipe.transform([*texts, ""]))
    labels = transform_partitions(classifier, array, method="predict")
    assert labels.chunks == array.chunks
    assert labels.compute().tolist() == classifier.predict([*texts, ""]).tolist()
    none = array[array == "nothing is like this"]
    assert transform_partitions(pipe, none).compute().shape == (0, 6)


def test_a_step_that_takes_a_frame(frame, table):
    scaler = StandardScaler().fit(table[["n"]])
    lazy = transform_partitions(scaler, frame, column=["n"])
    np.testing.assert_allclose(lazy, scaler.transform(table[["n"]]), rtol=1e-6)


def test_names_where_the_pipeline_has_none(frame, pipe):
    plain = make_pipeline(*pipe, FunctionTransformer())
    lazy = transform_partitions(plain, frame, column="text")
    assert list(lazy.columns) == [f"vector{i}" for i in range(6)]


def test_refitting_does_not_change_a_lazy_result(frame, pipe, texts):
    model = make_pipeline(*pipe, PCA(2)).fit(texts)
    expected = model.transform(texts)
    lazy = transform_partitions(model, frame, column="text")
    model.fit(texts[:5])
    assert_close(lazy, expected)


@pytest.mark.parametrize("row", [None, float("nan"), 7])
def test_error_names_the_row(row, pipe):
    texts = ["tea", "milk", "rain", row]
    table = pd.DataFrame({"text": texts}, index=list("abcd"), dtype=object)
    with dask.config.set({"dataframe.convert-string": False}):
        frame = dd.from_pandas(table, npartitions=2)
    message = r"partition 1, index 'd' \(row 1 of it\), is .* replace missing rows"
    with pytest.raises(TypeError, match=message):
        transform_partitions(pipe, frame, column="text").compute()
    with pytest.raises(TypeError, match="partition 1, row 1, is"):
        bag = db.from_sequence(texts, npartitions=2)
        transform_partitions(pipe, bag).compute()
    with pytest.raises(TypeError, match="block 1, row 1, is"):
        array = da.from_array(np.array(texts, object), chunks=2)
        transform_partitions(pipe, array).compute()


def test_error_of_the_pipeline_names_the_partition(frame, store):
    strict = make_pipeline(
        Tokenizer(), PretrainedEmbedding(store, oov="error"), Pooling()
    )
    table = pd.DataFrame({"text": ["tea", "tea", "rain", "gold"]}, index=list("abcd"))
    lazy = transform_partitions(
        strict.fit(["tea"]), dd.from_pandas(table, npartitions=2), column="text"
    )
    with pytest.raises(ValueError, match="gold") as caught:
        lazy.compute()
    assert "in partition 1, index 'c' to 'd'" in caught.value.__notes__[-1]


def test_invalid_arguments(frame, pipe, classifier, texts):
    def refused(error, message, model, data, **options):
        with pytest.raises(error, match=message):
            transform_partitions(model, data, **options)

    bag = db.from_sequence([{"n": 1}], npartitions=1)
    refused(TypeError, "got a list. Allowed are", pipe, texts)
    refused(TypeError, "Array with 2 dimensions", pipe, da.ones((2, 2)))
    refused(ValueError, r"set column to the name .*\['n', 'text'\]", pipe, frame)
    refused(ValueError, "has no column 'x'; it has", pipe, frame, column="x")
    refused(ValueError, "has no columns, but", pipe, frame.text, column="text")
    refused(ValueError, "has no columns, but", pipe, bag, column=["a"])
    refused(
        ValueError, "has no method 'predict'; it has", pipe, frame, method="predict"
    )
    refused(ValueError, "method must be one of", pipe, frame, method="fit")
    refused(ValueError, "dtype must be one of", pipe, frame, dtype="int8")
    refused(TypeError, "not one row per document", pipe[:-1], frame, column="text")
    unfitted = make_pipeline(*pipe[:-1], PCA())
    refused(TypeError, "not one row|blocks", pipe[:2], frame, column="text")
    if sklearn.__version__ >= "1.7":  # before, PCA does not say so
        refused(NotFittedError, "not fitted", unfitted, frame, column="text")
    with pytest.raises(ValueError, match=r"row 0, has no 'text'; it is keys \['n'\]"):
        transform_partitions(pipe, bag, column="text").compute()


def test_vectors_of_any_size_take_kilobytes(tmp_path):
    words = [f"w{i}" for i in range(20_000)]
    matrix = np.zeros((len(words), 300), np.float32)
    vectors = WordVectors.from_arrays(words, matrix, path=tmp_path / "store")
    pipe = make_pipeline(Tokenizer(), PretrainedEmbedding(vectors), Pooling())
    reference = make_reference(pipe.fit(["w1 w2"]))
    assert len(pickle.dumps(reference)) < 4_000


@pytest.fixture
def trained(texts, monkeypatch):
    """Return a pipeline that is too large to be sent with a graph."""
    monkeypatch.setattr(_pipeline_ref, "MAX_INLINE_SIZE", 3_000)
    embed = Word2VecEmbedding(vector_size=200, min_count=1, epochs=1, random_state=0)
    return make_pipeline(Tokenizer(), embed, Pooling()).fit(texts)


def test_large_pipeline_is_sent_as_a_file(trained, frame, texts, tmp_path):
    folder = tmp_path / "shared"
    lazy = transform_partitions(trained, frame, column="text", folder=folder)
    again = transform_partitions(trained, frame, column="text", folder=folder)
    assert lazy._name == again._name
    (file,) = folder.iterdir()
    reference = make_reference(trained, folder)
    assert len(pickle.dumps(reference)) < 1_000
    mapped = pickle.loads(pickle.dumps(reference)).pipeline()
    assert isinstance(mapped[1].vectors_, np.memmap)
    np.testing.assert_array_equal(lazy, trained.transform(texts))
    _pipeline_ref._read.cache_clear()
    file.unlink()
    with pytest.raises(FileNotFoundError, match="Pass folder="):
        lazy.compute()


def test_large_pipeline_without_folder_is_sent_with_the_graph(trained, frame, texts):
    assert make_reference(trained).path is None
    lazy = transform_partitions(trained, frame, column="text")
    np.testing.assert_array_equal(lazy, trained.transform(texts))


def test_pipeline_that_only_cloudpickle_pickles_is_sent_inline(
    trained, frame, texts, tmp_path
):
    steps = (*trained, FunctionTransformer(lambda rows: -rows))
    model = make_pipeline(*steps)
    lazy = transform_partitions(model, frame, column="text", folder=tmp_path)
    assert not list(tmp_path.iterdir())
    np.testing.assert_array_equal(lazy, -trained.transform(texts))


def test_tasks_do_not_contain_the_pipeline(frame, classifier):
    lazy = transform_partitions(classifier, frame, column="text", method="predict")
    graph = dict(lazy.optimize(fuse=False).__dask_graph__())
    is_node = {key: str(key[0]).startswith("pipeline-") for key in graph}
    assert sum(is_node.values()) == 1
    rows = [task for key, task in graph.items() if "transform_frame" in str(key)]
    assert len(rows) == frame.npartitions
    assert max(len(cloudpickle.dumps(task)) for task in rows) < 600


def test_a_regression_of_numbers(frame, pipe, texts):
    model = make_pipeline(*pipe, LogisticRegression()).fit(
        texts, np.arange(len(texts)) % 2
    )
    lazy = transform_partitions(model, frame, column="text", method="predict")
    assert lazy.dtype == np.dtype("int64")
    assert lazy.compute().dtype == np.dtype("int64")
