"""Sentence pairs: entailment on SICK, similarity on the STS benchmark.

SICK has three classes; 4,500 pairs are used for training, the 500 of the trial set for
model selection and early stopping, and the 4,927 of the test set for the results. On
the STS benchmark, models are trained on the scores of 5,749 pairs and evaluated by
Pearson's correlation on 1,379.

Linear models on mean vectors and [u; v; |u-v|; u*v] come first, with the penalty chosen
on the development set. Then come networks that read both sides with one encoder and
pass the same four features to one hidden layer. They differ only in the combination:
"concat" concatenates the sources, without a projection (as in the paper) or with the
projection of the other combinations.

Each result is appended to a file as a line of JSON, and an interrupted run resumes.
Needs ``SK_METAEMBED_DATA`` for the vectors.
Run: python benchmarks/sentence_pairs.py [--task sick] [--seeds 5] [--rows DME concat]
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from scipy.stats import pearsonr
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    ConcatMetaEmbedding,
    DynamicMetaClassifier,
    DynamicMetaRegressor,
    EmbeddingUnion,
    PairEncoder,
    Pooling,
    PretrainedEmbedding,
    SequencePairs,
)
from sk_metaembed.datasets import fetch_sick, fetch_sts_benchmark, load_vectors

SOURCES = ("glove-100", "word2vec-300", "neuralcoref-50")
PARTS = {"sick": ("train", "trial", "test"), "stsb": ("train", "dev", "test")}
PENALTIES = {
    "sick": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10),
    "stsb": (1, 10, 100, 300, 1000, 3000, 10000),
}
NETWORK = {
    "projection_dim": 256,
    "activation": None,
    "encoder": "bilstm-max",
    "encoder_dim": 128,
    "hidden_dims": (256,),
    "embedding_dropout": 0.2,
    "head_dropout": 0.4,
    "lr": 1e-3,
    "train_options": {"lr_factor": 0.5, "lr_patience": 2},
    "patience": 6,
    "max_epochs": 25,
}


def load(task):
    """Return the pairs and targets of the three parts."""
    fetch = fetch_sick if task == "sick" else fetch_sts_benchmark
    return zip(*(fetch(name, return_X_y=True) for name in PARTS[task]), strict=True)


def evaluate(model, X, y):
    """Return 100 times accuracy or Pearson's correlation."""
    if y.dtype.kind == "f":
        return 100 * pearsonr(model.predict(X), y).statistic
    return 100 * model.score(X, y)


def linear_rows(texts, X):
    """Yield (label, features of the parts, whether to scale them)."""
    tfidf = PairEncoder(TfidfVectorizer()).fit(texts[0])
    yield "TF-IDF", [tfidf.transform(part) for part in texts], False
    for name in (*SOURCES, None):
        means = PairEncoder(make_pipeline(ConcatMetaEmbedding(), Pooling()))
        inputs = [chosen(part, [name] if name else SOURCES) for part in X]
        means.fit(inputs[0])
        label = f"mean of {name or 'concat'}"
        yield label, [means.transform(part) for part in inputs], True


def linear(task, inputs, y, scaled):
    """Return dev and test score with the penalty selected on dev."""
    scores = []
    for penalty in PENALTIES[task]:
        last = (
            LogisticRegression(C=penalty, max_iter=3000)
            if task == "sick"
            else Ridge(penalty)
        )
        pipe = make_pipeline(StandardScaler(), last) if scaled else last
        pipe.fit(inputs[0], y[0])
        scores.append([evaluate(pipe, inputs[i], y[i]) for i in (1, 2)])
    return max(scores, key=lambda pair: pair[0])


def chosen(pairs, names):
    """Return the pairs restricted to some sources."""
    return SequencePairs(pairs.sequences.select(names))


def net_rows(X):
    """Yield (label, inputs of the parts, changed parameters)."""
    uniform = {"attention": "uniform"}
    for name in SOURCES:
        yield f"net, {name}", [chosen(part, [name]) for part in X], uniform
    concat = ConcatMetaEmbedding(normalize=False).fit(X[0].sequences)
    joined = [SequencePairs(concat.transform(part.sequences)) for part in X]
    yield "net, concat", joined, uniform | {"projection_dim": None}
    yield "net, concat, projected", joined, uniform
    yield "net, unweighted sum", X, uniform
    yield "net, DME", X, {"attention": "word"}
    yield "net, CDME", X, {"attention": "context"}


def train(task, inputs, y, parameters, seed):
    """Return dev and test score of one network, and its epochs."""
    kind = DynamicMetaClassifier if task == "sick" else DynamicMetaRegressor
    model = kind.published(random_state=seed, **{**NETWORK, **parameters})
    model.fit(inputs[0], y[0], X_val=inputs[1], y_val=y[1])
    scores = [evaluate(model, inputs[i], y[i]) for i in (1, 2)]
    return scores, model.n_iter_


class Results:
    """Results in a file, one per line, by task, row and seed."""

    def __init__(self, path):
        self.path = path
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        self.results = [json.loads(line) for line in lines]

    def missing(self, task, row, seeds):
        """Return the seeds without a result."""
        done = {r["seed"] for r in self.results if (r["task"], r["row"]) == (task, row)}
        return [seed for seed in range(seeds) if seed not in done]

    def add(self, task, row, seed, dev, test, epochs, seconds):
        """Append one result."""
        result = {"task": task, "row": row, "seed": seed, "dev": dev, "test": test}
        result |= {"epochs": epochs, "cpu_seconds": seconds}
        self.results.append(result)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")

    def show(self, task):
        """Print the task's table."""
        score = "accuracy %" if task == "sick" else "Pearson x 100"
        print(
            f"\n| {task} | test {score} | std | dev | seeds | epochs | CPU s per fit |"
        )
        print("|---|---|---|---|---|---|---|")
        rows = dict.fromkeys(r["row"] for r in self.results if r["task"] == task)
        for row in rows:
            own = [r for r in self.results if (r["task"], r["row"]) == (task, row)]
            test = np.array([r["test"] for r in own])
            std = test.std(ddof=1) if len(own) > 1 else 0.0
            dev, epochs, seconds = (
                np.mean([r[key] for r in own])
                for key in ("dev", "epochs", "cpu_seconds")
            )
            print(
                f"| {row} | {test.mean():.2f} | {std:.2f} | {dev:.2f} | {len(own)} | "
                f"{epochs:.0f} | {seconds:.0f} |"
            )


def run(task, seeds, results, expected):
    """Compute the missing results of one task."""

    def is_requested(label):
        return not expected or any(part in label for part in expected)

    texts, y = load(task)
    sources = [
        (name, PretrainedEmbedding(load_vectors(name), preprocess="unit"))
        for name in SOURCES
    ]
    encoder = PairEncoder(EmbeddingUnion(sources)).fit(texts[0])
    X = [encoder.transform(part) for part in texts]
    for label, inputs, scaled in linear_rows(texts, X):
        if is_requested(label) and results.missing(task, label, 1):
            begin = time.process_time()
            dev, test = linear(task, inputs, y, scaled)
            results.add(task, label, 0, dev, test, 0, time.process_time() - begin)
    rows = [row for row in net_rows(X) if is_requested(row[0])]
    for seed in range(
        seeds
    ):  # in the order of seeds, so that partial results fill a table
        for label, inputs, parameters in rows:
            if seed in results.missing(task, label, seeds):
                begin = time.process_time()
                (dev, test), epochs = train(task, inputs, y, parameters, seed)
                seconds = time.process_time() - begin
                results.add(task, label, seed, dev, test, epochs, seconds)
                print(f"{task} | {label} | {seed} | {test:.2f}", flush=True)


def main():
    """Compute the missing results and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=list(PARTS), nargs="*", default=list(PARTS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--results", type=Path, default=Path("sentence_pairs.jsonl"))
    parser.add_argument("--rows", nargs="*", help="rows whose name has one of these")
    options = parser.parse_args()
    results = Results(options.results)
    for task in options.task:
        run(task, options.seeds, results, options.rows)
        results.show(task)


if __name__ == "__main__":
    main()
