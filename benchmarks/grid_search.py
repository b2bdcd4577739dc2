"""Measure a grid search with vectors by reference, compared with one that copies them.

Four candidates, five folds. One search uses `WordVectors`, the other a typical
hand-written transformer with gensim's KeyedVectors as its parameter. Both pool and
score in the same way. Each search runs in a new process, which starts its own workers;
loading is not timed. Memory is measured from outside, over the process and its
children, as proportional set size (PSS; a page shared by n processes counts 1/n in
each). Because each worker is another Python process with scikit-learn, every search is
repeated over 1,000 words: the difference is the memory of the vectors. A search over
features that are computed before it shows what scikit-learn itself needs. Ratios are
more reliable than times. Needs Linux.

    python benchmarks/grid_search.py                                # a few minutes
    python benchmarks/grid_search.py --words 20000 --documents 500  # smaller
    python benchmarks/grid_search.py --no-gensim                    # without gensim
"""

# This process only measures, and imports none of the measured libraries: shared pages
# would count half.
import argparse
import contextlib
import itertools
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

INTERVAL = 0.05
FEW_WORDS = 1000
GRID = {"pool__mode": ["mean", "max"], "clf__C": [0.01, 0.1]}
NAMES = {
    "ours": "WordVectors",
    "gensim": "KeyedVectors as a parameter",
    "features": "features computed before, scikit-learn alone",
}


def prepare(folder, n_words, options):
    """Write words, a matrix, the store, and texts with labels from the vectors."""
    import numpy as np

    from sk_metaembed import WordVectors

    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(n_words)], object)
    matrix = rng.standard_normal((n_words, options.dim), dtype=np.float32)
    share = np.cumsum(1 / np.arange(1, n_words + 1))
    drawn = rng.random((options.documents, options.tokens)) * share[-1]
    rows = np.searchsorted(share, drawn)
    score = (matrix @ rng.standard_normal(options.dim))[rows].mean(axis=1)
    data = [" ".join(text) for text in words[rows]], score > np.median(score)
    (folder / "data.pickle").write_bytes(pickle.dumps((words.tolist(), data)))
    np.save(folder / "matrix.npy", matrix)
    np.save(folder / "features.npy", matrix[rows].mean(axis=1))
    WordVectors.from_arrays(words, matrix, path=folder / "store")


def our_steps(folder, words):
    """Return the steps from texts to pooled vectors, on the store."""
    from sk_metaembed import (
        Pooling,
        PretrainedEmbedding,
        Tokenizer,
        WordVectors,
    )

    source = PretrainedEmbedding(WordVectors.open(folder / "store"))
    return [("tokens", Tokenizer()), ("embed", source), ("pool", Pooling())]


def gensim_steps(folder, words):
    """Return a typical hand-written step on vectors in memory."""
    import numpy as np
    from gensim.models import KeyedVectors
    from sklearn.base import BaseEstimator, TransformerMixin

    class MeanOfVectors(TransformerMixin, BaseEstimator):
        def __init__(self, vectors, mode="mean"):
            self.vectors = vectors
            self.mode = mode

        def fit(self, X, y=None):
            return self

        def transform(self, X):
            return np.stack([self.pooled(text.split()) for text in X])

        def pooled(self, tokens):
            kv = self.vectors
            results = [kv[token] for token in tokens if token in kv]
            results = np.array(results or [np.zeros(kv.vector_size)])
            return getattr(results, self.mode)(axis=0)

    matrix = np.load(folder / "matrix.npy", mmap_mode="r")
    kv = KeyedVectors(matrix.shape[1])
    kv.add_vectors(words, matrix)
    return [("pool", MeanOfVectors(kv))]


def search(folder, kind, n_jobs):
    """Run one search in this process and print its figures for the parent."""
    from joblib import parallel_config
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    words, (X, y) = pickle.loads((folder / "data.pickle").read_bytes())
    candidates = GRID
    if kind == "features":
        import numpy as np

        X, steps = np.load(folder / "features.npy"), []
        candidates = {"clf__C": [0.01, 0.03, 0.1, 0.3]}
    else:
        steps = {"ours": our_steps, "gensim": gensim_steps}[kind](folder, words)
    del words
    rest = [("scale", StandardScaler()), ("clf", LogisticRegression())]
    grid = GridSearchCV(Pipeline([*steps, *rest]), candidates, cv=5)
    begin = time.monotonic()
    with parallel_config("loky", n_jobs=n_jobs):
        grid.fit(X, y)
    times = {"begin": begin, "end": time.monotonic()}
    scores = grid.cv_results_["mean_test_score"].tolist()
    print(json.dumps(times | {"scores": scores} | costs(grid.best_estimator_)))


def costs(pipe):
    """Return the time to clone a fitted pipeline, and the size of its pickle."""
    from sklearn.base import clone

    begin = time.monotonic()
    clone(pipe)
    seconds = time.monotonic() - begin
    steps = [vars(step) for step in pipe.named_steps.values()]
    return {"clone": seconds, "pickle": len(pickle.dumps(steps))}


def stage(folder, options, *names):
    """Start this script in a new process to run one part."""
    limits = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    cache = {"SK_METAEMBED_CACHE": str(folder / "cache")}
    sizes = [f"--{n}={getattr(options, n)}" for n in ("documents", "tokens", "dim")]
    run = [sys.executable, __file__, *sizes, "--stage", str(folder), *map(str, names)]
    return subprocess.Popen(
        run, stdout=subprocess.PIPE, env=os.environ | limits | cache
    )


def memory(process):
    """Return the PSS of a process and all below it, in MiB."""
    total = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        for one in [process, *process.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                total += one.memory_full_info().pss / 2**20
    return total


def measure(folder, options, kind, n_jobs):
    """Return the figures of a search, including its peak memory."""
    samples = []
    with stage(folder, options, kind, n_jobs) as child:
        process = psutil.Process(child.pid)
        while child.poll() is None:
            samples.append((time.monotonic(), memory(process)))
            time.sleep(INTERVAL)
        printed = child.stdout.read()
    if child.returncode:
        raise SystemExit(f"The search with {NAMES[kind]} failed, see above.")
    out = json.loads(printed)
    out["pss"] = max(m for at, m in samples if out["begin"] <= at <= out["end"])
    out["seconds"] = out["end"] - out["begin"]
    return out


def prepared(root, n_words, options):
    """Return the directory of the data for n words, created in a new process."""
    folder = root / str(n_words)
    folder.mkdir(exist_ok=True)
    with stage(folder, options, "prepare", n_words) as child:
        child.wait()
    if child.returncode:
        raise SystemExit("The data could not be made, see above.")
    return folder


def measure_all(root, options):
    """Return the figures of each search, and the memory of the vectors."""
    all_words = prepared(root, options.words, options)
    few_words = prepared(root, FEW_WORDS, options)
    kinds = [kind for kind in NAMES if options.gensim or kind != "gensim"]
    runs = {}
    for kind, n_jobs in itertools.product(kinds, (1, 2)):
        runs[kind, n_jobs] = run = measure(all_words, options, kind, n_jobs)
        few = measure(few_words, options, kind, n_jobs)
        run["vectors"], run["few"] = run["pss"] - few["pss"], few["seconds"]
    return runs


def show(runs):
    """Print the table."""
    columns = "n_jobs", "s", f"s on {FEW_WORDS:,} words", "peak PSS", "by the vectors"
    columns = "vectors", *columns, "clone, ms", "pickled, MiB"
    print("|", " | ".join(columns), "|")
    print("|---" * len(columns) + "|")
    for (kind, n_jobs), run in runs.items():
        peaks = f"{run['pss']:,.0f} | {run['vectors']:,.0f}"
        own = f"{run['clone'] * 1000:,.1f} | {run['pickle'] / 2**20:,.2f}"
        took = f"{run['seconds']:.1f} | {run['few']:.1f}"
        print(f"| {NAMES[kind]} | {n_jobs} | {took} | {peaks} | {own} |")


def conclude(runs):
    """Print the ratios."""
    one, two = runs["ours", 1], runs["ours", 2]
    print(f"\nPeak PSS, n_jobs=2 to n_jobs=1: {two['pss'] / one['pss']:.2f}", end=" ")
    print(f"in total, {two['vectors'] / one['vectors']:.2f} for the vectors.")
    for n_jobs in (1, 2) if ("gensim", 2) in runs else ():
        ours, theirs = runs["ours", n_jobs], runs["gensim", n_jobs]
        slower, more = (theirs[name] / ours[name] for name in ("seconds", "pss"))
        print(f"n_jobs={n_jobs}: KeyedVectors take {slower:.1f} times as long", end=" ")
        print(f"and {more:.1f} times the memory.", end=" ")
        pairs = zip(ours["scores"], theirs["scores"], strict=True)
        apart = max(abs(a - b) for a, b in pairs)
        print(f"The candidates' accuracies differ by at most {apart:.4f}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=200_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--tokens", type=int, default=50)
    parser.add_argument("--no-gensim", dest="gensim", action="store_false")
    parser.add_argument("--stage", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stage:
        run_stage(options)
        return
    with tempfile.TemporaryDirectory() as folder:
        print(f"{options.words:,} x {options.dim}: ", end="")
        print(f"{options.words * options.dim * 4 / 2**20:,.0f} MiB;", end=" ")
        print(
            f"{options.documents:,} texts of {options.tokens} tokens; memory in MiB\n"
        )
        runs = measure_all(Path(folder), options)
    show(runs)
    conclude(runs)


def run_stage(options):
    """Run one part in its own process."""
    folder, part, *rest = options.stage
    if part == "prepare":
        prepare(Path(folder), int(rest[0]), options)
    else:
        search(Path(folder), part, int(rest[0]))


if __name__ == "__main__":
    main()
