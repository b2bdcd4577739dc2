"""Results are the same when one of two worker processes is killed."""

import os
import signal
import sys

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sk_metaembed import Pooling, PretrainedEmbedding, Tokenizer, WordVectors

dask = pytest.importorskip("dask", reason="needs the extra 'dask'")
db = pytest.importorskip("dask.bag", reason="needs the extra 'dask'")
distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")

WORDS = ["tea", "milk", "rain", "snow", "honey"]

# Seconds to start processes.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills with SIGKILL"),
]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dask")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    options |= {"dashboard_address": None, "local_directory": str(folder)}
    # Workers import dask once, together.
    start = {"distributed.worker.multiprocessing-method": "forkserver"}
    with (
        dask.config.set(start),
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, size=i % 4)) for i in range(23)]


@pytest.fixture(scope="module")
def pipe(tmp_path_factory):
    matrix = np.random.default_rng(0).normal(size=(len(WORDS), 3))
    path = tmp_path_factory.mktemp("vectors") / "store"
    store = WordVectors.from_arrays(WORDS, matrix.astype(np.float32), path=path)
    pooling = Pooling(("mean", "max"))
    return make_pipeline(Tokenizer(), PretrainedEmbedding(store), pooling).fit(["tea"])


def killer(flag):
    """Return a step that kills the first worker that runs it."""
    here = os.getpid()

    # Local, so that it is pickled by value: workers cannot import tests.
    def pass_on(rows):
        if os.getpid() == here:
            return rows
        try:
            flag.touch(exist_ok=False)
        except FileExistsError:
            return rows
        os.kill(os.getpid(), signal.SIGKILL)

    return FunctionTransformer(pass_on)


def test_partitions(client, pipe, texts):
    bag = db.from_sequence(texts, npartitions=8)
    lazy = bag.map_partitions(lambda part: list(pipe.transform(list(part))))
    result = client.compute(lazy).result()
    np.testing.assert_array_equal(np.stack(result), pipe.transform(texts))
    assert not any(client.run(lambda: "torch" in sys.modules).values())


def test_a_grid_search_survives_a_kill(client, pipe, texts, tmp_path):
    labels = [i % 3 for i in range(len(texts))]
    # Lists of indices: joblib scatters arrays to one worker, and they die with it.
    folds = StratifiedKFold(2).split(texts, labels)
    folds = [(train.tolist(), test.tolist()) for train, test in folds]
    grid = {"pooling__mode": ["mean", "max"], "logisticregression__C": [0.1, 10]}
    flag = tmp_path / "flag"
    model = make_pipeline(*pipe, killer(flag), LogisticRegression())
    alone = GridSearchCV(model, grid, cv=folds, refit=False).fit(texts, labels)
    assert not flag.exists()
    client.wait_for_workers(2)  # with a single worker, joblib runs everything here
    with parallel_config("dask"):
        result = GridSearchCV(model, grid, cv=folds, refit=False).fit(texts, labels)
    assert flag.exists()
    for name in ("split0_test_score", "split1_test_score", "rank_test_score"):
        np.testing.assert_array_equal(result.cv_results_[name], alone.cv_results_[name])
