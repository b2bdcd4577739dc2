"""A dask collection is transformed partition by partition, in order."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from sk_metaembed import Pooling, PretrainedEmbedding, Tokenizer, transform_partitions

from ..rounding import assert_close

cloudpickle = pytest.importorskip("cloudpickle")
dask = pytest.importorskip("dask", reason="needs the extra 'dask'")
da = pytest.importorskip("dask.array")
db = pytest.importorskip("dask.bag")
dd = pytest.importorskip("dask.dataframe")


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
    name = pipe.get_feature_names_out()[2]
    np.testing.assert_array_equal(lazy[name], pipe.transform(texts)[:, 2])
    dd.utils.assert_eq(transform_partitions(pipe, frame.text), lazy)


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


def test_predictions_and_probabilities(frame, classifier, texts, table):
    lazy = transform_partitions(classifier, frame, column="text", method="predict")
    assert isinstance(lazy, dd.Series)
    assert lazy.name == "prediction"
    result = lazy.compute()
    assert result.tolist() == classifier.predict(texts).tolist()
    pd.testing.assert_index_equal(result.index, table.index)
    dd.utils.assert_eq(lazy, result)
    options = {"column": "text", "method": "predict_proba", "dtype": "float64"}
    lazy = transform_partitions(classifier, frame, **options)
    assert list(lazy.columns) == [f"probability_{c}" for c in classifier.classes_]
    assert set(lazy.dtypes) == set(lazy.compute().dtypes) == {np.dtype("f8")}
    assert_close(lazy, classifier.predict_proba(texts))


@pytest.mark.parametrize("tokens", [False, True])
def test_a_bag_keeps_order(tokens, pipe, classifier, texts):
    rows = [text.split() for text in texts] if tokens else texts
    bag = db.from_sequence(rows, npartitions=5)
    lazy = transform_partitions(pipe, bag)
    assert isinstance(lazy, db.Bag)
    assert lazy.npartitions == bag.npartitions
    result = lazy.compute()
    assert {row.shape for row in result} == {(6,)}
    np.testing.assert_array_equal(np.stack(result), pipe.transform(rows))
    labels = transform_partitions(classifier, bag, method="predict").compute()
    assert labels == classifier.predict(rows).tolist()


def test_errors_name_the_partition_and_the_row(store, texts):
    source = PretrainedEmbedding(store, oov="error")
    strict = make_pipeline(Tokenizer(), source, Pooling()).fit(["tea"])

    def notes(error, message, data, **options):
        with pytest.raises(error, match=message) as caught:
            transform_partitions(strict, data, **options).compute()
        return caught.value.__notes__[-1]

    table = pd.DataFrame({"text": ["tea", "tea", "rain", "gold"]}, index=list("abcd"))
    frame = dd.from_pandas(table, npartitions=2)
    note = notes(ValueError, "gold", frame, column="text")
    assert "In partition 1, index 'c' to 'd'" in note
    bag = db.from_sequence(["tea", "milk", "rain", None], npartitions=2)
    assert "In partition 1." in notes(TypeError, "row 1 is missing", bag)


def test_invalid_arguments(frame, pipe, classifier, texts):
    def refused(error, message, model, data, **options):
        with pytest.raises(error, match=message):
            transform_partitions(model, data, **options)

    bag = db.from_sequence([{"n": 1}], npartitions=1)
    refused(TypeError, "data is a list. Allowed are", pipe, texts)
    refused(TypeError, "data is a Array.*from_dask_array", pipe, da.ones(2))
    refused(ValueError, r"set column to the name .*\['n', 'text'\]", pipe, frame)
    refused(ValueError, "has no column 'x'; it has", pipe, frame, column="x")
    refused(ValueError, "has no columns, but", pipe, frame.text, column="text")
    refused(ValueError, r"has no columns, but .* bag\.pluck", pipe, bag, column="n")
    refused(
        ValueError, "has no method 'predict'; it has", pipe, frame, method="predict"
    )
    refused(ValueError, "The 'method' parameter of", pipe, frame, method="fit")
    refused(ValueError, "The 'dtype' parameter of", pipe, frame, dtype="int8")
    refused(TypeError, "not one row per document", pipe[:-1], frame, column="text")
    unfitted = make_pipeline(*pipe[:-1], PCA())
    if sklearn.__version__ >= "1.7":  # before, PCA does not say so
        refused(NotFittedError, "not fitted", unfitted, frame, column="text")


def test_tasks_do_not_contain_the_pipeline(frame, classifier):
    lazy = transform_partitions(classifier, frame, column="text", method="predict")
    graph = dict(lazy.optimize(fuse=False).__dask_graph__())
    is_node = {key: str(key[0]).startswith("pipeline-") for key in graph}
    assert sum(is_node.values()) == 1
    rows = [task for key, task in graph.items() if "transform_frame" in str(key)]
    assert len(rows) == frame.npartitions
    assert max(len(cloudpickle.dumps(task)) for task in rows) < 600
