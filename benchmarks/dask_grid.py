"""Measure grid searches on a dask cluster of two processes, compared with one process.

The data are a store of generated vectors, by default with the size of GloVe, and texts
with labels that depend on the vectors. The same search runs alternately on one worker
of a `LocalCluster` and on both, after the workers have imported all modules. One search
is of a linear model on pooled vectors, which is limited by memory; the other trains
dynamic meta-embeddings. In addition to the time, the script reports the size of the
tasks in the scheduler, and the proportional set size (PSS) of the store's file over the
workers (a page shared by n processes counts 1/n in each). It then reports the size of
the messages of `transform_partitions` for vectors by reference and for vectors trained
by the pipeline, the effect of killing a worker, and the time to copy and to open a
store. Ratios are more reliable than times. Needs Linux.

    python benchmarks/dask_grid.py                                # a few minutes
    python benchmarks/dask_grid.py --words 20000 --documents 600  # smaller
"""

import argparse
import os
import shutil
import signal
import statistics
import tempfile
import threading
import time
from pathlib import Path

import dask.bag as db
import numpy as np
import psutil
from distributed import Client, LocalCluster
from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.protocol.pickle import dumps
from joblib import parallel_config
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    DynamicMetaClassifier,
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    Word2VecEmbedding,
    WordVectors,
    transform_partitions,
)

GRID = {
    "pooling__mode": ["mean", "max", ("mean", "max")],
    "logisticregression__C": [0.01, 0.1],
}
DYNAMIC_GRID = {
    "dynamicmetaclassifier__attention": ["word", "context"],
    "dynamicmetaclassifier__projection_dim": [16, 32],
}


class TaskSizes(SchedulerPlugin):
    """Record the size in bytes of each task sent to a worker."""

    def __init__(self, scheduler):
        self.scheduler, self.bytes = scheduler, {}

    def transition(self, key, start, finish, *args, **kwargs):
        """Record the size of a task."""
        spec = self.scheduler.tasks[key].run_spec if finish == "processing" else None
        if spec is not None:
            self.bytes[key] = len(dumps(spec))

    def of(self, name):
        """Return the sizes of the tasks with a name."""
        return [size for key, size in self.bytes.items() if name in str(key)]


def make_data(folder, options):
    """Return a store, texts, and labels that depend on the vectors."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(options.words)], object)
    matrix = rng.standard_normal((options.words, options.dim), dtype=np.float32)
    share = np.cumsum(1 / np.arange(1, options.words + 1))
    drawn = rng.random((options.documents, options.tokens)) * share[-1]
    rows = np.searchsorted(share, drawn)
    score = (matrix @ rng.standard_normal(options.dim))[rows].mean(axis=1)
    store = WordVectors.from_arrays(words, matrix, path=folder / "store")
    texts = [" ".join(text) for text in words[rows]]
    return store, texts, (score > np.median(score)).tolist()


def pipeline(*source):
    rest = Pooling(), StandardScaler(), LogisticRegression(max_iter=200)
    return make_pipeline(Tokenizer(), *source, *rest)


def scattered(data, folds):
    """Return the data that searches scatter."""
    return [*data, *(part for fold in folds for part in fold)]


def dynamic_pipeline(store):
    net = DynamicMetaClassifier.published(
        encoder_dim=32, max_epochs=1, early_stopping=False, device="cpu", random_state=0
    )
    return make_pipeline(Tokenizer(), PretrainedEmbedding(store), net)


def run_search(store, data, folds, *, dynamic=False, **backend):
    """Return the time and the scores of a search on the cluster."""
    if dynamic:
        estimator, grid = dynamic_pipeline(store), DYNAMIC_GRID
    else:
        estimator, grid = pipeline(PretrainedEmbedding(store)), GRID
    search = GridSearchCV(estimator, grid, cv=folds, refit=False)
    begin = time.perf_counter()
    with parallel_config("dask", **backend):
        search.fit(*data)
    seconds = time.perf_counter() - begin
    return seconds, search.cv_results_["mean_test_score"]


def pids(cluster):
    return [worker.pid for worker in cluster.workers.values()]


def shared(cluster, store):
    """Return the PSS and the RSS of the matrix over all workers, in MiB."""
    pss = rss = 0
    for pid in pids(cluster):
        for part in psutil.Process(pid).memory_maps():
            if part.path.startswith(store.path) and "vectors" in part.path:
                pss, rss = pss + part.pss / 2**20, rss + part.rss / 2**20
    return pss, rss


def print_search(cluster, store, data, folds, repeats, dynamic=False):
    """Print the time on one worker and on both."""
    everything = scattered(data, folds)
    first = next(iter(cluster.scheduler.workers))
    ways = {"one": {"workers": [first]}, "both": {}}
    run_search(store, data, folds, dynamic=dynamic)  # imports
    times = {way: [] for way in ways}
    for _ in range(repeats):
        for way, where in ways.items():
            where = {"scatter": everything, "dynamic": dynamic, **where}
            times[way].append(run_search(store, data, folds, **where)[0])
    one, both = (statistics.median(times[way]) for way in ways)
    print(f"{'Networks' if dynamic else 'A linear model'}: one worker {one:.2f} s,")
    print(f"two {both:.2f} s, {one / both:.2f} times as fast.")


def print_memory(cluster, store):
    """Print the memory of the matrix over the workers."""
    pss, rss = shared(cluster, store)
    matrix = store.vectors.nbytes / 2**20
    print(f"The matrix has {matrix:.0f} MiB; the workers hold {rss:.0f} MiB of it,")
    print(f"or {pss:.0f} MiB with shared pages counted once.")


def print_tasks(cluster, store, data, folds):
    """Print the size of a search's tasks, with data included or scattered."""
    everything = scattered(data, folds)
    for name, scatter in {"data in the tasks": None, "scattered": everything}.items():
        sizes = TaskSizes(cluster.scheduler)
        cluster.scheduler.add_plugin(sizes, name="sizes")
        run_search(store, data, folds, scatter=scatter)
        cluster.scheduler.remove_plugin(name="sizes")
        result = sizes.of("fit_and_score")
        median = statistics.median(result)
        print(f"A task of the search, {name}: {median:,.0f} bytes.")


def print_partitions(cluster, client, store, data):
    """Print the message sizes and the rate of `transform_partitions`."""
    texts, labels = data
    trained = Word2VecEmbedding(vector_size=300, min_count=1, epochs=1)
    for source in (PretrainedEmbedding(store), trained):
        model = pipeline(source).fit(texts, labels)
        learned = len(dumps(model)) / 2**20
        bag = db.from_sequence(texts * 5, npartitions=20)
        sizes = TaskSizes(cluster.scheduler)
        cluster.scheduler.add_plugin(sizes, name="sizes")
        lazy = transform_partitions(model, bag, method="predict")
        seconds = []
        for _ in range(2):  # the first call compiles or loads compiled code
            begin = time.perf_counter()
            client.compute(lazy).result()
            seconds.append(time.perf_counter() - begin)
        cluster.scheduler.remove_plugin(name="sizes")
        (carried,) = sizes.of("pipeline-")
        task = statistics.median(sizes.of("bag_rows"))
        name = type(source).__name__
        print(f"{name}, {learned:,.2f} MiB pickled: {carried:,} bytes once per worker,")
        print(f"{task:,.0f} per task, {len(texts) * 5 / seconds[-1]:,.0f} documents/s.")


def print_kill(cluster, client, store, data, folds):
    """Print whether a search with a killed worker gives the same scores."""
    everything = scattered(data, folds)
    seconds, whole = run_search(store, data, folds)
    for name, scatter in {"data in the tasks": None, "scattered": everything}.items():
        client.wait_for_workers(2, timeout=120)  # includes the restarted worker
        victim = pids(cluster)[0]
        timer = threading.Timer(seconds / 2, os.kill, (victim, signal.SIGKILL))
        timer.start()
        try:
            _, scores = run_search(store, data, folds, scatter=scatter)
        finally:
            timer.cancel()
        killed = not psutil.pid_exists(victim) or victim not in pids(cluster)
        same = np.array_equal(scores, whole)
        print(f"A worker killed: {killed}; {name}: the same scores: {same}.")


def print_store(folder, store):
    """Print the time to copy a store to a host and to open it."""
    begin = time.perf_counter()
    shutil.copytree(store.path, folder / "copy")
    copied = time.perf_counter()
    WordVectors.open(folder / "copy")
    opened = time.perf_counter()
    files = [file.stat().st_size for file in (folder / "copy").iterdir()]
    print(
        f"The store has {sum(files) / 2**20:.0f} MiB in {len(files)} files; copied in"
    )
    print(f"{copied - begin:.2f} s from memory, opened in {opened - copied:.4f} s.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=400_000)
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # workers inherit it
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SK_METAEMBED_CACHE"] = folder
        folder = Path(folder)
        store, *data = make_data(folder, options)
        folds = list(StratifiedKFold(5).split(*data))
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                local_directory=str(folder / "dask"),
            ) as cluster,
            Client(cluster) as client,
        ):
            client.amm.stop()  # it would remove replicas of scattered data
            lists = [(train.tolist(), test.tolist()) for train, test in folds]
            # Held on the workers throughout: data released by one search may disappear
            # while the next search uses equal data with the same names.
            scattered = client.scatter(
                [*scattered(data, folds), *scattered((), lists)], broadcast=True
            )
            print_search(cluster, store, data, folds, options.repeats)
            fewer = [part[: options.documents // 5] for part in data]
            parts = list(StratifiedKFold(5).split(*fewer))
            alive = client.scatter(scattered(fewer, parts), broadcast=True)
            print_search(cluster, store, fewer, parts, options.repeats, dynamic=True)
            print_memory(cluster, store)
            print_tasks(cluster, store, data, lists)
            print_partitions(cluster, client, store, data)
            print_store(folder, store)
            print_kill(cluster, client, store, data, lists)
            del scattered, alive


if __name__ == "__main__":
    main()
